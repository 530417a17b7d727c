//! `manifest.json`: scenario, machine and results of a run. It is written last, so a directory with a manifest is complete.

use crate::known_figure::KnownFigure;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Contents of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`Manifest::KIND`].
    pub kind: String,
    /// Version of this file's layout.
    pub manifest_version: u32,
    /// Version of forebay that wrote it.
    pub forebay: String,
    /// Name of the scenario.
    pub name: String,
    /// Backend that ran it.
    #[serde(default)]
    pub world: String,
    /// Component outside this program that the backend runs, such as a kernel with its version; empty if none.
    #[serde(default)]
    pub world_version: String,
    /// TCP stacks of the transports, each once, in the order of the scenario.
    #[serde(default)]
    pub stacks: Vec<String>,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// The scenario, as written and as resolved.
    pub scenario: ScenarioRecord,
    /// Every run, in the order of variants and repetitions.
    pub runs: Vec<RunRecord>,
    /// Fingerprint of all runs together, 16 hexadecimal digits; see [`combined_fingerprint`].
    pub fingerprint: String,
    /// The machine.
    pub host: Host,
    /// Runs that could execute in parallel.
    pub threads: usize,
    /// Wall time from the start of the first run to the end of the last, seconds.
    pub wall_s: f64,
    /// Packet transmissions of all runs: every packet, data or ACK, on every link.
    pub packet_hops: u64,
    /// Packet transmissions per second of wall time, all threads together.
    pub packet_hops_per_s: f64,
    /// The tables beside this file.
    pub tables: Vec<TableRecord>,
    /// The captures of packets beside this file. Missing in results of runs without captures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureRecord>,
    /// Figures that the rule of `[stop]` made known, or not. Empty without the rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownFigure>,
    /// Reason why results are incomplete; empty when they are complete. Truncated runs are marked, others may be missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// Commit and commit date that the program was built from.
    #[serde(default)]
    pub built: String,
}

impl Manifest {
    /// Marks a directory as written by forebay.
    pub const KIND: &'static str = "forebay-run";
    /// Layout that this version writes.
    pub const VERSION: u32 = 2;
    /// Name of the file.
    pub const FILE: &'static str = "manifest.json";
}

/// Commit and date of this program, set once.
static BUILT: OnceLock<&'static str> = OnceLock::new();

/// Sets the commit and date that this program was built from, for the manifests that it writes. Only the first call counts.
pub fn set_built(text: &'static str) {
    let _ = BUILT.set(text);
}

/// Value of [`set_built`]; empty if it was not called.
pub fn built() -> &'static str {
    BUILT.get().copied().unwrap_or("")
}

/// The scenario a run came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// Path as given on the command line.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// `--set` overrides, as given.
    pub overrides: Vec<String>,
    /// Every variant with all defaults filled in.
    pub variants: Vec<VariantRecord>,
    /// Notes of the scenario reader, such as means of size tables.
    pub notes: Vec<String>,
}

/// One variant of the scenario.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Name, as in the `variant` column.
    pub variant: String,
    /// The scenario with every default filled in, in the keys of the scenario file.
    pub resolved: serde_json::Value,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// Variant.
    pub variant: String,
    /// Repetition, from 0.
    pub run: u32,
    /// Seed.
    pub seed: u64,
    /// Hash of the trajectory, 16 hexadecimal digits.
    pub fingerprint: String,
    /// Simulated time at the end, ns.
    pub end_ns: u64,
    /// Simulated time from which statistics count, ns: the end of the warm-up.
    #[serde(default)]
    pub measured_from_ns: u64,
    /// Packet transmissions.
    pub packet_hops: u64,
    /// Most connections open at the same time.
    pub peak_connections: u64,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// Reason why the rule of `[stop]` ended the run before its duration was over: `known`, `noise floor`, or `budget of wall time`; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stopped_by: String,
    /// End of a run that the rule ended by its results, ps: a run with this duration has the same results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ps: Option<u64>,
    /// True if the run was ended early; `end_ns` is the time that it reached.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Note about the accuracy of the run, where that depends on the machine; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Machine of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Operating system, such as `linux`.
    pub os: String,
    /// Processor architecture, such as `x86_64`.
    pub arch: String,
    /// Processors available to this process.
    pub cpus: usize,
}

impl Host {
    /// This machine.
    pub fn here() -> Host {
        Host {
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// One table file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TableRecord {
    /// Name.
    pub name: String,
    /// File, relative to the directory.
    pub file: String,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
    /// Number of rows.
    pub rows: u64,
    /// Version of the table's columns.
    pub schema_version: u32,
}

/// One file with captured packets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// File, relative to the directory.
    pub file: String,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
}

/// One fingerprint for several runs: a single run's own, else the FNV-1a hash of all of them, in order.
pub fn combined_fingerprint(runs: &[u64]) -> u64 {
    if let [one] = runs {
        return *one;
    }
    let bytes = runs.iter().flat_map(|f| f.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A system time as RFC 3339 text in UTC, to the second.
pub fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Converts days to a civil date by eras of 400 years (146 097 days). Years are counted from March so that the leap day comes last.
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn fingerprint_combination() {
        assert_eq!(combined_fingerprint(&[42]), 42);
        assert_ne!(combined_fingerprint(&[1, 2]), combined_fingerprint(&[2, 1]));
    }
}
