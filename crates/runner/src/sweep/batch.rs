//! Units that one process runs for another: selection by key, and result files. The caller decides about the machine.

use super::error::SweepError;
use super::find::{resolve, run_unit};
use super::plan::{Plan, Unit};
use crate::job::Job;
use forebay_scenario::Scenario;
use forebay_store::unit::{UnitFiles, UnitKey};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Runs the units with these keys at these points of the scenario's sweep, one after the other. The results are in the order of the keys.
///
/// # Errors
/// Errors of [`super::run_units`], and a key that no unit of these points has, because this program or a file of the scenario differs from the
/// caller's.
pub fn run_batch(scenario: &Scenario, points: &[u32], keys: &[UnitKey], stop: &AtomicBool) -> Result<Vec<UnitFiles>, SweepError> {
    let Some(sweep) = scenario.sweep()? else { return Err(SweepError::Foreign) };
    run_keys(scenario, &Plan::of_points(scenario, sweep, points, stop)?, keys, stop)
}

/// Runs units of a scenario without a sweep, with the seeds 1 to `seeds`, as [`super::Session::submit`].
///
/// # Errors
/// As [`run_batch`].
pub fn run_once(
    scenario: &Scenario,
    seeds: u32,
    keep: Vec<String>,
    keys: &[UnitKey],
    stop: &AtomicBool,
) -> Result<Vec<UnitFiles>, SweepError> {
    run_keys(scenario, &Plan::once(scenario, 1..=u64::from(seeds), keep, stop)?, keys, stop)
}

fn run_keys(scenario: &Scenario, plan: &Plan, keys: &[UnitKey], stop: &AtomicBool) -> Result<Vec<UnitFiles>, SweepError> {
    let mut packed = Vec::with_capacity(keys.len());
    let mut last: Option<(u32, _)> = None;
    for key in keys {
        let unit: &Unit = plan.units.iter().find(|u| u.key == *key).ok_or(SweepError::Foreign)?;
        let mut resolved = match last.take().filter(|l| l.0 == unit.point) {
            Some(same) => same.1,
            None => resolve(scenario, plan, unit)?,
        };
        let job = Job::new(unit.variant as usize, unit.run, unit.seed);
        job.start(Duration::ZERO);
        // Of the units that end together, the caller has asked for this one.
        let made = run_unit(plan, unit, &mut resolved, &job, &|| stop.load(Relaxed))?;
        let (_, record, tables) = made.iter().find(|m| m.0.key == *key).ok_or(SweepError::Foreign)?;
        packed.push(UnitFiles::new(key, record, tables)?);
        last = Some((unit.point, resolved));
    }
    Ok(packed)
}
