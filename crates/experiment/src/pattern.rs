//! Pairs of the hosts of a workload, and the random patterns that draw them.

use crate::streams::RngStream;
use forebay_types::{IndexVec, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Attempts at a permutation without fixed point. Each one succeeds with a probability of at least a third where one is possible.
const TRIES: u32 = 200;

/// Pairs of hosts: given, or drawn by a random pattern for each seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    list: Vec<(NodeId, NodeId)>,
    /// The pattern; `None` if the pairs are the same for every seed.
    pattern: Option<Arc<Pattern>>,
}

impl Pairs {
    /// Pairs that `pattern` draws for each seed; `None` if it has none for `seed`.
    pub fn drawn(pattern: Pattern, seed: u64) -> Option<Pairs> {
        Some(Pairs { list: pattern.draw(seed)?, pattern: Some(Arc::new(pattern)) })
    }

    /// Draws the pairs of the run with this seed.
    pub fn draw(&mut self, seed: u64) {
        if let Some(list) = self.pattern.as_ref().and_then(|pattern| pattern.draw(seed)) {
            self.list = list;
        }
    }

    /// The same pairs for every seed.
    pub fn fixed(mut self) -> Pairs {
        self.pattern = None;
        self
    }
}

impl From<Vec<(NodeId, NodeId)>> for Pairs {
    fn from(list: Vec<(NodeId, NodeId)>) -> Pairs {
        Pairs { list, pattern: None }
    }
}

impl Deref for Pairs {
    type Target = [(NodeId, NodeId)];
    fn deref(&self) -> &[(NodeId, NodeId)] {
        &self.list
    }
}

impl DerefMut for Pairs {
    fn deref_mut(&mut self) -> &mut [(NodeId, NodeId)] {
        &mut self.list
    }
}

/// Random pattern of pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Rule.
    pub kind: PatternKind,
    /// Sources.
    pub from: Vec<NodeId>,
    /// Destinations.
    pub to: Vec<NodeId>,
    /// The rack of each node.
    pub racks: IndexVec<NodeId, NodeId>,
    /// Parallel connections of each pair.
    pub per_pair: usize,
}

/// Rule of a random pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// One-to-one assignment without fixed point, all equally likely. Sources and destinations are equally many.
    Permutation,
    /// Every source to one destination in another rack, all equally likely.
    OtherRack,
    /// Every source to one destination in each other rack.
    EachOtherRack,
}

impl Pattern {
    /// Pairs for this seed; `None` if there are none.
    fn draw(&self, seed: u64) -> Option<Vec<(NodeId, NodeId)>> {
        let pairs = match self.kind {
            PatternKind::Permutation => self.permutation(seed)?,
            PatternKind::OtherRack | PatternKind::EachOtherRack => self.other_racks(seed)?,
        };
        Some(pairs.into_iter().flat_map(|pair| std::iter::repeat_n(pair, self.per_pair)).collect())
    }

    /// Number of racks with destinations.
    pub fn racks_of_destinations(&self) -> usize {
        self.to.iter().map(|t| self.racks[*t]).collect::<BTreeSet<_>>().len()
    }

    /// Redrawing the whole permutation makes all of those without fixed point equally likely.
    fn permutation(&self, seed: u64) -> Option<Vec<(NodeId, NodeId)>> {
        let mut rng = RngStream::Pattern.stream(seed, &[]);
        let mut to = self.to.clone();
        for _ in 0..TRIES {
            rng.shuffle(&mut to);
            if self.from.iter().zip(&to).all(|(f, t)| f != t) {
                return Some(self.from.iter().copied().zip(to).collect());
            }
        }
        None
    }

