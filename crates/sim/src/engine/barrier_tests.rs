//! Tests of `barrier.rs` under a scheduler that tries all orders in which two threads can take their steps, and all orders of three threads with at
//! most two interruptions. A step is an access to an atomic number, a lock or a notification. `barrier.rs` uses `SeqCst` throughout, so that these
//! orders cover all behaviors. A lost notification ends with all threads asleep, which fails the test.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex};

/// The same source, compiled with the steps below.
#[path = "barrier.rs"]
#[expect(clippy::duplicate_mod, reason = "the same source with other primitives")]
mod barrier;

use barrier::Signal;

/// State of a thread before its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits for the lock.
    Lock,
    /// Waits for a notification.
    Asleep,
    Done,
}

/// All threads of one order, one of which runs at a time.
struct Run {
    states: Vec<State>,
    current: usize,
    locked: bool,
    /// Choices at each step, of how many; the first ones are given.
    path: Vec<(usize, usize)>,
    step: usize,
    interruptions: usize,
    failed: bool,
}

struct Scheduler {
    run: Mutex<Run>,
    turn: Condvar,
}

thread_local! {
    static SELF: RefCell<Option<(Arc<Scheduler>, usize)>> = const { RefCell::new(None) };
}

/// Maximum interruptions of a thread that could have continued, with three threads.
const INTERRUPTIONS: usize = 2;

impl Scheduler {
    /// Sets thread `number` to `state` until it is scheduled.
    fn pause(&self, number: usize, state: State) {
        let mut run = self.run.lock().unwrap();
        run.states[number] = state;
        run.choose(number);
        self.turn.notify_all();
        if state == State::Done {
            return;
        }
        while run.current != number && !run.failed {
            run = self.turn.wait(run).unwrap();
        }
        let failed = run.failed;
        run.states[number] = State::Ready;
        run.locked |= state == State::Lock;
        drop(run);
        assert!(!failed, "all threads sleep");
    }

    /// Releases the lock.
    fn unlock(&self) {
        self.run.lock().unwrap().locked = false;
    }

    /// Wakes the sleeping threads: they need the lock.
    fn call(&self) {
        for state in self.run.lock().unwrap().states.iter_mut().filter(|s| **s == State::Asleep) {
            *state = State::Lock;
        }
    }
}

impl Run {
    /// Chooses the thread that continues after thread `last`.
    fn choose(&mut self, last: usize) {
        let can = |s: State| s == State::Ready || (s == State::Lock && !self.locked);
        let mut able: Vec<usize> = (0..self.states.len()).filter(|&t| can(self.states[t])).collect();
        let goes_on = able.contains(&last);
        if goes_on {
            // The first choice is to continue with the same thread.
            able.retain(|&t| t != last);
            able.insert(0, last);
            if self.states.len() > 2 && self.interruptions == INTERRUPTIONS {
                able.truncate(1);
            }
        }
        if able.is_empty() {
            self.failed = self.states.iter().any(|s| *s != State::Done);
            return;
        }
        if self.step == self.path.len() {
            self.path.push((0, able.len()));
        }
        let chosen = self.path[self.step].0;
        self.step += 1;
        self.interruptions += usize::from(goes_on && chosen > 0);
        self.current = able[chosen];
    }
}

fn step(state: State) {
    let own = SELF.with_borrow(|own| own.clone());
    if let Some((scheduler, number)) = own {
        scheduler.pause(number, state);
    }
}

