//! `[stop]`: the figures to know, and how accurately, before a run ends.

use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::schema::limits::MAX_DURATION;
use crate::schema::quantity;
use crate::text::doc::{Node, Raw, TomlTable};
use crate::text::source::At;
use forebay_experiment::Experiment;
use forebay_experiment::network::Network;
use forebay_experiment::stopping::figure::{FORM, Figure};
use forebay_experiment::stopping::rule::{Request, Stop};
use forebay_experiment::stopping::steady_state;
use forebay_experiment::world::World;
use forebay_types::{PortId, Time};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Legal accuracies. Our choice: results that need a finer one are exact only by chance, and a coarser one says nothing.
const LEAST: f64 = 0.001;
const MOST: f64 = 1.0;
/// Number of ports that an error names.
const SOME_PORTS: usize = 4;

/// Reads `[stop]` of a scenario whose workloads have these classes. Returns the rule, its echo, and the place of the table.
pub(crate) fn stop(cx: &mut Cx, section: Option<(At, &TomlTable)>, classes: &[&str]) -> Option<(Stop, Json, At)> {
    let (at, table) = section?;
    let mut fields = Fields::new("[stop]", at, table);
    let common = fields.get("within").map(|i| accuracy(cx, &i.node));
    let budget = fields.get("budget").map(|i| budget(cx, &i.node));
    let ratio = fields.get("ratio").map_or(Some(true), |i| quantity::boolean(cx, "`ratio`", &i.node));
    let known = match fields.get("known") {
        None => Some(Vec::new()),
        Some(i) => requests(cx, &i.node, common.flatten(), classes),
    };
    fields.finish(&mut cx.sink);
    // Errors of single values have been reported.
    let (common, budget) = (common.map_or(Some(None), |c| c.map(Some))?, budget.map_or(Some(None), |b| b.map(Some))?);
    let (mut known, ratio) = (known?, ratio?);
    if known.is_empty() {
        let Some(within) = common else {
            let help = Some("write known = [{ of = \"p99 of small slowdown\", within = \"5%\" }], or within = \"5%\" for the figure of the first line".to_owned());
            cx.sink.error(at, "[stop] names no figure and no accuracy", "nothing to know", help);
            return None;
        };
        known.push(Request { figure: None, within });
    }
    let request = |r: &Request| match &r.figure {
        Some(figure) => json!({"of": figure.to_string(), "within": percent(r.within)}),
        None => json!({"within": percent(r.within)}),
    };
    // The budget is not part of it: a run that ends by it has no place among stored results.
    let echo = json!({"known": known.iter().map(request).collect::<Vec<_>>(), "ratio": ratio});
    Some((Stop { known, budget, ratio }, echo, at))
}

/// Finds the ports that figures name. All variants have the same.
pub(crate) fn find_ports(cx: &mut Cx, at: At, stop: &mut Stop, names: &[String], network: &Network) {
    for figure in stop.known.iter_mut().filter_map(|r| r.figure.as_mut()) {
        let Some(name) = figure.port() else { continue };
        let found = names.iter().position(|n| n == name).map(PortId::from_index);
        match found.and_then(|id| Some((id, network.ports.get(id)?.rate))) {
            Some((id, rate)) => figure.set_port(id, rate),
            None => {
                let message = format!("[stop] names the port `{name}`, and the network has none of this name");
                let some: Vec<&str> = names.iter().rev().take(SOME_PORTS).map(String::as_str).collect();
                cx.sink.error(at, message, "no such port", Some(format!("ports are: {}, and so on", some.join(", "))));
            }
        }
    }
}

