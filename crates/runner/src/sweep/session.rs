//! Queue of plans on one thread pool: a caller waits for the results of its own plan while units of others run.

use super::error::SweepError;
use super::find::{Done, Finder};
use super::plan::Plan;
use crate::pool::{NoThread, Stop, Work, run};
use forebay_experiment::stopping::reference_run::{OwnFigure, Reference};
use forebay_scenario::Scenario;
use forebay_store::unit::{UnitKey, UnitRecord, UnitStore};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Polling interval of a thread that waits for work or results.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the units of submitted plans, each different unit once.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    pool: Option<JoinHandle<()>>,
}

/// A submitted plan with its scenario.
#[derive(Debug, Clone)]
pub struct Ticket(Arc<Planned>);

#[derive(Debug)]
struct Planned {
    scenario: Scenario,
    plan: Plan,
}

/// Progress of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Different units requested so far.
    pub total: usize,
    /// Units that have ended, with or without a result.
    pub done: usize,
    /// Units whose result was cached.
    pub found: usize,
}

struct Shared {
    finder: Finder,
    asked_to_stop: AtomicBool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("counts", &self.lock().counts).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Arc<Planned>, usize)>,
    /// Used for lookups only, never iterated.
    units: HashMap<UnitKey, State>,
    counts: Counts,
    /// The session has ended.
    ended: bool,
    /// Why it ended before any run, if the system refuses to create threads.
    refused: Option<String>,
}

