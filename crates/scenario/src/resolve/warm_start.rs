//! `start = "warm"`: flows are alive at time zero.

use crate::schema::context::Cx;
use crate::schema::fields::{Fields, word};
use crate::text::source::At;
use forebay_experiment::Experiment;
use forebay_experiment::stopping::rule::round_trip;
use forebay_experiment::stopping::steady_state;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::Time;

/// Round-trip times over which the flows alive at time zero start: at the same time their first windows would fill the queues. Our choice.
const ROUND_TRIPS: u64 = 5;

/// Legal values.
const STARTS: [&str; 2] = ["cold", "warm"];

/// Reads the key `start`. Returns its position if the start is warm; the outer `None` reports an error.
pub(crate) fn start(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<Option<At>> {
    let Some(item) = fields.get("start") else { return Some(None) };
    let start = word(&item.node, "`start`", &STARTS, &mut cx.sink)?;
    Some((start == "warm").then_some(item.node.at))
}

/// Makes the start of `experiment` warm.
pub(crate) fn apply(cx: &mut Cx, at: At, label: &str, experiment: &mut Experiment) -> Option<()> {
    let stagger = (round_trip(experiment) * ROUND_TRIPS).max(Time(1));
    let reason = experiment.workloads.iter().find_map(|w| match &w.kind {
        WorkloadKind::Poisson { start, .. } if *start > Time::ZERO => {
            Some((format!("`{}` starts at {start}", w.class), "remove `start` of the workload"))
        }
        kind @ WorkloadKind::Poisson { .. } if steady_state::load(kind, experiment).is_some_and(|load| load >= 1.0) => Some((
            format!("`{}` offers 100 % of the capacity of its hosts' links or more", w.class),
            "lower the load below 100 %",
        )),
        _ => None,
    });
    let open_loop = experiment.workloads.iter().any(|w| matches!(w.kind, WorkloadKind::Poisson { .. }));
    let none =
        || (format!("`{label}` has no workload `poisson`, whose flows could be alive"), "remove `start`, or add such a workload");
    let late = || (format!("the flows alive start within {stagger}, and `duration` is not longer"), "increase `duration`");
    let ends_before = experiment.duration.is_some_and(|d| d <= stagger);
    let reason = reason.or_else(|| (!open_loop).then(none)).or_else(|| ends_before.then(late));
    if let Some((reason, help)) = reason {
        let message = format!("a warm start needs a steady state at time zero, and there is none: {reason}");
        cx.sink.error(at, message, "legal here: \"cold\"", Some(help.to_owned()));
        return None;
    }
    for w in experiment.workloads.iter_mut() {
        if let WorkloadKind::Poisson { warm, .. } = &mut w.kind {
            *warm = Some(stagger);
        }
    }
    // Flows that began before the run have neither their start nor their size in the results.
    experiment.observe.warmup = experiment.observe.warmup.max(stagger);
    Some(())
}
