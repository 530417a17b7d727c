//! Collection of the results of all processes by the first one. Each value belongs to one process: rows of messages to that of the sender, counters
//! of a port to that of its node. Other processes have none, or zero.

use crate::engine::encoding::{Bytes, Encode, record};
use crate::engine::ranks::Ranks;
use crate::engine::recorder::Stalled;
use forebay_apps::QueryStart;
use forebay_experiment::report::Undelivered;
use forebay_experiment::rows::{FlowRow, PortRow, QueueRow, TcpRow, TimeoutRow};
use forebay_experiment::series::{Series, SeriesRow};
use forebay_experiment::waits::Stalls;
use forebay_types::{GroupId, Id, IndexVec, NodeId, PortId, SumId};
use std::io;
use std::mem;

/// Rows in a message. Our choice: some megabytes.
const PIECE: usize = 1 << 14;
/// Maximum number of words in a row of a series.
const WORDS: usize = 16;

/// Results of a process at the end of a run.
pub(super) struct RunResults {
    /// Messages in the order in which they were recorded.
    pub flows: Vec<FlowRow>,
    /// Stalls of some of them.
    pub stalled: Vec<Stalled>,
    /// Mean wait in each port, ps.
    pub waits: IndexVec<PortId, u128>,
    /// Payload that arrived after the warm-up.
    pub arrived: IndexVec<GroupId, u64>,
    /// Payload that arrived.
    pub delivered: IndexVec<SumId, u64>,
    pub ports: Vec<PortRow>,
    pub queries: Vec<QueryStart>,
    pub timeouts: Series<TimeoutRow>,
    pub tcp: Series<TcpRow>,
    pub queue: Series<QueueRow>,
    pub undelivered: Undelivered,
    /// Packet transmissions.
    pub hops: u64,
    /// Running hashes of hosts.
    pub fingerprints: IndexVec<NodeId, u64>,
}

record!(Stalls { timeout, probe, syn, reordering, delayed_ack, behind });
record!(FlowRow {
    flow_id, conn_id, workload, group, src, dst, size_bytes, start, end, acked, ideal, bytes_acked, bytes_measured, segs_sent, segs_retx, rtos, rtos_head,
    rtos_tail, tlps, syn_rtos, fast_retx, ecn_reductions, loss_reductions, reduction_alpha, ce_acked_bytes, cwnd_max, rtt_min, rtt_mean, query_id, deadline, ecmp, opens, fits, rwnd_limited,
    sndbuf_limited,
} later { request, waited, shim });
record!(PortRow {
    port,
    arrived_pkts,
    arrived_bytes,
    sent_pkts,
    sent_bytes,
    dropped_overflow,
    dropped_shared,
    dropped_early,
    marked,
    cut_waiting,
    cut_flying,
    corrupted,
    queue_mean_pkts,
    queue_max_pkts,
    queue_percentiles,
    busy,
});

impl Ranks {
    /// Collects the results in the first process. Returns true if this is it. `is_local` is true for ports of this process.
    pub(super) fn gather(&mut self, all: &mut RunResults, is_local: impl Fn(PortId) -> bool) -> bool {
        let RunResults {
            flows,
            stalled,
            waits,
            arrived,
            delivered,
            ports,
            queries,
            timeouts,
            tcp,
            queue,
            undelivered,
            hops,
            fingerprints,
        } = all;
        // Places of rows of messages count from the first row of their process.
        let counts = self.gather_by_rank(mem::take(flows));
        let before = |rank: usize| counts[..rank].iter().map(Vec::len).sum();
        let firsts: Vec<usize> = (0..counts.len()).map(before).collect();
        *flows = counts.into_iter().flatten().collect();
        let waited = mem::take(stalled).into_iter().map(|(row, stalls, rtt)| (row as u64, (stalls, rtt))).collect();
        for (first, list) in firsts.into_iter().zip(self.gather_by_rank::<(u64, (Stalls, Option<u64>))>(waited)) {
            stalled.extend(list.into_iter().map(|(row, (stalls, rtt))| (first + row as usize, stalls, rtt)));
        }
        *queries = self.gather_by_rank(mem::take(queries)).into_iter().flatten().collect();
        let own: Vec<(PortRow, u128)> =
            mem::take(ports).into_iter().zip(waits.iter().copied()).filter(|(p, _)| is_local(p.port)).collect();
        let mut rows: Vec<(PortRow, u128)> = self.gather_by_rank(own).into_iter().flatten().collect();
        rows.sort_by_key(|(p, _)| p.port);
        *waits = rows.iter().map(|(_, wait)| *wait).collect();
        *ports = rows.into_iter().map(|(p, _)| p).collect();
        self.sum_list(arrived);
        self.sum_list(delivered);
        self.sum_list(fingerprints);
        self.sum_list(&mut undelivered.queued_bytes);
        self.sum_list(&mut undelivered.packets);
        self.sum_list(&mut undelivered.bytes);
        self.sum(std::slice::from_mut(hops));
        self.gather_series(timeouts);
        self.gather_series(tcp);
        self.gather_series(queue);
        self.is_first()
    }

    fn sum_list<I: Id>(&mut self, list: &mut IndexVec<I, u64>) {
        let mut numbers = mem::take(list).into_vec();
        self.sum(&mut numbers);
        *list = numbers.into();
    }

    /// Collects the lists of all processes in the first one; the others return empty lists.
    fn gather_by_rank<T: Encode>(&mut self, own: Vec<T>) -> Vec<Vec<T>> {
        let mut all: Vec<Vec<T>> = (0..self.count()).map(|_| Vec::new()).collect();
        if self.is_first() {
            all[0] = own;
        } else {
            for piece in own.chunks(PIECE) {
                let mut bytes = Vec::new();
                piece.iter().for_each(|it| it.put(&mut bytes));
                self.pass(&bytes, |_, _| {});
            }
        }
        while self.pass(&[], |rank, from| {
            while !from.is_empty() {
                all[rank].push(T::get(from));
            }
        }) {}
        all
    }

    /// Appends the series of all processes to that of the first one.
    fn gather_series<T: SeriesRow>(&mut self, series: &mut Series<T>) {
        let mut all: Vec<Series<T>> = (0..self.count()).map(|_| Series::default()).collect();
        if !self.is_first() {
            let own = mem::take(series);
            let read: io::Result<()> = own.pieces(PIECE, &mut |rows| {
                let mut bytes = Vec::with_capacity(rows.len() * T::WORDS * 8);
                for row in rows {
                    let mut words = [0; WORDS];
                    row.store(&mut words[..T::WORDS]);
                    words[..T::WORDS].iter().for_each(|w| w.put(&mut bytes));
                }
                self.pass(&bytes, |_, _| {});
                Ok(())
            });
            assert!(read.is_ok(), "rows of a series cannot be read: {read:?}");
        }
        let mut take = |rank: usize, from: &mut Bytes<'_>| {
            while !from.is_empty() {
                let mut words = [0; WORDS];
                words[..T::WORDS].iter_mut().for_each(|w| *w = u64::get(from));
                all[rank].push(T::load(&words[..T::WORDS]));
            }
        };
        while self.pass(&[], &mut take) {}
        all.into_iter().for_each(|part| series.append(part));
    }
}
