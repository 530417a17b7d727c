//! Checks that all times of a workload are within simulated time.

use super::{BuildError, Context};
use forebay_types::Time;

/// Latest start: half of the range of [`Time`], so that sums of two such times and later timers fit.
pub(super) const LATEST: Time = Time(Time::NEVER.0 / 2);

/// Refuses `count` starts from `start`, `step` apart, and `extra` after the last, if the last is too late; the error names `key`.
pub(super) fn fits(key: &'static str, start: Time, step: Time, count: u64, extra: Time) -> Result<(), BuildError> {
    let last = u128::from(start.0) + u128::from(step.0) * u128::from(count) + u128::from(extra.0);
    if last > u128::from(LATEST.0) {
        return Err(BuildError::new(key, format!("the last start would be beyond the end of simulated time, {LATEST}")));
    }
    Ok(())
}

/// Refuses a `stop` that is not later than `start`.
pub(super) fn stops_later(start: Time, stop: Option<Time>) -> Result<(), BuildError> {
    match stop.filter(|s| *s <= start) {
        Some(stop) => Err(BuildError::new("stop", format!("{stop} is not later than `start` ({start})"))),
        None => Ok(()),
    }
}

/// Same as [`fits`] for repetitions. If the scenario has a duration, only the next repetition must fit.
pub(super) fn repeats_fit(
    key: &'static str,
    context: &Context<'_>,
    start: Time,
    step: Time,
    count: Option<u32>,
) -> Result<(), BuildError> {
    let count = if context.duration.is_some() { 1 } else { u64::from(count.unwrap_or(1)) };
    fits(key, start, step, count, Time::ZERO)
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;

    #[test]
    fn limits() {
        assert!(fits("k", LATEST, Time::ZERO, 5, Time::ZERO).is_ok());
        assert!(fits("k", LATEST, Time(1), 1, Time::ZERO).is_err());
        assert!(fits("k", Time::NEVER, Time::NEVER, u64::MAX, Time::NEVER).is_err());
        let mut w = World::many_to_one(2);
        let repeats = |w: &World| repeats_fit("k", &w.context(), Time::ZERO, Time::from_secs(10), Some(u32::MAX));
        assert!(repeats(&w).is_ok());
        w.duration = None;
        assert!(repeats(&w).is_err());
    }
}
