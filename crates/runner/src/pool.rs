//! Thread pool: threads process independent items, and the caller receives the results.

use forebay_experiment::report::RunError;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Interval of progress reports.
const TICK: Duration = Duration::from_millis(100);

/// Source of independent work items, and the function that processes one.
pub(crate) trait Work: Sync {
    /// A piece.
    type Item;
    /// Result of an item.
    type Done: Send;
    /// Error of an item.
    type Error: Send + From<NoThread>;

    /// Takes the next item; `None`: there are no more. It may block while `stop` is not set.
    fn next(&self, stop: &Stop) -> Option<Self::Item>;

    /// Processes an item on thread number `thread`. It ends early when `stop` is set, with an error that is ignored.
    ///
    /// # Errors
    /// The first error stops all threads.
    fn run(&self, item: Self::Item, thread: usize, stop: &Stop) -> Result<Self::Done, Self::Error>;
}

/// Stop signal of the threads.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    asked: &'a AtomicBool,
    failed: AtomicBool,
}

impl Stop<'_> {
    /// True if a stop was requested or an item failed.
    pub(crate) fn is_set(&self) -> bool {
        self.asked.load(Relaxed) || self.failed.load(Relaxed)
    }
}

/// The system refuses to create a thread.
#[derive(Debug)]
pub(crate) struct NoThread(pub(crate) io::Error);

impl fmt::Display for NoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the system creates no thread for the runs: {}; raise the limits on processes (ulimit -u) and address space (ulimit -v), or end other \
             programs",
            self.0
        )
    }
}

impl From<NoThread> for RunError {
    fn from(e: NoThread) -> RunError {
        RunError::World(e.to_string())
    }
}

/// Event for the caller.
pub(crate) enum Event<D> {
    /// Time since the start, about ten times a second.
    Tick(Duration),
    /// An item is done, in any order.
    Done(D),
}

/// Processes all items on `threads` threads (at least one) and calls `receive` on the calling thread. Returns early, without an error, once `asked`
/// is true.
///
/// If the system refuses some of the threads, the others process all items: results do not depend on their number.
///
/// # Errors
/// The first failure of an item or of `receive`, which is not called again; all threads stop then. [`NoThread`] if the system refuses all threads.
///
/// # Panics
/// When an item panics: the panic is propagated to the caller once the other threads have stopped.
pub(crate) fn run<W: Work, E: From<W::Error>>(
    work: &W,
    threads: usize,
    asked: &AtomicBool,
    receive: &mut dyn FnMut(Event<W::Done>) -> Result<(), E>,
) -> Result<(), E> {
    run_on(&|_| Builder::new(), work, threads, asked, receive)
}

/// As [`run`], with threads that `builder` configures by their numbers.
fn run_on<W: Work, E: From<W::Error>>(
    builder: &dyn Fn(usize) -> Builder,
    work: &W,
    threads: usize,
    asked: &AtomicBool,
    receive: &mut dyn FnMut(Event<W::Done>) -> Result<(), E>,
) -> Result<(), E> {
    let stop = &Stop { asked, failed: AtomicBool::new(false) };
    let clock = Instant::now();
    thread::scope(|scope| {
        // Results that wait for their writer take memory: a thread hands its result over before it begins the next item.
        let (sender, receiver) = mpsc::sync_channel(0);
        for number in 0..threads.max(1) {
            let sender = sender.clone();
            match builder(number).spawn_scoped(scope, move || worker(work, number, stop, &sender)) {
                Ok(_) => {}
                Err(e) if number == 0 => return Err(W::Error::from(NoThread(e)).into()),
                // More attempts would fail too, and take memory that the runs need.
                Err(_) => break,
            }
        }
        drop(sender);
        let (mut result, mut ticked) = (Ok(()), Duration::ZERO);
        loop {
            let received = match receiver.recv_timeout(TICK) {
                Ok(Ok(done)) if result.is_ok() => receive(Event::Done(done)),
                // Interrupted items see the same signal.
                Ok(Err(e)) if !stop.is_set() => Err(e.into()),
                Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => return result,
            };
            // Many short items must not cause a progress report each.
            let received = received.and_then(|()| match clock.elapsed() {
                now if now >= ticked + TICK && result.is_ok() => {
                    ticked = now;
                    receive(Event::Tick(now))
                }
                _ => Ok(()),
            });
            if received.is_err() && result.is_ok() {
                stop.failed.store(true, Relaxed);
                result = received;
            }
        }
    })
}

