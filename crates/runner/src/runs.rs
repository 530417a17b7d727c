//! Runs of a scenario: jobs on threads, with outcomes in order.

use crate::job::Job;
use crate::pool::{Event, Stop, Work, run};
use crate::simulate::{Simulated, simulate, simulate_together};
use crate::stopping::{StopRequest, Stopped};
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Report, RunError};
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

    /// True if the jobs of all variants with the same repetition end together.
    fn together(&self) -> bool {
        false
    }
}

impl Jobs for Resolved {
    fn prepare(&self, _: usize, job: &Job) -> Prepared {
        let variant = &self.variants[job.variant];
        let mut config = variant.config.clone();
        config.set_seed(job.seed);
        let stop = self.stop.as_ref().map(|stop| StopRequest { stop: stop.clone(), runs: self.repetitions() });
        Prepared { variant: variant.label.clone(), world: self.world, config, stop }
    }

    fn together(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.ratio)
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
    /// Wall time it took; of runs that end together, an equal part of their time.
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
    let groups = groups(jobs, source.together());
    // Where there are fewer groups than threads, a group may use several.
    let cores = threads / groups.len().max(1);
    let threads = threads.clamp(1, groups.len().max(1));
    let ordered = Ordered {
        source,
        jobs,
        cut,
        cores,
        budget_share: threads as f64 / groups.len().max(1) as f64,
        groups,
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
            Event::Done(outcomes) => early.extend(outcomes.into_iter().map(|o| (o.job, o))),
        }
        while let Some(outcome) = early.remove(&ordered.delivered.load(Relaxed)) {
            watcher.finished(jobs, outcome)?;
            ordered.delivered.fetch_add(1, Relaxed);
        }
        Ok(())
    })
}

/// Numbers of the jobs that end together, in the order of their first ones: those of a repetition, or each job by itself.
fn groups(jobs: &[Job], together: bool) -> Vec<Vec<usize>> {
    if !together {
        return (0..jobs.len()).map(|n| vec![n]).collect();
    }
    let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        groups.entry(job.run).or_default().push(number);
    }
    groups.into_values().collect()
}

/// Jobs in the order of their numbers.
struct Ordered<'a, S: ?Sized> {
    source: &'a S,
    jobs: &'a [Job],
    /// Jobs that end together. Outcomes of later variants wait until those of all repetitions of the first one are delivered.
    groups: Vec<Vec<usize>>,
    /// Ends the running jobs and starts no others.
    cut: &'a AtomicBool,
    /// Cores that each group may use.
    cores: usize,
    /// Part of a budget of wall time that each group may use, so that all of them together take the budget.
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
    type Done = Vec<Outcome>;
    type Error = RunError;

    fn next(&self, stop: &Stop) -> Option<usize> {
        let group = Some(self.next.fetch_add(1, Relaxed)).filter(|n| *n < self.groups.len())?;
        let waits = || group >= self.delivered.load(Relaxed) + self.window && !stop.is_set() && !self.cut.load(Relaxed);
        while waits() {
            thread::sleep(PAUSE);
        }
        // Numbers are assigned in order, so that running jobs have smaller numbers than this one.
        (!self.cut.load(Relaxed)).then_some(group)
    }

    fn run(&self, group: usize, _: usize, stop: &Stop) -> Result<Vec<Outcome>, RunError> {
        let watch = || {
            if stop.is_set() {
                return ControlFlow::Break(EarlyEnd::Discard);
            }
            if self.cut.load(Relaxed) { ControlFlow::Break(EarlyEnd::WithReport) } else { ControlFlow::Continue(()) }
        };
        let numbers = &self.groups[group];
        let (active, begin) = (self.cores.clamp(1, numbers.len()), Instant::now());
        let prepare = |number: &usize| {
            let job = &self.jobs[*number];
            job.start(self.clock.elapsed());
            job.allow(self.cores / active);
            (job, self.source.prepare(*number, job))
        };
        let prepared: Vec<(&Job, Prepared)> = numbers.iter().map(prepare).collect();
        let Some((job, Prepared { variant, world, config, stop: request })) = prepared.first() else { return Ok(Vec::new()) };
        let rule = request.as_ref().map(|s| (s, s.stop.budget.map(|b| b.mul_f64(self.budget_share))));
        let results = match (rule, prepared.len()) {
            (Some(rule), 2..) => {
                let variants: Vec<(&str, &Experiment, &Job)> =
                    prepared.iter().map(|(job, p)| (p.variant.as_str(), &p.config, *job)).collect();
                simulate_together(*world, job.run, &variants, rule, active, &watch)?
            }
            _ => vec![simulate(*world, variant, job.run, config, job, rule, &watch)?],
        };
        let outcome = |(number, s): (&usize, Simulated)| {
            let Simulated { info, report, summary, stopped } = s;
            self.jobs[*number].finish(report.packet_hops);
            Outcome { job: *number, info, report, summary, wall: begin.elapsed() / numbers.len() as u32, stopped }
        };
        Ok(numbers.iter().zip(results).map(outcome).collect())
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
