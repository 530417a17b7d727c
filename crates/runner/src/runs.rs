//! The runs of a scenario: its jobs on threads, their outcomes in order.

use crate::job::Job;
use crate::pool::{Event, Stop, Work, run};
use crate::simulate::{Simulated, simulate};
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

/// How long a thread waits before it looks again whether it may start its next run.
const PAUSE: Duration = Duration::from_millis(5);

/// What a job runs.
#[derive(Debug)]
pub struct Prepared {
    /// Name of the variant it belongs to.
    pub variant: String,
    /// What runs it.
    pub world: &'static dyn World,
    /// The configuration, with the job's seed.
    pub config: Experiment,
}

/// Where jobs get what they run: made by the thread that runs it, when its turn comes, so that a large plan needs no large memory.
pub trait Jobs: Sync {
    /// The configuration of a job.
    fn prepare(&self, number: usize, job: &Job) -> Prepared;
}

impl Jobs for Resolved {
    fn prepare(&self, _: usize, job: &Job) -> Prepared {
        let variant = &self.variants[job.variant];
        let mut config = variant.config.clone();
        config.seed = job.seed;
        Prepared { variant: variant.label.clone(), world: self.world, config }
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
    /// The rows reduced to numbers.
    pub summary: Summary,
    /// Wall time it took.
    pub wall: Duration,
}

/// What the caller does while jobs run.
pub trait Watcher {
    /// What can go wrong in [`Watcher::finished`].
    type Error: From<RunError>;
    /// Called about ten times a second, by the thread that called [`run_all`].
    fn tick(&mut self, jobs: &[Job], elapsed: Duration);
    /// Called once for each job, in the order of their numbers; an error stops everything.
    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Self::Error>;
}

/// The jobs of a scenario, numbered by variant, then repetition.
pub fn jobs(resolved: &Resolved) -> Vec<Job> {
    let one = |variant, run| Job::new(variant, run, resolved.run_seed(run));
    (0..resolved.variants.len()).flat_map(|v| (0..resolved.repetitions()).map(move |r| one(v, r))).collect()
}

/// Runs all jobs on `threads` threads (at least one), which are shared between jobs and inside them. Returns early, without having finished all of them, once `stop` is true: whoever
/// sets it knows that, and a watcher that counted sees it.
///
/// # Errors
/// The first failure of a run or of the watcher; everything else stops then.
///
/// # Panics
/// When a job does: its thread's panic becomes that of the caller, once the others have stopped.
pub fn run_all<S: Jobs + ?Sized, W: Watcher>(
    source: &S,
    jobs: &[Job],
    threads: usize,
    stop: &AtomicBool,
    watcher: &mut W,
) -> Result<(), W::Error> {
    run_until(source, jobs, threads, stop, &AtomicBool::new(false), watcher)
}

/// As [`run_all`]. Once `cut` is true, the jobs that run end with what they have by then, and no others start.
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
        next: AtomicUsize::new(0),
        delivered: AtomicUsize::new(0),
        clock: Instant::now(),
        window: 2 * threads,
    };
    // Jobs end in any order; they are handed over in theirs.
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
    /// What runs is to end, and nothing else to start.
    cut: &'a AtomicBool,
    /// Cores that each may use.
    cores: usize,
    next: AtomicUsize,
    /// Outcomes that were handed over.
    delivered: AtomicUsize,
    clock: Instant,
    /// How far a thread may run ahead of the outcomes handed over: bounds the memory that waiting ones take.
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
        // Numbers are handed out in order, so that those that still run are before this one.
        (!self.cut.load(Relaxed)).then_some(number)
    }

    fn run(&self, number: usize, _: usize, stop: &Stop) -> Result<Outcome, RunError> {
        let job = &self.jobs[number];
        job.start(self.clock.elapsed());
        job.allow(self.cores);
        let Prepared { variant, world, config } = self.source.prepare(number, job);
        let begin = Instant::now();
        let Simulated { info, report, summary } = simulate(world, &variant, job.run, &config, job, &|| {
            if stop.is_set() {
                return ControlFlow::Break(Cut::Abandon);
            }
            if self.cut.load(Relaxed) { ControlFlow::Break(Cut::Keep) } else { ControlFlow::Continue(()) }
        })?;
        job.finish(report.packet_hops);
        Ok(Outcome { job: number, info, report, summary, wall: begin.elapsed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The second job is defective; the others run something.
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

    /// Progress is also reported by time, so a slow callback is called at other moments of the run.
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
