//! Runs of a scenario: jobs on threads, with outcomes in order.

use crate::job::Job;
use crate::pool::{Event, Stop, Work, run};
use crate::simulate::{Simulated, simulate};
use crate::stopping::{StopRequest, Stopped};
use forebay_experiment::Experiment;
use forebay_experiment::report::{Cut, Report, RunError};
use forebay_experiment::world::World;
use forebay_scenario::Resolved;
use forebay_store::RunInfo;
use forebay_store::summary::Summary;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval of a thread that waits to start its next run.
const PAUSE: Duration = Duration::from_millis(5);

/// Configuration of a job.
#[derive(Debug)]
pub struct Prepared {
    /// Name of its variant.
    pub variant: String,
    /// Backend that runs it.
    pub world: &'static dyn World,
    /// The configuration, with the job's seed.
    pub config: Experiment,
    /// Rule of `[stop]`, if any.
    pub stop: Option<StopRequest>,
}

/// Source of the configurations of jobs. The thread that runs a job prepares it, so that a large plan needs little memory.
pub trait Jobs: Sync {
    /// The configuration of a job.
    fn prepare(&self, number: usize, job: &Job) -> Prepared;
}

impl Jobs for Resolved {
    fn prepare(&self, _: usize, job: &Job) -> Prepared {
        let variant = &self.variants[job.variant];
        let mut config = variant.config.clone();
        config.set_seed(job.seed);
        let stop = self.stop.as_ref().map(|stop| StopRequest { stop: stop.clone(), runs: self.repetitions() });
        Prepared { variant: variant.label.clone(), world: self.world, config, stop }
    }
}

/// A finished job.
#[derive(Debug)]
pub struct Outcome {
    /// Number of the job.
    pub job: usize,
    /// Names and seed.
    pub info: RunInfo,
    /// All rows.
    pub report: Report,
    /// Summary of its rows.
    pub summary: Summary,
    /// Wall time it took.
    pub wall: Duration,
    /// End by the rule of `[stop]`, if the scenario has one.
    pub stopped: Option<Stopped>,
}

/// Callbacks to the caller while jobs run.
pub trait Watcher {
    /// Error of [`Watcher::finished`].
    type Error: From<RunError>;
    /// Called about ten times a second, by the thread that called [`run_all`].
    fn tick(&mut self, jobs: &[Job], elapsed: Duration);
    /// Called once for each job, in the order of their numbers. An error stops everything.
    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Self::Error>;
}

/// The jobs of a scenario, numbered by variant, then repetition.
pub fn jobs(resolved: &Resolved) -> Vec<Job> {
    let one = |variant, run| Job::new(variant, run, resolved.run_seed(run));
    (0..resolved.variants.len()).flat_map(|v| (0..resolved.repetitions()).map(move |r| one(v, r))).collect()
}

/// Runs all jobs on `threads` threads (at least one), which are shared between jobs and within them. Returns early, without finishing all jobs,
/// once `stop` is true.
///
/// # Errors
/// The first failure of a run or of the watcher; everything else stops then.
///
/// # Panics
/// When a job panics: the panic is propagated to the caller once the other threads have stopped.
pub fn run_all<S: Jobs + ?Sized, W: Watcher>(
    source: &S,
    jobs: &[Job],
    threads: usize,
    stop: &AtomicBool,
    watcher: &mut W,
) -> Result<(), W::Error> {
    run_until(source, jobs, threads, stop, &AtomicBool::new(false), watcher)
}

/// As [`run_all`]. Once `cut` is true, running jobs end early with their results so far, and no others start.
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn run_until<S: Jobs + ?Sized, W: Watcher>(
    source: &S,
    jobs: &[Job],
    threads: usize,
    stop: &AtomicBool,
    cut: &AtomicBool,
    watcher: &mut W,
) -> Result<(), W::Error> {
    // Where there are fewer runs than threads, runs may use several.
    let cores = threads / jobs.len().max(1);
    let threads = threads.clamp(1, jobs.len().max(1));
    let ordered = Ordered {
        source,
        jobs,
        cut,
        cores,
        budget_share: threads as f64 / jobs.len().max(1) as f64,
        next: AtomicUsize::new(0),
        delivered: AtomicUsize::new(0),
        clock: Instant::now(),
        window: 2 * threads,
    };
    // Jobs end in any order; outcomes are delivered in the order of the jobs.
    let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
    run(&ordered, threads, stop, &mut |event| {
        match event {
            Event::Tick(elapsed) => watcher.tick(jobs, elapsed),
            Event::Done(outcome) => {
                early.insert(outcome.job, outcome);
            }
        }
        while let Some(outcome) = early.remove(&ordered.delivered.load(Relaxed)) {
            watcher.finished(jobs, outcome)?;
            ordered.delivered.fetch_add(1, Relaxed);
        }
        Ok(())
    })
}

