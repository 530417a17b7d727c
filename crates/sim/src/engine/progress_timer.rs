//! Progress reports by time: every 50 ms a thread resets the count of activations at which each run reports next.
//!
//! A run compares its activations with this count after every window, and so never reads a clock. Results do not depend on the times of
//! progress reports, unless the callback ends the run.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Longest time between two progress reports of a run, unless a window takes longer.
const PERIOD: Duration = Duration::from_millis(50);

static TIMED: Mutex<Timed> = Mutex::new(Timed { runs: Vec::new(), thread_of: None });

/// Current runs, and the process that has a thread for them; a forked child does not inherit the thread.
struct Timed {
    runs: Vec<Arc<AtomicU64>>,
    thread_of: Option<u32>,
}

fn timed() -> MutexGuard<'static, Timed> {
    TIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The count of activations at which a run reports its progress next.
#[derive(Debug)]
pub(super) struct ProgressTimer {
    due: Arc<AtomicU64>,
}

impl ProgressTimer {
    /// Creates a timer: progress is due at `first` activations, and at least every 50 ms.
    pub(super) fn new(first: u64) -> ProgressTimer {
        let due = Arc::new(AtomicU64::new(first));
        let mut timed = timed();
        timed.runs.push(due.clone());
        if timed.thread_of != Some(process::id()) {
            // If no thread can be created, only the count decides.
            let started = thread::Builder::new().name("progress".into()).spawn(reset_while_runs).is_ok();
            timed.thread_of = started.then(process::id);
        }
        ProgressTimer { due }
    }

    /// Returns true if progress is due after so many activations.
    #[inline(always)]
    pub(super) fn is_due(&self, activations: u64) -> bool {
        activations >= self.due.load(Relaxed)
    }

    /// Sets the next report to `next` activations.
    pub(super) fn set(&self, next: u64) {
        self.due.store(next, Relaxed);
    }
}

impl Drop for ProgressTimer {
    fn drop(&mut self) {
        timed().runs.retain(|run| !Arc::ptr_eq(run, &self.due));
    }
}

/// Resets the counts of all runs every period; ends with the last run.
fn reset_while_runs() {
    loop {
        thread::sleep(PERIOD);
        let mut timed = timed();
        if timed.runs.is_empty() {
            timed.thread_of = None;
            return;
        }
        timed.runs.iter().for_each(|run| run.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn within_a_minute(condition: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if condition() {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    #[test]
    fn progress_due_by_count_or_time() {
        let timer = ProgressTimer::new(10);
        assert!(timer.is_due(10));
        timer.set(u64::MAX);
        assert!(within_a_minute(|| timer.is_due(0)), "after a time");
        timer.set(u64::MAX);
        assert!(within_a_minute(|| timer.is_due(0)), "again");
    }

    #[test]
    fn ended_runs_are_forgotten() {
        let timer = ProgressTimer::new(1);
        let due = timer.due.clone();
        drop(timer);
        assert!(!timed().runs.iter().any(|run| Arc::ptr_eq(run, &due)));
    }
}
