//! Judgment of `[[expect]]`: the mean of a metric over the seeds against its expected range. A value that was not measured is never within.

use crate::cells::cell_of;
use crate::data::{Metric, metrics};
use crate::dimension::Dimension;
use crate::format::{count, quantity};
use forebay_scenario::{Errors, ExpectKey, Expectation, Resolved, Scenario, Variant};
use forebay_store::summary::{GROUP_METRICS, GroupSummary, NETWORK_METRICS, Summary};
use forebay_types::GroupId;
use forebay_types::param::nearest;
use std::collections::BTreeMap;

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The value is in the range.
    Within,
    /// The value is not in the range.
    Outside,
    /// There is no value, or a lower bound from which the answer does not follow.
    Unknown,
}

impl Verdict {
    /// Name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Within => "within",
            Verdict::Outside => "outside",
            Verdict::Unknown => "unknown",
        }
    }
}

/// One expectation, about one transport group or variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Column of the table `summary`.
    pub metric: &'static str,
    /// The variant or group, with the workload if the expectation names one.
    pub subject: String,
    /// Mean over the seeds; `None` if it was not measured.
    pub value: Option<f64>,
    /// True if unfinished messages make it a lower bound.
    pub at_least: bool,
    /// Least and greatest expected value, in the unit of the metric.
    pub range: (f64, f64),
    /// Unit.
    pub unit: Dimension,
    /// Source of the range; empty without one.
    pub source: String,
    /// Comparison.
    pub verdict: Verdict,
    /// Reason of an unknown verdict.
    pub reason: Option<String>,
}

impl Judged {
    /// One line, such as `expect fct_small_p99_s of dctcp: 7.1 ms is outside 0 s to 5 ms (RFC 9743 section 5.1)`.
    pub fn line(&self) -> String {
        let show = |v: f64| if v == f64::INFINITY { "any".to_owned() } else { quantity(v, self.unit) };
        let (low, high) = self.range;
        let range = match (low, high) {
            (low, high) if low == high => format!("exactly {}", show(low)),
            (low, f64::INFINITY) => format!("at least {}", show(low)),
            (low, high) if low <= 0.0 => format!("at most {}", show(high)),
            (low, high) => format!("{} to {}", show(low), show(high)),
        };
        let value = match self.value {
            Some(value) => format!("{}{}", if self.at_least { "at least " } else { "" }, show(value)),
            None => "no value".to_owned(),
        };
        let verdict = match (self.verdict, &self.reason) {
            (Verdict::Unknown, Some(reason)) => format!("unknown ({reason})"),
            (verdict, _) => verdict.name().to_owned(),
        };
        let source = if self.source.is_empty() { String::new() } else { format!(" ({})", self.source) };
        format!("expect {} of {}: {value}, expected {range}{source}: {verdict}", self.metric, self.subject)
    }
}

fn find(name: &str) -> Option<Metric> {
    metrics().find(|m| m.name == name)
}

/// Name of the metric that is similar to `name` by its column, or by its label in the printed table: `timeouts` is the label of `rtos`.
fn similar(name: &str) -> Option<&'static str> {
    let of_label = || {
        let words = name.replace(['_', '-'], " ");
        let labelled = || metrics().filter(|m| !m.label.is_empty());
        let label = nearest(&words, labelled().map(|m| m.label))?;
        labelled().find(|m| m.label == label).map(|m| m.name)
    };
    nearest(name, metrics().map(|m| m.name)).or_else(of_label)
}

/// Transport groups of a variant that expectations can name.
fn groups(variant: &Variant) -> impl Iterator<Item = (GroupId, &str)> {
    variant.config.groups.enumerate().map(|(id, g)| (id, g.name.as_str()))
}

/// Checks that each expectation of a scenario names a metric, a transport and a workload that exist, and a range in the unit of its metric.
///
/// # Errors
/// The first one that does not, with its line.
pub fn check_expectations(scenario: &Scenario, resolved: &Resolved) -> Result<(), Errors> {
    for e in &resolved.expectations {
        let Some(metric) = find(&e.metric) else {
            let help =
                "legal: the columns of the table `summary` (docs/reference/results.md), such as goodput_bps or fct_small_p99_s";
            let message = format!("there is no metric `{}`", e.metric);
            return Err(scenario.expectation_error(e, ExpectKey::Metric, message, similar(&e.metric), help.into()));
        };
        if let Some(unit) = e.low.unit.or(e.high.unit)
            && !fits(unit, metric.unit)
        {
            let message = format!("`between` has {}, and `{}` is in {}", unit.name(), metric.name, metric.unit.name());
            let help = format!("write numbers in the unit of the metric, {}, or texts with such a unit", metric.unit.name());
            return Err(scenario.expectation_error(e, ExpectKey::Between, message, None, help));
        }
        if let Some(name) = &e.transport {
            let mut legal: Vec<&str> = resolved.variants.iter().map(|v| v.label.as_str()).collect();
            legal.extend(resolved.variants.iter().flat_map(|v| groups(v).map(|(_, name)| name)));
            legal.dedup();
            if !legal.contains(&name.as_str()) {
                let help = format!("legal: {}", legal.join(", "));
                let message = format!("the scenario has no transport `{name}`");
                return Err(scenario.expectation_error(e, ExpectKey::Transport, message, nearest(name, legal), help));
            }
        }
        if let Some(name) = &e.workload {
            let legal: Vec<&str> = resolved.variants.iter().flat_map(|v| v.class_names.iter().map(String::as_str)).collect();
            if metric.shared || !legal.contains(&name.as_str()) {
                let (message, help) = match metric.shared {
                    true => {
                        (format!("`{}` is of the network, not of a workload", metric.name), "leave `workload` out".to_owned())
                    }
                    false => (format!("the scenario has no workload `{name}`"), format!("legal: {}", legal.join(", "))),
                };
                return Err(scenario.expectation_error(e, ExpectKey::Workload, message, nearest(name, legal), help));
            }
        }
    }
    Ok(())
}

