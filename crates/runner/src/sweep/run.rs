//! Main loop over the units of one plan.

use super::error::SweepError;
use super::find::{Done, Finder};
use super::plan::Plan;
use crate::job::State;
use crate::pool::{Event, Stop, Work, run};
use forebay_scenario::Scenario;
use forebay_store::unit::{UnitRecord, UnitStore};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Metrics of all units available so far.
#[derive(Debug)]
pub struct Records {
    all: Vec<Option<Box<UnitRecord>>>,
    done: usize,
    /// Units in the store that were not read, because the loop ended early.
    unread: usize,
    total: usize,
}

impl Records {
    /// The metrics of a unit of the plan. Their names may differ from those of the plan.
    pub fn get(&self, plan: &Plan, index: usize) -> Option<&UnitRecord> {
        let first = plan.units.get(index)?.same_as.map_or(index, |i| i as usize);
        self.all.get(first)?.as_deref()
    }

    /// Number of different units available.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Verifies that all units are available.
    ///
    /// # Errors
    /// [`SweepError::Interrupted`] if not.
    pub fn complete(&self) -> Result<(), SweepError> {
        let (done, total) = (self.done + self.unread, self.total);
        if self.done < total { Err(SweepError::Interrupted { done, total }) } else { Ok(()) }
    }

    fn add(&mut self, unit: usize, record: Box<UnitRecord>) {
        self.done += 1;
        self.all[unit] = Some(record);
    }

    /// After an early end, collects the units of `todo` that are in the store. After a limit all of them are read, because tables are written of
    /// them; after an interrupt they are only counted.
    fn rest(&mut self, plan: &Plan, todo: &[u32], store: &UnitStore, watcher: &mut dyn Watcher) {
        let read = watcher.limit().is_some();
        for unit in todo.iter().map(|unit| *unit as usize) {
            let key = &plan.units[unit].key;
            if self.all[unit].is_some() || !store.has(key) {
                continue;
            }
            if !read {
                self.unread += 1;
            } else if let Some(record) = store.get(key, plan.sweep.keep()) {
                watcher.done(plan, unit, &record, Done::Found);
                self.add(unit, Box::new(record));
            }
        }
    }
}

/// Progress of a sweep.
#[derive(Debug, Clone)]
pub struct Status {
    /// Different units of the plan.
    pub total: usize,
    /// Units with results.
    pub done: usize,
    /// Cached units among them.
    pub found: usize,
    /// Packet transmissions of finished and running units since the start.
    pub hops: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// Running units.
    pub running: Vec<State>,
}

impl Status {
    /// Fraction done, 0 to 1, including the progress of running units.
    pub fn fraction(&self) -> f64 {
        (self.done as f64 + self.running_fraction()) / self.total.max(1) as f64
    }

    fn running_fraction(&self) -> f64 {
        self.running.iter().filter_map(|s| s.fraction).sum()
    }

    /// Seconds left, if the remaining units take as long as the finished ones; `None` if it is too early to tell.
    pub fn left_s(&self) -> Option<f64> {
        let ran = (self.done - self.found) as f64 + self.running_fraction();
        let rest = (self.total - self.done) as f64 - self.running_fraction();
        (ran > 0.0 && self.elapsed > Duration::from_millis(300)).then(|| self.elapsed.as_secs_f64() * rest / ran)
    }
}

/// Callbacks to the caller while units run.
pub trait Watcher {
    /// Number of checked points so far, called before anything runs.
    fn checked(&mut self, _points: usize, _of: usize) {}
    /// Called when all points are checked and results can be written.
    fn begins(&mut self, _plan: &Plan) {}
    /// Called about ten times a second.
    fn tick(&mut self, status: &Status);
    /// Called once for each different unit, in any order.
    fn done(&mut self, plan: &Plan, unit: usize, record: &UnitRecord, how: Done);
    /// The limit that ended the runs, if any: tables are written of the finished units. Called after the runs.
    fn limit(&self) -> Option<String> {
        None
    }
}

/// Collects the results of the units `todo` of `plan` (all of them: [`Plan::distinct`]) on `threads` threads (at least one). Missing units are run
/// and stored in `store`. `stop` ends it early, with the results so far ([`Records::complete`]).
///
/// # Errors
/// The first failure. Finished units are in the store.
///
/// # Panics
/// When a unit panics: the panic is propagated to the caller once the other threads have stopped.
pub fn run_units(
    scenario: &Scenario,
    plan: &Plan,
    todo: &[u32],
    store: &UnitStore,
    threads: usize,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Records, SweepError> {
    let threads = threads.clamp(1, todo.len().max(1));
    // The first unit of those that end together runs the others. If it comes first, few threads wait for its results.
    let mut order = todo.to_vec();
    if plan.together {
        order.sort_by_key(|unit| plan.units[*unit as usize].variant);
    }
    let units = Units { finder: Finder::new(store.clone(), threads), scenario, plan, todo: &order, next: AtomicUsize::new(0) };
    let mut records = Records { all: vec![None; plan.units.len()], done: 0, unread: 0, total: todo.len() };
    let mut found = 0;
    run(&units, threads, stop, &mut |event| {
        match event {
            Event::Tick(elapsed) => {
                let (running, hops) = units.finder.progress();
                watcher.tick(&Status { total: todo.len(), done: records.done, found, hops, elapsed, running });
            }
            Event::Done((unit, record, how)) => {
                found += usize::from(how == Done::Found);
                watcher.done(plan, unit, &record, how);
                records.add(unit, record);
            }
        }
        Ok::<(), SweepError>(())
    })?;
    if records.done < records.total {
        records.rest(plan, todo, store, watcher);
    }
    Ok(records)
}

/// The different units of a plan, in its order.
struct Units<'a> {
    finder: Finder,
    scenario: &'a Scenario,
    plan: &'a Plan,
    todo: &'a [u32],
    next: AtomicUsize,
}

impl Work for Units<'_> {
    type Item = usize;
    type Done = (usize, Box<UnitRecord>, Done);
    type Error = SweepError;

    fn next(&self, _: &Stop) -> Option<usize> {
        self.todo.get(self.next.fetch_add(1, Relaxed)).map(|unit| *unit as usize)
    }

    fn run(&self, unit: usize, thread: usize, stop: &Stop) -> Result<Self::Done, SweepError> {
        let (record, how) = self.finder.find(thread, self.scenario, self.plan, unit, stop)?;
        Ok((unit, Box::new(record), how))
    }
}