/// Refuses experiments without a steady state, and backends that cannot end a run.
pub(crate) fn supported(cx: &mut Cx, at: At, world: &dyn World, variants: &[(&str, &Experiment)]) {
    if !world.decides() {
        let message = format!("[stop] needs a backend that can end a run, and this is `{}`", world.name());
        cx.sink.error(at, message, "legal: world = \"sim\"", None);
        return;
    }
    for (label, config) in variants {
        if let Some((reason, remedy)) = steady_state::reason_against(config) {
            let message = format!("[stop] needs a steady state, and `{label}` has none: {reason}");
            cx.sink.error(at, message, "no steady state", Some(remedy.to_owned()));
            return;
        }
    }
}

/// Refuses the budget of a sweep.
pub(crate) fn refuse_budget_of_sweep(cx: &mut Cx, at: At) {
    let message = "`budget` ends runs by wall time, and the results of a sweep are stored for other machines";
    cx.sink.error(
        at,
        message,
        "remove `budget`",
        Some("`duration` limits the runs of a sweep, and --max-time the whole command".into()),
    );
}

fn percent(fraction: f64) -> String {
    format!("{}%", (fraction * 1e8).round() / 1e6)
}

fn requests(cx: &mut Cx, node: &Node, common: Option<f64>, classes: &[&str]) -> Option<Vec<Request>> {
    let Raw::Array(list) = &node.raw else {
        let message = format!("`known` must be a list of figures, not {}", node.describe());
        cx.sink.error(node.at, message, "write known = [{ of = \"p99 of small slowdown\", within = \"5%\" }]", None);
        return None;
    };
    let all: Vec<Option<Request>> = list.iter().map(|n| request(cx, n, common, classes)).collect();
    all.into_iter().collect()
}

fn request(cx: &mut Cx, node: &Node, common: Option<f64>, classes: &[&str]) -> Option<Request> {
    let mut fields = Fields::of_node("a figure of `known`", node, &mut cx.sink)?;
    let figure = match fields.get("of") {
        None => None,
        Some(i) => {
            let text = quantity::text(cx, "`of`", &i.node);
            text.and_then(|text| match Figure::parse(text, classes) {
                Ok(figure) => Some(figure),
                Err(why) => {
                    let mut help = format!("write {FORM}");
                    if !classes.is_empty() {
                        help += &format!("; classes here: {}", classes.join(", "));
                    }
                    cx.sink.error(i.node.at, format!("`of`: {why}"), "no such figure", Some(help));
                    None
                }
            })
        }
    };
    let named = fields.get("of").is_some();
    let within = match fields.get("within") {
        Some(i) => accuracy(cx, &i.node),
        None if common.is_none() => {
            cx.sink.error(
                node.at,
                "a figure of `known` needs the key `within`",
                "`within` is missing",
                Some("write within = \"5%\"".into()),
            );
            None
        }
        None => common,
    };
    fields.finish(&mut cx.sink);
    if !named {
        cx.sink.error(
            node.at,
            "a figure of `known` needs the key `of`",
            "`of` is missing",
            Some("write of = \"p99 of small slowdown\"".into()),
        );
        return None;
    }
    Some(Request { figure: Some(figure?), within: within? })
}

/// Reads `5%` or `0.05`.
fn accuracy(cx: &mut Cx, node: &Node) -> Option<f64> {
    let number = match &node.raw {
        Raw::Text(t) => t.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0),
        Raw::Float(f) => Some(*f),
        Raw::Int(i) => Some(*i as f64),
        _ => None,
    };
    let found = number.filter(|n| (LEAST..=MOST).contains(n));
    if found.is_none() {
        let message = format!("`within` is {}", node.describe());
        cx.sink.error(node.at, message, "legal: a percentage of the figure from 0.1% to 100%, such as \"5%\"", None);
    }
    found
}

/// Reads the wall time.
fn budget(cx: &mut Cx, node: &Node) -> Option<Duration> {
    let time = quantity::time(cx, "`budget`", node, MAX_DURATION)?;
    if time == Time::ZERO {
        cx.sink.error(node.at, "`budget` is zero", "legal: above 0, such as \"60s\" of wall time", None);
        return None;
    }
    Some(Duration::from_secs_f64(time.as_secs_f64()))
}
