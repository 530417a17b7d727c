//! Data of a run directory's manifest, collected while jobs finish.

use crate::job::Job;
use crate::runs::Outcome;
use crate::stopping::{StoppedRun, VariantNames, known_figures};
use forebay_experiment::stopping::rule::Stop;
use forebay_experiment::transport::Group;
use forebay_scenario::Resolved;
use forebay_store::{Host, Manifest, RunRecord, ScenarioRecord, VariantRecord, built, combined_fingerprint, utc};
use std::time::{Duration, SystemTime};

/// One scenario and its finished runs.
#[derive(Debug)]
pub struct Record {
    name: String,
    world: &'static str,
    world_version: String,
    stacks: Vec<String>,
    started: String,
    scenario: ScenarioRecord,
    runs: Vec<RunRecord>,
    fingerprints: Vec<u64>,
    partial: String,
    stop: Option<Stop>,
    names: Vec<VariantNames>,
    stopped: Vec<StoppedRun>,
}

impl Record {
    /// Starts now. `file` is the path as the user gave it, `text` the scenario as written, `overrides` the changes.
    pub fn new(file: String, text: &str, overrides: Vec<String>, resolved: &Resolved) -> Record {
        let variants = resolved.variants.iter().map(|v| VariantRecord { variant: v.label.clone(), resolved: v.echo.clone() });
        let scenario = ScenarioRecord {
            file,
            text: text.to_owned(),
            overrides,
            variants: variants.collect(),
            notes: resolved.notes.clone(),
        };
        Record {
            name: resolved.name.clone(),
            world: resolved.world.name(),
            world_version: resolved.world.version(),
            stacks: stacks(resolved),
            started: utc(SystemTime::now()),
            scenario,
            runs: Vec::new(),
            fingerprints: Vec::new(),
            partial: String::new(),
            stop: resolved.stop.clone(),
            names: resolved.variants.iter().map(VariantNames::of).collect(),
            stopped: Vec::new(),
        }
    }

    /// Adds a finished job. Call in the order of the jobs.
    pub fn add(&mut self, job: &Job, outcome: &Outcome) {
        let report = &outcome.report;
        self.runs.push(RunRecord {
            variant: outcome.info.variant().to_owned(),
            run: job.run,
            seed: job.seed,
            fingerprint: format!("{:016x}", report.fingerprint),
            end_ns: report.end.as_ns(),
            // Rounded up, because 0 means that there is no warm-up.
            measured_from_ns: report.measured_from.0.div_ceil(1_000),
            packet_hops: report.packet_hops,
            peak_connections: report.peak_connections,
            wall_s: outcome.wall.as_secs_f64(),
            stopped_by: outcome.stopped.as_ref().map(|s| s.reason().to_owned()).unwrap_or_default(),
            stopped_ps: outcome.stopped.as_ref().filter(|s| s.is_by_rule()).map(|_| report.end.0),
            truncated: report.cut,
            remark: report.remark.clone(),
        });
        self.fingerprints.push(report.fingerprint);
        if let Some(stopped) = &outcome.stopped {
            let variant = outcome.info.variant().to_owned();
            self.stopped.push(StoppedRun { variant, end: report.end, stopped: stopped.clone() });
        }
    }

    /// Number of jobs added.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// True if no job was added yet.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Sets the reason why the results are incomplete.
    pub fn set_partial(&mut self, why: String) {
        self.partial = why;
    }

    /// The manifest without the lists of files; up to `threads` parallel runs took `wall` together.
    pub fn manifest(self, threads: usize, wall: Duration) -> Manifest {
        let packet_hops: u64 = self.runs.iter().map(|r| r.packet_hops).sum();
        let wall_s = wall.as_secs_f64();
        Manifest {
            kind: Manifest::KIND.into(),
            manifest_version: Manifest::VERSION,
            forebay: env!("CARGO_PKG_VERSION").into(),
            name: self.name,
            world: self.world.into(),
            world_version: self.world_version,
            stacks: self.stacks,
            started: self.started,
            scenario: self.scenario,
            fingerprint: format!("{:016x}", combined_fingerprint(&self.fingerprints)),
            runs: self.runs,
            host: Host::here(),
            threads,
            wall_s,
            packet_hops,
            packet_hops_per_s: packet_hops as f64 / wall_s.max(1e-9),
            tables: Vec::new(),
            captures: Vec::new(),
            known: self.stop.map(|stop| known_figures(&stop, &self.names, &self.stopped)).unwrap_or_default(),
            partial: self.partial,
            built: built().into(),
        }
    }
}

/// Names of the stacks of the transports, each once. Datagrams have none.
pub(crate) fn stacks(resolved: &Resolved) -> Vec<String> {
    let groups = resolved.variants.iter().flat_map(|v| v.config.groups.iter()).filter(|g| g.name != Group::DATAGRAMS);
    let mut out: Vec<String> = Vec::new();
    for name in groups.map(|g| g.tcp.profile.name()) {
        if !out.iter().any(|known| known == name) {
            out.push(name.to_owned());
        }
    }
    out
}
