//! Plans: one change, or several together.

use crate::install::Step;
use crate::options::{Choice, Family};
use crate::rank::{About, Assessment, Entry};
use forebay_scenario::Goal;

/// Number of changes that are combined with each other.
const COMBINED: usize = 5;

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
        About { name: self.name(), sets: self.sets(), install, effort }
    }
}

/// Score of an evaluated plan in the network of the file: the gain, and an end of stalls.
pub(crate) fn score(entry: &Entry, own: usize, goal: Goal) -> f64 {
    if entry.assessment != Assessment::Sound {
        return f64::NEG_INFINITY;
    }
    let gain = entry.gain(goal).max(1e-9).ln();
    // An end of stalls counts as much as a gain of two thirds (our choice).
    gain + if entry.ends_stalls(own) { 0.5 } else { 0.0 }
}

/// The best plan of each family with a gain, best first.
pub(crate) fn leaders(evaluated: &[(Plan, Entry)], own: usize, goal: Goal) -> Vec<(Plan, Entry)> {
    let mut sorted: Vec<&(Plan, Entry)> = evaluated.iter().filter(|(_, e)| score(e, own, goal) > 0.05).collect();
    sorted.sort_by(|a, b| score(&b.1, own, goal).total_cmp(&score(&a.1, own, goal)).then(a.1.name.cmp(&b.1.name)));
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

/// Pairs of the best changes that set different things.
pub(crate) fn combinations(leaders: &[(Plan, Entry)]) -> Vec<Plan> {
    let parts: Vec<&Choice> = leaders.iter().take(COMBINED).map(|(p, _)| &p.parts[0]).collect();
    let mut out = Vec::new();
    for (i, a) in parts.iter().enumerate() {
        for b in &parts[i + 1..] {
            if a.family.slot() != b.family.slot() {
                let mut both = vec![(*a).clone(), (*b).clone()];
                both.sort_by_key(|c| c.family.slot());
                out.push(Plan { parts: both });
            }
        }
    }
    out
}
