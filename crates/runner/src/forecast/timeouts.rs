//! Forecast of retransmission timeouts. None occurs before the shortest timeout has passed, so that the first moments of a run may show none. Runs
//! with losses are simulated for longer; where that is not long enough, the forecast is a lower bound.

use super::backlog::fills;
use super::clock::Stopwatch;
use super::plan::begins;
use super::unsampled;
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Report, RunError};
use forebay_experiment::rows::{PortRow, TimeoutKind};
use forebay_scenario::Resolved;
use forebay_types::{IndexVec, WorkloadId};
use std::ops::ControlFlow;
use std::time::Duration;

/// Multiple of the shortest timeout that a pilot run must cover for a known rate. Our choice: the timers of the first losses have fired by then,
/// and half of that time shows how many follow.
const SEEN: f64 = 1.5;
/// Multiple of the shortest timeout that a longer pilot run aims at.
const WANTED: f64 = 3.0;
/// Processor time of the longer pilot runs of all variants that reach the aim; processor and wall time of those that do not.
const ENOUGH: Duration = Duration::from_millis(800);
const PATIENCE: Duration = Duration::from_millis(2_500);
const PATIENCE_WALL: Duration = Duration::from_secs(8);
/// Maximum power of time with which timeouts grow. It would be 2 if connections accumulated linearly and each had a constant rate of timeouts;
/// backed-off timers have fewer. Measured on overloaded links and fabrics: 1.6 to 2.
const STEEPEST: f64 = 1.7;
/// Minimum number of timeouts to estimate their growth. Our choice.
const MANY: usize = 32;
/// Limits of the ratio of timeouts in successive quarters of the time for steady growth: with the square of time, the second has three times as
/// many as the first. Our choice.
const STEADY: f64 = 0.7;
const BURST: f64 = 4.0;

/// Timeouts and tail loss probes of a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Timeouts {
    /// Expected number, or a lower bound.
    pub(super) count: f64,
    /// True if the number is a lower bound.
    pub(super) at_least: bool,
}

/// Timeouts of a run with the pilot run `first`. If packets were lost and the timers had no time to fire, a longer part of the run is simulated.
/// `ends`: time at which the traffic of each workload ends, s; `among`: number of pilot runs.
pub(super) fn timeouts(
    resolved: &Resolved,
    config: &Experiment,
    first: &Report,
    ends: &IndexVec<WorkloadId, f64>,
    among: usize,
) -> Result<Timeouts, RunError> {
    if !config.observe.timeouts {
        return Ok(Timeouts::default());
    }
    let wanted = WANTED * shortest(config);
    if !first.cut || !loses(first) || first.end.as_secs_f64() >= wanted {
        return Ok(extrapolated(config, first, ends));
    }
    let (clock, part) = (Stopwatch::start(), among.max(1) as u32);
    let longer = resolved.world.run(unsampled(config).check()?, resolved.seed, &mut |p| {
        let spent = clock.spent();
        let reached = p.now.as_secs_f64() >= wanted && spent.busy >= ENOUGH / part;
        if reached || spent.busy >= PATIENCE / part || spent.wall >= PATIENCE_WALL / part {
            return ControlFlow::Break(EarlyEnd::WithReport);
        }
        ControlFlow::Continue(())
    })?;
    // On a loaded machine it may end earlier than the first one.
    Ok(extrapolated(config, if longer.end > first.end { &longer } else { first }, ends))
}

/// The shortest timeout of any transport, s.
fn shortest(config: &Experiment) -> f64 {
    config.groups.iter().map(|g| g.tcp.stack.rto_min.as_secs_f64()).fold(f64::INFINITY, f64::min)
}

/// True if packets were lost. Ports count after the warm-up only; senders detect losses at any time.
fn loses(report: &Report) -> bool {
    let lost =
        |p: &PortRow| p.dropped_overflow + p.dropped_shared + p.dropped_early + p.corrupted + p.cut_waiting + p.cut_flying > 0;
    report.ports.iter().any(lost) || report.flows.iter().any(|f| f.segs_retx > 0)
}

