//! Where the threads of a run wait for each other: a number that one changes and others wait for, at first by looking at it again and again,
//! then asleep.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering::SeqCst, PoisonError, spin_loop};

/// A number to wait for.
///
/// Who sleeps says so under the lock before the last look, and who changes the number looks for sleepers behind the change. All four are in one
/// order (`SeqCst`), so that either the sleeper sees the change, or the other one sees the sleeper, and then takes the lock, which it gets only
/// when the sleeper hears the call.
pub(super) struct Signal {
    value: AtomicU32,
    asleep: AtomicU32,
    lock: Mutex<()>,
    call: Condvar,
    /// How often a thread looks before it sleeps.
    looks: u32,
}

impl Signal {
    /// It begins with zero. Threads look so many times before they sleep.
    pub(super) fn new(looks: u32) -> Signal {
        Signal { looks, value: AtomicU32::new(0), asleep: AtomicU32::new(0), lock: Mutex::new(()), call: Condvar::new() }
    }

    /// Waits until `come` says yes to the number. What was done before a change to it is then visible.
    pub(super) fn wait(&self, come: impl Fn(u32) -> bool) {
        for _ in 0..self.looks {
            if come(self.value.load(SeqCst)) {
                return;
            }
            spin_loop();
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, SeqCst);
        while !come(self.value.load(SeqCst)) {
            guard = self.call.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }

    /// Sets the number while nobody waits for it.
    pub(super) fn set(&self, value: u32) {
        self.value.store(value, SeqCst);
    }

    /// Adds one.
    pub(super) fn raise(&self) {
        self.value.fetch_add(1, SeqCst);
        self.wake();
    }

    /// Takes one away.
    pub(super) fn lower(&self) {
        self.value.fetch_sub(1, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.asleep.load(SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.call.notify_all();
        }
    }
}