    fn other_racks(&self, seed: u64) -> Option<Vec<(NodeId, NodeId)>> {
        let mut members: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for &t in &self.to {
            members.entry(self.racks[t]).or_default().push(t);
        }
        let mut rng = RngStream::Pattern.stream(seed, &[]);
        let mut pairs = Vec::new();
        for &f in &self.from {
            let others = members.iter().filter(|(r, _)| **r != self.racks[f]).map(|(_, hosts)| hosts);
            let mut draw = |hosts: &[NodeId]| hosts[rng.below(hosts.len() as u64) as usize];
            if self.kind == PatternKind::EachOtherRack {
                pairs.extend(others.map(|hosts| (f, draw(hosts))));
                continue;
            }
            let count: usize = others.clone().map(Vec::len).sum();
            if count == 0 {
                return None;
            }
            let mut k = rng.below(count as u64) as usize;
            for hosts in others {
                if let Some(&t) = hosts.get(k) {
                    pairs.push((f, t));
                    break;
                }
                k -= hosts.len();
            }
        }
        Some(pairs)
    }

    /// First source without a destination in another rack.
    pub fn isolated(&self) -> Option<NodeId> {
        self.from.iter().copied().find(|f| self.to.iter().all(|t| self.racks[*t] == self.racks[*f]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper quantile of the chi-square distribution by Wilson and Hilferty (1931), where a standard normal variable exceeds `z`.
    fn chi_square(degrees: f64, z: f64) -> f64 {
        let a = 2.0 / (9.0 * degrees);
        degrees * (1.0 - a + z * a.sqrt()).powi(3)
    }

    fn statistic(counts: impl Iterator<Item = u32>, expected: f64) -> f64 {
        counts.map(|n| (f64::from(n) - expected).powi(2) / expected).sum()
    }

    fn pattern(kind: PatternKind, hosts: u32, per_rack: u32) -> Pattern {
        let all: Vec<NodeId> = (0..hosts).map(NodeId::new).collect();
        let racks: Vec<NodeId> = (0..hosts).map(|h| NodeId::new(h / per_rack)).collect();
        Pattern { kind, from: all.clone(), to: all, racks: racks.into(), per_pair: 1 }
    }

    /// Four hosts have 9 permutations without fixed point. 9 000 seeds give each of them equally often: chi-square with 8 degrees of freedom, false
    /// alarm in one of 1 000.
    #[test]
    fn permutations_are_equally_likely_over_seeds() {
        let p = pattern(PatternKind::Permutation, 4, 4);
        let mut counts: BTreeMap<Vec<(NodeId, NodeId)>, u32> = BTreeMap::new();
        (0..9_000).for_each(|seed| *counts.entry(p.draw(seed).unwrap()).or_default() += 1);
        assert_eq!(counts.len(), 9);
        let x = statistic(counts.into_values(), 1_000.0);
        assert!(x < chi_square(8.0, 3.09), "{x}");
    }

    /// Each source draws each of the eight hosts of the other racks equally often. There are 12 tests with 7 degrees of freedom. A false alarm of any of
    /// them comes in one of 1 000 (z for 1 in 12 000).
    #[test]
    fn partners_are_equally_likely_over_seeds() {
        let p = pattern(PatternKind::OtherRack, 12, 4);
        let mut counts = vec![[0u32; 12]; 12];
        for seed in 0..8_000 {
            p.draw(seed).unwrap().iter().for_each(|(f, t)| counts[f.index()][t.index()] += 1);
        }
        for (from, counts) in counts.iter().enumerate() {
            let others = (0..12).filter(|to| to / 4 != from / 4);
            let x = statistic(others.map(|to| counts[to]), 1_000.0);
            assert!(x < chi_square(7.0, 3.77), "{from}: {x}");
        }
    }

    #[test]
    fn fixed_pairs_ignore_the_seed() {
        let mut drawn = Pairs::drawn(pattern(PatternKind::Permutation, 12, 4), 1).unwrap();
        let (mut fixed, first) = (drawn.clone().fixed(), drawn.to_vec());
        drawn.draw(2);
        fixed.draw(2);
        assert_ne!(drawn.to_vec(), first);
        assert_eq!(fixed.to_vec(), first);
    }
}
