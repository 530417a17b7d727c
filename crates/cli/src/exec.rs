//! Runs all variants and seeds of a scenario in parallel and hands over the results in order.

use crate::interrupt;
use forebay_scenario::Resolved;
use forebay_sim::run::{Progress, Report, RunError, run};
use forebay_store::RunInfo;
use forebay_store::summary::{Summary, summarise};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How often the caller may redraw.
const TICK: Duration = Duration::from_millis(100);
/// How long a thread waits before it looks again whether it may start its next run.
const PAUSE: Duration = Duration::from_millis(5);

/// One variant with one seed. Jobs are numbered by variant, then repetition.
#[derive(Debug, Default)]
pub struct Job {
    /// Index of the variant.
    pub variant: usize,
    /// Repetition, from 0.
    pub run: u32,
    /// Its seed.
    pub seed: u64,
    /// Milliseconds from the start of everything to the job's own, plus 1; 0: it waits.
    started: AtomicU64,
    finished: AtomicBool,
    now_ps: AtomicU64,
    end_ps: AtomicU64,
    hops: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
}

/// How far a job is.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// Whether it runs now.
    pub running: bool,
    /// Part of it that is done, 0 to 1, when that is known.
    pub fraction: Option<f64>,
    /// When it started, since the start of everything; `None`: it waits.
    pub started: Option<Duration>,
    /// Simulated time, ps.
    pub now_ps: u64,
    /// End of simulated time, ps, when the scenario sets one.
    pub end_ps: Option<u64>,
    /// Packet transmissions so far.
    pub hops: u64,
    /// Finished messages so far.
    pub done: u64,
    /// Messages known in advance, 0 when unknown.
    pub total: u64,
}

impl Job {
    fn note(&self, p: Progress) {
        self.now_ps.store(p.now.0, Relaxed);
        self.end_ps.store(p.end.map_or(0, |t| t.0), Relaxed);
        self.hops.store(p.packet_hops, Relaxed);
        self.done.store(p.done, Relaxed);
        self.total.store(p.total, Relaxed);
    }

    /// How far it is.
    pub fn state(&self) -> State {
        let (started, finished) = (self.started.load(Relaxed), self.finished.load(Relaxed));
        let (now_ps, end_ps) = (self.now_ps.load(Relaxed), Some(self.end_ps.load(Relaxed)).filter(|e| *e > 0));
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        let fraction = match (started, finished, end_ps) {
            (0, ..) => Some(0.0),
            (_, true, _) => Some(1.0),
            (_, _, Some(end)) => Some((now_ps as f64 / end as f64).min(1.0)),
            _ if total > 0 => Some((done as f64 / total as f64).min(1.0)),
            _ => None,
        };
        State {
            running: started > 0 && !finished,
            fraction,
            started: started.checked_sub(1).map(Duration::from_millis),
            now_ps,
            end_ps,
            hops: self.hops.load(Relaxed),
            done,
            total,
        }
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
    /// Called about ten times a second.
    fn tick(&mut self, jobs: &[Job], elapsed: Duration);
    /// Called once for each job, in the order of their numbers; an error stops everything.
    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Self::Error>;
}

/// The jobs of a scenario.
pub fn jobs(resolved: &Resolved) -> Vec<Job> {
    let one = |variant, run| Job { variant, run, seed: resolved.run_seed(run), ..Job::default() };
    (0..resolved.variants.len()).flat_map(|v| (0..resolved.runs).map(move |r| one(v, r))).collect()
}

/// Runs all jobs on `threads` threads. Returns early, without having finished all of them, when the user interrupts.
pub fn run_all<W: Watcher>(resolved: &Resolved, jobs: &[Job], threads: usize, watcher: &mut W) -> Result<(), W::Error> {
    let (next, delivered, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let clock = Instant::now();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let workers = Workers { resolved, jobs, next: &next, delivered: &delivered, stop: &stop, clock, window: 2 * threads };
        for _ in 0..threads.min(jobs.len()) {
            let (workers, sender) = (workers, sender.clone());
            scope.spawn(move || workers.work(&sender));
        }
        drop(sender);
        // Jobs end in any order; they are handed over in theirs.
        let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Ok(outcome)) => {
                    early.insert(outcome.job, outcome);
                }
                // The others stop by themselves: they see the same signal.
                Ok(Err(RunError::Interrupted)) => {}
                Ok(Err(error)) => {
                    stop.store(true, Relaxed);
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(outcome) = early.remove(&delivered.load(Relaxed)) {
                if let Err(e) = watcher.finished(jobs, outcome) {
                    stop.store(true, Relaxed);
                    return Err(e);
                }
                delivered.fetch_add(1, Relaxed);
            }
            watcher.tick(jobs, clock.elapsed());
        }
    })
}

/// What every thread needs.
#[derive(Clone, Copy)]
struct Workers<'a> {
    resolved: &'a Resolved,
    jobs: &'a [Job],
    next: &'a AtomicUsize,
    delivered: &'a AtomicUsize,
    stop: &'a AtomicBool,
    clock: Instant,
    /// How far a thread may run ahead of the results handed over: bounds the memory that waiting results take.
    window: usize,
}

impl Workers<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed) || interrupt::asked()
    }

    fn work(&self, sender: &Sender<Result<Outcome, RunError>>) {
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let Some(job) = self.jobs.get(number) else { return };
            while number >= self.delivered.load(Relaxed) + self.window && !self.stopped() {
                thread::sleep(PAUSE);
            }
            if self.stopped() {
                return;
            }
            let variant = &self.resolved.variants[job.variant];
            let mut config = variant.config.clone();
            config.seed = job.seed;
            job.started.store(self.clock.elapsed().as_millis() as u64 + 1, Relaxed);
            let begin = Instant::now();
            let result = run(&config, &mut |progress| {
                job.note(progress);
                if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let result = result.map(|report| {
                let wall = begin.elapsed();
                job.hops.store(report.packet_hops, Relaxed);
                job.finished.store(true, Relaxed);
                let info = RunInfo::new(&variant.label, job.run, &config);
                let summary = summarise(&info, &config, &report);
                Outcome { job: number, info, report, summary, wall }
            });
            let failed = result.is_err();
            if sender.send(result).is_err() || failed {
                return;
            }
        }
    }
}
