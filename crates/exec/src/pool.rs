//! Runs jobs on threads and hands over the results in order.

use crate::job::Job;
use forebay_experiment::Experiment;
use forebay_experiment::report::{Report, RunError};
use forebay_experiment::world::World;
use forebay_scenario::Resolved;
use forebay_store::RunInfo;
use forebay_store::summary::{Summary, summarise};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How often the caller may redraw.
const TICK: Duration = Duration::from_millis(100);
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
pub trait Work: Sync {
    /// The configuration of a job.
    fn prepare(&self, number: usize, job: &Job) -> Prepared;
}

impl Work for Resolved {
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
    (0..resolved.variants.len()).flat_map(|v| (0..resolved.runs).map(move |r| one(v, r))).collect()
}

/// Runs all jobs on `threads` threads (at least one). Returns early, without having finished all of them, once `stop` is true: whoever
/// sets it knows that, and a watcher that counted sees it.
///
/// # Errors
/// The first failure of a run or of the watcher; everything else stops then.
///
/// # Panics
/// When a job does: its thread's panic becomes that of the caller, once the others have stopped.
pub fn run_all<K: Work + ?Sized, W: Watcher>(
    work: &K,
    jobs: &[Job],
    threads: usize,
    stop: &AtomicBool,
    watcher: &mut W,
) -> Result<(), W::Error> {
    let (next, delivered, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let clock = Instant::now();
    let threads = threads.max(1);
    let workers = Workers { work, jobs, next: &next, delivered: &delivered, stop: [stop, &failed], clock, window: 2 * threads };
    let workers = &workers;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.min(jobs.len()) {
            let sender = sender.clone();
            scope.spawn(move || workers.work(&sender));
        }
        drop(sender);
        // Jobs end in any order; they are handed over in theirs.
        let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
        let mut drawn = Duration::ZERO;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Ok(outcome)) => {
                    early.insert(outcome.job, outcome);
                }
                // The others stop by themselves: they see the same signal.
                Ok(Err(RunError::Interrupted)) => {}
                Ok(Err(error)) => {
                    failed.store(true, Relaxed);
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(outcome) = early.remove(&delivered.load(Relaxed)) {
                if let Err(e) = watcher.finished(jobs, outcome) {
                    failed.store(true, Relaxed);
                    return Err(e);
                }
                delivered.fetch_add(1, Relaxed);
            }
            // Many short jobs must not pay for a redraw each.
            if clock.elapsed() >= drawn + TICK {
                drawn = clock.elapsed();
                watcher.tick(jobs, drawn);
            }
        }
    })
}

/// What every thread needs.
struct Workers<'a, K: ?Sized> {
    work: &'a K,
    jobs: &'a [Job],
    next: &'a AtomicUsize,
    delivered: &'a AtomicUsize,
    /// Asked to, or something failed.
    stop: [&'a AtomicBool; 2],
    clock: Instant,
    /// How far a thread may run ahead of the results handed over: bounds the memory that waiting results take.
    window: usize,
}

/// Where a panic does not end the process, the other threads must not wait for the job that will never be handed over.
pub(crate) struct StopOthers<'a>(pub &'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

impl<K: Work + ?Sized> Workers<'_, K> {
    fn stopped(&self) -> bool {
        self.stop.iter().any(|s| s.load(Relaxed))
    }

    fn work(&self, sender: &Sender<Result<Outcome, RunError>>) {
        let _others = StopOthers(self.stop[1]);
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let Some(job) = self.jobs.get(number) else { return };
            while number >= self.delivered.load(Relaxed) + self.window && !self.stopped() {
                thread::sleep(PAUSE);
            }
            if self.stopped() {
                return;
            }
            job.start(self.clock.elapsed());
            let result = self.one(number, job);
            let failed = result.is_err();
            if sender.send(result).is_err() || failed {
                return;
            }
        }
    }

    fn one(&self, number: usize, job: &Job) -> Result<Outcome, RunError> {
        let Prepared { variant, world, config } = self.work.prepare(number, job);
        let begin = Instant::now();
        let report = world.run(config.check()?, config.seed, &mut |progress| {
            job.note(progress);
            if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let wall = begin.elapsed();
        job.finish(report.packet_hops);
        let info = RunInfo::new(&variant, job.run, &config);
        let summary = summarise(&info, &config, &report);
        Ok(Outcome { job: number, info, report, summary, wall })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The second job is defective; the others run something.
    struct Defective(Resolved);

    impl Work for Defective {
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

    #[test]
    fn a_panic_reaches_the_caller_and_nobody_waits_for_the_job() {
        let text = "runs = 20\nduration = \"1ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
                    access = { rate = \"1Gbps\", delay = \"25us\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"25us\", buffer = \"100pkt\" }\n\
                    [transport]\ncc = \"newreno\"\n[[workload]]\nkind = \"long\"\n";
        let resolved = forebay_scenario::Scenario::from_text(text, "test", "".as_ref(), &[], None).unwrap().resolve().unwrap();
        let jobs = jobs(&resolved);
        let run = || run_all(&Defective(resolved), &jobs, 2, &AtomicBool::new(false), &mut Nobody);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
