//! Forecast that a backend allows.

use super::{Forecast, forecast};
use forebay_experiment::report::RunError;
use forebay_experiment::topology::Fib;
use forebay_scenario::Resolved;

/// Expected cost of runs, if their backend allows a forecast.
#[derive(Debug, Clone, PartialEq)]
pub enum Outlook {
    /// Extrapolated from the first moments of the runs.
    Cost(Forecast),
    /// The backend runs in real time: only the duration is known.
    RealTime(RealTime),
    /// No forecast, with the reason.
    Unknown(String),
}

/// Runs in real time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealTime {
    /// Number of runs.
    pub runs: u64,
    /// Wall time of all runs on their threads, seconds; `None` where a run lasts until its messages have arrived.
    pub seconds: Option<f64>,
}

/// Expected cost of the runs of `resolved` on `threads` threads. Takes at most a few seconds. A real-time backend is not started, and a
/// backend that cannot run on this machine has no forecast.
///
/// # Errors
/// Errors of the scenario that only a run detects, such as an unreachable host.
pub fn outlook(resolved: &Resolved, threads: usize) -> Result<Outlook, RunError> {
    if resolved.world.real_time() {
        return real_time(resolved, threads).map(Outlook::RealTime);
    }
    match forecast(resolved, threads) {
        Ok(cost) => Ok(Outlook::Cost(cost)),
        Err(RunError::World(reason)) => Ok(Outlook::Unknown(reason)),
        Err(e) => Err(e),
    }
}

/// Runs that last for the duration of their scenario.
fn real_time(resolved: &Resolved, threads: usize) -> Result<RealTime, RunError> {
    let mut seconds = Some(0.0);
    for config in resolved.variants.iter().map(|v| &v.config) {
        config.check()?;
        Fib::new(&config.network).map_err(|e| RunError::Unroutable(e.to_string()))?;
        seconds = seconds.zip(config.duration).map(|(sum, d)| sum + d.as_secs_f64());
    }
    let (variants, each) = (resolved.variants.len() as f64, u64::from(resolved.repetitions()));
    let runs = resolved.variants.len() as u64 * each;
    // Threads take one run after the other; all runs have about the same length.
    let turns = runs.div_ceil(threads.clamp(1, runs.max(1) as usize) as u64) as f64;
    Ok(RealTime { runs, seconds: seconds.map(|sum| sum / variants.max(1.0) * turns) })
}
