//! The loop over the units of one plan.

use super::error::SweepError;
use super::find::{Done, Finder};
use super::plan::Plan;
use crate::job::State;
use crate::pool::{Event, Stop, Work, run};
use forebay_scenario::Scenario;
use forebay_store::unit::{UnitRecord, UnitStore};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The numbers of all units, as far as they are there.
#[derive(Debug)]
pub struct Records {
    all: Vec<Option<Box<UnitRecord>>>,
    done: usize,
    /// Those that are in the store and were not looked at, because the loop ended before.
    unread: usize,
    total: usize,
}

impl Records {
    /// The numbers of a unit of the plan, which may be called otherwise in them.
    pub fn get(&self, plan: &Plan, index: usize) -> Option<&UnitRecord> {
        let first = plan.units.get(index)?.same_as.map_or(index, |i| i as usize);
        self.all.get(first)?.as_deref()
    }

    /// How many different units are there.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Whether all are there.
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

    /// Once the loop ended early: what of `todo` it had not come to and is in the store all the same. When a limit ended it, tables are made of
    /// what is there, and all of that is read; when a person did, who waits for the end, it is counted.
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

/// How far a sweep is.
#[derive(Debug, Clone)]
pub struct Status {
    /// Different units of the plan.
    pub total: usize,
    /// Units whose results are there.
    pub done: usize,
    /// Of those, how many were there before.
    pub found: usize,
    /// Packet transmissions of the units that ran or run, since the start.
    pub hops: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The units that run now.
    pub running: Vec<State>,
}

impl Status {
    /// Part of the work that is done, 0 to 1, those that run now by how far they are.
    pub fn fraction(&self) -> f64 {
        (self.done as f64 + self.under_way()) / self.total.max(1) as f64
    }

    fn under_way(&self) -> f64 {
        self.running.iter().filter_map(|s| s.fraction).sum()
    }

    /// Seconds left, when the units to come take as long as those that ran; `None` too early to tell.
    pub fn left_s(&self) -> Option<f64> {
        let ran = (self.done - self.found) as f64 + self.under_way();
        let rest = (self.total - self.done) as f64 - self.under_way();
        (ran > 0.0 && self.elapsed > Duration::from_millis(300)).then(|| self.elapsed.as_secs_f64() * rest / ran)
    }
}

/// What the caller does while units run.
pub trait Watcher {
    /// Points that have been checked so far; called now and then before anything runs.
    fn checked(&mut self, _points: usize, _of: usize) {}
    /// Everything is checked, and results can be written.
    fn begins(&mut self, _plan: &Plan) {}
    /// Called about ten times a second.
    fn tick(&mut self, status: &Status);
    /// Called once for each different unit, in any order.
    fn done(&mut self, plan: &Plan, unit: usize, record: &UnitRecord, how: Done);
    /// The limit that ended the runs, if one did: what is done by then is worth tables. Asked when they have ended.
    fn limit(&self) -> Option<String> {
        None
    }
}

/// Brings the results of the units `todo` of `plan` together (all of them: [`Plan::distinct`]), on `threads` threads (at least one): those that `store` has, and those that run
/// now and are put there. `stop` ends it early, with what is there by then ([`Records::complete`]).
///
/// # Errors
/// The first failure. What was finished is in the store.
///
/// # Panics
/// When a unit does: its thread's panic becomes that of the caller, once the others have stopped.
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
    let units = Units { finder: Finder::new(store.clone(), threads), scenario, plan, todo, next: AtomicUsize::new(0) };
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
