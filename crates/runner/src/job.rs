//! A job and its progress, written by the thread that runs it and read by the progress display.

use forebay_experiment::report::Progress;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// One variant with one seed. Jobs are numbered by variant, then repetition.
#[derive(Debug, Default)]
pub struct Job {
    /// Index of the variant, or of another group in the progress display.
    pub(crate) variant: usize,
    /// Repetition, from 0.
    pub(crate) run: u32,
    /// Its seed.
    pub(crate) seed: u64,
    /// Milliseconds from the start of all jobs to the start of this one, plus 1; 0 while it waits.
    started: AtomicU64,
    finished: AtomicBool,
    now_ps: AtomicU64,
    end_ps: AtomicU64,
    hops: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    /// Cores that it may use beside its own, and the largest number that it has used.
    spare: AtomicUsize,
    cores: AtomicUsize,
    to_report: AtomicU64,
}

/// Progress of a job.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// True while it runs.
    pub running: bool,
    /// Fraction done, 0 to 1, if known.
    pub fraction: Option<f64>,
    /// Start, relative to the start of all jobs; `None` while it waits.
    pub started: Option<Duration>,
    /// Simulated time, ps.
    pub now_ps: u64,
    /// Configured end of simulated time, ps, if any.
    pub end_ps: Option<u64>,
    /// Packet transmissions so far.
    pub hops: u64,
    /// Finished messages so far.
    pub done: u64,
    /// Messages known in advance, 0 when unknown.
    pub total: u64,
    /// Additional bytes that its report would take.
    pub to_report: u64,
}

impl Job {
    /// Number of its variant.
    pub fn variant(&self) -> usize {
        self.variant
    }

    /// Number of the repetition within its variant, from 0.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A waiting job.
    pub fn new(variant: usize, run: u32, seed: u64) -> Job {
        Job { variant, run, seed, ..Job::default() }
    }

    /// Sets the number of cores that it may use.
    pub(crate) fn allow(&self, cores: usize) {
        self.spare.store(cores.saturating_sub(1), Relaxed);
    }

    /// Number of cores that it may use.
    pub(crate) fn may_use(&self) -> usize {
        1 + self.spare.load(Relaxed)
    }

    /// Largest number of cores that it has used. The job decides by itself.
    pub fn cores(&self) -> usize {
        self.cores.load(Relaxed).max(1)
    }

    /// Marks its start, `since` after the start of all jobs.
    pub(crate) fn start(&self, since: Duration) {
        self.started.store(since.as_millis() as u64 + 1, Relaxed);
    }

    /// Marks its end, after `hops` packet transmissions.
    pub(crate) fn finish(&self, hops: u64) {
        self.hops.store(hops, Relaxed);
        self.to_report.store(0, Relaxed);
        self.finished.store(true, Relaxed);
    }

    /// Sets its progress.
    pub(crate) fn note(&self, p: Progress) {
        self.now_ps.store(p.now.0, Relaxed);
        self.end_ps.store(p.end.map_or(0, |t| t.0), Relaxed);
        self.hops.store(p.packet_hops, Relaxed);
        self.done.store(p.done, Relaxed);
        self.total.store(p.total, Relaxed);
        self.cores.fetch_max(p.cores, Relaxed);
        self.to_report.store(p.to_report, Relaxed);
    }

    /// Current progress.
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
            to_report: self.to_report.load(Relaxed),
        }
    }
}
