//! Results of single units: found in the store, or computed and stored.

use super::error::SweepError;
use super::plan::{Plan, Unit};
use crate::job::{Job, State};
use crate::pool::Stop;
use crate::simulate::simulate;
use crate::stopping::StopRequest;
use forebay_experiment::capture::Capture;
use forebay_experiment::report::Cut;
use forebay_scenario::{Resolved, Scenario};
use forebay_store::unit::{UnitRecord, UnitStore};
use forebay_store::{RecordBatch, RunTable, rows_of};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Units whose run took at least this long are synced to disk, at a cost of at most one percent. Shorter ones are left to the operating system,
/// which writes them within half a minute; after a power cut they are run again.
const EXPENSIVE: Duration = Duration::from_millis(200);

/// Origin of a unit's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was there.
    Found,
    /// Run time.
    Ran(Duration),
}

/// Finds the results of units, on several threads.
pub(super) struct Finder {
    store: UnitStore,
    /// Packet transmissions of finished units.
    hops: AtomicU64,
    /// State of each thread.
    threads: Vec<Mutex<Thread>>,
    clock: Instant,
}

/// State of a thread.
#[derive(Default)]
struct Thread {
    job: Option<Arc<Job>>,
    /// The last point by plan and number, with its resolved scenario: units of one point are adjacent.
    resolved: Option<((u64, u32), Resolved)>,
}

impl Finder {
    pub(super) fn new(store: UnitStore, threads: usize) -> Finder {
        let threads = (0..threads).map(|_| Mutex::default()).collect();
        Finder { store, hops: AtomicU64::new(0), threads, clock: Instant::now() }
    }

    /// Store of results.
    pub(super) fn store(&self) -> &UnitStore {
        &self.store
    }

    /// Progress of the running units, and the packet transmissions of all units so far.
    pub(super) fn progress(&self) -> (Vec<State>, u64) {
        let running: Vec<State> = (0..self.threads.len()).filter_map(|t| Some(self.at(t).job.as_ref()?.state())).collect();
        let hops = self.hops.load(Relaxed) + running.iter().map(|s| s.hops).sum::<u64>();
        (running, hops)
    }

    fn at(&self, thread: usize) -> MutexGuard<'_, Thread> {
        self.threads[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a unit of a plan, whose points belong to `scenario`.
    ///
    /// # Errors
    /// Errors of [`super::run_units`].
    pub(super) fn find(
        &self,
        thread: usize,
        scenario: &Scenario,
        plan: &Plan,
        number: usize,
        stop: &Stop,
    ) -> Result<(UnitRecord, Done), SweepError> {
        let unit = &plan.units[number];
        let keep = plan.sweep.keep();
        if let Some(record) = self.store.get(&unit.key, keep) {
            return Ok((record, Done::Found));
        }
        RUNNING.set(Some(number));
        let made = self.make(thread, scenario, plan, unit, stop);
        RUNNING.set(None);
        self.at(thread).job = None;
        made
    }

    fn make(
        &self,
        thread: usize,
        scenario: &Scenario,
        plan: &Plan,
        unit: &Unit,
        stop: &Stop,
    ) -> Result<(UnitRecord, Done), SweepError> {
        let point = (plan.id(), unit.point);
        let before = self.at(thread).resolved.take().filter(|r| r.0 == point);
        let (_, mut resolved) = match before {
            Some(resolved) => resolved,
            None => (point, resolve(scenario, plan, unit)?),
        };
        let job = Arc::new(Job::new(unit.variant as usize, unit.run, unit.seed));
        job.start(self.clock.elapsed());
        self.at(thread).job = Some(job.clone());
        let begin = Instant::now();
        let (record, tables) = run_unit(plan, unit, &mut resolved, &job, &|| stop.is_set())?;
        let wall = begin.elapsed();
        self.hops.fetch_add(record.packet_hops, Relaxed);
        self.store.put(&unit.key, &record, &tables, wall >= EXPENSIVE)?;
        self.at(thread).resolved = Some((point, resolved));
        Ok((record, Done::Ran(wall)))
    }
}

/// Kept tables of a unit, by name.
pub(super) type Tables<'a> = Vec<(&'a str, RecordBatch)>;

/// Runs a unit with the resolved point `resolved`, and returns its metrics and the tables that the plan keeps. `stopped` ends it.
pub(super) fn run_unit<'a>(
    plan: &'a Plan,
    unit: &Unit,
    resolved: &mut Resolved,
    job: &Job,
    stopped: &dyn Fn() -> bool,
) -> Result<(UnitRecord, Tables<'a>), SweepError> {
    plan.unchanged(&resolved.files)?;
    let world = resolved.world;
    // A stored unit reaches the accuracy alone.
    let stop = resolved.stop.clone().map(|stop| StopRequest { stop, runs: 1 });
    let variant = &mut resolved.variants[unit.variant as usize];
    variant.config.set_seed(unit.seed);
    // A sweep stores numbers of its runs and no packets.
    variant.config.observe.capture = Capture::default();
    let simulated = simulate(world, &variant.label, unit.run, &variant.config, job, stop.as_ref().map(|s| (s, None)), &|| {
        if stopped() { ControlFlow::Break(Cut::Abandon) } else { ControlFlow::Continue(()) }
    });
    let s = simulated.map_err(|error| SweepError::Run { point: plan.label(unit), error })?;
    let mut tables = Vec::new();
    for name in plan.sweep.keep() {
        let rows = RunTable::of(name).and_then(|table| rows_of(table, &s.report, &s.info));
        tables.extend(rows.transpose().map_err(SweepError::encode(name))?.map(|rows| (name.as_str(), rows)));
    }
    Ok((UnitRecord::new(&s.info, &s.report, &s.summary), tables))
}

/// The scenario of a unit's point, checked.
pub(super) fn resolve(scenario: &Scenario, plan: &Plan, unit: &Unit) -> Result<Resolved, SweepError> {
    let point = plan.sweep.point(unit.point as usize);
    // The plan has checked every point, but a file may have changed since.
    let point = point.ok_or_else(|| SweepError::File("the sweep".into(), "has fewer points than planned".into()))?;
    Ok(scenario.at(&point)?.resolve()?)
}

thread_local! {
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The unit that the calling thread runs, for the report of a violated assertion.
pub fn running() -> Option<usize> {
    RUNNING.get()
}
