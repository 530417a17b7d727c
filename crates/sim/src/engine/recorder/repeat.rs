//! Rows that come again in every period.

use super::Recorder;
use super::packed::Place;
use forebay_apps::QueryStart;
use forebay_experiment::rows::{FlowRow, TcpRow, TimeoutRow};
use forebay_experiment::series::Series;
use forebay_experiment::waits::Stalls;
use forebay_types::{QueryId, Time, TimeOrNever};
use std::ops::RangeInclusive;

/// Where rows stood when a period began, and the series up to there.
#[derive(Default)]
pub(in crate::engine) struct Begun {
    flows: (usize, Place),
    stalled: usize,
    queries: usize,
    samples: Series<TcpRow>,
    timeouts: Series<TimeoutRow>,
}

/// The rows of one period.
#[derive(Debug, Default)]
pub(in crate::engine) struct Rows {
    flows: Vec<FlowRow>,
    /// By the place of their row among those.
    stalled: Vec<(usize, Stalls, Option<u64>)>,
    queries: Vec<QueryStart>,
    samples: Vec<TcpRow>,
    timeouts: Vec<TimeoutRow>,
}

/// What a period adds to what a row says.
pub(in crate::engine) trait Repeat {
    /// Its length.
    fn length(&self) -> Time;
    /// The number of a query, so many periods later.
    fn query(&self, query: QueryId, n: u64) -> QueryId;
    /// Bytes that connection number `conn_id` acknowledges in it, and retransmissions.
    fn progress(&self, conn_id: u64) -> (u64, u64);
}

impl Recorder {
    /// A period begins.
    pub(in crate::engine) fn begin_rows(&mut self) -> Begun {
        let (flows, stalled, queries) = ((self.flows.len(), self.flows.place()), self.stalled.len(), self.queries.len());
        Begun { flows, stalled, queries, samples: self.take_samples(), timeouts: self.take_timeouts() }
    }

    /// It is over. Its rows.
    pub(in crate::engine) fn end_rows(&mut self, begun: Begun) -> Rows {
        let Begun { flows, stalled, queries, mut samples, mut timeouts } = begun;
        let rows = Rows {
            flows: self.flows.since(flows),
            stalled: self.stalled[stalled..].iter().map(|(row, stalls, rtt)| (row - flows.0, *stalls, *rtt)).collect(),
            queries: self.queries[queries..].to_vec(),
            samples: self.samples.to_vec(),
            timeouts: self.timeouts.to_vec(),
        };
        samples.append(self.take_samples());
        timeouts.append(self.take_timeouts());
        (self.samples, self.timeouts) = (samples, timeouts);
        rows
    }

    /// The period whose rows these are comes again: those that come so many periods after it.
    pub(in crate::engine) fn repeat(&mut self, rows: &Rows, periods: RangeInclusive<u64>, with: &dyn Repeat) {
        for k in periods {
            let by = with.length() * k;
            let later = |time: TimeOrNever| time.get().map_or(TimeOrNever::NEVER, |t| (t + by).into());
            let place = self.flows.len();
            self.stalled.extend(rows.stalled.iter().map(|(row, stalls, rtt)| (place + row, *stalls, *rtt)));
            for row in &rows.flows {
                self.flows.push(FlowRow {
                    start: row.start + by,
                    end: later(row.end),
                    acked: later(row.acked),
                    deadline: later(row.deadline),
                    query_id: row.query_id.map(|query| with.query(query, k)),
                    ..row.clone()
                });
            }
            self.queries.extend(rows.queries.iter().map(|q| QueryStart {
                query: with.query(q.query, k),
                start: q.start + by,
                ..*q
            }));
            for row in &rows.samples {
                let (acked, again) = with.progress(row.conn_id);
                let (bytes_acked, retrans) = (row.bytes_acked + acked * k, row.retrans + again * k);
                self.samples.push(TcpRow { time_ps: row.time_ps + by.0, bytes_acked, retrans, ..*row });
            }
            rows.timeouts.iter().for_each(|row| self.timeouts.push(TimeoutRow { time_ps: row.time_ps + by.0, ..*row }));
        }
    }
}
