//! Plans: one change, or several together.

use crate::evidence::MATERIAL;
use crate::install::Step;
use crate::options::{Caveat, Choice, Family};
use crate::rank::{About, Assessment, Entry};
use crate::robustness::Robust;
use forebay_scenario::Goal;

/// One change, or several together.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Choice>,
}

impl Plan {
    pub(crate) fn name(&self) -> String {
        self.parts.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(" + ")
    }

    pub(crate) fn sets(&self) -> Vec<String> {
        self.parts.iter().flat_map(|c| c.sets.iter().cloned()).collect()
    }

    pub(crate) fn about(&self) -> About {
        let mut install: Vec<Step> = Vec::new();
        for step in self.parts.iter().flat_map(|c| &c.install) {
            if !install.contains(step) {
                install.push(step.clone());
            }
        }
        let effort = self.parts.iter().map(|c| c.family.effort()).sum();
        About { name: self.name(), sets: self.sets(), install, effort, caveat: self.caveat() }
    }

    fn caveat(&self) -> Option<Caveat> {
        self.parts.iter().find_map(|c| c.family.caveat())
    }
}

/// Score of an evaluated plan in the network of the file: the gain, an end of stalls, and the gain of others.
fn score(entry: &Entry, goal: Goal) -> f64 {
    if entry.assessment != Assessment::Sound {
        return f64::NEG_INFINITY;
    }
    let gain = entry.gain(goal).max(1e-9).ln();
    gain + entry.promise().max(if gain > 0.0 { 0.0 } else { f64::NEG_INFINITY })
}

/// Plans that can be the best of their family: the best one by few seeds, and those that are not materially worse.
pub(crate) fn contenders(evaluated: &[(Plan, Entry)], goal: Goal) -> Vec<Plan> {
    let best = leaders(evaluated, goal);
    let near = |(plan, entry): &&(Plan, Entry)| {
        let leader = best.iter().find(|(b, _)| b.parts[0].family == plan.parts[0].family);
        leader.is_some_and(|(_, l)| score(entry, goal) + MATERIAL.ln() >= score(l, goal))
    };
    evaluated.iter().filter(near).map(|(plan, _)| plan.clone()).collect()
}

/// The best plan of each family with a gain, best first.
pub(crate) fn leaders(evaluated: &[(Plan, Entry)], goal: Goal) -> Vec<(Plan, Entry)> {
    let mut sorted: Vec<&(Plan, Entry)> = evaluated.iter().filter(|(_, e)| score(e, goal) > 0.0).collect();
    sorted.sort_by(|a, b| score(&b.1, goal).total_cmp(&score(&a.1, goal)).then(a.1.name.cmp(&b.1.name)));
    let mut seen: Vec<Family> = Vec::new();
    let mut out = Vec::new();
    for (plan, entry) in sorted {
        let family = plan.parts[0].family;
        if !seen.contains(&family) {
            seen.push(family);
            out.push((plan.clone(), entry.clone()));
        }
    }
    out
}

/// Pairs of changes that set different things, the most promising first: those of which one holds where the other fails, in the first `networks`
/// networks. The bounds of a pair are its largest and its mean loss if it does as well as the better of both in each; a pair must promise more than every
/// single change.
pub(crate) fn complements(field: &[(Plan, Entry)], networks: usize, goal: Goal) -> Vec<Plan> {
    let all: Vec<Robust> = field.iter().filter_map(|(_, e)| e.robust.clone()).collect();
    // A network in which one of both has no result promises nothing.
    let known = |losses: Vec<Option<f64>>| losses.into_iter().take(networks).map(|loss| loss.unwrap_or(f64::INFINITY)).collect();
    let losses: Vec<Vec<f64>> = all.iter().map(|r| known(r.losses(&all, goal))).collect();
    let established = |i: &usize| field[*i].0.caveat().is_none();
    let singles = (0..losses.len()).filter(established).map(|i| (largest(&losses[i]), mean(&losses[i])));
    let Some(alone) = singles.reduce(|a, b| if (b.0, b.1) < (a.0, a.1) { b } else { a }) else { return Vec::new() };
    let mut out: Vec<(f64, f64, u32, Plan)> = Vec::new();
    for (i, (a, _)) in field.iter().enumerate() {
        for (j, (b, _)) in field.iter().enumerate().skip(i + 1) {
            let slots = |p: &Plan| p.parts.iter().map(|c| c.family.slot()).collect::<Vec<_>>();
            if a.caveat().is_some() || b.caveat().is_some() || slots(a).iter().any(|s| slots(b).contains(s)) {
                continue;
            }
            let both: Vec<f64> = losses[i].iter().zip(&losses[j]).map(|(x, y)| x.min(*y)).collect();
            let (bound, average) = (largest(&both), mean(&both));
            if bound * MATERIAL < alone.0 || bound <= alone.0 && average * MATERIAL < alone.1 {
                let mut parts = [a.parts.clone(), b.parts.clone()].concat();
                parts.sort_by_key(|c| c.family.slot());
                let effort = parts.iter().map(|c| c.family.effort()).sum();
                out.push((bound, average, effort, Plan { parts }));
            }
        }
    }
    out.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)).then(x.2.cmp(&y.2)));
    out.into_iter().map(|(_, _, _, plan)| plan).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(1.0, f64::max)
}

/// Geometric mean.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.max(1.0).ln()).sum::<f64>() / values.len().max(1) as f64).exp()
}
