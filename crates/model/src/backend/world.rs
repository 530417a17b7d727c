//! The closed forms as a backend: predictions instead of a run, for the experiments that a model covers.

use crate::backend::{Applicability, ModelValue, Predicts, applicability};
use forebay_experiment::Experiment;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::report::{EarlyEnd, Predicted, Progress, Report, RunError};
use forebay_experiment::world::{Unsupported, World};
use forebay_experiment::writes::Writes;
use forebay_types::{GroupId, IndexVec, Time};
use std::ops::ControlFlow;

/// The models of this crate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Models;

impl World for Models {
    fn name(&self) -> &'static str {
        "model"
    }

    fn summary(&self) -> &'static str {
        "closed forms, evaluated instantly, for experiments that a model covers (see `forebay compare --models`); only predicted numbers have a value"
    }

    fn uses_seeds(&self) -> bool {
        false
    }

    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported> {
        if let Some(w) = experiment.workloads.iter().find(|w| w.writes != Writes::ONE) {
            let reason = format!("no model has messages of several writes, as `{}` has; legal: `writes = 1`", w.class);
            return vec![Unsupported { key: "workload.writes", reason }];
        }
        if let Some(w) = experiment.workloads.iter().find(|w| w.listen.is_some()) {
            let reason = format!(
                "no model has accept queues, as `{}` has; legal: `listen-backlog` left out, or `world = \"sim\"`",
                w.class
            );
            return vec![Unsupported { key: "workload.listen-backlog", reason }];
        }
        if let Some(group) = experiment.groups.iter().find(|group| group.tcp.txrehash) {
            let reason = format!("no model has connections that change their path, as those of `{}`; legal: false", group.name);
            return vec![Unsupported { key: "transport.txrehash", reason }];
        }
        if let Some(refused) = Unsupported::capture(experiment).or_else(|| Unsupported::warm_start(experiment)) {
            return vec![refused];
        }
        let answers = applicability(experiment);
        if answers.iter().flat_map(Applicability::lines).any(|l| l.predicts.is_some()) {
            return Vec::new();
        }
        let reason = |v: &Applicability| match v {
            Applicability::NotApplicable { model, reason } => {
                Unsupported { key: key(model), reason: format!("{model}: {reason}") }
            }
            Applicability::Applies(s) => {
                let reason = format!("{}: predicts no result of a run", s.model);
                Unsupported { key: key(s.model), reason }
            }
        };
        answers.iter().map(reason).collect()
    }

    fn explain(&self, experiment: &Experiment) -> Vec<String> {
        let about = |v: Applicability| match v {
            Applicability::Applies(s) => Some(format!("{}: {}", s.model, s.about)),
            Applicability::NotApplicable { .. } => None,
        };
        applicability(experiment).into_iter().filter_map(about).collect()
    }

    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        _seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        let cannot = self.supports(&experiment);
        if !cannot.is_empty() {
            let reasons: Vec<String> = cannot.into_iter().map(|u| u.reason).collect();
            return Err(RunError::Unknown(format!("no model covers this experiment: {}", reasons.join("; "))));
        }
        let predicted = predict(&experiment);
        let end = experiment.duration.unwrap_or(Time::ZERO);
        let _ =
            progress(Progress { now: end, end: experiment.duration, packet_hops: 0, done: 0, total: 0, cores: 1, to_report: 0 });
        let fingerprint = predicted.fingerprint();
        Ok(Report { predicted: Some(predicted), end, fingerprint, ..Report::default() })
    }
}

/// Scenario key that decides whether a model applies.
fn key(model: &str) -> &'static str {
    match model {
        "trim" | "dctcp" => "transport.cc",
        "share" => "transport",
        _ => "workload",
    }
}

/// Predictions of the models; if two predict the same number, the first is used.
fn predict(experiment: &Experiment) -> Predicted {
    let groups = experiment.groups.len();
    let mut out = Predicted {
        goodput_bps: IndexVec::repeat(None, groups),
        query_s: IndexVec::repeat(None, groups),
        ..Predicted::default()
    };
    for verdict in applicability(experiment) {
        let Applicability::Applies(section) = verdict else { continue };
        for line in &section.lines {
            let (Some(what), ModelValue::Scenario(value)) = (line.predicts, &line.model) else { continue };
            let of_group = |list: &mut IndexVec<GroupId, Option<f64>>| {
                if let Some(slot) = section.group.and_then(|g| list.get_mut(g)) {
                    slot.get_or_insert(*value);
                }
            };
            match what {
                Predicts::Goodput => of_group(&mut out.goodput_bps),
                Predicts::QueryTime => of_group(&mut out.query_s),
                Predicts::QueueMean | Predicts::QueueMax => {
                    // A report has the queue of a single port.
                    let Some(port) = section.port else { continue };
                    if *out.port.get_or_insert(port) != port {
                        continue;
                    }
                    let slot = if what == Predicts::QueueMean { &mut out.queue_mean_pkts } else { &mut out.queue_max_pkts };
                    slot.get_or_insert(*value);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::network::Network;
    use forebay_experiment::observe::Observe;

    #[test]
    fn unsupported_experiment_lists_all_reasons() {
        let empty = Experiment {
            seed: 1,
            duration: None,
            network: Network::default(),
            groups: IndexVec::new(),
            workloads: IndexVec::new(),
            observe: Observe::default(),
        };
        let cannot = Models.supports(&empty);
        assert_eq!(cannot.len(), applicability(&empty).len());
        assert!(cannot.iter().any(|u| u.key == "workload" && u.reason.contains("no incast workload")), "{cannot:?}");
    }
}
