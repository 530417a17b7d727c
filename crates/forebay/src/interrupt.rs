//! Early ends of the process. The first SIGINT, SIGTERM or SIGHUP requests the work to stop; a second one ends the process at once. A
//! violated assertion of the engine also ends it, and no result is kept then.

use crate::terminal::failure::Failure;
use crate::terminal::progress::event;
use serde_json::json;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static LISTENING: AtomicBool = AtomicBool::new(false);
/// Runs of a sweep that are done, and all.
static DONE: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static RESULTS: Mutex<Results> =
    Mutex::new(Results { staging: None, committing: false, kept: None, ending: false, forced: None });

/// Time for the work to end by itself after a signal.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// The same of a sweep, which counts its finished runs.
pub(crate) const GRACE_OF_SWEEPS: Duration = Duration::from_secs(3);
/// Time for the rename of complete results.
const NAMING: Duration = Duration::from_secs(10);

/// Results of this process, for the code that ends it.
struct Results {
    /// Directory that they are written to; removed if the process ends before they are complete.
    staging: Option<PathBuf>,
    /// They are on disk, and the directory is being renamed.
    committing: bool,
    /// Directory of complete results.
    kept: Option<PathBuf>,
    /// The process is ending: results are not renamed.
    ending: bool,
    /// End of the process if the work does not end by itself.
    forced: Option<Forced>,
}

/// End of the process if the work does not end by itself after a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forced {
    /// Time that the work has.
    pub(crate) grace: Duration,
    /// Report it as a JSON event.
    pub(crate) json: bool,
    /// Finished runs are kept, as by a sweep.
    pub(crate) continues: bool,
}

fn results() -> MutexGuard<'static, Results> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles signals from now on; further calls do nothing. The work polls [`requested`].
pub(crate) fn listen() -> Result<(), Failure> {
    if LISTENING.swap(true, Relaxed) {
        return Ok(());
    }
    let handler = || {
        if REQUESTED.swap(true, Relaxed) {
            process::exit(130);
        }
        if let Some(forced) = results().forced {
            // The handler itself must stay free for a second signal. If no thread can be created, only that one ends the process.
            let _ = thread::Builder::new().spawn(move || end_after(forced));
        }
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::Machine(format!("cannot listen for interrupts: {e}")))
}

/// As [`listen`], for work with phases that do not poll [`requested`]: the process ends after `forced.grace`.
pub(crate) fn listen_or_end(forced: Forced) -> Result<(), Failure> {
    results().forced = Some(forced);
    listen()
}

/// Waits for the work, then ends the process.
fn end_after(forced: Forced) {
    thread::sleep(forced.grace);
    let began = Instant::now();
    // Results that are being renamed are not removed.
    while results().committing && results().kept.is_none() && began.elapsed() < NAMING {
        thread::sleep(Duration::from_millis(5));
    }
    let (done, total) = (DONE.load(Relaxed), TOTAL.load(Relaxed));
    let text = match end() {
        Some(dir) => format!(
            "interrupted; the results in {0} are complete; if the report is missing, `forebay report {0}` writes it",
            dir.display()
        ),
        None if forced.continues => {
            format!("interrupted; at least {done} of {total} runs are done and kept: run the same command again to continue")
        }
        None => "interrupted; no results were kept".into(),
    };
    if forced.json {
        let counts = json!({"event": "interrupted", "done": done, "total": total});
        event(&if forced.continues { counts } else { json!({"event": "interrupted"}) });
    } else {
        eprintln!("{text}");
    }
    process::exit(130);
}

/// Removes incomplete results, because the process ends now. Returns the directory of complete ones.
pub(crate) fn end() -> Option<PathBuf> {
    let mut results = results();
    results.ending = true;
    if let (None, false, Some(staging)) = (&results.kept, results.committing, &results.staging) {
        // If this fails, the next command removes the rest.
        let _ = fs::remove_dir_all(staging);
    }
    results.kept.clone()
}

/// Sets how many runs of a sweep are done.
pub(crate) fn note_done(done: usize, total: usize) {
    DONE.store(done, Relaxed);
    TOTAL.store(total, Relaxed);
}

/// Counts another run of the sweep as done.
pub(crate) fn note_one_done() {
    DONE.fetch_add(1, Relaxed);
}

/// Becomes true when the user interrupts the command.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Stops as after an interrupt.
pub(crate) fn stop() {
    REQUESTED.store(true, Relaxed);
}

/// True after an interrupt of the user.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Relaxed)
}

/// Called when the results are on disk. Returns true if their directory may be renamed: not after a signal.
pub(crate) fn commit() -> bool {
    let mut results = results();
    results.committing = !requested() && !results.ending;
    results.committing
}

/// The results are complete in `dir` and are not removed in any case.
pub(crate) fn kept(dir: &Path) {
    let mut results = results();
    results.kept = Some(dir.to_owned());
    results.committing = false;
}

/// From now on a panic on any thread is reported as a defect, with the work that it happened in, and ends the process with code 1. For work with
/// independent parts: finished parts stay.
pub(crate) fn report_panics(what: impl Fn() -> Option<String> + Send + Sync + 'static) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let what = what().map_or(String::new(), |w| format!(", in {w}"));
        eprintln!("error: a defect in forebay{what}; results of finished runs are kept. Please report it with the scenario");
        process::exit(1);
    }));
}

/// From now on a panic on any thread is reported as a defect, removes `staging` and ends the process with code 1. Release builds abort on a panic,
/// without cleaning up. A signal that ends the process also removes `staging`.
pub(crate) fn remove_on_exit(staging: PathBuf) {
    {
        let mut results = results();
        (results.staging, results.kept) = (Some(staging), None);
        (results.committing, results.ending) = (false, false);
    }
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        match end() {
            None => {
                eprintln!("error: a defect in forebay, no results were kept; please report it with the scenario and the seed")
            }
            Some(dir) => {
                eprintln!(
                    "error: a defect in forebay after the runs; the results are complete in {}. Please report it",
                    dir.display()
                );
            }
        }
        process::exit(1);
    }));
}
