//! `manifest.json` of a sweep, written before the first run and after the last.

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
    /// Backends of its points, each once.
    #[serde(default)]
    pub worlds: Vec<String>,
    /// TCP stacks of the transports of its points, each once.
    #[serde(default)]
    pub stacks: Vec<String>,
    /// Last start of the sweep, RFC 3339 in UTC.
    pub started: String,
    /// Time at which all runs were done; null while runs are missing.
    pub finished: Option<String>,
    /// Reason why the tables do not include all runs, and the number of runs done; empty if complete or without tables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// The scenario as written.
    pub scenario: SweepScenario,
    /// Swept keys.
    pub axes: Vec<AxisRecord>,
    /// Seeds of every variant of every point.
    pub seeds: Vec<u64>,
    /// Tables that are kept for each run, beside its summary.
    pub keep: Vec<String>,
    /// Notes of the scenario reader, each once.
    pub notes: Vec<String>,
    /// The points in their order.
    pub points: Vec<PointRecord>,
    /// Fingerprint of all runs together, 16 hexadecimal digits, as of a run directory; empty while runs are missing.
    pub fingerprint: String,
    /// Packet transmissions of all runs.
    pub packet_hops: u64,
    /// Number of cached runs that the last start found.
    pub found: u64,
    /// Wall time of the last start, seconds.
    pub wall_s: f64,
    /// The machine of the last start.
    pub host: Host,
    /// Runs that could execute in parallel.
    pub threads: usize,
    /// The tables beside this file.
    pub tables: Vec<TableRecord>,
    /// Commit and commit date that the program was built from.
    #[serde(default)]
    pub built: String,
}

impl SweepManifest {
    /// Marks a directory as a sweep of forebay.
    pub const KIND: &'static str = "forebay-sweep";
    /// Layout that this version writes.
    pub const VERSION: u32 = 2;
}

/// The swept scenario.
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
    /// Path of the key, and column name in `summary`.
    pub key: String,
    /// Shortest name that is unique among the axes.
    pub short: String,
    /// `grid`, `zip` or `list`.
    pub source: String,
    /// The values as written in the scenario.
    pub values: Vec<serde_json::Value>,
    /// The values as text, each unique.
    pub texts: Vec<String>,
    /// The values as numbers (quantities in SI units, bytes or packets); null for other values.
    pub numbers: Option<Vec<f64>>,
    /// Column name of the numbers of quantities, such as `transport.rto-min_s`; null if there is none.
    pub number_column: Option<String>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// Changed keys, `senders=4 cc=dctcp`.
    pub label: String,
    /// Keys of its units, by variant, then seed.
    pub units: Vec<String>,
}
