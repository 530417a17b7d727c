//! Records of a run: rows of the result tables, in the order in which they occur. The report sorts them, so that nothing depends on that order.
//! Recording changes no state.

mod flow_rows;

use self::flow_rows::FlowRows;
use crate::net::packet::{Codepoint, Packet, flag};
use forebay_apps::QueryStart;
use forebay_experiment::decisions::{BegunQuery, WorkItem, WorkList};
use forebay_experiment::observe::Observe;
use forebay_experiment::rows::{FlowRow, PacketRow, QueryRow, TcpRow, TimeoutRow};
use forebay_experiment::series::Series;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::waits::Stalls;
use forebay_types::{GroupId, QueryId, Time, WorkloadId};
use std::collections::BTreeMap;

/// The place of a message's row, its stalls, and its mean RTT, ps, less the delay of delayed ACKs.
pub(super) type Stalled = (usize, Stalls, Option<u64>);

/// The rows so far, and the tables that are recorded.
#[derive(Default)]
pub(super) struct Recorder {
    flows: FlowRows,
    /// Messages that have begun. Each has a row, at its end or that of the run.
    begun: u64,
    queries: Vec<QueryStart>,
    samples: Series<TcpRow>,
    timeouts: Series<TimeoutRow>,
    /// Stalls of ended messages, in the order in which the messages ended.
    stalled: Vec<Stalled>,
    /// Connections with a series of samples, by number, and the interval.
    series: Vec<(u64, Time)>,
    records_timeouts: bool,
    /// Packets that reached their hosts, if they are recorded; and the sequence number of each connection's SYN, from which numbers count.
    packets: Option<Series<PacketRow>>,
    /// True if the rows of partitions are merged after each window, because decisions need them.
    merges_each_window: bool,
    begins: BTreeMap<u64, u32>,
}

impl Recorder {
    /// Creates a recorder for the observed tables.
    pub(super) fn new(observe: &Observe) -> Recorder {
        let packets = observe.packets.then(Series::default);
        Recorder { series: observe.tcp_series.clone(), records_timeouts: observe.timeouts, packets, ..Recorder::default() }
    }

    /// Creates an empty recorder for a partition of the run.
    pub(super) fn for_partition(&self) -> Recorder {
        Recorder {
            series: self.series.clone(),
            records_timeouts: self.records_timeouts,
            packets: self.packets.as_ref().map(|_| Series::default()),
            ..Recorder::default()
        }
    }

    /// Requests that the rows of partitions are merged after each window.
    pub(super) fn merge_each_window(&mut self) {
        self.merges_each_window = true;
    }

    /// See [`Recorder::merge_each_window`].
    #[inline]
    pub(super) fn merges_each_window(&self) -> bool {
        self.merges_each_window
    }

    /// Takes the records of a partition. Returns the offset of its rows of messages in the merged list.
    pub(super) fn merge(&mut self, part: &mut Recorder) -> usize {
        let before = self.flows.len();
        self.flows.append(&mut part.flows);
        self.stalled.extend(part.stalled.drain(..).map(|(row, stalls, rtt)| (before + row, stalls, rtt)));
        self.begun += std::mem::take(&mut part.begun);
        self.queries.append(&mut part.queries);
        before
    }

    /// Takes the series of a partition at the end of the run.
    pub(super) fn merge_series(&mut self, part: &mut Recorder) {
        self.samples.append(part.take_samples());
        self.timeouts.append(part.take_timeouts());
    }

    /// Returns true if packets are recorded.
    pub(super) fn records_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// Records a packet of connection number `conn_id` that reached its host. `reverse`: the initial sequence number where the handshake is that of
    /// the other direction, and whether the packet echoes a mark to that one.
    #[cold]
    #[inline(never)]
    pub(super) fn packet(&mut self, p: &Packet, conn_id: u64, reverse: Option<(u32, bool)>) {
        if p.has(flag::DATAGRAM) {
            return;
        }
        let (back, syn) = (p.has(flag::ACK), p.has(flag::SYN));
        // A shim's probe has the size of its train in place of a length, and the number of its SYN.
        let probe = !back && p.has(flag::PROBE);
        // On a connection without handshake, numbers count from the first byte seen.
        let first = if (syn || (probe && p.len > 0)) && !back { p.seq } else { p.seq.wrapping_sub(1) };
        let begin = reverse.map_or_else(|| *self.begins.entry(conn_id).or_insert(first), |(isn, _)| isn);
        if let Some(packets) = &mut self.packets {
            packets.push(PacketRow {
                time_ps: p.arrival.0,
                conn_id,
                back,
                number: p.seq.wrapping_sub(begin),
                // A SYN or an ACK has an option in place of the length.
                payload: if syn || probe || back { 0 } else { u32::from(p.len) },
                syn,
                fin: p.has(flag::FIN),
                ece: (p.has(flag::ECE) && (p.has(flag::ACK) || p.has(flag::SYN))) || reverse.is_some_and(|(_, ece)| ece),
                cwr: p.has(flag::CWR),
                ce: p.ecn() == Codepoint::Ce,
                class: p.class(),
            });
        }
    }

