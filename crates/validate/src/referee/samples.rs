//! Time series of a sender, read for states and times.

use crate::referee::bench::Outcome;
use forebay_experiment::rows::TcpRow;

/// Samples of the first sender, in order of time.
pub(crate) struct Samples(Vec<TcpRow>);

/// A stay in one state: the places of its first sample and of the first sample of the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) state: &'static str,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

impl Samples {
    pub(crate) fn of(outcome: &Outcome) -> Samples {
        Samples(outcome.report.tcp.iter().collect())
    }

    pub(crate) fn rows(&self) -> &[TcpRow] {
        &self.0
    }

    /// The states of `cc_state` in order; empty for congestion controls without states.
    pub(crate) fn stays(&self) -> Vec<Stay> {
        let mut stays: Vec<Stay> = Vec::new();
        for (i, row) in self.0.iter().enumerate() {
            let Some(state) = row.cc.text("cc_state") else { continue };
            match stays.last_mut() {
                Some(last) if last.state == state => last.end = i + 1,
                _ => stays.push(Stay { state, first: i, end: i + 1 }),
            }
        }
        stays
    }

    /// Column of a sample.
    pub(crate) fn int(&self, place: usize, column: &str) -> Option<f64> {
        self.0.get(place)?.cc.int(column).map(|v| v as f64)
    }

    /// Time of a sample, s.
    pub(crate) fn seconds(&self, place: usize) -> f64 {
        self.0.get(place).map_or(f64::NAN, |r| r.time_ps as f64 * 1e-12)
    }

    /// Place of the last sample before `seconds`.
    pub(crate) fn before(&self, seconds: f64) -> Option<usize> {
        self.0.partition_point(|r| (r.time_ps as f64) * 1e-12 < seconds).checked_sub(1)
    }

    /// Starts of the round trips behind sample `from`, up to `to`: a round ends when all data in flight at its start is acknowledged.
    pub(crate) fn round_starts(&self, from: usize, to: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let sent = |r: &TcpRow| r.bytes_acked + r.unacked_bytes;
        let Some(mut end) = self.0.get(from).map(sent) else { return starts };
        for (place, row) in self.0.iter().enumerate().take(to + 1).skip(from + 1) {
            if row.bytes_acked >= end {
                end = sent(row);
                starts.push(place);
            }
        }
        starts
    }

    /// Rate of acknowledged payload between two times, bit/s.
    pub(crate) fn rate(&self, from: f64, to: f64) -> Option<f64> {
        let (a, b) = (self.before(from)?, self.before(to)?);
        (b > a).then(|| (self.0[b].bytes_acked - self.0[a].bytes_acked) as f64 * 8.0 / (to - from))
    }
}
