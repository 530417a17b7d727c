//! One run, within the limits of a case.

use crate::case::Kind;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_sim::run::{Cores, run_seeded};
use forebay_types::Time;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Transmissions of one run.
const MOST_HOPS: u64 = 150_000;
/// The same of a crowd of connections.
const MOST_HOPS_OF_CROWDS: u64 = 20_000_000;
/// Bytes of the rows of a run. Applications can write messages faster than links send packets.
const MOST_ROWS: u64 = 512 << 20;
/// Wall time of one run.
const LONGEST: Duration = Duration::from_secs(30);
/// Reports of progress, at least 50 ms of a run or 100 000 activations apart, during which simulated time must advance.
const LONGEST_MOMENT: u32 = 400;

/// Samples of all queues of a run.
const MOST_SAMPLES: u64 = 100_000;

/// `config` without the series of queues if their samples are too many, or in a number that is not known: idle time has samples too.
pub(super) fn within_limits(config: &Experiment) -> Experiment {
    let mut config = config.clone();
    let series = &mut config.observe.queue_series;
    let samples = |duration: Time| series.iter().map(|(_, every)| duration / *every).fold(0, u64::saturating_add);
    if config.duration.is_none_or(|duration| samples(duration) > MOST_SAMPLES) {
        series.clear();
    }
    config
}

/// Outcome of a run.
pub(super) enum RunOutcome {
    Report(Box<Report>),
    /// It reached a limit.
    Cut,
    Refused(String),
    Failed(String),
}

/// Runs `config` on `cores`.
pub(super) fn run(config: &Experiment, cores: Cores, kind: Kind, work: &mut Work) -> RunOutcome {
    let checked = match config.check() {
        Ok(checked) => checked,
        Err(why) => return RunOutcome::Refused(why.to_string()),
    };
    let most = if kind == Kind::Crowds { MOST_HOPS_OF_CROWDS } else { MOST_HOPS };
    let begin = Instant::now();
    let (mut clock, mut still, mut fault) = (Time::ZERO, 0, None);
    let mut progress = |p: Progress| {
        if p.now < clock {
            fault = Some(format!("time goes back: from {clock} to {}", p.now));
            return ControlFlow::Break(EarlyEnd::Discard);
        }
        still = if p.now > clock { 0 } else { still + 1 };
        clock = p.now;
        if still > LONGEST_MOMENT {
            fault = Some(format!("time stands still: at {clock}, {} transmissions so far", p.packet_hops));
            return ControlFlow::Break(EarlyEnd::Discard);
        }
        let over = p.packet_hops > most || p.to_report > MOST_ROWS || (begin.elapsed() > LONGEST && still < LONGEST_MOMENT / 4);
        if over { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) }
    };
    let outcome = run_seeded(checked, config.seed, cores, &mut progress);
    if let Some(fault) = fault {
        return RunOutcome::Failed(fault);
    }
    work.runs += 1;
    match outcome {
        Ok(report) => {
            work.transmissions += report.packet_hops;
            // Progress is reported at times that differ from run to run: a fast run can end before its first report.
            if report.packet_hops > most {
                return RunOutcome::Cut;
            }
            RunOutcome::Report(Box::new(report))
        }
        Err(RunError::Interrupted) => RunOutcome::Cut,
        Err(e) => RunOutcome::Refused(e.to_string()),
    }
}
