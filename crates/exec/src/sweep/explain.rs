//! What a scenario means, be it a sweep or not: checked whole, and told in words.

use super::error::SweepError;
use super::plan::Plan;
use forebay_scenario::{Resolved, Scenario};
use std::sync::atomic::AtomicBool;

/// Checks a scenario, of a sweep every point on `threads` threads. Returns the scenario, or that of the first point, and what it means.
///
/// # Errors
/// All that is wrong, and being stopped.
pub fn explain(scenario: &Scenario, threads: usize, stop: &AtomicBool) -> Result<(Resolved, String), SweepError> {
    let Some(sweep) = scenario.sweep()? else {
        let resolved = scenario.resolve()?;
        let text = resolved.explain();
        return Ok((resolved, text));
    };
    let plan = Plan::new(scenario, sweep, threads, stop, &mut |_| {})?;
    let first = scenario.example()?.resolve()?;
    let text = format!("{}\npoint 0:\n{}", plan.sweep.explain(first.variants.len(), plan.seeds.len()), first.explain());
    Ok((first, text))
}