/// Jobs in the order of their numbers.
struct Ordered<'a, S: ?Sized> {
    source: &'a S,
    jobs: &'a [Job],
    /// Ends the running jobs and starts no others.
    cut: &'a AtomicBool,
    /// Cores that each job may use.
    cores: usize,
    /// Part of a budget of wall time that each job may use, so that all of them together take the budget.
    budget_share: f64,
    next: AtomicUsize,
    /// Number of delivered outcomes.
    delivered: AtomicUsize,
    clock: Instant,
    /// Number of outcomes that may wait for delivery, which bounds their memory.
    window: usize,
}

impl<S: Jobs + ?Sized> Work for Ordered<'_, S> {
    type Item = usize;
    type Done = Outcome;
    type Error = RunError;

    fn next(&self, stop: &Stop) -> Option<usize> {
        let number = Some(self.next.fetch_add(1, Relaxed)).filter(|n| *n < self.jobs.len())?;
        let waits = || number >= self.delivered.load(Relaxed) + self.window && !stop.is_set() && !self.cut.load(Relaxed);
        while waits() {
            thread::sleep(PAUSE);
        }
        // Numbers are assigned in order, so that running jobs have smaller numbers than this one.
        (!self.cut.load(Relaxed)).then_some(number)
    }

    fn run(&self, number: usize, _: usize, stop: &Stop) -> Result<Outcome, RunError> {
        let job = &self.jobs[number];
        job.start(self.clock.elapsed());
        job.allow(self.cores);
        let Prepared { variant, world, config, stop: request } = self.source.prepare(number, job);
        let rule = request.as_ref().map(|s| (s, s.stop.budget.map(|b| b.mul_f64(self.budget_share))));
        let begin = Instant::now();
        let Simulated { info, report, summary, stopped } = simulate(world, &variant, job.run, &config, job, rule, &|| {
            if stop.is_set() {
                return ControlFlow::Break(Cut::Abandon);
            }
            if self.cut.load(Relaxed) { ControlFlow::Break(Cut::Keep) } else { ControlFlow::Continue(()) }
        })?;
        job.finish(report.packet_hops);
        Ok(Outcome { job: number, info, report, summary, wall: begin.elapsed(), stopped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The second job panics; the others succeed.
    struct Defective(Resolved);

    impl Jobs for Defective {
        fn prepare(&self, number: usize, job: &Job) -> Prepared {
            assert!(number != 1, "a defect");
            self.0.prepare(number, job)
        }
    }

    struct Nobody;

    impl Watcher for Nobody {
        type Error = RunError;
        fn tick(&mut self, _: &[Job], _: Duration) {}
        fn finished(&mut self, _: &[Job], _: Outcome) -> Result<(), RunError> {
            Ok(())
        }
    }

    /// Progress is also reported by time, so that a slow callback is called at other moments of the run.
    #[test]
    fn results_independent_of_progress() {
        let text = "duration = \"300ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 8\n\
                    access = { rate = \"10Gbps\", delay = \"5us\" }\n\
                    bottleneck = { rate = \"10Gbps\", delay = \"5us\", buffer = \"100pkt\" }\n\
                    [transport]\ncc = \"newreno\"\n[[workload]]\nkind = \"long\"\n";
        let scenario =
            forebay_scenario::Scenario::from_text(forebay_backends::all(), text, "test", "".as_ref(), &[], None).unwrap();
        let resolved = scenario.resolve().unwrap();
        let config = &resolved.variants[0].config;
        let run = |pause: Duration| {
            let mut reports = Vec::new();
            let report = resolved.world.run(config.check().unwrap(), 1, &mut |progress| {
                reports.push(progress.now);
                if reports.len() <= 4 {
                    thread::sleep(pause);
                }
                ControlFlow::Continue(())
            });
            let report = report.unwrap();
            (report.fingerprint, report.packet_hops, reports.len() > 2)
        };
        let (quick, slow) = (run(Duration::ZERO), run(Duration::from_millis(70)));
        assert!(quick == slow && slow.2, "{quick:?} {slow:?}");
    }

    #[test]
    fn panic_reaches_caller() {
        let text = "runs = 20\nduration = \"1ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
                    access = { rate = \"1Gbps\", delay = \"25us\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"25us\", buffer = \"100pkt\" }\n\
                    [transport]\nstack = \"ns2\"\ncc = \"newreno\"\n[[workload]]\nkind = \"long\"\n";
        let resolved = forebay_scenario::Scenario::from_text(forebay_backends::all(), text, "test", "".as_ref(), &[], None)
            .unwrap()
            .resolve()
            .unwrap();
        let jobs = jobs(&resolved);
        let run = || run_all(&Defective(resolved), &jobs, 2, &AtomicBool::new(false), &mut Nobody);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
