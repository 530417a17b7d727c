//! Tests of results of a change against today's.

use crate::measure::ClassNumbers;

/// Returns true if the stalled part of the messages falls to less than a quarter, by more than `deviations` standard deviations of its difference.
/// Messages of one run stall together, so that the counts vary more than independent ones: a proof needs four instead of two (our choice).
pub(crate) fn far_fewer(before: (usize, usize), after: (usize, usize), deviations: f64) -> bool {
    let (n, m) = (before.1.max(1) as f64, after.1.max(1) as f64);
    let (was, is) = (before.0 as f64 / n, after.0 as f64 / m);
    let both = (before.0 + after.0) as f64 / (n + m);
    let deviation = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
    deviation > 0.0 && (was - is) / deviation > deviations && is < 0.25 * was
}

/// Returns true if a class completed nothing in a run, or has less than a tenth of its present goodput (our choice).
pub(crate) fn starves(before: &[Vec<ClassNumbers>], after: &[Vec<ClassNumbers>], class: usize) -> bool {
    let seeds = before.len().min(after.len());
    let total = |runs: &[Vec<ClassNumbers>]| runs[..seeds].iter().map(|r| r[class].goodput_bps).sum::<f64>();
    let nothing = before.iter().zip(after).any(|(b, a)| a[class].starved() && !b[class].starved());
    nothing || total(after) < 0.1 * total(before)
}
