//! The same results on any number of threads, with and without observation, and again.

use super::observations;
use super::run::{RunOutcome, run};
use crate::case::Kind;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_sim::run::Cores;

/// Text of all rows and numbers.
pub(super) fn rows(r: &Report) -> String {
    let series = (r.queue.to_vec(), r.tcp.to_vec(), r.timeouts.to_vec(), r.packets.to_vec());
    let tables = (&r.flows, &r.ports, &r.queries, &r.deliveries, &r.events, series);
    format!("{tables:?} {:?}", (r.measured_from, &r.acked, r.end, r.packet_hops, r.fingerprint, r.peak_connections))
}

/// Text of the rows that observation does not add to.
fn unobserved(r: &Report) -> String {
    let ports: Vec<_> = r.ports.iter().map(|p| PortRow { queue_percentiles: None, ..p.clone() }).collect();
    format!(
        "{:?} {:?}",
        (&r.flows, ports, &r.queries, &r.deliveries),
        (r.measured_from, &r.acked, r.end, r.packet_hops, r.fingerprint)
    )
}

/// The first place where two texts differ, with what precedes it.
fn first_difference(a: &str, b: &str) -> String {
    let at = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let excerpt = |text: &str| {
        let (from, to) = (at.saturating_sub(160), (at + 60).min(text.len()));
        String::from_utf8_lossy(&text.as_bytes()[from.min(to)..to]).into_owned()
    };
    format!("...{} and ...{}", excerpt(a), excerpt(b))
}

/// Runs `config` again in other ways, and compares the results with `first`.
pub(super) fn holds(config: &Experiment, first: &Report, work: &mut Work) -> Result<(), String> {
    let expected = rows(first);
    let compare = |what: &str, got: String, expected: &str| match got == expected {
        true => Ok(()),
        false => Err(format!("the results differ {what}: {}", first_difference(expected, &got))),
    };
    for threads in [1, 2, 3] {
        let cores = if threads == 1 { Cores::ONE } else { Cores::exactly(threads) };
        match run(config, cores, Kind::Scenarios, work) {
            RunOutcome::Report(r) => {
                let what = if threads == 1 { "in a second run".to_owned() } else { format!("on {threads} threads") };
                compare(&what, rows(&r), &expected)?;
            }
            // Two threads may take longer.
            RunOutcome::Cut => {}
            RunOutcome::Refused(why) | RunOutcome::Failed(why) => return Err(format!("{threads} threads fail: {why}")),
        }
    }
    let observed = observations::of_everything(config);
    match run(&observed, Cores::ONE, Kind::Scenarios, work) {
        RunOutcome::Report(r) => {
            compare("with observation", unobserved(&r), &unobserved(first))?;
            observations::hold(config, &r)?;
        }
        RunOutcome::Cut => {}
        RunOutcome::Refused(why) | RunOutcome::Failed(why) => return Err(format!("observation fails: {why}")),
    }
    #[cfg(debug_assertions)]
    if let Ok(checked) = config.check() {
        let r = forebay_sim::run::run_backwards(checked).map_err(|e| format!("backwards fails: {e}"))?;
        compare("with the nodes in reverse order", rows(&r), &expected)?;
    }
    Ok(())
}
