//! What a run leaves behind beside the statistics of its ports: rows of the result tables, in the order in which they come up. The report
//! sorts them, so that nothing depends on that order. Recording only reads.

use forebay_experiment::rows::{FlowRow, TcpRow, TimeoutRow};
use forebay_experiment::series::Series;
use forebay_traffic::QueryStart;
use forebay_units::Time;

/// The rows so far, and which of them are wanted.
#[derive(Default)]
pub(super) struct Recorder {
    flows: Vec<FlowRow>,
    queries: Vec<QueryStart>,
    samples: Series<TcpRow>,
    timeouts: Vec<TimeoutRow>,
    /// Connections with a series of samples, by number, and its interval.
    series: Vec<(u64, Time)>,
    wants_timeouts: bool,
}

impl Recorder {
    /// Records samples of the connections in `series` (number, and interval), and timeouts if they are wanted.
    pub(super) fn new(series: Vec<(u64, Time)>, wants_timeouts: bool) -> Recorder {
        Recorder { series, wants_timeouts, ..Recorder::default() }
    }

    /// Makes room for exactly `more` messages.
    pub(super) fn reserve(&mut self, more: usize) {
        // Under a limit on address space there may be no such room at once: then the list grows as it needs.
        let _ = self.flows.try_reserve_exact(more);
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

    /// A message has ended, or the run has. Returns the place of its row.
    pub(super) fn message(&mut self, row: FlowRow) -> usize {
        self.flows.push(row);
        self.flows.len() - 1
    }

    /// The row at a place.
    pub(super) fn recorded(&mut self, row: usize) -> &mut FlowRow {
        &mut self.flows[row]
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
        std::mem::take(&mut self.flows)
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
    pub(super) fn take_timeouts(&mut self) -> Vec<TimeoutRow> {
        std::mem::take(&mut self.timeouts)
    }
}
