//! The clock of a run, and the real-time priority of threads.

use forebay_platform::clock::monotonic_ns;
use forebay_types::Time;
use nix::libc;
use nix::sys::time::TimeSpec;
use std::io;

/// Counts from the agreed start of a run, by the kernel's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that shows zero `after` from now on.
    pub fn starting(after: Time) -> Clock {
        Clock { start: monotonic_ns() + after.as_ns() }
    }

    /// The time of the run; zero before its start.
    pub fn now(self) -> Time {
        Time::from_ns(monotonic_ns().saturating_sub(self.start))
    }

    /// The time of the run when the kernel's monotonic clock shows `ns`; zero before its start.
    pub fn at(self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.start))
    }

    /// Time left until `time`; zero when it has passed. Also valid before the start of the run.
    pub fn until(self, time: Time) -> TimeSpec {
        let ns = (self.start + time.0.div_ceil(1_000)).saturating_sub(monotonic_ns());
        TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
    }
}

/// The calling thread goes before all ordinary ones (SCHED_FIFO, sched(7)): without that a busy machine delivers milliseconds late.
///
/// # Errors
/// Missing privileges: it needs CAP_SYS_NICE.
pub fn real_time(priority: i32) -> io::Result<()> {
    schedule(libc::SCHED_FIFO, priority)
}

/// Sets policy and priority of the calling thread.
fn schedule(policy: libc::c_int, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the kernel reads one struct that lives until the call returns.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The calling thread goes before ordinary ones until this is dropped, where it may.
#[derive(Debug)]
pub struct RealTimeScope(());

impl RealTimeScope {
    /// Raises the priority. Without the privilege nothing changes.
    pub fn from_now(priority: i32) -> Option<RealTimeScope> {
        real_time(priority).is_ok().then_some(RealTimeScope(()))
    }
}

impl Drop for RealTimeScope {
    fn drop(&mut self) {
        // Lowering the priority needs no capability.
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
}
