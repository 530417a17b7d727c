//! Synchronization of the threads of a run: a counter on which threads first spin and then sleep.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering::SeqCst, PoisonError, spin_loop};

/// A counter to wait on.
///
/// A sleeping thread registers under the lock before its last check, and a thread that changes the counter checks for waiters after the change. All
/// four accesses are sequentially consistent (`SeqCst`). So either the sleeper sees the change, or the other thread sees the sleeper and takes the
/// lock, which is free only once the sleeper waits for the notification.
pub(super) struct Signal {
    value: AtomicU32,
    waiters: AtomicU32,
    lock: Mutex<()>,
    notification: Condvar,
    /// Checks before a thread sleeps.
    spins: u32,
}

impl Signal {
    /// Creates a counter of zero; threads check it this many times before they sleep.
    pub(super) fn new(spins: u32) -> Signal {
        Signal { spins, value: AtomicU32::new(0), waiters: AtomicU32::new(0), lock: Mutex::new(()), notification: Condvar::new() }
    }

    /// Waits until `is_done` is true for the counter. Everything done before the change is then visible.
    pub(super) fn wait(&self, is_done: impl Fn(u32) -> bool) {
        for _ in 0..self.spins {
            if is_done(self.value.load(SeqCst)) {
                return;
            }
            spin_loop();
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiters.fetch_add(1, SeqCst);
        while !is_done(self.value.load(SeqCst)) {
            guard = self.notification.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiters.fetch_sub(1, SeqCst);
    }

    /// Sets the counter while no thread waits.
    pub(super) fn set(&self, value: u32) {
        self.value.store(value, SeqCst);
    }

    /// Adds one.
    pub(super) fn raise(&self) {
        self.value.fetch_add(1, SeqCst);
        self.wake();
    }

    /// Subtracts one.
    pub(super) fn lower(&self) {
        self.value.fetch_sub(1, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.waiters.load(SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.notification.notify_all();
        }
    }
}
