//! Pairs of racks with the shares of flows between them.

use forebay_types::NodeId;
use std::sync::Arc;

/// Sources and destinations of a rack.
type Hosts = (Vec<NodeId>, Vec<NodeId>);

/// Pairs of racks with the shares of flows between them. A pair has hosts that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct RackPairs {
    racks: Arc<[Hosts]>,
    /// Sum of the weights up to and including the pair, and the indices of source and destination rack.
    pairs: Arc<[(f64, u32, u32)]>,
}

impl RackPairs {
    /// Pairs of `racks`: (source, destination, weight above 0).
    pub(crate) fn new(racks: Vec<Hosts>, pairs: &[(usize, usize, f64)]) -> RackPairs {
        let mut sum = 0.0;
        let cumulative = pairs.iter().map(|&(from, to, weight)| {
            sum += weight;
            (sum, from as u32, to as u32)
        });
        RackPairs { pairs: cumulative.collect(), racks: racks.into() }
    }

    /// Sources and destinations of the pair at `unit`, a number from 0 up to 1, excluded.
    pub fn pick(&self, unit: f64) -> (&[NodeId], &[NodeId]) {
        let last = self.pairs.len() - 1;
        let at = self.pairs.partition_point(|p| p.0 <= unit * self.pairs[last].0).min(last);
        let (_, from, to) = self.pairs[at];
        (&self.racks[from as usize].0, &self.racks[to as usize].1)
    }

    /// Share of flows between different racks.
    pub fn crossing(&self) -> f64 {
        let (mut before, mut within) = (0.0, 0.0);
        for &(sum, from, to) in self.pairs.iter() {
            within += if from == to { sum - before } else { 0.0 };
            before = sum;
        }
        1.0 - within / before
    }

    /// All hosts that send or receive.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &NodeId> {
        self.racks.iter().flat_map(|(from, to)| from.iter().chain(to))
    }

    /// Returns true if there is a pair, and each has two different hosts.
    pub(crate) fn is_complete(&self) -> bool {
        let differ = |from: &[NodeId], to: &[NodeId]| from.iter().any(|f| to.iter().any(|t| t != f));
        let rack = |i: u32| self.racks.get(i as usize);
        let legal = |&(sum, from, to): &(f64, u32, u32)| {
            sum.is_finite() && sum > 0.0 && rack(from).zip(rack(to)).is_some_and(|(from, to)| differ(&from.0, &to.1))
        };
        !self.pairs.is_empty() && self.pairs.iter().all(legal)
    }
}
