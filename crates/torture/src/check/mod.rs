//! Runs a case and compares the results with the invariants.

mod capacity;
mod conservation;
mod digest;
mod endings;
mod equality;
mod invariants;
mod observations;
mod run;
#[cfg(test)]
mod testing;
mod violation;

pub use digest::{Digest, digest};

use crate::case::{Case, Kind};
use crate::connection;
use crate::scenario::resolve;
use crate::stop::Stop;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_sim::run::Cores;
use run::{RunOutcome, run};

/// Outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All invariants hold.
    Passed(Work),
    /// A run had more packets or took more time than a case may, in every shorter duration as well.
    Cut(Work),
    /// The reader refuses the case: a file that a user has changed, or a case that became illegal while it was made small.
    Refused(String),
    /// An invariant does not hold: which one, a colon, and the values.
    Failed(String),
}

/// Durations of a scenario that is too long for a case, in turn.
const SHORTER: [&str; 4] = ["100ms", "1ms", "20us", "500ns"];

/// Runs `case` with all checks. A panic of the simulator passes through.
pub fn check(case: &Case) -> Verdict {
    let mut work = Work::default();
    if case.kind() == Kind::Connections {
        return match connection::check(case.document(), &mut work) {
            Ok(()) => Verdict::Passed(work),
            Err(Stop::Refused(why)) => Verdict::Refused(why),
            Err(Stop::Failed(why)) => Verdict::Failed(why),
            Err(Stop::Cut) => Verdict::Cut(work),
        };
    }
    let mut document = case.document().clone();
    let mut durations = SHORTER.iter();
    loop {
        match whole(&Case::with(case, document.clone()), &mut work) {
            Err(Stop::Cut) => {}
            Err(Stop::Refused(why)) if durations.len() == SHORTER.len() => return Verdict::Refused(why),
            // A warm-up may be longer than the short duration.
            Err(Stop::Refused(_)) => return Verdict::Cut(work),
            Err(Stop::Failed(why)) => return Verdict::Failed(why),
            Ok(()) => return Verdict::Passed(work),
        }
        let (Some(shorter), Some(root)) = (durations.next(), document.as_object_mut()) else { return Verdict::Cut(work) };
        root.insert("duration".into(), (*shorter).into());
    }
}

/// All checks of a scenario as it is.
fn whole(case: &Case, work: &mut Work) -> Result<(), Stop> {
    let resolved = resolve(&case.text()).map_err(|e| Stop::Refused(e.render()))?;
    for variant in &resolved.variants {
        experiment(case.kind(), &run::within_limits(&variant.config), work)?;
    }
    Ok(())
}

fn experiment(kind: Kind, config: &Experiment, work: &mut Work) -> Result<(), Stop> {
    let report = match run(config, Cores::ONE, kind, work) {
        RunOutcome::Report(report) => *report,
        RunOutcome::Cut => return Err(Stop::Cut),
        RunOutcome::Refused(why) => return Err(Stop::Refused(why)),
        RunOutcome::Failed(why) => return Err(Stop::Failed(why)),
    };
    work.connections += report.flows.iter().map(|f| f.conn_id + 1).max().unwrap_or(0);
    invariants::hold(config, &report).map_err(Stop::Failed)?;
    endings::have_reasons(kind, config, &report, work).map_err(Stop::Failed)?;
    if kind == Kind::Scenarios {
        equality::holds(config, &report, work).map_err(Stop::Failed)?;
    }
    Ok(())
}
