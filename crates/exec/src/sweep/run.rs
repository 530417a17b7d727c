//! The loop over units on one machine: another executor replaces this file.

use super::plan::{Plan, Unit};
use super::unit::{run_unit, set_running};
use super::{SweepError, UnitRecord, UnitStore};
use crate::job::{Job, State};
use crate::pool::StopOthers;
use forebay_experiment::report::RunError;
use forebay_scenario::{Resolved, Scenario};
use forebay_store::{RunTable, rows_of};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the caller may redraw.
const TICK: Duration = Duration::from_millis(100);
/// A unit that took this long is synced to disk: a hundredth of its time at most. Shorter ones are left to the operating system, which
/// writes them within half a minute; after a power cut that half minute is run again.
const DEAR: Duration = Duration::from_millis(200);

/// The numbers of all units.
#[derive(Debug)]
pub struct Records {
    all: Vec<Option<Box<UnitRecord>>>,
}

impl Records {
    /// The numbers of a unit of the plan, which may be called otherwise in them.
    pub fn get(&self, plan: &Plan, index: usize) -> Option<&UnitRecord> {
        let first = plan.units.get(index)?.same_as.map_or(index, |i| i as usize);
        self.all.get(first)?.as_deref()
    }
}

/// How a unit came to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was there.
    Found,
    /// It ran for so long.
    Ran(Duration),
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
}

/// Brings the results of all units of `plan` together, on `threads` threads (at least one): those that `store` has, and those that run
/// now and are put there. `stop` ends it early.
///
/// # Errors
/// The first failure, and being stopped. What was finished is in the store.
///
/// # Panics
/// When a unit does: its thread's panic becomes that of the caller, once the others have stopped.
pub fn run_units(
    scenario: &Scenario,
    plan: &Plan,
    store: &UnitStore,
    threads: usize,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Records, SweepError> {
    let todo = plan.distinct();
    let threads = threads.clamp(1, todo.len().max(1));
    let shared = Shared {
        scenario,
        plan,
        store,
        todo: &todo,
        next: AtomicUsize::new(0),
        stop: [stop, &AtomicBool::new(false)],
        hops: AtomicU64::new(0),
        slots: (0..threads).map(|_| Mutex::new(None)).collect(),
        clock: Instant::now(),
    };
    let mut records = Records { all: vec![None; plan.units.len()] };
    let (mut done, mut found, mut drawn) = (0, 0, Duration::ZERO);
    let mut failure = None;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for slot in 0..threads {
            let (sender, shared) = (sender.clone(), &shared);
            scope.spawn(move || shared.work(slot, &sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Ok((unit, record, how))) => {
                    done += 1;
                    found += usize::from(how == Done::Found);
                    watcher.done(plan, unit, &record, how);
                    records.all[unit] = Some(record);
                }
                Ok(Err(SweepError::Run { error: RunError::Interrupted, .. })) => {}
                Ok(Err(e)) => {
                    shared.stop[1].store(true, Relaxed);
                    failure.get_or_insert(e);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Many short units must not pay for a redraw each.
            if shared.clock.elapsed() >= drawn + TICK {
                drawn = shared.clock.elapsed();
                watcher.tick(&shared.status(done, found, drawn));
            }
        }
    });
    match failure {
        Some(e) => Err(e),
        None if done < todo.len() => Err(SweepError::Interrupted { done, total: todo.len() }),
        None => Ok(records),
    }
}

/// What a thread sends.
type Message = Result<(usize, Box<UnitRecord>, Done), SweepError>;

/// What every thread needs.
struct Shared<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    store: &'a UnitStore,
    todo: &'a [u32],
    next: AtomicUsize,
    /// Asked to, or something failed.
    stop: [&'a AtomicBool; 2],
    /// Packet transmissions of finished units.
    hops: AtomicU64,
    /// What each thread runs.
    slots: Vec<Mutex<Option<Arc<Job>>>>,
    clock: Instant,
}

impl Shared<'_> {
    fn stopped(&self) -> bool {
        self.stop.iter().any(|s| s.load(Relaxed))
    }

    fn status(&self, done: usize, found: usize, elapsed: Duration) -> Status {
        let slot = |s: &Mutex<Option<Arc<Job>>>| s.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|j| j.state());
        let running: Vec<State> = self.slots.iter().filter_map(slot).collect();
        let hops = self.hops.load(Relaxed) + running.iter().map(|s| s.hops).sum::<u64>();
        Status { total: self.todo.len(), done, found, hops, elapsed, running }
    }

    fn work(&self, slot: usize, sender: &Sender<Message>) {
        let _others = StopOthers(self.stop[1]);
        // Units of one point follow each other: the point is built once for them.
        let mut built = None;
        while !self.stopped() {
            let Some(&unit) = self.todo.get(self.next.fetch_add(1, Relaxed)) else { return };
            let unit = unit as usize;
            set_running(Some(unit));
            let result = self.one(slot, &self.plan.units[unit], &mut built);
            set_running(None);
            let failed = result.is_err();
            if sender.send(result.map(|(record, how)| (unit, Box::new(record), how))).is_err() || failed {
                return;
            }
        }
    }

    /// Finds a result, or makes it.
    fn one(&self, slot: usize, unit: &Unit, built: &mut Option<(u32, Resolved)>) -> Result<(UnitRecord, Done), SweepError> {
        let keep = self.plan.sweep.keep();
        if let Some(record) = self.store.get(&unit.key, keep) {
            return Ok((record, Done::Found));
        }
        let (_, resolved) = match built.take() {
            Some(b) if b.0 == unit.point => built.insert(b),
            _ => built.insert((unit.point, self.build(unit)?)),
        };
        self.plan.unchanged(&resolved.files)?;
        let world = resolved.world;
        let variant = &mut resolved.variants[unit.variant as usize];
        variant.config.seed = unit.seed;
        let job = Arc::new(Job::new(unit.variant as usize, unit.run, unit.seed));
        let show = |job: Option<Arc<Job>>| *self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner) = job;
        job.start(self.clock.elapsed());
        show(Some(job.clone()));
        let begin = Instant::now();
        let result = run_unit(world, &variant.label, unit.run, &variant.config, &job, &|| self.stopped());
        show(None);
        let output = result.map_err(|error| SweepError::Run { point: self.plan.label(unit), error })?;
        let wall = begin.elapsed();
        self.hops.fetch_add(output.record.packet_hops, Relaxed);
        let mut tables = Vec::new();
        for name in keep {
            let table = RunTable::of(name).expect("a sweep keeps tables of a run only; the scenario has checked their names");
            let rows = rows_of(table, &output.report, &output.info);
            tables.extend(rows.transpose().map_err(SweepError::encode(name))?.map(|rows| (name.as_str(), rows)));
        }
        self.store.put(&unit.key, &output.record, &tables, wall >= DEAR)?;
        Ok((output.record, Done::Ran(wall)))
    }

    fn build(&self, unit: &Unit) -> Result<Resolved, SweepError> {
        let point = self.plan.sweep.point(unit.point as usize);
        // The plan has checked every point; a file may have changed since.
        let point = point.ok_or_else(|| SweepError::File("the sweep".into(), "has fewer points than planned".into()))?;
        Ok(self.scenario.at(&point)?.resolve()?)
    }
}
