//! Distributions of messages, for workloads that resemble a capture without repeating it.

use crate::trains::histogram::Histogram;
use crate::trains::sink::{Message, Sink};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Distributions of more values than this are given by points, with straight lines between them.
const MAX_STEPS: usize = 64;
/// Points of such a distribution.
const POINTS: u64 = 200;
/// Parts of the distribution of pauses.
const GAP_PARTS: u64 = 20;
/// Pairs of hosts that are kept.
const MAX_PAIRS: usize = 4096;

/// Traffic between two hosts.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    messages: u64,
    connections: u64,
    bytes: u64,
}

/// Sizes of messages, pauses between them, and the pairs of hosts.
#[derive(Debug, Default)]
pub struct Resample {
    sizes: Histogram,
    gaps: Histogram,
    pairs: BTreeMap<(u32, u32), Pair>,
    dropped_pairs: u64,
}

impl Resample {
    /// Number of messages between different hosts.
    pub fn messages(&self) -> u64 {
        self.sizes.count()
    }

    /// Most messages follow another one on their connection.
    pub(crate) fn is_persistent(&self) -> bool {
        2 * self.gaps.count() >= self.sizes.count()
    }

    /// Messages between pairs of hosts that are not in the scenario.
    pub fn dropped(&self) -> u64 {
        self.dropped_pairs
    }

    /// Pairs of hosts, those with the most bytes first.
    pub(crate) fn pairs(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<_> = self.pairs.iter().collect();
        all.sort_by_key(|(pair, traffic)| (u64::MAX - traffic.bytes, **pair));
        all.into_iter().map(|(pair, _)| *pair).collect()
    }

    /// Connections of a pair, and messages of a connection, on average.
    pub(crate) fn connections_and_messages(&self) -> (u64, u64) {
        let sum = |of: fn(&Pair) -> u64| self.pairs.values().map(of).sum::<u64>();
        let (messages, connections) = (sum(|p| p.messages), sum(|p| p.connections).max(1));
        (connections.div_ceil(self.pairs.len().max(1) as u64), messages.div_ceil(connections).max(1))
    }

    /// The sizes as a table of bytes and cumulative fractions.
    pub fn size_table(&self) -> String {
        let mut out = String::from("# Sizes of messages in a capture: bytes, fraction of messages up to this size\n");
        let count = self.sizes.count().max(1) as f64;
        let steps: Vec<(u64, u64)> = self.sizes.steps().collect();
        if steps.len() <= MAX_STEPS {
            let mut before = 0.0;
            for (value, below) in steps {
                let fraction = below as f64 / count;
                let _ = writeln!(out, "{value} {before}\n{value} {fraction}");
                before = fraction;
            }
            return out;
        }
        let _ = writeln!(out, "{} 0", self.sizes.min().unwrap_or(1));
        for point in 1..=POINTS {
            let fraction = point as f64 / POINTS as f64;
            let _ = writeln!(out, "{} {fraction}", self.sizes.quantile(fraction).unwrap_or(1));
        }
        out
    }

    /// The pauses as a mixture of log-uniform parts, in the language of scenarios.
    pub(crate) fn gap_mixture(&self) -> String {
        let bound = |part: u64| self.gaps.quantile(part as f64 / GAP_PARTS as f64).unwrap_or(1).max(1);
        let parts =
            (0..GAP_PARTS).map(|i| format!("    {{ share = 1, log-uniform = [\"{}ns\", \"{}ns\"] }},\n", bound(i), bound(i + 1)));
        format!("{{ mixture = [\n{}] }}", parts.collect::<String>())
    }
}

impl Sink for Resample {
    fn message(&mut self, m: &Message) {
        if m.src.number == m.dst.number {
            return;
        }
        self.sizes.add(m.bytes);
        if let Some(gap) = m.gap_ns {
            self.gaps.add(gap);
        }
        let pair = (m.src.number, m.dst.number);
        if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&pair) {
            self.dropped_pairs += 1;
            return;
        }
        let pair = self.pairs.entry(pair).or_default();
        pair.messages += 1;
        pair.connections += u64::from(m.gap_ns.is_none());
        pair.bytes += m.bytes;
    }
}
