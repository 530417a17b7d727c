//! Support for tests: runs of a scenario text, with their reports; reference theory; fuzz targets ([`fuzz`]); C of the guest kernel ([`driver`]). The tests are in `tests/scenarios`.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

pub mod band;
pub mod driver;
pub mod fuzz;
pub mod processes;
pub mod theory;

use forebay_experiment::Experiment;
use forebay_experiment::rows::{FlowRow, PortRow, QueryRow};
use forebay_scenario::{Scenario, Variant};
use forebay_sim::run::{Report, run as simulate};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Variant of a scenario with its report.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Variant.
    pub variant: Variant,
    /// Report.
    pub report: Report,
}

/// Five servers send 200 small responses each from 0.1 s, and a long train at 0.5 s (TRIM 5.2), under Reno.
pub const IMPAIRMENT: &str = r#"
duration = "3s"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "ns2"
cc = "reno"
header = 0
[[workload]]
kind = "on-off"
sizes = { uniform = ["2KB", "10KB"] }
gaps = { exponential = "1ms" }
gap-from = "start"
trains = 200
start = "100ms"
last-size = "140000B"
last-at = "500ms"
[observe]
tcp = { flows = [0, 1, 2, 3, 4], every = "10ms" }
"#;

/// Root of the repository; files that scenarios name are relative to its `scenarios` folder.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Appends every Rust source file below `folder`.
pub fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Text of all rows and numbers of a report.
pub fn rows(r: &Report) -> String {
    let series = (r.queue.to_vec(), r.tcp.to_vec(), r.timeouts.to_vec(), r.packets.to_vec());
    let tables = (&r.flows, &r.ports, &r.queries, &r.deliveries, &r.events, series);
    format!("{tables:?} {:?}", (r.measured_from, &r.acked, r.end, r.packet_hops, r.fingerprint, r.peak_connections))
}

/// Resolves a scenario text with overrides.
///
/// # Panics
/// If the text is not a valid scenario, with the errors.
pub fn resolve(text: &str, sets: &[&str], seed: Option<u64>) -> Vec<Variant> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::from_text(forebay_backends::all(), text, "check.toml", &repository().join("scenarios"), &sets, seed)
        .and_then(|s| s.resolve())
        .unwrap_or_else(|e| panic!("{}\n{text}\n{sets:?}", e.render()))
        .variants
}

/// Same as [`resolve`] without overrides; `None` if the text is not a valid scenario.
pub fn resolved(text: &str, seed: Option<u64>) -> Option<Vec<Variant>> {
    let scenario = Scenario::from_text(forebay_backends::all(), text, "check.toml", &repository().join("scenarios"), &[], seed);
    scenario.and_then(|s| s.resolve()).ok().map(|s| s.variants)
}

/// Runs a configuration.
///
/// # Panics
/// If it cannot run, or the simulator's conservation checks fail.
pub fn execute(config: &Experiment) -> Report {
    let checked = config.check().unwrap_or_else(|e| panic!("{e}"));
    simulate(checked, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs every variant of a scenario text with overrides.
pub fn run(text: &str, sets: &[&str]) -> Vec<Outcome> {
    let start = |variant: Variant| Outcome { report: execute(&variant.config), variant };
    resolve(text, sets, None).into_iter().map(start).collect()
}

/// Runs a scenario that has one variant.
pub fn one(text: &str, sets: &[&str]) -> Outcome {
    let mut all = run(text, sets);
    assert_eq!(all.len(), 1, "several variants");
    all.remove(0)
}

impl Outcome {
    /// Totals of a port, by its name.
    pub fn port(&self, name: &str) -> &PortRow {
        let id = self.variant.port_names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no port {name}"));
        &self.report.ports[id]
    }

    /// Messages of a workload, by its class.
    pub fn class(&self, name: &str) -> Vec<&FlowRow> {
        let id = self.variant.class_names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no class {name}"));
        self.report.flows.iter().filter(|f| f.workload.index() == id).collect()
    }

    /// All drops at all ports.
    pub fn drops(&self) -> u64 {
        self.report.ports.iter().map(|p| p.dropped_overflow + p.dropped_shared + p.dropped_early).sum()
    }

    /// All retransmission timeouts, including those of SYNs.
    pub fn rtos(&self) -> u64 {
        self.report.flows.iter().map(|f| u64::from(f.rtos + f.syn_rtos)).sum()
    }

    /// Barrier rounds after the first `skip`.
    pub fn rounds(&self, skip: usize) -> Rounds<'_> {
        Rounds(&self.report.queries[skip..])
    }
}

/// Barrier rounds, measured as the incast literature does.
#[derive(Debug, Clone, Copy)]
pub struct Rounds<'a>(pub &'a [QueryRow]);

impl Rounds<'_> {
    /// Payload bytes per second, from the first request to the last byte.
    pub fn goodput(&self) -> f64 {
        let (first, last) = (self.0[0].start.0, self.0[self.0.len() - 1].end.ps().expect("the last round has ended"));
        self.0.iter().map(|q| q.bytes).sum::<u64>() as f64 / ((last - first) as f64 * 1e-12)
    }

    /// Mean over rounds of the largest number of timeouts of one sender.
    pub fn timeouts(&self) -> f64 {
        self.0.iter().map(|q| f64::from(q.rtos_max)).sum::<f64>() / self.0.len() as f64
    }

    /// Share of rounds with at least one timeout.
    pub fn with_timeout(&self) -> f64 {
        self.0.iter().filter(|q| q.rtos > 0).count() as f64 / self.0.len() as f64
    }
}

/// Jain's index of fairness.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|s| s * s).sum::<f64>())
}
