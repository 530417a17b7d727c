//! What ends a run early: Ctrl-C and its relatives (SIGTERM, SIGHUP), of which the first asks the runs to stop and a second ends
//! the process at once; and a violated assertion of the engine, after which no result may be trusted or kept.

use crate::failure::Failure;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);
static KEPT: OnceLock<PathBuf> = OnceLock::new();
static LISTENS: AtomicBool = AtomicBool::new(false);

/// Listens from now on; to be called once or more.
pub(crate) fn listen() -> Result<(), Failure> {
    if LISTENS.swap(true, Relaxed) {
        return Ok(());
    }
    let handler = || {
        if ASKED.swap(true, Relaxed) {
            process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::Machine(format!("cannot listen for interrupts: {e}")))
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

/// The results are complete in `dir`: whatever happens now takes nothing away.
pub(crate) fn kept(dir: &Path) {
    // Only the first directory counts; there is one a process.
    let _ = KEPT.set(dir.to_owned());
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
/// abort on a panic, so nothing would be cleaned up otherwise.
pub(crate) fn clean_up_on_panic(staging: PathBuf) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        // Removal is tried, not assured: the defect is what must be reported.
        let _ = fs::remove_dir_all(&staging);
        match KEPT.get() {
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
