//! Hashes of results, to compare them between processors.

use super::equality::rows;
use super::observations;
use super::run::{RunOutcome, run, within_limits};
use crate::case::{Case, Kind};
use crate::scenario::resolve;
use crate::work::Work;
use forebay_sim::run::Cores;
use forebay_types::mix;

/// Transmissions of a small scenario. They take a second where a processor is emulated.
const SMALL: u64 = 20_000;

/// Results of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Amount of work.
    pub work: Work,
    /// Hash of all rows, with full observation.
    pub rows: u64,
}

/// Runs a small scenario once. `None` if it has more than 20 000 transmissions, or the case is none.
///
/// # Errors
/// The reason why the scenario cannot run.
pub fn digest(case: &Case) -> Result<Option<Digest>, String> {
    if case.kind() != Kind::Scenarios {
        return Ok(None);
    }
    let mut digest = Digest { work: Work::default(), rows: 0 };
    for variant in resolve(&case.text()).map_err(|e| e.render())?.variants {
        let observed = observations::of_everything(&within_limits(&variant.config));
        let report = match run(&observed, Cores::ONE, Kind::Scenarios, &mut digest.work) {
            RunOutcome::Report(report) if report.packet_hops <= SMALL => report,
            RunOutcome::Report(_) | RunOutcome::Cut => return Ok(None),
            RunOutcome::Refused(why) | RunOutcome::Failed(why) => return Err(why),
        };
        digest.rows = rows(&report).bytes().fold(digest.rows, |hash, byte| mix(hash ^ u64::from(byte)));
    }
    Ok(Some(digest))
}
