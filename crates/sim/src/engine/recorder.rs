//! What a run leaves behind beside the statistics of its ports: rows of the result tables, in the order in which they come up. The report
//! sorts them, so that nothing depends on that order. Recording only reads.

mod flow_rows;

use self::flow_rows::FlowRows;
use crate::net::packet::{Codepoint, Packet, flag};
use forebay_experiment::observe::Observe;
use forebay_experiment::rows::{FlowRow, PacketRow, TcpRow, TimeoutRow};
use forebay_experiment::series::Series;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::waits::Stalls;
use forebay_traffic::QueryStart;
use forebay_units::{GroupId, Time};
use std::collections::BTreeMap;

/// The place of a message's row, what it waited for, and its mean round trip, ps, less what the receiver held back.
pub(super) type Stalled = (usize, Stalls, Option<u64>);

/// The rows so far, and which of them are wanted.
#[derive(Default)]
pub(super) struct Recorder {
    flows: FlowRows,
    queries: Vec<QueryStart>,
    samples: Series<TcpRow>,
    timeouts: Series<TimeoutRow>,
    /// What messages that have ended had waited for, by their number in the order in which they did, with their mean round trip less what the
    /// receiver held back.
    stalled: Vec<Stalled>,
    /// Connections with a series of samples, by number, and its interval.
    series: Vec<(u64, Time)>,
    wants_timeouts: bool,
    /// Packets that reached their hosts, if they are wanted; and the number of each connection's SYN, from which numbers count.
    packets: Option<Series<PacketRow>>,
    begins: BTreeMap<u64, u32>,
}

impl Recorder {
    /// Records what is to be observed.
    pub(super) fn new(observe: &Observe) -> Recorder {
        let packets = observe.packets.then(Series::default);
        Recorder { series: observe.tcp_series.clone(), wants_timeouts: observe.timeouts, packets, ..Recorder::default() }
    }

    /// An empty one for a part of the run.
    pub(super) fn for_partition(&self) -> Recorder {
        Recorder {
            series: self.series.clone(),
            wants_timeouts: self.wants_timeouts,
            packets: self.packets.as_ref().map(|_| Series::default()),
            ..Recorder::default()
        }
    }

    /// Takes over what a part has recorded. Returns how much later its rows of messages stand from now on.
    pub(super) fn merge(&mut self, part: &mut Recorder) -> usize {
        let before = self.flows.len();
        self.flows.append(&mut part.flows);
        self.stalled.extend(part.stalled.drain(..).map(|(row, stalls, rtt)| (before + row, stalls, rtt)));
        self.queries.append(&mut part.queries);
        before
    }

    /// The same of series, when the run is over.
    pub(super) fn merge_series(&mut self, part: &mut Recorder) {
        self.samples.append(part.take_samples());
        self.timeouts.append(part.take_timeouts());
    }

    /// Whether packets are recorded.
    pub(super) fn wants_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// A packet of connection number `conn_id` reached its host.
    #[cold]
    #[inline(never)]
    pub(super) fn packet(&mut self, p: &Packet, conn_id: u64) {
        if p.has(flag::DATAGRAM) {
            return;
        }
        let (back, syn) = (p.has(flag::ACK), p.has(flag::SYN));
        // The size of its train, which a shim's probe has there, is no payload; its number is that of its SYN.
        let probe = !back && p.has(flag::PROBE);
        // Of a connection without handshake the first byte is the first to be seen.
        let first = if (syn || (probe && p.len > 0)) && !back { p.seq } else { p.seq.wrapping_sub(1) };
        let begin = *self.begins.entry(conn_id).or_insert(first);
        if let Some(packets) = &mut self.packets {
            packets.push(PacketRow {
                time_ps: p.arrival.0,
                conn_id,
                back,
                number: p.seq.wrapping_sub(begin),
                // SYNs have an option in its place.
                payload: if syn || probe { 0 } else { u32::from(p.len) },
                syn,
                fin: p.has(flag::FIN),
                ece: p.has(flag::ECE) && (p.has(flag::ACK) || p.has(flag::SYN)),
                cwr: p.has(flag::CWR),
                ce: p.ecn() == Codepoint::Ce,
                class: p.class(),
            });
        }
    }

    /// Gives the packets away.
    pub(super) fn take_packets(&mut self) -> Series<PacketRow> {
        self.packets.take().unwrap_or_default()
    }

    /// Whether any connection is sampled.
    #[inline]
    pub(super) fn samples(&self) -> bool {
        !self.series.is_empty()
    }

    /// Interval of the series of connection number `conn_id`.
    pub(super) fn interval(&self, conn_id: u64) -> Option<Time> {
        self.series.iter().find(|s| s.0 == conn_id).map(|s| s.1)
    }

    /// Whether timeouts are recorded.
    pub(super) fn wants_timeouts(&self) -> bool {
        self.wants_timeouts
    }

    /// What the rows of messages take as they are given away, bytes.
    pub(super) fn bytes_of_rows(&self) -> u64 {
        (self.flows.len() * size_of::<FlowRow>()) as u64
    }

    /// A message has ended, or the run has. Returns the place of its row.
    pub(super) fn message(&mut self, row: FlowRow) -> usize {
        self.flows.push(row)
    }

    /// What the shim of the row at a place says, with its transport.
    pub(super) fn shim_of(&mut self, row: usize) -> Option<(GroupId, &mut ShimRow)> {
        self.flows.shim(row)
    }

    /// The message that is recorded next waited for this; its round trips took `rtt_ps` on average without what the receiver held back.
    pub(super) fn stalled(&mut self, stalls: Stalls, rtt_ps: Option<u64>) {
        self.stalled.push((self.flows.len(), stalls, rtt_ps));
    }

    /// Gives away what messages waited for, in the order of the messages.
    pub(super) fn take_stalled(&mut self) -> Vec<Stalled> {
        std::mem::take(&mut self.stalled)
    }

    /// A query has begun.
    pub(super) fn query(&mut self, start: QueryStart) {
        self.queries.push(start);
    }

    /// A sender's state.
    pub(super) fn sample(&mut self, row: TcpRow) {
        self.samples.push(row);
    }

    /// A retransmission timer ran out.
    pub(super) fn timeout(&mut self, row: TimeoutRow) {
        self.timeouts.push(row);
    }

    /// Gives the messages away.
    pub(super) fn take_messages(&mut self) -> Vec<FlowRow> {
        self.flows.take()
    }

    /// Gives the queries away.
    pub(super) fn take_queries(&mut self) -> Vec<QueryStart> {
        std::mem::take(&mut self.queries)
    }

    /// Gives the samples away.
    pub(super) fn take_samples(&mut self) -> Series<TcpRow> {
        std::mem::take(&mut self.samples)
    }

    /// Gives the timeouts away.
    pub(super) fn take_timeouts(&mut self) -> Series<TimeoutRow> {
        std::mem::take(&mut self.timeouts)
    }
}
