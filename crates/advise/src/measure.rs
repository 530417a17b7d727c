//! Measurements of each traffic class in one run, from its tables.

use crate::columns::{Column, texts};
use arrow_array::RecordBatch;
use forebay_analysis::FAR;
use forebay_scenario::Goal;
use forebay_store::unit::UnitRecord;

/// Tables that a run must keep.
pub(crate) const TABLES: [&str; 2] = ["flows", "queries"];

/// Measurements of all classes in each run, by seed.
pub(crate) type Runs = Vec<Vec<ClassNumbers>>;

/// Measurements of one class in one run, or in several runs together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassNumbers {
    /// Messages or queries that started, without endless flows.
    pub(crate) started: usize,
    /// Completed ones among them.
    pub(crate) completed: usize,
    /// Messages that waited for a retransmission timeout, or were unfinished after more than [`FAR`] times the median.
    pub(crate) stalled: usize,
    /// Completion times in seconds, ascending. Unfinished ones count with their time so far.
    times: Vec<f64>,
    /// Times from the start of each message to the end of its run, s.
    rooms: Vec<f64>,
    /// Largest completion time, and largest time so far of an unfinished message, s.
    slowest: f64,
    oldest: f64,
    /// Messages that missed their deadline, and all whose deadline was decided.
    misses: (usize, usize),
    /// Time from the first start to the last end of each run; an unfinished message ends with its run.
    spans: Vec<f64>,
    /// Payload that reached the receivers after the warm-up, bits per second.
    pub(crate) goodput_bps: f64,
}

impl ClassNumbers {
    /// Value of a goal. `None` if the class has none, such as a completion time of endless flows.
    pub fn value(&self, goal: Goal) -> Option<f64> {
        let n = self.times.len();
        let at = |q: f64| self.times.get(((q * n as f64).ceil() as usize).clamp(1, n.max(1)) - 1).copied();
        match goal {
            Goal::Goodput => Some(self.goodput_bps),
            Goal::Mean if n == 0 => None,
            Goal::Mean => Some(self.times.iter().sum::<f64>() / n as f64),
            Goal::P50 => at(0.5),
            Goal::P99 => at(0.99),
            Goal::P999 => at(0.999),
            // No miss counts as half a miss, so that ratios exist.
            Goal::DeadlineMisses => {
                let (missed, decided) = self.misses;
                (decided > 0).then(|| (missed as f64).max(0.5) / decided as f64)
            }
            Goal::Completion => {
                (!self.spans.is_empty()).then(|| self.spans.iter().sum::<f64>() / self.spans.len() as f64).filter(|s| *s > 0.0)
            }
        }
    }

    /// Number of messages that did not complete.
    pub(crate) fn unfinished(&self) -> usize {
        self.started - self.completed
    }

    /// Returns true if the end of the runs cut off the longest times: an unfinished message is older than every completed one.
    pub(crate) fn is_cut(&self) -> bool {
        self.oldest > self.slowest
    }

    /// Returns true if the value of the goal is a lower bound: it is, or contains, the time so far of a message that the end of the runs cut off.
    pub(crate) fn is_at_least(&self, goal: Goal) -> bool {
        match goal {
            Goal::P50 | Goal::P99 | Goal::P999 => self.is_cut() && self.value(goal).is_some_and(|v| v > self.slowest),
            Goal::Mean => self.is_cut(),
            Goal::Completion => self.unfinished() > 0,
            Goal::DeadlineMisses | Goal::Goodput => false,
        }
    }

    /// Returns true if the runs cannot show that messages take at most `limit` seconds: the end cut off the longest times, and fewer than half of the
    /// messages started that long before it.
    pub(crate) fn is_open(&self, limit: f64) -> bool {
        let judged = self.rooms.iter().filter(|room| **room >= limit).count();
        self.is_cut() && 2 * judged < self.started
    }

    /// Class whose messages all completed, for tests.
    #[cfg(test)]
    pub(crate) fn finished(times: &[f64], goodput_bps: f64) -> ClassNumbers {
        ClassNumbers {
            started: times.len(),
            completed: times.len(),
            times: times.to_vec(),
            goodput_bps,
            ..ClassNumbers::default()
        }
    }

    /// Returns true if the class had work and completed none.
    pub fn starved(&self) -> bool {
        if self.started > 0 { self.completed == 0 } else { self.goodput_bps <= 0.0 }
    }

    /// One class in several runs together: percentiles are those of all messages, rates are means.
    pub(crate) fn pool(runs: &[Vec<ClassNumbers>], class: usize) -> ClassNumbers {
        let mut out = ClassNumbers::default();
        for run in runs.iter().map(|r| &r[class]) {
            out.started += run.started;
            out.completed += run.completed;
            out.stalled += run.stalled;
            out.times.extend_from_slice(&run.times);
            out.rooms.extend_from_slice(&run.rooms);
            (out.slowest, out.oldest) = (out.slowest.max(run.slowest), out.oldest.max(run.oldest));
            out.misses = (out.misses.0 + run.misses.0, out.misses.1 + run.misses.1);
            out.spans.extend_from_slice(&run.spans);
            out.goodput_bps += run.goodput_bps / runs.len() as f64;
        }
        out.times.sort_unstable_by(f64::total_cmp);
        out
    }

