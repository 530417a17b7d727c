//! Results of changes under variations of the assumptions, and the choice between them.
//!
//! The loss of a change in a variation is the ratio of its value to the best value that any of the compared changes reaches there. The largest loss
//! over all variations decides (minimax regret, Savage 1951). A change that wins in the file's network and fails in another plausible one has a large
//! loss there, and a variation in which nothing is wrong decides nothing.

use crate::evidence::{far_fewer, starves};
use crate::measure::ClassNumbers;
use forebay_scenario::Goal;
use forebay_types::{Estimate, estimate};

/// Completed work below this part of the present network's is an objection (our choice): no percentile pays for half of the work. Smaller losses of
/// work count as losses.
const LOST_WORK: f64 = 0.5;

/// Result of one change in one variation, over all its seeds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Value of the objective.
    pub value: f64,
    /// Present network's value.
    pub today: f64,
    /// Completed messages of the class, in the present network.
    pub was_completed: usize,
    /// Completed messages of the class.
    pub completed: usize,
    /// Stalled and started messages, in the present network and with the change.
    pub stalled: ((usize, usize), (usize, usize)),
    /// Reason against the change in this variation, if any.
    pub objection: Option<String>,
    /// Logarithms of the ratios to the present network, by seed; below 0 is better.
    pub logs: Vec<f64>,
}

impl Outcome {
    /// Compares runs of a change in a variation with those of the present network there. `None` without a value.
    pub(crate) fn of(
        goal: Goal,
        own: usize,
        classes: &[String],
        before: &[Vec<ClassNumbers>],
        after: &[Vec<ClassNumbers>],
    ) -> Option<Outcome> {
        let (was, is) = (ClassNumbers::pool(before, own), ClassNumbers::pool(after, own));
        let starved = (0..classes.len()).find(|c| starves(before, after, *c)).map(|c| format!("{} starves", classes[c]));
        let little = was.started > 0 && (is.completed as f64) < LOST_WORK * was.completed as f64;
        let lost = little.then(|| format!("completes {} {} instead of {}", is.completed, classes[own], was.completed));
        let sign = if goal.more_is_better() { -1.0 } else { 1.0 };
        let logs = before.iter().zip(after).filter_map(|(b, a)| {
            let (b, a) = (b[own].value(goal)?, a[own].value(goal)?);
            (a > 0.0 && b > 0.0).then(|| sign * (a / b).ln())
        });
        Some(Outcome {
            value: is.value(goal)?,
            today: was.value(goal)?,
            was_completed: was.completed,
            completed: is.completed,
            stalled: ((was.stalled, was.started), (is.stalled, is.started)),
            objection: starved.or(lost),
            logs: logs.collect(),
        })
    }

    /// Improvement over the present network: above 1 is better.
    pub fn gain(&self, goal: Goal) -> f64 {
        let ratio = self.today / self.value;
        if goal.more_is_better() { 1.0 / ratio } else { ratio }
    }
}

impl Outcome {
    /// Ratio to the best value in the same network, or of the present network's completed work to that with the change, whichever is larger.
    fn loss(&self, best: f64, goal: Goal) -> f64 {
        let value = if goal.more_is_better() { best / self.value } else { self.value / best };
        value.max(self.was_completed as f64 / self.completed.max(1) as f64)
    }
}

/// Results of one change in the network of the file (first) and in all variations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Robust {
    /// One outcome for each; `None` if it was not evaluated there.
    pub outcomes: Vec<Option<Outcome>>,
    /// Largest loss against the best change, as a factor of at least 1.
    pub regret: f64,
    /// Geometric mean of the losses, at least 1: it decides between equal worst cases.
    pub mean_loss: f64,
    /// Variation of the largest loss.
    pub regret_in: usize,
}

impl Robust {
    /// Variation with the worst value, and that with the best.
    pub fn extremes(&self, goal: Goal) -> Option<(usize, usize)> {
        let value = |i: &usize| {
            let v = self.outcomes[*i].as_ref().map_or(f64::NAN, |o| o.value);
            if goal.more_is_better() { -v } else { v }
        };
        let known = || (0..self.outcomes.len()).filter(|i| self.outcomes[*i].is_some());
        let worst = known().max_by(|a, b| value(a).total_cmp(&value(b)))?;
        Some((worst, known().min_by(|a, b| value(a).total_cmp(&value(b)))?))
    }

    /// First objection against the change, with its variation.
    pub fn objection(&self) -> Option<(usize, &str)> {
        let against = |i: usize| self.outcomes[i].as_ref()?.objection.as_deref();
        (0..self.outcomes.len()).find_map(|i| Some((i, against(i)?)))
    }

    /// Variations in which the value is worse than the present network's by more than a quarter, a limit of the noise of few seeds (our choice).
    pub fn reversed_in(&self, goal: Goal) -> Vec<usize> {
        let worse = |o: &Option<Outcome>| o.as_ref().is_some_and(|o| o.gain(goal) < 0.8);
        (0..self.outcomes.len()).filter(|i| worse(&self.outcomes[*i])).collect()
    }

