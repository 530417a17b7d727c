//! The run whose counters tests change.

use super::run::{RunOutcome, run};
use crate::case::Kind;
use crate::scenario::resolve;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_sim::run::Cores;

/// Two senders fill the buffer of a bottleneck until the run ends, so that packets wait and are on the wire. Its link slows down, and that of a
/// sender damages packets.
const SCENARIO: &str = r#"
duration = "20ms"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "1Gbps", delay = "100us" }
bottleneck = { rate = "100Mbps", delay = "100us", buffer = "20pkt" }
corruption = [{ port = "s0->sw", bit-errors = 1e-5 }]
change     = [{ port = "bottleneck", at = "10ms", rate = "50Mbps" }]
[transport]
cc = "newreno"
host = "bare"
[[workload]]
kind = "long"
"#;

/// The run of [`SCENARIO`].
pub(super) fn ran() -> (Experiment, Report) {
    of(SCENARIO)
}

/// The same without damaged packets.
pub(super) fn ran_intact() -> (Experiment, Report) {
    of(&SCENARIO.replace("corruption", "# corruption"))
}

fn of(text: &str) -> (Experiment, Report) {
    let resolved = resolve(text).expect("a legal scenario");
    let config = resolved.variants[0].config.clone();
    match run(&config, Cores::ONE, Kind::Scenarios, &mut Work::default()) {
        RunOutcome::Report(report) => (config, *report),
        RunOutcome::Cut => panic!("the run is cut"),
        RunOutcome::Refused(why) | RunOutcome::Failed(why) => panic!("{why}"),
    }
}
