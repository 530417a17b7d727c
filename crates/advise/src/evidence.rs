//! Tests of results of a change against today's.

use crate::measure::ClassNumbers;

/// Ratio below which two values count as equal (our choice): the verdicts of runs say "no difference" for an interval narrower than 20 % (1 / 1.25).
pub(crate) const MATERIAL: f64 = 1.25;

/// Returns true if the stalled part of the messages falls to less than a quarter, by more than `deviations` standard deviations of its difference.
/// Messages of one run stall together, so that the counts vary more than independent ones: a proof needs four instead of two (our choice).
pub(crate) fn far_fewer(before: (usize, usize), after: (usize, usize), deviations: f64) -> bool {
    let (n, m) = (before.1.max(1) as f64, after.1.max(1) as f64);
    let (was, is) = (before.0 as f64 / n, after.0 as f64 / m);
    let both = (before.0 + after.0) as f64 / (n + m);
    let deviation = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
    deviation > 0.0 && (was - is) / deviation > deviations && is < 0.25 * was
}

/// Returns true if materially less work was completed, beyond chance: two standard deviations of the difference of two Poisson counts.
pub(crate) fn loses_work(before: usize, after: usize) -> bool {
    let (was, is) = (before as f64, after as f64);
    is * MATERIAL < was && was - is > 2.0 * (was + is).sqrt()
}

/// Returns true if a class completed nothing in a run, or has less than a tenth of its present goodput (our choice).
pub(crate) fn starves(before: &[Vec<ClassNumbers>], after: &[Vec<ClassNumbers>], class: usize) -> bool {
    let seeds = before.len().min(after.len());
    let total = |runs: &[Vec<ClassNumbers>]| runs[..seeds].iter().map(|r| r[class].goodput_bps).sum::<f64>();
    let nothing = before.iter().zip(after).any(|(b, a)| a[class].starved() && !b[class].starved());
    nothing || total(after) < 0.1 * total(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_messages_prove_no_loss() {
        assert!(loses_work(436, 290) && !loses_work(6, 4));
        // A sure loss of a tenth is not material.
        assert!(!loses_work(100_000, 90_000));
    }

    #[test]
    fn few_stalls_prove_no_end() {
        assert!(far_fewer((40, 400), (0, 400), 4.0));
        assert!(!far_fewer((4, 400), (0, 400), 4.0) && !far_fewer((40, 400), (20, 400), 4.0));
    }
}