/// State of a unit.
enum State {
    Waiting,
    Done(Arc<UnitRecord>),
    Failed(Arc<SweepError>),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause<'a>(&self, queue: MutexGuard<'a, Queue>, at_most: Duration) -> MutexGuard<'a, Queue> {
        self.changed.wait_timeout(queue, at_most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Work for Shared {
    type Item = (Arc<Planned>, usize);
    type Done = ();
    type Error = NoThread;

    fn next(&self, stop: &Stop) -> Option<Self::Item> {
        let mut queue = self.lock();
        while !stop.is_set() {
            if let Some(item) = queue.waiting.pop_front() {
                return Some(item);
            }
            queue = self.pause(queue, PAUSE);
        }
        None
    }

    /// A failed unit affects only the plans that requested it.
    fn run(&self, (planned, number): Self::Item, thread: usize, stop: &Stop) -> Result<(), NoThread> {
        let result = self.finder.find(thread, &planned.scenario, &planned.plan, number, stop);
        if stop.is_set() && result.is_err() {
            return Ok(());
        }
        let found = matches!(result, Ok((_, Done::Found)));
        let state = result.map_or_else(|e| State::Failed(Arc::new(e)), |(record, _)| State::Done(Arc::new(record)));
        let mut queue = self.lock();
        queue.units.insert(planned.plan.units[number].key, state);
        queue.counts.done += 1;
        queue.counts.found += usize::from(found);
        self.changed.notify_all();
        Ok(())
    }
}

/// Notifies waiting callers that the session has ended, also after a panic.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Session {
    /// Starts `threads` threads (at least one), which take results from `store` and put new ones there.
    pub fn new(store: UnitStore, threads: usize) -> Session {
        let threads = threads.max(1);
        let finder = Finder::new(store, threads);
        let shared =
            Arc::new(Shared { finder, asked_to_stop: AtomicBool::new(false), queue: Mutex::default(), changed: Condvar::new() });
        let own = shared.clone();
        let pool = move || {
            let _ended = Ended(&own);
            // A failed unit is reported to its requesters.
            if let Err(e) = run(&*own, threads, &own.asked_to_stop, &mut |_| Ok::<(), NoThread>(())) {
                own.lock().refused = Some(e.to_string());
            }
        };
        let pool = match Builder::new().spawn(pool) {
            Ok(pool) => Some(pool),
            Err(e) => {
                let mut queue = shared.lock();
                (queue.ended, queue.refused) = (true, Some(NoThread(e).to_string()));
                None
            }
        };
        Session { shared, pool }
    }

    /// Submits a scenario with the seeds 1 to `seeds`, keeping these tables of each run. The units run when their turn comes.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn submit(&self, scenario: &Scenario, seeds: u32, keep: Vec<String>) -> Result<Ticket, SweepError> {
        self.submit_seeds(scenario, 1..=u64::from(seeds), keep)
    }

    /// As [`Session::submit`], with these seeds.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn submit_seeds(&self, scenario: &Scenario, seeds: RangeInclusive<u64>, keep: Vec<String>) -> Result<Ticket, SweepError> {
        Ok(self.enqueue(scenario, Plan::once(scenario, seeds, keep, &self.shared.asked_to_stop)?))
    }

    /// As [`Session::submit_seeds`], for runs that end when their ratios to finished runs are known: one for each seed, with its key.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn submit_against(
        &self,
        scenario: &Scenario,
        seeds: RangeInclusive<u64>,
        keep: Vec<String>,
        references: Vec<(UnitKey, Arc<Reference>)>,
    ) -> Result<Ticket, SweepError> {
        let plan = Plan::once(scenario, seeds, keep, &self.shared.asked_to_stop)?;
        Ok(self.enqueue(scenario, plan.against(references)))
    }

    /// As [`Session::submit_seeds`], for runs that end when their own figure is known, and that others are compared with later.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn submit_known(
        &self,
        scenario: &Scenario,
        seeds: RangeInclusive<u64>,
        keep: Vec<String>,
        figure: &Arc<OwnFigure>,
    ) -> Result<Ticket, SweepError> {
        let plan = Plan::once(scenario, seeds, keep, &self.shared.asked_to_stop)?;
        Ok(self.enqueue(scenario, plan.until_known(figure)))
    }

    fn enqueue(&self, scenario: &Scenario, plan: Plan) -> Ticket {
        let planned = Arc::new(Planned { scenario: scenario.clone(), plan });
        let mut queue = self.shared.lock();
        for number in planned.plan.distinct() {
            let (number, key) = (number as usize, planned.plan.units[number as usize].key);
            if let Entry::Vacant(new) = queue.units.entry(key) {
                new.insert(State::Waiting);
                queue.counts.total += 1;
                queue.waiting.push_back((planned.clone(), number));
            }
        }
        self.shared.changed.notify_all();
        Ticket(planned)
    }

    /// Plans the units of a scenario with the seeds 1 to `seeds`, keeping these tables of each, without running them.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self, scenario: &Scenario, seeds: u32, keep: Vec<String>) -> Result<Plan, SweepError> {
        Plan::once(scenario, 1..=u64::from(seeds), keep, &self.shared.asked_to_stop)
    }

    /// The results of the units of a plan, in its order; `None` if they are not available after `at_most`.
    ///
    /// # Errors
    /// That of the first failed unit, and a stop request.
    pub fn wait(&self, ticket: &Ticket, at_most: Duration) -> Option<Result<Vec<Arc<UnitRecord>>, Arc<SweepError>>> {
        let units = &ticket.0.plan.units;
        let look = |queue: &Queue| -> Option<Result<Vec<Arc<UnitRecord>>, Arc<SweepError>>> {
            let mut records = Vec::with_capacity(units.len());
            for unit in units {
                match queue.units.get(&unit.key) {
                    Some(State::Done(record)) => records.push(record.clone()),
                    Some(State::Failed(e)) => return Some(Err(e.clone())),
                    Some(State::Waiting) | None if queue.ended => {
                        if let Some(why) = &queue.refused {
                            return Some(Err(Arc::new(SweepError::NoThread(why.clone()))));
                        }
                        let Counts { done, total, .. } = queue.counts;
                        return Some(Err(Arc::new(SweepError::Interrupted { done, total })));
                    }
                    Some(State::Waiting) | None => return None,
                }
            }
            Some(Ok(records))
        };
        let queue = self.shared.lock();
        look(&queue).or_else(|| look(&self.shared.pause(queue, at_most)))
    }

    /// Current progress.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts
    }

    /// As [`Session::counts`], counting cached units that no thread has reached yet as done.
    pub fn kept(&self) -> Counts {
        let queue = self.shared.lock();
        let there = |(planned, unit): &&(Arc<Planned>, usize)| self.store().has(&planned.plan.units[*unit].key);
        let unread = queue.waiting.iter().filter(there).count();
        Counts { done: queue.counts.done + unread, ..queue.counts }
    }

    /// The store of results.
    pub fn store(&self) -> &UnitStore {
        self.shared.finder.store()
    }

    /// Interrupts running units, discards queued ones, and returns when all threads have stopped. Waiting callers are notified.
    pub fn stop(&self) {
        self.shared.asked_to_stop.store(true, Relaxed);
        let mut queue = self.shared.lock();
        self.shared.changed.notify_all();
        while !queue.ended {
            queue = self.shared.pause(queue, PAUSE);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        if let Some(pool) = self.pool.take() {
            // A panic of a unit has been reported to the waiting callers.
            let _ = pool.join();
        }
    }
}

impl Ticket {
    /// The plan: its units by variant, then seed, and their names.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }
}