    /// Counts a message or query with its start and its completion time, if it completed.
    fn add(&mut self, start: Option<i64>, took: Option<i64>, end: i64, waited_for_timeout: bool) {
        let Some(start) = start else { return };
        self.started += 1;
        self.completed += usize::from(took.is_some());
        self.stalled += usize::from(waited_for_timeout);
        let room = end.saturating_sub(start).max(0);
        self.times.push(took.unwrap_or(room) as f64 * 1e-9);
        self.rooms.push(room as f64 * 1e-9);
        let longest = if took.is_some() { &mut self.slowest } else { &mut self.oldest };
        *longest = longest.max(took.unwrap_or(room) as f64 * 1e-9);
    }
}

/// Times of a class in multiples of the ideal time where it is known: of completed messages, and so far of those that did not wait for a timeout.
#[derive(Debug, Clone, Default)]
struct Slowness {
    completed: Vec<f64>,
    unfinished: Vec<f64>,
}

impl Slowness {
    fn add(&mut self, took: Option<i64>, age: i64, ideal: Option<i64>, waited_for_timeout: bool) {
        let over = |ns: i64| ns as f64 / ideal.filter(|ns| *ns > 0).unwrap_or(1) as f64;
        match took {
            Some(took) => self.completed.push(over(took)),
            None if !waited_for_timeout => self.unfinished.push(over(age)),
            None => {}
        }
    }

    /// Number of stalled messages among the unfinished ones: those beyond [`FAR`] times the median of the completed ones, or, if none completed, beyond
    /// [`FAR`] times their ideal time. The others were in flight at the end.
    fn stalled(mut self) -> usize {
        let middle = self.completed.len() / 2;
        let median = match self.completed.is_empty() {
            true => 1.0,
            false => *self.completed.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        self.unfinished.iter().filter(|slow| **slow > FAR * median).count()
    }
}

/// First start and last end of a class, nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Span(i64, i64);

impl Span {
    const EMPTY: Span = Span(i64::MAX, i64::MIN);