    /// Returns the packets.
    pub(super) fn take_packets(&mut self) -> Series<PacketRow> {
        self.packets.take().unwrap_or_default()
    }

    /// Returns true if any connection is sampled.
    #[inline]
    pub(super) fn samples(&self) -> bool {
        !self.series.is_empty()
    }

    /// Interval of the series of connection number `conn_id`.
    pub(super) fn interval(&self, conn_id: u64) -> Option<Time> {
        self.series.iter().find(|s| s.0 == conn_id).map(|s| s.1)
    }

    /// Returns true if timeouts are recorded.
    pub(super) fn records_timeouts(&self) -> bool {
        self.records_timeouts
    }

    /// Bytes that the rows of messages and queries take in the report: of ended messages, unpacked, and of messages that have not ended yet.
    pub(super) fn bytes_of_rows(&self) -> u64 {
        let messages = self.begun.max(self.flows.len() as u64);
        // Each query also has an entry in the list of new numbers.
        messages * size_of::<FlowRow>() as u64 + (self.queries.len() * (size_of::<QueryRow>() + 2 * size_of::<QueryId>())) as u64
    }

    /// Notes that a message has begun.
    #[inline]
    pub(super) fn begin_message(&mut self) {
        self.begun += 1;
    }

    /// Records a message, at its end or that of the run. Returns the place of its row.
    pub(super) fn message(&mut self, row: FlowRow) -> usize {
        self.flows.push(row)
    }

    /// The shim's columns of the row at a place, with the transport of the row.
    pub(super) fn shim_of(&mut self, row: usize) -> Option<(GroupId, &mut ShimRow)> {
        self.flows.shim(row)
    }

    /// Records the stalls of the message that is recorded next, and its mean RTT without the delay of delayed ACKs.
    pub(super) fn stalled(&mut self, stalls: Stalls, rtt_ps: Option<u64>) {
        self.stalled.push((self.flows.len(), stalls, rtt_ps));
    }

    /// Returns the stalls, in the order of the messages.
    pub(super) fn take_stalled(&mut self) -> Vec<Stalled> {
        std::mem::take(&mut self.stalled)
    }

    /// Records the start of a query.
    pub(super) fn query(&mut self, start: QueryStart) {
        self.queries.push(start);
    }

    /// Records a sender's state.
    pub(super) fn sample(&mut self, row: TcpRow) {
        self.samples.push(row);
    }

    /// Records the expiry of a retransmission timer.
    pub(super) fn timeout(&mut self, row: TimeoutRow) {
        self.timeouts.push(row);
    }

    /// The messages that ended so far, and the queries that began, as decisions about the end of the run need them.
    pub(super) fn ended_work(&self) -> WorkList {
        let begun = self.queries.iter().map(|q| BegunQuery {
            id: q.query,
            workload: WorkloadId::new(q.app.get()),
            start: q.start,
            parts: q.parts,
        });
        let mut list = WorkList::new(begun);
        self.flows.each(|row| {
            if let Some(item) = WorkItem::of_row(&row) {
                list.add(item, row.query_id);
            }
        });
        list
    }

    /// Returns the messages.
    pub(super) fn take_messages(&mut self) -> Vec<FlowRow> {
        self.flows.take()
    }

    /// Returns the queries.
    pub(super) fn take_queries(&mut self) -> Vec<QueryStart> {
        std::mem::take(&mut self.queries)
    }

    /// Returns the samples.
    pub(super) fn take_samples(&mut self) -> Series<TcpRow> {
        std::mem::take(&mut self.samples)
    }

    /// Returns the timeouts.
    pub(super) fn take_timeouts(&mut self) -> Series<TimeoutRow> {
        std::mem::take(&mut self.timeouts)
    }
}
