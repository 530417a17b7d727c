//! Check and description of a scenario, with or without a sweep.

use super::error::SweepError;
use super::plan::Plan;
use forebay_scenario::{Errors, Resolved, Scenario, Sweep};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Number of points that are checked in larger sweeps. Our choice: a second or two.
const CHECKED: usize = 500;
/// Points whose errors are reported.
const MAX_WRONG: usize = 3;

/// Checks a scenario. All points of a sweep are checked on `threads` threads, or some hundred evenly spread ones of a very large sweep. Returns the
/// scenario, or that of the first point, and its description.
///
/// # Errors
/// All errors of the scenario, and a stop request.
pub fn explain(scenario: &Scenario, threads: usize, stop: &AtomicBool) -> Result<(Resolved, String), SweepError> {
    let Some(sweep) = scenario.sweep()? else {
        let resolved = scenario.resolve()?;
        let text = resolved.explain();
        return Ok((resolved, text));
    };
    let first = scenario.example()?.resolve()?;
    let (seeds, sweep, checked) = if sweep.len() > CHECKED {
        let text = spread(scenario, &sweep, stop)?;
        (sweep.seeds(first.seed, first.runs).len(), sweep, text)
    } else {
        let plan = Plan::new(scenario, sweep, threads, stop, &mut |_| {})?;
        (plan.seeds.len(), plan.sweep, String::new())
    };
    let text = format!("{}{checked}\npoint 0:\n{}", sweep.explain(first.variants.len(), seeds), first.explain());
    Ok((first, text))
}

/// Evenly spread points from the first to the last, with their description.
fn spread(scenario: &Scenario, sweep: &Sweep, stop: &AtomicBool) -> Result<String, SweepError> {
    let last = sweep.len() - 1;
    let mut wrong: Vec<Errors> = Vec::new();
    for i in 0..CHECKED {
        if stop.load(Relaxed) {
            return Err(SweepError::Interrupted { done: 0, total: 0 });
        }
        let index = (last as u128 * i as u128 / (CHECKED as u128 - 1)) as usize;
        let Some(point) = sweep.point(index) else { continue };
        wrong.extend(scenario.at(&point).and_then(|s| s.resolve()).err());
        if wrong.len() >= MAX_WRONG {
            break;
        }
    }
    if wrong.is_empty() {
        let of = sweep.len();
        return Ok(format!(
            "checked: {CHECKED} of the {of} points, spread evenly from the first to the last; `forebay run --dry-run` checks all\n"
        ));
    }
    Err(Errors::merged(wrong).into())
}
