//! What several tables share: times, counts, and how a column is written.

use crate::column::{Column, Get};
use forebay_experiment::rows::FlowRow;

/// Picoseconds to whole nanoseconds, rounded down; null for "never".
///
/// The engine counts picoseconds. Points in time and durations are each rounded down from their own exact value, so a duration such
/// as `fct_ns` can exceed the difference of the two rounded points by one; the duration is the one that is exact to the nanosecond.
pub fn ns(ps: u64) -> Option<i64> {
    (ps != u64::MAX).then_some((ps / 1_000) as i64)
}

/// Exact duration in picoseconds; `None` when it never ended.
pub fn duration_ps(start_ps: u64, end_ps: u64) -> Option<u64> {
    (end_ps != u64::MAX).then(|| end_ps.saturating_sub(start_ps))
}

/// Completion time over the ideal one; `None` when unfinished or when there is no ideal.
pub fn slowdown(f: &FlowRow) -> Option<f64> {
    let fct = duration_ps(f.start_ps, f.end_ps)?;
    (f.ideal_ps > 0 && f.ideal_ps != u64::MAX).then(|| fct as f64 / f.ideal_ps as f64)
}

/// Whether a message arrived by its deadline, in a run that ended at `end_ps`; `None` when it has no deadline, and when neither the
/// deadline nor the message had come by then.
pub fn deadline_met(f: &FlowRow, end_ps: u64) -> Option<bool> {
    let known = f.end_ps != u64::MAX || f.deadline_ps < end_ps;
    (f.deadline_ps != u64::MAX && known).then_some(f.end_ps <= f.deadline_ps)
}

/// A count; the engine's counters stay far below 2^63, a larger value could only be "none".
pub(super) fn count(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

/// A column.
pub(super) const fn col<R>(name: &'static str, unit: &'static str, get: Get<R>, doc: &'static str) -> Column<R> {
    Column { name, unit, doc, get }
}

/// What the first columns of every table are.
pub(super) const VARIANT: &str = "variant of the scenario the row belongs to, such as its transport";
pub(super) const RUN: &str = "repetition within the variant, from 0";
pub(super) const SEED: &str = "seed of the repetition";
pub(crate) const WORLD: &str = "world that ran it, one of `forebay list worlds`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_once() {
        // 1.9 ns to 4.1 ns: the points round to 1 and 4, the duration of 2.2 ns to 2.
        let row = FlowRow { start_ps: 1_900, end_ps: 4_100, ideal_ps: 1_100, ..FlowRow::default() };
        assert_eq!((ns(row.start_ps), ns(row.end_ps)), (Some(1), Some(4)));
        assert_eq!(duration_ps(row.start_ps, row.end_ps).and_then(ns), Some(2));
        assert_eq!(slowdown(&row), Some(2.0));
        assert_eq!(ns(u64::MAX), None);
        assert_eq!(slowdown(&FlowRow { end_ps: u64::MAX, ..row }), None);
    }
}
