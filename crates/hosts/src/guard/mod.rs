//! Guard of an attachment (`--rollback-on`). Two processes, each of which rolls back when the other one ends or hangs:
//!
//! * the guard (`judge.rs`), in a session of its own, without terminal and output. It attaches, judges the connections once a second
//!   and renews its lease with each judgment.
//! * the foreground process (`foreground.rs`). It shows the reports of the guard and forwards its user's decision. It does not judge.
//!
//! The attachment stays only by a decision of the user: `--watch-for` has elapsed, Ctrl-C with `--keep-on-interrupt`, or another
//! command has detached it already. If both processes are killed at once, the lease ends (`lease.rs`), and the next command rolls back.

mod channel;
mod foreground;
mod judge;
mod rollback;
mod signals;

pub use foreground::Foreground;

use crate::attach::Request;
use crate::condition::Condition;
use crate::state::{Attachment, Guard};
use crate::tune::named;
use crate::watch::Second;
use crate::{Error, Health, privileges};
use channel::Channel;
use forebay_platform::clock;
use serde::{Deserialize, Serialize};
use signals::Signals;
use std::fs;
use std::time::Duration;

/// Attachment to guard.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A new attachment.
    New(Request),
    /// The attachment of this name, which has no guard.
    Attached(String),
}

/// Description of a guard to start.
#[derive(Debug, Clone)]
pub struct Order {
    /// The attachment.
    pub subject: Subject,
    /// Conditions; each of them alone causes a rollback.
    pub conditions: Vec<Condition>,
    /// Time after which the guard ends and the attachment stays.
    pub keep_after: Option<Duration>,
    /// Ctrl-C leaves it attached.
    pub keep_on_interrupt: bool,
}

/// Event of a guard, for its user.
#[derive(Debug)]
pub enum Event {
    /// The attachment is in place and guarded.
    Guarded {
        /// Number of the guard's process.
        process: u32,
        /// The changes that were made, a line each.
        done: Vec<String>,
        /// State of the connections before.
        before: Health,
    },
    /// A second has passed.
    Second {
        /// Seconds since the guard began.
        at: u64,
        /// State of the connections.
        now: Second,
    },
    /// Message for the user; the guard continues.
    Note(String),
    /// The guard has ended.
    Ended(Ending),
}

/// End of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Nothing was attached, or the attachment cannot be guarded: the error.
    Refused(String),
    /// It was ended before anything was attached.
    Cancelled {
        /// The reason.
        why: String,
        /// Ctrl-C was the reason.
        interrupted: bool,
    },
    /// The attachment stays, by its user's decision.
    Kept,
    /// Another command has detached it.
    Detached,
    /// Rolled back.
    RolledBack {
        /// The reason.
        why: String,
        /// Ctrl-C was the reason.
        interrupted: bool,
    },
}

/// Message of the guard to the foreground process. Each one renews the lease.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    Done(String),
    Guarded {
        attachment: Option<Box<Attachment>>,
        before: Health,
    },
    Second {
        at: u64,
        now: Second,
    },
    Note(String),
    RollingBack(String),
    /// An attempt has failed.
    Stuck(String),
    Refused(String),
    Kept,
    Detached,
    RolledBack(String),
}

/// Message of the foreground process to the guard.
#[derive(Debug, Serialize, Deserialize)]
enum Command {
    Keep,
    RollBack(String),
}

/// Checks a message between a guard and the process that started it, as the receiver of either side does.
///
/// # Errors
/// Text that is a message of neither side.
pub fn check_message(text: &[u8]) -> Result<(), String> {
    let report = serde_json::from_slice::<Report>(text).map(drop);
    report.or_else(|_| serde_json::from_slice::<Command>(text).map(drop)).map_err(|e| e.to_string())
}

/// Starts a guard. The process must have a single thread, because it is forked. `prepare` runs before the fork, with the capabilities that both
/// processes keep, and ends the threads that it starts; after an error of it there is no guard.
///
/// # Errors
/// Nothing of that name is attached, the process lacks capabilities, `prepare` fails, or the kernel refuses another process.
pub fn start(mut order: Order, prepare: impl FnOnce() -> Result<(), Error>) -> Result<Foreground, Error> {
    privileges::check()?;
    if let Subject::Attached(name) = &mut order.subject {
        // The name of its program is allowed as well.
        *name = named(name)?.name;
    }
    let failed = |e: std::io::Error| Error::io("starting the guard", &e);
    // Forking copies the calling thread only: a lock that another thread holds would stay locked in the copy.
    if fs::read_dir("/proc/self/task").map_err(failed)?.count() != 1 {
        return Err(Error::new("a guard can only be started by a process with a single thread"));
    }
    // Refused without CAP_SYS_RESOURCE, which is dropped below: the out-of-memory killer then treats the guard like other processes.
    let _ = fs::write("/proc/self/oom_score_adj", "-1000");
    privileges::keep_needed()?;
    prepare()?;
    let (ours, theirs) = Channel::pair().map_err(failed)?;
    // From here on the foreground process reads signals, so that none is lost.
    let signals = Signals::of_foreground().map_err(failed)?;
    let since = clock::monotonic_ns();
    // SAFETY: the process has a single thread.
    match unsafe { libc::fork() } {
        -1 => Err(failed(std::io::Error::last_os_error())),
        0 => {
            drop((ours, signals));
            judge::run_process(order, since, theirs)
        }
        child => {
            drop(theirs);
            Ok(Foreground::new(&order, Guard { process: child.unsigned_abs(), since }, ours, signals))
        }
    }
}
