//! The path between the endpoint and its peer. It is impaired for a number of packets each way and perfect afterwards, so that every connection ends.
//! The fate of a packet depends on the number of packets before it, and on the seed.

use crate::Observation;
use crate::script::{EcnField, flag};
use forebay_torture::draw::{by_chance, per_mille};
use forebay_types::Rng;

/// A microsecond, in ns: the resolution of times in scripts.
pub(super) const US: u64 = 1000;
/// A millisecond, in ns.
pub(super) const MS: u64 = 1000 * US;

/// Longest row of losses, ns: with a longer one, timeouts that double would end the connection (tcp_retries2).
const OUTAGE: u64 = 3000 * MS;

/// Behavior of a path. Times are ns.
#[derive(Debug, Clone)]
pub(super) struct Path {
    /// One-way delay.
    pub(super) delay: u64,
    /// Least time between two packets of the endpoint: serialization on the slowest link.
    pub(super) gap: u64,
    /// Late packets in a hundred (half as many ACKs), and their largest delay. Others overtake them.
    pub(super) late: (u64, u64),
    /// Single losses in a thousand packets.
    pub(super) lost: u64,
    /// Starts of a row of losses in a thousand packets, and its losses within [`OUTAGE`].
    pub(super) row: (u64, u64),
    /// Lost ACKs in a thousand.
    pub(super) lost_acks: u64,
    /// Duplicated packets in a thousand; the second copy comes up to a round trip later.
    pub(super) doubled: u64,
    /// Marked packets in a thousand ECN-capable ones (ECT, RFC 3168).
    pub(super) marked: u64,
    /// Number of packets each way for which all this holds.
    pub(super) bad: u64,
}

/// A segment that the endpoint has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// Time, ns of the script's clock.
    pub(super) time: u64,
    /// Its first sequence number, and the one after its last. Equal for an empty segment, as a probe of a closed window.
    pub(super) range: (u64, u64),
    /// ECN-capable.
    pub(super) ect: bool,
    /// Reports the reduction of the window (CWR).
    pub(super) cwr: bool,
    /// With the end of the stream.
    pub(super) fin: bool,
}

impl Sent {
    /// The segment for the path. Handshakes are in the script as they are, and a reset has no answer: for these `None`.
    pub(super) fn of(seen: &Observation) -> Option<Sent> {
        let packet = seen.packet.as_ref()?;
        let has = |bit: u16| packet.flags & bit != 0;
        let start = u64::from(packet.seq);
        (!has(flag::SYN) && !has(flag::RST)).then(|| Sent {
            time: seen.time.max(0).unsigned_abs(),
            range: (start, start + u64::from(packet.len) + u64::from(has(flag::FIN))),
            ect: packet.ecn == Some(EcnField::Ect0),
            cwr: has(flag::CWR),
            fin: has(flag::FIN),
        })
    }
}

/// A segment of the endpoint at its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    /// Time, ns.
    pub(super) time: u64,
    /// Number of the sent segment.
    pub(super) which: usize,
    /// It carries CE.
    pub(super) marked: bool,
}

impl Path {
    /// The segments of `sent` that arrive at the peer, in the order of arrival.
    pub(super) fn forth(&self, sent: &[Sent], mut rng: Rng) -> Vec<Arrival> {
        let (mut arrivals, mut free) = (Vec::new(), 0);
        // Rest of a row of losses, and its end.
        let mut row = (0_u64, 0);
        for (which, s) in sent.iter().enumerate() {
            let bad = (which as u64) < self.bad;
            if per_mille(&mut rng, self.row.0) && row.0 == 0 {
                row = (self.row.1, s.time + OUTAGE);
            }
            let in_row = row.0 > 0 && s.time < row.1;
            row.0 = if in_row { row.0 - 1 } else { 0 };
            let lost = per_mille(&mut rng, self.lost) || in_row;
            let late = self.lateness(self.late.0, &mut rng);
            let (doubled, after) = (per_mille(&mut rng, self.doubled), rng.below(2 * self.delay));
            let marked = per_mille(&mut rng, self.marked) && s.ect && bad;
            if lost && bad {
                continue;
            }
            free = s.time.max(free) + self.gap;
            let time = free + self.delay + if bad { late } else { 0 };
            arrivals.push(Arrival { time, which, marked });
            if doubled && bad {
                arrivals.push(Arrival { time: time + after, which, marked });
            }
        }
        arrivals.sort_unstable();
        arrivals
    }

    /// Arrival of the ACK `number` that left the peer at `time`; `None` for a lost one. With `ordered` it is not late.
    pub(super) fn back(&self, number: u64, time: u64, ordered: bool, rng: &mut Rng) -> Option<u64> {
        let (lost, late) = (per_mille(rng, self.lost_acks), self.lateness(self.late.0 / 2, rng));
        let bad = number < self.bad;
        (!(lost && bad)).then(|| time + self.delay + if bad && !ordered { late } else { 0 })
    }

    /// Delay of a packet if `percent` of a hundred are late.
    fn lateness(&self, percent: u64, rng: &mut Rng) -> u64 {
        let by = rng.below(self.late.1.max(1));
        if by_chance(rng, percent) { by } else { 0 }
    }
}
