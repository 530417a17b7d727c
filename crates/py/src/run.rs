//! Runs of scenarios on all cores, with the interpreter's lock released and Ctrl-C handled.

use crate::control::{Controls, Raised};
use crate::detach::detached;
use crate::errors;
use crate::listener::Listener;
use crate::results::{Captures, Results};
use crate::scenario::Scenario;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use forebay_experiment::report::RunError;
use forebay_runner::{Job, Jobs, Outcome, Prepared, Record, Watcher, capture_name, jobs, write_capture};
use forebay_scenario::Resolved;
use forebay_store::{RunTable, each_batch};
use pyo3::prelude::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Runs all scenarios. `progress` is called about ten times a second with the number of finished runs, that of all runs, the fraction done (if
/// known), the seconds since the start and the packet transmissions so far. An exception of a congestion control of `controls` ends the runs.
#[pyfunction]
#[pyo3(signature = (
    scenarios,
    threads,
    progress: "object | None",
    controls: "Controls | None" = None,
))]
pub(crate) fn run_all(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    controls: Option<Py<Controls>>,
) -> PyResult<Vec<Results>> {
    let raised = controls.map(|c| c.get().raised.clone());
    let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let resolved = scenarios.iter().map(|s| s.get().resolve(py)).collect::<PyResult<Vec<_>>>()?;
    let many = Many::new(resolved);
    let jobs = many.jobs();
    let stop = AtomicBool::new(false);
    let mut watch = Watch {
        scenarios: scenarios.iter().zip(&many.resolved).map(|(s, r)| Collected::new(s.get(), r)).collect(),
        many: &many,
        done: 0,
        threads: threads.min(jobs.len().max(1)),
        clock: Instant::now(),
        listener: Listener::new(progress, &stop),
        raised: raised.as_deref(),
        stop: &stop,
    };
    watch.listener.notify(py, 0, jobs.len(), Some(0.0), 0.0, 0)?;
    let outcome = detached(py, || forebay_runner::run_all(&many, &jobs, threads, &stop, &mut watch))?;
    watch.listener.end(py)?;
    if let Some(error) = raised.as_deref().and_then(Raised::take) {
        return Err(error);
    }
    outcome.map_err(|e| match e {
        Failed::Run(RunError::Unroutable(why) | RunError::Unknown(why) | RunError::World(why)) => errors::engine(&why),
        Failed::Run(RunError::Invalid(mistake)) => errors::engine(&mistake.to_string()),
        Failed::Run(RunError::Interrupted) => errors::internal("runs ended early without an interrupt"),
        Failed::Arrow(e) => errors::internal(e),
        Failed::Capture(e) => e.into(),
    })?;
    let (_, hops) = done_fraction(&jobs);
    watch.listener.notify(py, watch.done, jobs.len(), Some(1.0), watch.clock.elapsed().as_secs_f64(), hops)?;
    Ok(watch.scenarios.into_iter().map(Collected::finish).collect())
}

/// The `forebay` command: prints, and returns the exit code.
#[pyfunction]
pub(crate) fn cli(py: Python<'_>, args: Vec<std::ffi::OsString>) -> PyResult<u8> {
    detached(py, || forebay_cli::run(args))
}

/// The variants of several scenarios, with consecutive numbers.
struct Many {
    resolved: Vec<Arc<Resolved>>,
    /// For each number, the scenario and the variant in it.
    variants: Vec<(usize, usize)>,
}

impl Many {
    fn new(resolved: Vec<Arc<Resolved>>) -> Many {
        let variants = resolved.iter().enumerate().flat_map(|(s, r)| (0..r.variants.len()).map(move |v| (s, v))).collect();
        Many { resolved, variants }
    }

    fn jobs(&self) -> Vec<Job> {
        let mut all = Vec::new();
        let mut first = 0;
        for r in &self.resolved {
            all.extend(jobs(r).into_iter().map(|j| Job::new(first + j.variant(), j.run(), j.seed())));
            first += r.variants.len();
        }
        all
    }
}

impl Jobs for Many {
    fn prepare(&self, number: usize, job: &Job) -> Prepared {
        let (scenario, variant) = self.variants[job.variant()];
        self.resolved[scenario].prepare(number, &Job::new(variant, job.run(), job.seed()))
    }
}

/// Results collected for one scenario.
struct Collected {
    record: Record,
    /// In the order of [`RunTable::ALL`].
    tables: Vec<Vec<RecordBatch>>,
    /// Files with captured packets.
    captures: Captures,
    /// Start of its first run, relative to the start of all.
    from: Option<Duration>,
    wall: Duration,
    threads: usize,
}

impl Collected {
    fn new(scenario: &Scenario, resolved: &Resolved) -> Collected {
        let record = Record::new(scenario.file(), scenario.inner.text(), scenario.overrides(), resolved);
        Collected {
            record,
            tables: vec![Vec::new(); RunTable::ALL.len()],
            captures: Vec::new(),
            from: None,
            wall: Duration::ZERO,
            threads: 1,
        }
    }

    fn finish(self) -> Results {
        let manifest = self.record.manifest(self.threads, self.wall);
        Results::new(manifest, self.tables, self.captures)
    }
}

/// Collects results and calls back.
struct Watch<'a> {
    many: &'a Many,
    scenarios: Vec<Collected>,
    done: usize,
    threads: usize,
    clock: Instant,
    listener: Listener<'a>,
    /// Exceptions of congestion controls of the caller, if there are such.
    raised: Option<&'a Raised>,
    stop: &'a AtomicBool,
}

/// Fraction done, if known, and packet transmissions so far.
fn done_fraction(jobs: &[Job]) -> (Option<f64>, u64) {
    let states: Vec<_> = jobs.iter().map(Job::state).collect();
    let sum: Option<f64> = states.iter().map(|s| s.fraction).sum();
    (sum.map(|f| f / jobs.len().max(1) as f64), states.iter().map(|s| s.hops).sum())
}

/// Error that stops all runs.
enum Failed {
    Run(RunError),
    Arrow(ArrowError),
    /// Captured packets could not be read from their temporary file.
    Capture(io::Error),
}

impl From<RunError> for Failed {
    fn from(e: RunError) -> Failed {
        Failed::Run(e)
    }
}

impl Watcher for Watch<'_> {
    type Error = Failed;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        if self.raised.is_some_and(Raised::failed) {
            self.stop.store(true, Relaxed);
        }
        let (fraction, hops) = done_fraction(jobs);
        self.listener.tick(self.done, jobs.len(), fraction, elapsed, hops);
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Failed> {
        let job = &jobs[outcome.job];
        let (number, variant) = self.many.variants[job.variant()];
        let scenario = &mut self.scenarios[number];
        let from = *scenario.from.get_or_insert(job.state().started.unwrap_or_default());
        scenario.wall = self.clock.elapsed().saturating_sub(from);
        scenario.threads = self.threads;
        let rows = (&outcome.info, &outcome.report, &outcome.summary);
        for (table, batches) in RunTable::ALL.into_iter().zip(&mut scenario.tables) {
            each_batch(table, rows, &mut |batch| batch.map(|b| batches.push(b)).map_err(Failed::Arrow))?;
        }
        let config = &self.many.resolved[number].variants[variant].config;
        if !config.observe.capture.is_off() {
            let name = capture_name(outcome.info.variant(), job.run(), config.observe.capture.format);
            let mut bytes = Vec::new();
            write_capture(&mut bytes, &outcome.info, config, &outcome.report).map_err(Failed::Capture)?;
            scenario.captures.push((name, bytes));
        }
        scenario.record.add(job, &outcome);
        self.done += 1;
        Ok(())
    }
}
