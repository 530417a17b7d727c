//! Link failures, bit errors, packet loss and load balancing.

pub use crate::balance::Balance;
use crate::rows::{EventKind, EventRow};
use forebay_types::{PortId, Rate, Time, TimeOrNever, TimedLoss};

/// A link that is down for a while, in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// Port that names the link, one of its two directions.
    pub port: PortId,
    /// Start of the failure. Packets on the wire and in the queues at both ends are lost.
    pub down: Time,
    /// End of the failure, if any.
    pub up: TimeOrNever,
    /// Time until switches reroute, after the failure and after its end. Until then packets are sent into the dead link, and a repaired link is not
    /// used.
    pub reroute: Time,
}

/// Direction of a link with bit errors. The node at its end drops damaged packets by their checksum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corruption {
    /// Transmitting port.
    pub port: PortId,
    /// Error probability of each bit.
    pub bit_errors: f64,
}

/// Direction of a link that loses packets, whatever its queue.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkLoss {
    /// Transmitting port.
    pub port: PortId,
    /// Selection of the lost packets, and time.
    pub loss: TimedLoss,
}

/// Direction of a link that delivers some packets late, behind packets that were sent later. It leads to a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// Transmitting port.
    pub port: PortId,
    /// Probability that a packet is late, above 0, at most 1.
    pub p: f64,
    /// Additional delay of a late packet.
    pub by: Time,
}

/// Direction of a link that delivers packets in batches, as Wi-Fi and LTE do (frame aggregation). It leads to a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batching {
    /// Transmitting port.
    pub port: PortId,
    /// Packets reach the end of the link at the multiples of this time, one picosecond apart.
    pub every: Time,
}

/// Change of one direction of a link at a time. Values without a change keep what they were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Time of the change.
    pub at: Time,
    /// Transmitting port, of a switch.
    pub port: PortId,
    /// Rate from then on. The packet in service is completed at the old rate.
    pub rate: Option<Rate>,
    /// Delay from then on, of packets whose last bit leaves after the change. Packets do not overtake each other: after a decrease the port pauses
    /// until the next packet arrives behind those on the wire.
    pub delay: Option<Time>,
    /// Loss probability of each packet from then on, 0 to 1.
    pub loss: Option<f64>,
}

/// All faults of a network, and its load balancing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// Links that fail.
    pub failures: Vec<Failure>,
    /// Directions of links that damage packets.
    pub corruption: Vec<Corruption>,
    /// Directions of links that lose packets.
    pub loss: Vec<LinkLoss>,
    /// Directions of links that reorder packets.
    pub reordering: Vec<Reordering>,
    /// Directions of links that deliver packets in batches.
    pub batching: Vec<Batching>,
    /// Changes of links.
    pub changes: Vec<Change>,
    /// Load balancing over equal-cost paths.
    pub balance: Balance,
}

/// Legal range of bit error probabilities. Our choice: above 1 in 10 000 hardly any full packet arrives.
pub const BIT_ERRORS: (f64, f64) = (1e-18, 1e-4);

/// Least legal loss probability. Our choice: of a million million packets, one is lost.
pub const MIN_LOSS: f64 = 1e-12;

/// Latest legal time of a failure: 200 days, the longest duration.
pub const LATEST: Time = Time::from_secs(200 * 86_400);

impl Faults {
    /// Transmitting ports of links that damage, lose or reorder packets, or change.
    pub fn lossy_ports(&self) -> Vec<PortId> {
        let changed = self.changes.iter().map(|c| c.port).chain(self.reordering.iter().map(|r| r.port));
        let mut ports: Vec<PortId> =
            self.corruption.iter().map(|c| c.port).chain(self.loss.iter().map(|l| l.port)).chain(changed).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Transmitting ports of links that lose packets, from the start or after a change.
    pub fn losing_ports(&self) -> Vec<PortId> {
        let changed = self.changes.iter().filter(|c| c.loss.is_some()).map(|c| c.port);
        let mut ports: Vec<PortId> = self.loss.iter().map(|l| l.port).chain(changed).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Rows of the links that deliver packets late or in batches, for the table `events`.
    pub fn delay_events(&self) -> impl Iterator<Item = EventRow> {
        let of = |kind, port| EventRow::of(Time::ZERO, kind, Some(port), None);
        let late = self.reordering.iter().map(move |r| of(EventKind::Reordering, r.port));
        late.chain(self.batching.iter().map(move |b| of(EventKind::Batching, b.port)))
    }

    /// Fraction of the time between two moments in which `port` transmits, if it sends `bytes`. `rate` is its rate at the start of the run.
    pub fn utilization(&self, port: PortId, rate: Rate, bytes: u64, (from, until): (Time, Time)) -> f64 {
        let measured = until.saturating_sub(from).max(Time(1));
        let mut changes: Vec<(Time, Rate)> =
            self.changes.iter().filter(|c| c.port == port).filter_map(|c| Some((c.at, c.rate?))).collect();
        let busy = if changes.is_empty() {
            rate.tx_time(bytes).0 as f64 / measured.0 as f64
        } else {
            changes.sort_by_key(|c| c.0);
            // Each rate holds from its change to the next one.
            let starts = std::iter::once((Time::ZERO, rate)).chain(changes.iter().copied());
            let ends = changes.iter().map(|c| c.0).chain(std::iter::once(until));
            let part = |((start, rate), end): ((Time, Rate), Time)| {
                rate.0 as f64 * end.min(until).saturating_sub(start.max(from)).0 as f64 * 1e-12
            };
            bytes as f64 * 8.0 / starts.zip(ends).map(part).sum::<f64>().max(1.0)
        };
        busy.min(1.0)
    }

    /// Returns true if all links deliver all packets intact, in order and at once, except while they fail, and never change.
    pub fn links_are_perfect(&self) -> bool {
        let delays = self.reordering.is_empty() && self.batching.is_empty();
        delays && self.corruption.is_empty() && self.loss.is_empty() && self.changes.is_empty()
    }

    /// Returns true if there are no faults and load balancing is by flow hash.
    pub fn none(&self) -> bool {
        *self == Faults::default()
    }
}