/// Extrapolates a part of a run to the whole: a workload has timeouts until its traffic ends.
fn extrapolated(config: &Experiment, report: &Report, ends: &IndexVec<WorkloadId, f64>) -> Timeouts {
    if !report.cut {
        return Timeouts { count: report.timeouts.len() as f64, at_least: false };
    }
    let now = report.end.as_secs_f64().max(1e-9);
    let mut seen: IndexVec<WorkloadId, [Vec<f64>; 3]> = config.workloads.ids().map(|_| Default::default()).collect();
    for row in report.timeouts.iter() {
        let of_kind = match row.kind {
            TimeoutKind::Probe => 1,
            TimeoutKind::Reordering => 2,
            _ => 0,
        };
        seen[row.workload][of_kind].push(row.time_ps as f64 * 1e-12);
    }
    // Unknown: workloads that have not started, timers that could not fire yet, and queues that will be full.
    let late = config.workloads.iter().any(|w| begins(&w.kind).as_secs_f64() >= now);
    let end = ends.iter().copied().fold(now, f64::max);
    let unseen = if loses(report) { now < (SEEN * shortest(config)).min(end) } else { fills(config, report) };
    let of = |id: WorkloadId| seen[id].iter().map(|times| grown(times, now, ends[id].max(now))).sum::<f64>();
    Timeouts { count: config.workloads.ids().map(of).sum(), at_least: late || unseen }
}

/// Number of events by `end`, given the ordered times of events by `now`.
fn grown(times: &[f64], now: f64, end: f64) -> f64 {
    let (n, Some(&begin)) = (times.len() as f64, times.first()) else { return 0.0 };
    let by = |part: f64| times.partition_point(|t| *t < begin + part * (now - begin)) as f64;
    let quarters = [by(0.25), by(0.5) - by(0.25), by(0.75) - by(0.5), n - by(0.75)];
    // Growth is the power of time that relates one half to the whole; a burst is not growth.
    let smooth = |q: &[f64]| q[1] >= STEADY * q[0] && q[1] <= BURST * q[0] + MANY as f64;
    let steady = times.len() >= MANY && quarters.windows(2).all(smooth);
    let power = if steady { (n / by(0.5).max(1.0)).log2().clamp(1.0, STEEPEST) } else { 1.0 };
    // A few events at the very end do not determine a rate.
    let seen = (now - begin).max(now / 10.0);
    n * ((end - now + seen) / seen).powf(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(step: f64, from: f64, to: f64) -> Vec<f64> {
        (0..).map(|i| from + step * f64::from(i)).take_while(|t| *t < to).collect()
    }

    #[test]
    fn a_steady_rate_stays() {
        let seen = every(0.001, 0.2, 0.6);
        assert!((grown(&seen, 0.6, 2.0) / 1_800.0 - 1.0).abs() < 0.02, "{}", grown(&seen, 0.6, 2.0));
        assert_eq!(grown(&[], 0.6, 2.0), 0.0);
        // One event at the very end.
        assert!(grown(&[0.599], 0.6, 6.0) < 100.0);
    }

    #[test]
    fn a_burst_is_no_growth() {
        let mut seen = every(0.01, 0.2, 1.0);
        seen.extend(every(0.000_1, 0.9, 0.95));
        seen.sort_by(f64::total_cmp);
        let n = seen.len() as f64;
        assert!((grown(&seen, 1.0, 1.8) / (2.0 * n) - 1.0).abs() < 0.01, "{}", grown(&seen, 1.0, 1.8));
    }

    #[test]
    fn growing_rate_is_extrapolated() {
        // The n-th event at the square root of n: the second second has three times as many as the first.
        let seen: Vec<f64> = (0..400).map(|i| 0.2 + (f64::from(i) / 2_500.0).sqrt()).collect();
        let of = |end: f64| grown(&seen, 0.6, end);
        assert!((of(1.0) / 400.0 - 2.0_f64.powf(STEEPEST)).abs() < 0.05, "{}", of(1.0));
        assert!(of(1.0) > 1.4 * 800.0, "more than at the rate so far");
    }
}