    fn extend(&mut self, start: Option<i64>, took: Option<i64>, end: i64) {
        let Some(start) = start else { return };
        *self = Span(self.0.min(start), self.1.max(took.map_or(end, |t| start.saturating_add(t))));
    }
}

/// Measurements of all classes of a run until a time, in the order of `classes`: of queries if a class has any, else of messages. Goodput is that of the
/// whole run.
pub(crate) fn classes(
    classes: &[String],
    record: &UnitRecord,
    until_ns: u64,
    flows: &[RecordBatch],
    queries: &[RecordBatch],
) -> Vec<ClassNumbers> {
    let mut out = vec![ClassNumbers::default(); classes.len()];
    let mut spans = vec![Span::EMPTY; classes.len()];
    let mut slowness = vec![Slowness::default(); classes.len()];
    let seconds = record.end_ns.saturating_sub(record.measured_from_ns) as f64 * 1e-9;
    let find = |name: &str| classes.iter().position(|c| c == name);
    let end = i64::try_from(record.end_ns.min(until_ns)).unwrap_or(i64::MAX);
    let begun = |start: Option<i64>| start.is_some_and(|s| s <= end);
    let in_time = |start: Option<i64>, took: Option<i64>| took.filter(|t| start.is_some_and(|s| s.saturating_add(*t) <= end));
    let mut bits = vec![0.0; classes.len()];
    let mut asked = vec![false; classes.len()];
    for batch in queries {
        let (names, start, took) = (texts(batch, "class"), Column::of(batch, "start_ns"), Column::of(batch, "qct_ns"));
        let (rtos, syn) = (Column::of(batch, "rtos"), Column::of(batch, "syn_rtos"));
        for row in 0..batch.num_rows() {
            let waited = rtos.int(row).unwrap_or(0) + syn.int(row).unwrap_or(0) > 0;
            let Some(c) = names.get(row).and_then(|n| find(n)) else { continue };
            asked[c] = true;
            if !begun(start.int(row)) {
                continue;
            }
            let took = in_time(start.int(row), took.int(row));
            out[c].add(start.int(row), took, end, waited);
            slowness[c].add(took, end - start.int(row).unwrap_or(end), None, waited);
            spans[c].extend(start.int(row), took, end);
        }
    }
    for batch in flows {
        let (names, start, took) = (texts(batch, "class"), Column::of(batch, "start_ns"), Column::of(batch, "fct_ns"));
        let (size, bytes) = (Column::of(batch, "size_bytes"), Column::of(batch, "bytes_measured"));
        let (rtos, syn) = (Column::of(batch, "rtos"), Column::of(batch, "syn_rtos"));
        let (met, ideal) = (Column::of(batch, "deadline_met"), Column::of(batch, "ideal_fct_ns"));
        for row in 0..batch.num_rows() {
            let Some(c) = names.get(row).and_then(|n| find(n)) else { continue };
            bits[c] += bytes.int(row).unwrap_or(0) as f64 * 8.0;
            if let Some(met) = met.flag(row) {
                out[c].misses.0 += usize::from(!met);
                out[c].misses.1 += 1;
            }
            if !asked[c] && size.int(row).is_some() && begun(start.int(row)) {
                let took = in_time(start.int(row), took.int(row));
                let waited = rtos.int(row).unwrap_or(0) + syn.int(row).unwrap_or(0) > 0;
                out[c].add(start.int(row), took, end, waited);
                slowness[c].add(took, end - start.int(row).unwrap_or(end), ideal.int(row), waited);
                spans[c].extend(start.int(row), took, end);
            }
        }
    }
    for (((class, bits), span), slowness) in out.iter_mut().zip(bits).zip(spans).zip(slowness) {
        class.stalled += slowness.stalled();
        class.times.sort_unstable_by(f64::total_cmp);
        class.goodput_bps = if seconds > 0.0 { bits / seconds } else { 0.0 };
        if span.0 <= span.1 {
            class.spans.push((span.1 - span.0) as f64 * 1e-9);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_messages_count_time_so_far() {
        let mut c = ClassNumbers::default();
        for i in 1..=98 {
            c.add(Some(0), Some(i * 1_000_000), 1_000_000_000, i > 96);
        }
        c.add(Some(400_000_000), None, 1_000_000_000, false);
        c.add(Some(500_000_000), None, 1_000_000_000, true);
        c.times.sort_unstable_by(f64::total_cmp);
        assert_eq!(
            (c.started, c.completed, c.stalled, c.starved()),
            (100, 98, 3, false),
            "98, 97 and the last one waited for timeouts"
        );
        assert!((c.value(Goal::P99).unwrap() - 0.5).abs() < 1e-12);
        assert!((c.value(Goal::P999).unwrap() - 0.6).abs() < 1e-12);
        assert!((c.value(Goal::P50).unwrap() - 0.05).abs() < 1e-12);
        assert!(c.is_at_least(Goal::P99) && c.is_at_least(Goal::Completion) && !c.is_at_least(Goal::P50));
        // Messages that start 0.6 s before the end cannot show that they take less than a second.
        assert!(!c.is_open(0.9) && c.is_open(1.1) && c.is_cut());
        // A young message in flight is no stall.
        let mut young = ClassNumbers::default();
        young.add(Some(0), Some(1_000_000), 60_000_000, false);
        young.add(Some(59_500_000), None, 60_000_000, false);
        assert!(!young.is_open(0.1) && !young.is_cut() && !young.is_at_least(Goal::P99));
        let mut none = ClassNumbers::default();
        assert_eq!((none.value(Goal::P99), none.value(Goal::Completion), none.value(Goal::DeadlineMisses)), (None, None, None));
        none.add(Some(0), None, 1_000_000_000, false);
        assert!(none.starved() && none.value(Goal::Mean) == Some(1.0));
    }

    /// A message in flight at the end of a run is no stall unless it is far slower than the others.
    #[test]
    fn young_messages_are_not_stalled() {
        let mut of = Slowness::default();
        for took in [20, 30, 40] {
            of.add(Some(took), 0, None, false);
        }
        of.add(None, 290, None, false);
        of.add(None, 310, None, false);
        // Counted with its timeout.
        of.add(None, 900, None, true);
        assert_eq!(of.clone().stalled(), 1);
        // A large message may take longer than ten small ones.
        of.add(None, 3_100, Some(100), false);
        assert_eq!(of.stalled(), 1);
        let mut none = Slowness::default();
        none.add(None, 900, Some(100), false);
        assert_eq!(none.clone().stalled(), 0, "nothing completed, and nine times the ideal time");
        none.add(None, 1_100, Some(100), false);
        assert_eq!(none.stalled(), 1, "eleven times");
    }

    #[test]
    fn pool_takes_percentiles_of_all_messages() {
        let run = |ms: &[f64]| vec![ClassNumbers::finished(&ms.iter().map(|t| t * 1e-3).collect::<Vec<_>>(), 1e9)];
        let both = ClassNumbers::pool(&[run(&[1.0, 2.0, 9.0]), run(&[3.0])], 0);
        assert_eq!((both.started, both.value(Goal::P50), both.goodput_bps), (4, Some(2e-3), 1e9));
    }
}
