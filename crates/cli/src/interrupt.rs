//! Ctrl-C and its relatives (SIGTERM, SIGHUP): the first asks the runs to stop, a second ends the process at once.

use crate::failure::Failure;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on.
pub fn listen() -> Result<(), Failure> {
    let handler = || {
        if ASKED.swap(true, Relaxed) {
            process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::Machine(format!("cannot listen for interrupts: {e}")))
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}
