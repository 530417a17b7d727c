//! Results of changes under variations of the assumptions, and the choice between them.
//!
//! The loss of a change in a variation is the ratio of its value to the best value that any of the compared changes reaches there. The largest loss
//! over all variations decides (minimax regret, Savage 1951). A change that wins in the file's network and fails in another plausible one has a large
//! loss there, and a variation in which nothing is wrong decides nothing.

use crate::evidence::{MATERIAL, far_fewer, loses_work, starves};
use crate::measure::ClassNumbers;
use crate::reference::{Compared, scaled};
use forebay_scenario::{Goal, Objective};
use forebay_types::{Estimate, estimate};

/// Result of one change in one network.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeResult {
    /// Runs of the change and of the present network.
    Measured(Outcome),
    /// The network does not allow the change, or has no value; with the reason.
    Unknown(String),
    /// Not run: the change fell behind in other networks.
    Behind,
}

/// Comparison of one change with the present network, in one network, over all seeds together.
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
    /// Reason against the change in this network, if any.
    pub objection: Option<String>,
    /// True if the value of the objective is a lower bound.
    pub at_least: bool,
    /// True if the runs are too short to show that the limit of the objective is kept.
    pub open: bool,
    /// Values of each seed.
    pub values: Vec<f64>,
    /// Logarithms of the ratios to the present network, by seed; below 0 is better.
    pub logs: Vec<f64>,
}

impl Outcome {
    /// Compares runs of a change in a network with those of the present network there.
    fn of(objective: &Objective, own: usize, classes: &[String], runs: &Compared) -> Option<Outcome> {
        let goal = objective.goal;
        let Compared { whole, before, after } = runs;
        let [all, was, is] = [whole, before, after].map(|runs| ClassNumbers::pool(runs, own));
        let starved = (0..classes.len()).find(|c| starves(before, after, *c));
        let sign = if goal.more_is_better() { -1.0 } else { 1.0 };
        // Changes are compared with each other, and their runs have different durations.
        let seeds = whole.iter().zip(before).zip(after);
        let pairs: Vec<(f64, f64)> = seeds.filter_map(|((w, b), a)| scaled(goal, &w[own], &b[own], &a[own])).collect();
        let logs = pairs.iter().filter(|(b, a)| *a > 0.0 && *b > 0.0).map(|(b, a)| sign * (a / b).ln());
        let (today, value) = scaled(goal, &all, &was, &is)?;
        Some(Outcome {
            value,
            today,
            was_completed: was.completed,
            completed: is.completed,
            stalled: ((was.stalled, was.started), (is.stalled, is.started)),
            objection: starved.map(|c| format!("{} starves", classes[c])),
            at_least: is.is_at_least(goal),
            open: objective.limit.as_ref().is_some_and(|(limit, _)| is_time(goal) && is.is_open(*limit)),
            values: pairs.iter().map(|p| p.1).collect(),
            logs: logs.collect(),
        })
    }

    /// Improvement over the present network: above 1 is better.
    pub fn gain(&self, goal: Goal) -> f64 {
        let ratio = self.today / self.value;
        if goal.more_is_better() { 1.0 / ratio } else { ratio }
    }

    /// Returns true if the change starves a class, is materially worse than the present network, or completes less work.
    pub fn is_worse(&self, goal: Goal) -> bool {
        self.objection.is_some() || self.gain(goal) * MATERIAL < 1.0 || loses_work(self.was_completed, self.completed)
    }

    /// Ratio to the best value in the same network, or of the present network's completed work to that with the change, whichever is larger.
    fn loss(&self, best: f64, goal: Goal) -> f64 {
        if self.objection.is_some() {
            return f64::INFINITY;
        }
        let value = if goal.more_is_better() { best / self.value } else { self.value / best };
        value.max(self.was_completed as f64 / self.completed.max(1) as f64)
    }

    /// Returns true if the seeds differ materially.
    pub(crate) fn is_scattered(&self) -> bool {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        self.values.iter().any(|v| *v > MATERIAL * least)
    }
}

