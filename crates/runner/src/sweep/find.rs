//! Results of single units: found in the store, or computed and stored.

use super::error::SweepError;
use super::plan::{Plan, Unit};
use crate::job::{Job, State};
use crate::pool::Stop;
use crate::simulate::{Simulated, simulate, simulate_against, simulate_together};
use crate::stopping::StopRequest;
use forebay_experiment::Experiment;
use forebay_experiment::capture::Capture;
use forebay_experiment::report::{EarlyEnd, RunError};
use forebay_scenario::{Resolved, Scenario};
use forebay_store::unit::{UnitKey, UnitRecord, UnitStore};
use forebay_store::{RecordBatch, RunTable, rows_of};
use std::cell::Cell;
use std::collections::HashMap;
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
    /// Units that end together, by the key of the first one: locked while a thread runs them. Used for lookups only, never iterated.
    groups: Mutex<HashMap<UnitKey, Arc<Mutex<()>>>>,
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
        Finder { store, hops: AtomicU64::new(0), threads, groups: Mutex::default(), clock: Instant::now() }
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
        // Units of a group are made by one thread. Another one waits for it, and finds its unit then.
        let group = plan.together.then(|| self.group(plan, unit));
        let _making = group.as_ref().map(|g| g.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(record) = group.as_ref().and_then(|_| self.store.get(&unit.key, keep)) {
            return Ok((record, Done::Found));
        }
        RUNNING.set(Some(number));
        let made = self.make(thread, scenario, plan, unit, stop);
        RUNNING.set(None);
        self.at(thread).job = None;
        made
    }

    /// Lock of the units that end together with this one.
    fn group(&self, plan: &Plan, unit: &Unit) -> Arc<Mutex<()>> {
        let key = plan.siblings(unit).first().map_or(unit.key, |first| first.key);
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone()
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
        let mut own = None;
        let all = run_unit(plan, unit, &mut resolved, &job, &|| stop.is_set())?;
        let wall = begin.elapsed();
        for (made, record, tables) in all {
            self.hops.fetch_add(record.packet_hops, Relaxed);
            self.store.put(&made.key, &record, &tables, wall >= EXPENSIVE)?;
            own = if made.variant == unit.variant { Some(record) } else { own };
        }
        self.at(thread).resolved = Some((point, resolved));
        let missing = || SweepError::File("the sweep".into(), "has fewer variants than planned".into());
        Ok((own.ok_or_else(missing)?, Done::Ran(wall)))
    }
}

/// Kept tables of a unit, by name.
pub(super) type Tables<'a> = Vec<(&'a str, RecordBatch)>;

/// A unit with its metrics and the tables that the plan keeps.
pub(super) type UnitResult<'a> = (&'a Unit, UnitRecord, Tables<'a>);

/// Runs a unit with the resolved point `resolved`, and all units that end together with it. `stopped` ends them.
pub(super) fn run_unit<'a>(
    plan: &'a Plan,
    unit: &'a Unit,
    resolved: &mut Resolved,
    job: &Job,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<UnitResult<'a>>, SweepError> {
    plan.unchanged(&resolved.files)?;
    let world = resolved.world;
    // A stored unit reaches the accuracy alone, or a seed of all variants together.
    let stop = resolved.stop.clone().map(|stop| StopRequest { stop, runs: 1 });
    let units = if stop.as_ref().is_some_and(|s| s.stop.ratio) { plan.siblings(unit) } else { vec![unit] };
    for variant in units.iter().map(|u| u.variant as usize) {
        let config = &mut resolved.variants[variant].config;
        config.set_seed(unit.seed);
        // A sweep stores numbers of its runs and no packets.
        config.observe.capture = Capture::default();
    }
    let watch = || if stopped() { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) };
    let variants: Vec<(&str, &Experiment, &Job)> =
        units.iter().map(|u| &resolved.variants[u.variant as usize]).map(|v| (v.label.as_str(), &v.config, job)).collect();
    let results: Result<Vec<Simulated>, RunError> = match (&stop, variants.as_slice()) {
        (Some(stop), [_, _, ..]) => simulate_together(world, unit.run, &variants, (stop, None), 1, &watch),
        (stop, all) => {
            let rule = plan.compared.get(unit.run as usize).filter(|_| stop.is_none());
            let one = |(label, config, job): &(&str, &Experiment, &Job)| {
                if let Some(rule) = rule {
                    return simulate_against(world, label, unit.run, config, job, rule, &watch);
                }
                simulate(world, label, unit.run, config, job, stop.as_ref().map(|s| (s, None)), &watch)
            };
            all.iter().map(one).collect()
        }
    };
    let results = results.map_err(|error| SweepError::Run { point: plan.label(unit), error })?;
    let made = |(unit, s): (&'a Unit, Simulated)| {
        let mut tables = Vec::new();
        for name in plan.sweep.keep() {
            let rows = RunTable::of(name).and_then(|table| rows_of(table, &s.report, &s.info));
            tables.extend(rows.transpose().map_err(SweepError::encode(name))?.map(|rows| (name.as_str(), rows)));
        }
        Ok((unit, UnitRecord::new(&s.info, &s.report, &s.summary), tables))
    };
    units.into_iter().zip(results).map(made).collect()
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
