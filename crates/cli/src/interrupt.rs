//! Early ends: Ctrl-C and its relatives (SIGTERM, SIGHUP), of which the first asks the work to stop and a second ends the process at
//! once; and a violated assertion of the engine, after which no result may be trusted or kept.

use crate::failure::Failure;
use crate::progress::event;
use serde_json::json;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);
static LISTENS: AtomicBool = AtomicBool::new(false);
/// Runs of a sweep that are done, and all.
static DONE: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static RESULTS: Mutex<Results> =
    Mutex::new(Results { staging: None, committing: false, kept: None, ending: false, forced: None });

/// How long after a signal the work may take to end by itself, and how long results that are on disk may take to get their name.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// The same of a sweep, which counts what it has.
pub(crate) const GRACE_OF_SWEEPS: Duration = Duration::from_secs(3);
const NAMING: Duration = Duration::from_secs(10);

/// Where the results of this process are, for whoever ends it.
struct Results {
    /// The directory that they are written to: removed when the process ends before they are complete.
    staging: Option<PathBuf>,
    /// They are on disk and get their name.
    committing: bool,
    /// They are complete, here.
    kept: Option<PathBuf>,
    /// The process ends: nothing gets a name any more.
    ending: bool,
    /// How it ends when the work does not end by itself.
    forced: Option<Forced>,
}

/// How the process ends when the work does not end by itself after a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forced {
    /// How long the work may take.
    pub(crate) grace: Duration,
    /// Say it as a JSON event.
    pub(crate) json: bool,
    /// Whether what has ended by then is kept, as by a sweep.
    pub(crate) continues: bool,
}

fn results() -> MutexGuard<'static, Results> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens from now on; to be called once or more. The work looks at [`asked`].
pub(crate) fn listen() -> Result<(), Failure> {
    if LISTENS.swap(true, Relaxed) {
        return Ok(());
    }
    let handler = || {
        if ASKED.swap(true, Relaxed) {
            process::exit(130);
        }
        if let Some(forced) = results().forced {
            // The handler itself must be free for a second signal. Without a thread, that is what ends the process.
            let _ = thread::Builder::new().spawn(move || end_after(forced));
        }
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::Machine(format!("cannot listen for interrupts: {e}")))
}

/// As [`listen`], for work with phases that do not look at [`asked`]: the process ends after `forced.grace` all the same.
pub(crate) fn listen_or_end(forced: Forced) -> Result<(), Failure> {
    results().forced = Some(forced);
    listen()
}

/// Waits for the work, and ends the process.
fn end_after(forced: Forced) {
    thread::sleep(forced.grace);
    let began = Instant::now();
    // Results that are about to get their name are not taken away.
    while results().committing && results().kept.is_none() && began.elapsed() < NAMING {
        thread::sleep(Duration::from_millis(5));
    }
    let (done, total) = (DONE.load(Relaxed), TOTAL.load(Relaxed));
    let text = match end() {
        Some(dir) => format!(
            "interrupted; the results are complete in {}. `forebay report` writes the page that may be missing",
            dir.display()
        ),
        None if forced.continues => {
            format!("interrupted; results are kept. Run the same command again to go on: at least {done} of {total} runs done")
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

/// The process ends now: removes results that are not complete. Returns where complete ones are.
pub(crate) fn end() -> Option<PathBuf> {
    let mut results = results();
    results.ending = true;
    if let (None, false, Some(staging)) = (&results.kept, results.committing, &results.staging) {
        // Removal is tried, not assured: the next command removes the rest.
        let _ = fs::remove_dir_all(staging);
    }
    results.kept.clone()
}

/// So many runs of a sweep are done.
pub(crate) fn note_done(done: usize, total: usize) {
    DONE.store(done, Relaxed);
    TOTAL.store(total, Relaxed);
}

/// Another run of the sweep is done.
pub(crate) fn note_one_done() {
    DONE.fetch_add(1, Relaxed);
}

/// Becomes true when the user asks to stop.
pub(crate) fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Stops as if the user had asked to.
pub(crate) fn stop() {
    ASKED.store(true, Relaxed);
}

/// Whether the user asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// The results are on disk. Whether they are to get their name: not if the user has asked to stop.
pub(crate) fn commit() -> bool {
    let mut results = results();
    results.committing = !asked() && !results.ending;
    results.committing
}

/// The results are complete in `dir`: whatever happens now takes nothing away.
pub(crate) fn kept(dir: &Path) {
    let mut results = results();
    results.kept = Some(dir.to_owned());
    results.committing = false;
}

/// From now on a panic on any thread says that it is a defect, and in what, and ends the process with code 1. For work of which the
/// finished parts are independent of each other, and stay.
pub(crate) fn blame_on_panic(what: impl Fn() -> Option<String> + Send + Sync + 'static) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let what = what().map_or(String::new(), |w| format!(", in {w}"));
        eprintln!("error: a defect in forebay{what}; results of finished runs are kept. Please report it with the scenario");
        process::exit(1);
    }));
}

/// From now on a panic on any thread says that it is a defect, removes `staging` and ends the process with code 1. Release builds
/// abort on a panic, so nothing would be cleaned up otherwise. A signal that ends the process removes `staging` as well.
pub(crate) fn clean_up(staging: PathBuf) {
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