impl ChangeResult {
    /// Compares runs of a change in a network with those of the present network there.
    pub(crate) fn of(objective: &Objective, own: usize, classes: &[String], runs: &Compared) -> ChangeResult {
        let none = || ChangeResult::Unknown(format!("the {} of {} has no value", objective.goal, classes[own]));
        Outcome::of(objective, own, classes, runs).map_or_else(none, ChangeResult::Measured)
    }

    /// The comparison, if there are runs.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            ChangeResult::Measured(outcome) => Some(outcome),
            ChangeResult::Unknown(_) | ChangeResult::Behind => None,
        }
    }
}

/// Results of one change in the network of the file (first) and in all variations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Robust {
    /// One result for each network.
    pub tried: Vec<ChangeResult>,
    /// Largest loss against the best change, as a factor of at least 1.
    pub regret: f64,
    /// Geometric mean of the losses, at least 1: it decides between equal worst cases.
    pub mean_loss: f64,
    /// Variation of the largest loss.
    pub regret_in: usize,
}

impl Robust {
    /// No results in `networks` networks.
    pub(crate) fn untried(networks: usize) -> Robust {
        Robust { tried: vec![ChangeResult::Behind; networks], regret: 1.0, mean_loss: 1.0, regret_in: 0 }
    }

    /// Result in network `i`, if there are runs.
    pub fn outcome(&self, i: usize) -> Option<&Outcome> {
        self.tried.get(i)?.outcome()
    }

    /// Results of all networks that have runs.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.tried.iter().filter_map(ChangeResult::outcome)
    }

    /// Numbers of the networks whose result fulfills a condition.
    fn networks(&self, condition: impl Fn(&Outcome) -> bool) -> Vec<usize> {
        (0..self.tried.len()).filter(|i| self.outcome(*i).is_some_and(&condition)).collect()
    }

    /// First of `networks` networks that was not tried.
    pub(crate) fn next(&self, networks: usize) -> Option<usize> {
        (0..networks).find(|i| self.tried[*i] == ChangeResult::Behind)
    }

    /// Networks in which the result is unknown, with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (usize, &str)> {
        self.tried.iter().enumerate().filter_map(|(i, t)| match t {
            ChangeResult::Unknown(why) => Some((i, why.as_str())),
            ChangeResult::Measured(_) | ChangeResult::Behind => None,
        })
    }

    /// Variation with the worst value, and that with the best.
    pub fn extremes(&self, goal: Goal) -> Option<(usize, usize)> {
        let value = |i: &usize| {
            let v = self.outcome(*i).map_or(f64::NAN, |o| o.value);
            if goal.more_is_better() { -v } else { v }
        };
        let known = || (0..self.tried.len()).filter(|i| self.outcome(*i).is_some());
        let worst = known().max_by(|a, b| value(a).total_cmp(&value(b)))?;
        Some((worst, known().min_by(|a, b| value(a).total_cmp(&value(b)))?))
    }

    /// First objection against the change, with its variation.
    pub fn objection(&self) -> Option<(usize, &str)> {
        let against = |i: usize| self.outcome(i)?.objection.as_deref();
        (0..self.tried.len()).find_map(|i| Some((i, against(i)?)))
    }

    /// Networks in which the change is worse than the present network.
    pub fn worse_in(&self, goal: Goal) -> Vec<usize> {
        self.networks(|o| o.is_worse(goal))
    }

    /// Variations in which a value is not met, or not shown to be met.
    pub fn misses(&self, goal: Goal, limit: f64) -> Vec<usize> {
        self.networks(|o| o.open || if goal.more_is_better() { o.value < limit } else { o.value > limit })
    }

    /// Returns true if the runs of a network are too short for the limit.
    pub(crate) fn is_open(&self) -> bool {
        self.outcomes().any(|o| o.open)
    }

    /// Returns true if the value of the objective in some network is a lower bound.
    pub(crate) fn is_at_least(&self) -> bool {
        self.outcomes().any(|o| o.at_least)
    }

    /// Returns true if the effect is known in all networks that were tried, and worse than today's in none.
    pub(crate) fn holds(&self, goal: Goal) -> bool {
        self.unknown().next().is_none() && self.worse_in(goal).is_empty()
    }

    /// Loss in each network against the best of `all`; `None` where there are no runs.
    pub(crate) fn losses(&self, all: &[Robust], goal: Goal) -> Vec<Option<f64>> {
        let one = |(t, best): (&ChangeResult, Option<f64>)| Some(t.outcome()?.loss(best?, goal));
        self.tried.iter().zip(best(all, goal)).map(one).collect()
    }

    /// Stalled and started messages over all networks, in the present network and with the change.
    pub fn stalled(&self) -> ((usize, usize), (usize, usize)) {
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        self.outcomes().map(|o| o.stalled).fold(((0, 0), (0, 0)), |sum, o| (add(sum.0, o.0), add(sum.1, o.1)))
    }

    /// Returns true if far fewer messages stall over all networks, beyond chance.
    pub(crate) fn ends_stalls(&self) -> bool {
        let (before, after) = self.stalled();
        far_fewer(before, after, 4.0)
    }

    /// Mean of the logarithms of the ratios to the present network over all variations and seeds; below 0 is better.
    pub fn overall(&self) -> Option<Estimate> {
        let all: Vec<f64> = self.outcomes().flat_map(|o| o.logs.iter().copied()).collect();
        estimate(&all)
    }
}