fn worker<W: Work>(work: &W, number: usize, stop: &Stop, sender: &SyncSender<Result<W::Done, W::Error>>) {
    let _others = StopOthers(&stop.failed);
    while !stop.is_set() {
        let Some(item) = work.next(stop) else { return };
        if stop.is_set() {
            return;
        }
        let result = work.run(item, number, stop);
        let failed = result.is_err();
        if sender.send(result).is_err() || failed {
            return;
        }
    }
}

/// Where a panic does not end the process, the other threads must not wait for an item that will never be done.
struct StopOthers<'a>(&'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    impl From<NoThread> for String {
        fn from(e: NoThread) -> String {
            e.to_string()
        }
    }

    /// A builder of threads that the system refuses.
    fn refused() -> Builder {
        Builder::new().stack_size(1 << 60)
    }

    #[test]
    fn refused_threads_leave_work_to_others() {
        let (work, mut done) = (Numbers { next: AtomicUsize::new(0), of: Ok }, 0);
        let builder = |number: usize| if number < 2 { Builder::new() } else { refused() };
        let result = run_on(&builder, &work, 8, &AtomicBool::new(false), &mut |event| {
            done += usize::from(matches!(event, Event::Done(_)));
            Ok::<(), String>(())
        });
        assert_eq!((result, done), (Ok(()), 20));
    }

    #[test]
    fn no_thread_is_an_error() {
        let work = Numbers { next: AtomicUsize::new(0), of: Ok };
        let result = run_on(&|_| refused(), &work, 8, &AtomicBool::new(false), &mut |_| Ok::<(), String>(()));
        assert!(result.unwrap_err().contains("ulimit -u"));
    }

    /// Counts up to 20; `of` maps a number to its result.
    struct Numbers<F> {
        next: AtomicUsize,
        of: F,
    }

    impl<F: Fn(usize) -> Result<usize, String> + Sync> Work for Numbers<F> {
        type Item = usize;
        type Done = usize;
        type Error = String;

        fn next(&self, _: &Stop) -> Option<usize> {
            Some(self.next.fetch_add(1, Relaxed)).filter(|n| *n < 20)
        }

        fn run(&self, item: usize, _: usize, _: &Stop) -> Result<usize, String> {
            (self.of)(item)
        }
    }

    fn results(of: impl Fn(usize) -> Result<usize, String> + Sync, stop: bool) -> (Result<(), String>, Vec<usize>) {
        let mut done = Vec::new();
        let result = run(&Numbers { next: AtomicUsize::new(0), of }, 3, &AtomicBool::new(stop), &mut |event| {
            if let Event::Done(n) = event {
                done.push(n);
            }
            Ok::<(), String>(())
        });
        done.sort_unstable();
        (result, done)
    }

    #[test]
    fn every_piece_is_done_once() {
        assert_eq!(results(Ok, false), (Ok(()), (0..20).collect()));
        assert_eq!(results(Ok, true), (Ok(()), vec![]), "nothing begins after a stop");
    }

    #[test]
    fn the_first_failure_stops_everything() {
        let (result, done) = results(|n| if n == 4 { Err("four".into()) } else { Ok(n) }, false);
        assert_eq!(result, Err("four".into()));
        assert!(!done.contains(&4));
    }

    #[test]
    fn receiver_failure_stops_workers() {
        let mut calls = 0;
        let work = Numbers { next: AtomicUsize::new(0), of: Ok };
        let result = run(&work, 2, &AtomicBool::new(false), &mut |_| {
            calls += 1;
            Err("full".to_owned())
        });
        assert_eq!((result, calls), (Err("full".into()), 1));
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let defect = |n| if n == 1 { panic!("a defect") } else { Ok(n) };
        assert!(catch_unwind(AssertUnwindSafe(|| results(defect, false))).is_err());
    }
}