/// Tries all orders of `threads`, which share the value of `make`. Returns the number of orders.
fn all_orders<T: Send + Sync + 'static>(make: fn() -> T, threads: &[fn(&T)]) -> usize {
    let (mut path, mut orders) = (Vec::new(), 0);
    loop {
        let states = vec![State::Ready; threads.len()];
        // No thread is scheduled until all have begun.
        let run = Run { states, current: usize::MAX, locked: false, path, step: 0, interruptions: 0, failed: false };
        let scheduler = Arc::new(Scheduler { run: Mutex::new(run), turn: Condvar::new() });
        let shared = Arc::new(make());
        let handles: Vec<_> = (0..threads.len())
            .map(|number| {
                let (scheduler, shared, work) = (scheduler.clone(), shared.clone(), threads[number]);
                std::thread::spawn(move || {
                    SELF.set(Some((scheduler.clone(), number)));
                    let mut run = scheduler.run.lock().unwrap();
                    while run.current != number {
                        run = scheduler.turn.wait(run).unwrap();
                    }
                    drop(run);
                    work(&shared);
                    scheduler.pause(number, State::Done);
                })
            })
            .collect();
        scheduler.run.lock().unwrap().choose(usize::MAX);
        scheduler.turn.notify_all();
        let failed = handles.into_iter().map(|h| h.join().is_err()).fold(false, |a, b| a | b);
        path = std::mem::take(&mut scheduler.run.lock().unwrap().path);
        assert!(!failed, "order {path:?}");
        orders += 1;
        // The next order: another choice at the last step that has one.
        while path.last().is_some_and(|(chosen, of)| chosen + 1 == *of) {
            path.pop();
        }
        match path.last_mut() {
            Some((chosen, _)) => *chosen += 1,
            None => return orders,
        }
    }
}

/// Primitives of `barrier.rs`: each use is a step.
mod sync {
    use super::{State, step};
    use std::sync::atomic;
    pub(super) use std::sync::{PoisonError, atomic::Ordering};

    pub(super) fn spin_loop() {}

    pub(super) struct AtomicU32(atomic::AtomicU32);

    impl AtomicU32 {
        pub(super) fn new(value: u32) -> AtomicU32 {
            AtomicU32(atomic::AtomicU32::new(value))
        }
        pub(super) fn load(&self, order: Ordering) -> u32 {
            step(State::Ready);
            self.0.load(order)
        }
        pub(super) fn store(&self, value: u32, order: Ordering) {
            step(State::Ready);
            self.0.store(value, order);
        }
        pub(super) fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
            step(State::Ready);
            self.0.fetch_add(value, order)
        }
        pub(super) fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
            step(State::Ready);
            self.0.fetch_sub(value, order)
        }
    }

    fn with_scheduler(f: impl Fn(&super::Scheduler)) {
        super::SELF.with_borrow(|own| own.iter().for_each(|(scheduler, _)| f(scheduler)));
    }

    pub(super) struct Mutex<T>(T);

    pub(super) struct Guard;

    impl Mutex<()> {
        pub(super) fn new(nothing: ()) -> Mutex<()> {
            Mutex(nothing)
        }
        pub(super) fn lock(&self) -> Result<Guard, PoisonError<Guard>> {
            let () = self.0;
            step(State::Lock);
            Ok(Guard)
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            with_scheduler(super::Scheduler::unlock);
        }
    }

    pub(super) struct Condvar;

    impl Condvar {
        pub(super) fn new() -> Condvar {
            Condvar
        }
        /// Releases the lock and sleeps in one step; after a notification the thread needs the lock again.
        pub(super) fn wait(&self, guard: Guard) -> Result<Guard, PoisonError<Guard>> {
            // Another thread may run before it sleeps.
            step(State::Ready);
            drop(guard);
            super::sleep();
            Ok(Guard)
        }
        pub(super) fn notify_all(&self) {
            step(State::Ready);
            with_scheduler(super::Scheduler::call);
        }
    }
}

/// The current thread sleeps until it is notified, and then has the lock.
fn sleep() {
    let own = SELF.with_borrow(|own| own.clone());
    if let Some((scheduler, number)) = own {
        scheduler.pause(number, State::Asleep);
        scheduler.run.lock().unwrap().locked = true;
    }
}

#[test]
fn no_wakeup_is_lost() {
    let orders = all_orders(
        || Signal::new(1),
        &[
            |s: &Signal| s.wait(|value| value == 2),
            |s: &Signal| {
                s.raise();
                s.raise();
            },
        ],
    );
    assert!(orders > 50, "{orders}");
}

/// A round as in `partition/mod.rs`: two threads wait for it, and the third one for them.
#[test]
fn round_has_no_deadlock() {
    fn follower((rounds, working): &(Signal, Signal)) {
        rounds.wait(|round| round != 0);
        working.lower();
    }
    let orders = all_orders(
        || (Signal::new(0), Signal::new(0)),
        &[
            |(rounds, working): &(Signal, Signal)| {
                working.set(2);
                rounds.raise();
                working.wait(|left| left == 0);
            },
            follower,
            follower,
        ],
    );
    assert!(orders > 500, "{orders}");
}