/// Returns true for goals that are times of messages.
fn is_time(goal: Goal) -> bool {
    matches!(goal, Goal::Mean | Goal::P50 | Goal::P99 | Goal::P999 | Goal::Completion)
}

/// Best value of each network among changes without an objection there.
fn best(all: &[Robust], goal: Goal) -> Vec<Option<f64>> {
    let networks = all.iter().map(|r| r.tried.len()).max().unwrap_or(0);
    let better = |a: f64, b: f64| if goal.more_is_better() { a.max(b) } else { a.min(b) };
    let one = |w: usize| {
        let sound = all.iter().filter_map(|r| r.outcome(w)).filter(|o| o.objection.is_none());
        sound.map(|o| o.value).reduce(better)
    };
    (0..networks).map(one).collect()
}

/// Sets the regrets of the present network and all changes against the best of them.
pub(crate) fn set_regrets(all: &mut [Robust], goal: Goal) {
    let losses: Vec<Vec<Option<f64>>> = all.iter().map(|r| r.losses(all, goal)).collect();
    for (robust, losses) in all.iter_mut().zip(losses) {
        (robust.regret, robust.regret_in) = (1.0, 0);
        let (mut logs, mut known) = (0.0, 0);
        for (w, loss) in losses.into_iter().enumerate().filter_map(|(w, loss)| Some((w, loss?))) {
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
            ChangeResult::Measured(Outcome {
                value: *value,
                today: *today,
                was_completed: 10,
                completed: 10,
                stalled: ((0, 10), (0, 10)),
                objection: None,
                at_least: false,
                open: false,
                values: vec![*value],
                logs: vec![(value / today).ln()],
            })
        };
        Robust { tried: values.iter().zip(&today).map(one).collect(), ..Robust::default() }
    }

    /// The change that is best in the file's network fails with larger messages; the other one holds.
    #[test]
    fn worst_variation_decides() {
        let mut all = [robust(&[143.0, 130.0, 2.4]), robust(&[3.8, 218.0, 2.3]), robust(&[10.6, 23.9, 1.3])];
        set_regrets(&mut all, Goal::P99);
        let order: Vec<i64> = all.iter().map(|r| r.regret.round() as i64).collect();
        assert_eq!(order, [38, 9, 3]);
        assert_eq!((all[1].worse_in(Goal::P99), all[2].worse_in(Goal::P99)), (vec![1], vec![]));
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

    /// A value below the limit that is a lower bound does not meet it.
    #[test]
    fn short_run_meets_no_limit() {
        let mut one = robust(&[8.0, 9.0, 2.0]);
        assert_eq!(one.misses(Goal::P99, 20.0), [0_usize; 0]);
        if let ChangeResult::Measured(o) = &mut one.tried[1] {
            o.open = true;
        }
        assert_eq!(one.misses(Goal::P99, 20.0), [1]);
    }
}
