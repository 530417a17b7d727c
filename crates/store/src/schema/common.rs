//! Times, counts and column constructors that several tables share.

use crate::column::{Column, Get};
use forebay_experiment::rows::FlowRow;

/// Picoseconds to whole nanoseconds, rounded down.
///
/// The engine counts picoseconds. Points in time and durations are each rounded down from their exact value, so a duration such as `fct_ns` can
/// exceed the difference of the two rounded points by one. The duration is the one that is exact to the nanosecond.
pub fn ns(ps: u64) -> i64 {
    (ps / 1_000) as i64
}

/// Exact duration in picoseconds; `None` if it never ended.
pub fn duration_ps(start_ps: u64, end_ps: Option<u64>) -> Option<u64> {
    end_ps.map(|end| end.saturating_sub(start_ps))
}

/// Completion time over the ideal one; `None` if unfinished or without an ideal.
pub fn slowdown(f: &FlowRow) -> Option<f64> {
    let fct = duration_ps(f.start.0, f.end.ps())?;
    (f.ideal.0 > 0).then(|| fct as f64 / f.ideal.0 as f64)
}

/// True if a message arrived by its deadline, in a run with the configured end `end_ps`. `None` when it has no deadline, and when the run ended
/// before both the deadline and the message.
pub fn deadline_met(f: &FlowRow, end_ps: Option<u64>) -> Option<bool> {
    let deadline = f.deadline.ps()?;
    match f.end.ps() {
        Some(end) => Some(end <= deadline),
        None => end_ps.is_none_or(|end| deadline < end).then_some(false),
    }
}

/// A count. The engine's counters stay far below 2^63; a larger value can only mean "none".
pub(super) fn count(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

/// A column.
pub(super) const fn col<R>(name: &'static str, unit: &'static str, get: Get<R>, doc: &'static str) -> Column<R> {
    Column { name, unit, doc, get }
}

/// Descriptions of the first columns of every table.
pub(super) const VARIANT: &str = "variant of the scenario, such as its transport";
pub(super) const RUN: &str = "repetition within the variant, from 0";
pub(super) const SEED: &str = "seed of the repetition";
pub(crate) const WORLD: &str =
    "backend that ran it, one of `forebay list worlds`; `model`, which counts no packets, has rows in `summary` only";

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Time, TimeOrNever};

    #[test]
    fn durations_are_rounded_once() {
        // 1.9 ns to 4.1 ns: the points round to 1 and 4, the duration of 2.2 ns to 2.
        let row = FlowRow { start: Time(1_900), end: Time(4_100).into(), ideal: Time(1_100), ..FlowRow::default() };
        assert_eq!((ns(row.start.0), row.end.ps().map(ns)), (1, Some(4)));
        assert_eq!(duration_ps(row.start.0, row.end.ps()).map(ns), Some(2));
        assert_eq!(slowdown(&row), Some(2.0));
        assert_eq!(slowdown(&FlowRow { end: TimeOrNever::NEVER, ..row }), None);
    }
}
