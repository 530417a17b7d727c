//! Experiments without a steady state, for which the table `[stop]` is refused, and sizes that have not occurred.

use crate::Experiment;
use crate::decisions::{ItemKind, WorkItem};
use crate::topology::host_rate;
use crate::traffic::{End, ResponseSize, WorkloadKind};
use forebay_types::{NodeId, SizeDist, WorkloadId};

/// Reason why the figures of an experiment do not settle to constant values, and the remedy; `None` if they may.
pub fn reason_against(config: &Experiment) -> Option<(String, &'static str)> {
    if config.duration.is_none() {
        return Some(("the run has no `duration`, the longest time that it may take".into(), "add `duration`"));
    }
    if !config.network.faults.failures.is_empty() {
        let text = "links fail during the run: figures before and after a failure differ".to_owned();
        return Some((text, "run the whole duration without [stop]"));
    }
    config.workloads.iter().find_map(|w| {
        let name = &w.class;
        if let WorkloadKind::Replay { .. } = w.kind {
            let text = format!("`{name}` replays a list of flows, which is one whole");
            return Some((text, "run the list to its end without [stop]"));
        }
        if w.kind.end() == End::Finite {
            let text = format!("`{name}` ends by itself, so that its figures are those of all its messages");
            return Some((text, "let `duration` alone end the run, or leave out [stop]"));
        }
        let load = load(&w.kind, config)?;
        (load >= 1.0).then(|| {
            let text = format!(
                "`{name}` offers {:.0} % of the capacity of its hosts' links: queues and delays grow without bound",
                load * 100.0
            );
            (text, "lower the load below 100 %")
        })
    })
}

/// Payload that a workload offers, as a fraction of the rates of the links of its senders or of its receivers, whichever is larger. `None` where it
/// depends on the course of the run.
pub fn load(kind: &WorkloadKind, config: &Experiment) -> Option<f64> {
    let WorkloadKind::Poisson { from, to, sizes, flows_per_sec, matrix: None, .. } = kind else { return None };
    let capacity =
        |hosts: &[NodeId]| -> f64 { hosts.iter().filter_map(|h| host_rate(&config.network, *h)).map(|r| r.0 as f64).sum() };
    let offered = flows_per_sec * sizes.mean() * 8.0;
    Some(offered / capacity(from).min(capacity(to)).max(1.0))
}

/// A workload whose largest sizes have not occurred among `work`, and the largest size of its table.
pub fn unseen_size(config: &Experiment, work: &[WorkItem]) -> Option<(String, u64)> {
    config.workloads.enumerate().find_map(|(id, w)| {
        let sizes = match &w.kind {
            WorkloadKind::Poisson { sizes, .. } | WorkloadKind::OnOff { sizes, .. } => sizes,
            WorkloadKind::Requests { response, .. } => response,
            WorkloadKind::Queries { response: ResponseSize::Each(sizes), .. } => sizes,
            _ => return None,
        };
        let (least, largest) = last_interval(sizes)?;
        let seen = |id: WorkloadId| {
            work.iter().any(|i| {
                matches!(i.kind, ItemKind::Message | ItemKind::QueryMessage) && i.workload == id && i.size_bytes as f64 > least
            })
        };
        (!seen(id)).then(|| (w.class.clone(), largest))
    })
}

/// The interval of the largest sizes of a table: above the last but one point, up to the last.
fn last_interval(sizes: &SizeDist) -> Option<(f64, u64)> {
    match sizes {
        SizeDist::Table(table) => {
            let [.., before, last] = table.points() else { return None };
            Some((before.0, last.0.ceil() as u64))
        }
        SizeDist::Mixture(mixture) => mixture.parts().iter().filter_map(|p| last_interval(&p.1)).max_by_key(|i| i.1),
        _ => None,
    }
}
