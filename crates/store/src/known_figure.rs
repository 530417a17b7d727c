//! Figures that the rule of `[stop]` made known, as the manifest keeps them.

use serde::{Deserialize, Serialize};

/// A figure of a transport group with its 95 % confidence interval, over all runs of a variant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnownFigure {
    /// Variant.
    pub variant: String,
    /// Variant to which the value is a ratio; empty if the value is that of the figure itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub over: String,
    /// Transport group.
    pub transport: String,
    /// Number of transport groups of the variant.
    pub groups: usize,
    /// The figure as in `[stop]`: `p99 of small slowdown`.
    pub of: String,
    /// The figure in a sentence.
    pub phrase: String,
    /// True if values have no dimension (ratios, slowdowns, fractions); otherwise they are seconds, bits per second, or packets.
    pub ratio: bool,
    /// True if values are bits per second.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate: bool,
    /// True if values are packets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packets: bool,
    /// Requested half width of the interval, as a fraction of the value.
    pub within: f64,
    /// The estimate; none if there were too few messages for one.
    pub value: Option<f64>,
    /// Lower bound of the interval.
    pub low: Option<f64>,
    /// Upper bound of the interval; none if there were too few messages for one.
    pub high: Option<f64>,
    /// Noise floor: change of the figure when all link delays are 1 % longer. None if no run was accurate enough to measure it.
    pub floor: Option<f64>,
    /// True if the interval and the floor are within the requested accuracy.
    pub known: bool,
    /// True if the requested accuracy is below the noise floor.
    pub below_floor: bool,
    /// True if the runs ended because those of `over` did, whose own figure was known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// Reason why there is no interval; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
    /// True if a run ended by the budget of wall time. Another machine ends it at another time.
    pub by_budget: bool,
    /// The budget, seconds of wall time.
    pub budget_s: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// Messages or queries that count, of all runs.
    pub messages: u64,
    /// Latest end of the warm-up of a run, ns of simulated time.
    pub warmup_ns: u64,
    /// Latest end of a run, ns of simulated time.
    pub end_ns: u64,
    /// Duration of the scenario, ns.
    pub duration_ns: u64,
    /// A class whose largest sizes did not occur in any run, and the largest size, bytes.
    pub unseen: Option<(String, u64)>,
}