/// Returns true if a text in `given` can be compared with a metric in `unit`. A percentage fits all numbers without unit.
fn fits(given: Dimension, unit: Dimension) -> bool {
    given == unit || (given == Dimension::Fraction && unit == Dimension::Ratio)
}

/// Judges all expectations about the summaries of the variants of `resolved`, one list of seeds for each. `partial`: the runs did not reach their ends.
pub fn judge_expectations(resolved: &Resolved, seeds: &[&[Summary]], partial: bool) -> Vec<Judged> {
    let mut all = Vec::new();
    for e in &resolved.expectations {
        let Some(metric) = find(&e.metric) else { continue };
        for (variant, seeds) in resolved.variants.iter().zip(seeds) {
            let names_variant = e.transport.as_ref().is_none_or(|t| *t == variant.label);
            if metric.shared {
                if names_variant || groups(variant).any(|(_, g)| Some(g) == e.transport.as_deref()) {
                    let values = shared_values(seeds);
                    all.push(judge(e, &metric, variant.label.clone(), seeds.len(), &values, partial));
                }
                continue;
            }
            let chosen: Vec<(GroupId, &str)> =
                groups(variant).filter(|(_, name)| names_variant || Some(*name) == e.transport.as_deref()).collect();
            let mut judged = Vec::new();
            for (id, group) in &chosen {
                let values = match &e.workload {
                    None => group_values(seeds, |s| s.groups.get(*id)),
                    Some(class) if alone(variant, *id, class) => group_values(seeds, |s| s.groups.get(*id)),
                    Some(class) => group_values(seeds, |s| {
                        s.classes.iter().find(|c| c.group == *id && c.class == *class).map(|c| &c.summary)
                    }),
                };
                let mut subject = if chosen.len() == 1 && names_variant { variant.label.clone() } else { (*group).to_owned() };
                if resolved.variants.len() > 1 && subject != variant.label {
                    subject = format!("{subject} in {}", variant.label);
                }
                if let Some(class) = &e.workload {
                    subject = format!("{class}, {subject}");
                }
                judged.push(judge(e, &metric, subject, seeds.len(), &values, partial));
            }
            // Other groups have no such traffic, unless the expectation names them.
            if judged.iter().any(|j| j.value.is_some()) && e.transport.is_none() {
                judged.retain(|j| j.value.is_some());
            } else {
                judged.truncate(1);
            }
            all.extend(judged);
        }
    }
    all
}

/// Returns true if `class` is the only workload of a group: the summary of the group is that of the workload.
fn alone(variant: &Variant, group: GroupId, class: &str) -> bool {
    let mut of = variant.config.workloads.iter().zip(&variant.class_names).filter(|(w, _)| w.uses(group)).map(|(_, name)| name);
    of.next().is_some_and(|name| name == class) && of.next().is_none()
}

type Values = BTreeMap<&'static str, Vec<f64>>;

fn group_values<'a>(seeds: &'a [Summary], of: impl Fn(&'a Summary) -> Option<&'a GroupSummary>) -> Values {
    GROUP_METRICS.iter().map(|m| (m.name, seeds.iter().filter_map(|s| (m.get)(of(s)?)).collect())).collect()
}

fn shared_values(seeds: &[Summary]) -> Values {
    NETWORK_METRICS.iter().map(|m| (m.name, seeds.iter().filter_map(|s| (m.get)(&s.network)).collect())).collect()
}

fn judge(e: &Expectation, metric: &Metric, subject: String, runs: usize, values: &Values, partial: bool) -> Judged {
    let of = |name: &str| values.get(name).map_or(&[][..], Vec::as_slice);
    let measured = of(metric.name).len();
    let cell = cell_of(metric, of).filter(|c| c.mean.is_finite());
    let (low, high) = (e.low.value, e.high.value);
    let (value, at_least) = (cell.map(|c| c.mean), cell.is_some_and(|c| c.at_least));
    let (verdict, reason) = match value {
        _ if partial => (Verdict::Unknown, Some("the runs did not reach their end".to_owned())),
        None => (Verdict::Unknown, Some("not measured".to_owned())),
        Some(_) if measured < runs => (Verdict::Unknown, Some(format!("measured in {measured} of {}", count(runs, "run")))),
        Some(v) if at_least && v > high => (Verdict::Outside, None),
        Some(v) if at_least && !(v >= low && high == f64::INFINITY) => {
            (Verdict::Unknown, Some("messages were still running at the end".to_owned()))
        }
        Some(v) if v >= low && v <= high => (Verdict::Within, None),
        Some(_) => (Verdict::Outside, None),
    };
    Judged {
        metric: metric.name,
        subject,
        value,
        at_least,
        range: (low, high),
        unit: metric.unit,
        source: e.source.clone(),
        verdict,
        reason,
    }
}
