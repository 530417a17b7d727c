//! `manifest.json` of a sweep: written before the first run, and again when all are done.

use crate::manifest::{Host, TableRecord};
use serde::{Deserialize, Serialize};

/// Contents of a sweep's `manifest.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SweepManifest {
    /// Always [`SweepManifest::KIND`].
    pub kind: String,
    /// Version of this file's layout.
    pub manifest_version: u32,
    /// Version of forebay that wrote it.
    pub forebay: String,
    /// Name of the scenario.
    pub name: String,
    /// The worlds that its points run in, each once; empty in results of versions that did not say.
    #[serde(default)]
    pub worlds: Vec<String>,
    /// The TCP stacks of the transports of its points, each once; empty in results of versions that did not say.
    #[serde(default)]
    pub stacks: Vec<String>,
    /// When the sweep was last started, RFC 3339 in UTC.
    pub started: String,
    /// When all its runs were done; null as long as some are missing.
    pub finished: Option<String>,
    /// Why the tables are not those of all runs, and how many are done; empty if they are, or if there are no tables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// The scenario as written.
    pub scenario: SweepScenario,
    /// What is varied.
    pub axes: Vec<AxisRecord>,
    /// Seeds that every variant of every point runs with.
    pub seeds: Vec<u64>,
    /// Tables that are kept for each run, beside its numbers.
    pub keep: Vec<String>,
    /// Remarks made while the points were read, each once.
    pub notes: Vec<String>,
    /// The points in their order.
    pub points: Vec<PointRecord>,
    /// Fingerprint of all runs together, 16 hexadecimal digits, as of a run directory; empty as long as some are missing.
    pub fingerprint: String,
    /// Packet transmissions of all runs.
    pub packet_hops: u64,
    /// How many runs the last start found finished, rather than running them.
    pub found: u64,
    /// Wall time of the last start, seconds.
    pub wall_s: f64,
    /// The machine of the last start.
    pub host: Host,
    /// Runs that could execute at the same time.
    pub threads: usize,
    /// The tables beside this file.
    pub tables: Vec<TableRecord>,
    /// Which sources the program was built from, and when they were committed; empty in results of versions that did not say.
    #[serde(default)]
    pub built: String,
}

impl SweepManifest {
    /// Marks a directory as that of a sweep.
    pub const KIND: &'static str = "forebay-sweep";
    /// Layout written by this version.
    pub const VERSION: u32 = 1;
}

/// The scenario that a sweep is over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SweepScenario {
    /// Path as given on the command line.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// `--set` overrides, as given.
    pub overrides: Vec<String>,
    /// `--sweep` axes, as given.
    pub sweeps: Vec<String>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AxisRecord {
    /// Path of the key, and name of the column in `summary`.
    pub key: String,
    /// Shortest name that is unique among the axes.
    pub short: String,
    /// `grid`, `zip` or `list`.
    pub source: String,
    /// The values as written in the scenario.
    pub values: Vec<serde_json::Value>,
    /// The values for people, each different from the others.
    pub texts: Vec<String>,
    /// The values as numbers (of quantities in SI units, bytes or packets); null where they are no numbers.
    pub numbers: Option<Vec<f64>>,
    /// Name of the column with the numbers of quantities, such as `transport.rto-min_s`; null when there is none.
    pub number_column: Option<String>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// What it changes, `senders=4 cc=dctcp`.
    pub label: String,
    /// Keys of its units, by variant, then seed.
    pub units: Vec<String>,
}