    /// Variations in which a value is not met.
    pub fn misses(&self, goal: Goal, limit: f64) -> Vec<usize> {
        let fails = |o: &Outcome| if goal.more_is_better() { o.value < limit } else { o.value > limit };
        (0..self.outcomes.len()).filter(|i| self.outcomes[*i].as_ref().is_some_and(fails)).collect()
    }

    /// Loss in each network against the best of `all`; infinite where there is an objection, 1 where it was not evaluated.
    pub(crate) fn losses(&self, all: &[Robust], goal: Goal) -> Vec<f64> {
        let one = |(o, best): (&Option<Outcome>, Option<f64>)| match (o, best) {
            (Some(o), _) if o.objection.is_some() => f64::INFINITY,
            (Some(o), Some(best)) => o.loss(best, goal),
            _ => 1.0,
        };
        self.outcomes.iter().zip(best(all, goal)).map(one).collect()
    }

    /// Stalled and started messages over all networks, in the present network and with the change.
    pub fn stalled(&self) -> ((usize, usize), (usize, usize)) {
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        let all = self.outcomes.iter().flatten().map(|o| o.stalled);
        all.fold(((0, 0), (0, 0)), |sum, o| (add(sum.0, o.0), add(sum.1, o.1)))
    }

    /// Returns true if far fewer messages stall over all networks, beyond chance.
    pub(crate) fn ends_stalls(&self) -> bool {
        let (before, after) = self.stalled();
        far_fewer(before, after, 4.0)
    }

    /// Mean of the logarithms of the ratios to the present network over all variations and seeds; below 0 is better.
    pub fn overall(&self) -> Option<Estimate> {
        let all: Vec<f64> = self.outcomes.iter().flatten().flat_map(|o| o.logs.iter().copied()).collect();
        estimate(&all)
    }
}

/// Best value of each network among changes without an objection there.
fn best(all: &[Robust], goal: Goal) -> Vec<Option<f64>> {
    let networks = all.iter().map(|r| r.outcomes.len()).max().unwrap_or(0);
    let better = |a: f64, b: f64| if goal.more_is_better() { a.max(b) } else { a.min(b) };
    let one = |w: usize| {
        let sound = all.iter().filter_map(|r| r.outcomes.get(w)?.as_ref()).filter(|o| o.objection.is_none());
        sound.map(|o| o.value).reduce(better)
    };
    (0..networks).map(one).collect()
}

/// Sets the regrets of the present network and all changes against the best of them.
pub(crate) fn set_regrets(all: &mut [Robust], goal: Goal) {
    let best = best(all, goal);
    for robust in all {
        (robust.regret, robust.regret_in) = (1.0, 0);
        let (mut logs, mut known) = (0.0, 0);
        for (w, outcome) in robust.outcomes.iter().enumerate() {
            let (Some(outcome), Some(best)) = (outcome, best[w]) else { continue };
            let loss = outcome.loss(best, goal);
            (logs, known) = (logs + loss.max(1.0).ln(), known + 1);
            if loss > robust.regret {
                (robust.regret, robust.regret_in) = (loss, w);
            }
        }
        robust.mean_loss = (logs / f64::from(known.max(1))).exp();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robust(values: &[f64]) -> Robust {
        let today = [143.0, 130.0, 2.4];
        let one = |(value, today): (&f64, &f64)| {
            Some(Outcome {
                value: *value,
                today: *today,
                was_completed: 10,
                completed: 10,
                stalled: ((0, 10), (0, 10)),
                objection: None,
                logs: vec![(value / today).ln()],
            })
        };
        Robust { outcomes: values.iter().zip(&today).map(one).collect(), ..Robust::default() }
    }

    /// The change that is best in the file's network fails with larger messages; the other one holds.
    #[test]
    fn worst_variation_decides() {
        let mut all = [robust(&[143.0, 130.0, 2.4]), robust(&[3.8, 218.0, 2.3]), robust(&[10.6, 23.9, 1.3])];
        set_regrets(&mut all, Goal::P99);
        let order: Vec<i64> = all.iter().map(|r| r.regret.round() as i64).collect();
        assert_eq!(order, [38, 9, 3]);
        assert_eq!((all[1].reversed_in(Goal::P99), all[2].reversed_in(Goal::P99)), (vec![1], vec![]));
        assert_eq!(all[2].extremes(Goal::P99), Some((1, 2)));
        assert_eq!(all[2].misses(Goal::P99, 20.0), [1]);
    }

    /// A variation in which nothing stalls must not outweigh the others.
    #[test]
    fn healthy_variation_decides_nothing() {
        let mut all = [robust(&[143.0, 130.0, 1.0]), robust(&[10.0, 20.0, 1.4])];
        set_regrets(&mut all, Goal::P99);
        assert!(all[1].regret < 1.5 && all[0].regret > 10.0);
    }
}
