//! The points of a sweep as choices, and the best and the worst of them by a metric.

use super::sweep_data::{Sweep, Value, value};
use crate::page::Cell;
use forebay_analysis::{Metric, headline_metrics, metrics};
use std::collections::BTreeMap;

/// Differences up to this fraction of the better value are ignored. Our choice, as in comparisons of runs.
pub(super) const SMALL: f64 = 0.05;
/// Differences up to this fraction are ignored where the seeds do not show them. Our choice, as in comparisons of runs.
pub(super) const NARROW: f64 = 0.2;
/// A subject at a point, with the values of its seeds.
pub(super) struct Choice<'a> {
    pub(super) at: &'a [Value],
    /// Values of the axes that define the load.
    pub(super) load: Vec<&'a Value>,
    pub(super) variant: &'a str,
    pub(super) subject: &'a str,
    /// Name of the workload; empty for a whole group.
    pub(super) class: &'a str,
    /// The point as text, and its parts that define the load, and those that do not.
    pub(super) place: String,
    pub(super) load_place: String,
    pub(super) own_place: String,
    pub(super) seeds: BTreeMap<String, Vec<f64>>,
}

/// All choices, in the order of the sweep.
pub(super) fn choices(sweep: &Sweep) -> Vec<Choice<'_>> {
    let mut out: Vec<Choice> = Vec::new();
    let of_groups = || sweep.points.iter().filter(|p| p.class.is_empty());
    let several = of_groups().any(|p| Some(&p.subject) != of_groups().next().map(|p| &p.subject)) && !sweep.axes_name_subjects();
    for p in &sweep.points {
        // The seeds of a choice are adjacent, except for those of other groups of its network.
        let known =
            out.iter().rev().take(64).position(|c| c.at == p.at && c.subject == p.subject).map(|back| out.len() - 1 - back);
        let at = known.unwrap_or_else(|| {
            let named = || sweep.axes.iter().zip(&p.at).filter(|(_, v)| **v != Value::Unset);
            let part = |load: bool| named().filter(move |(axis, _)| axis.is_load() == load).map(|(axis, v)| axis.of(v));
            let mut parts: Vec<String> = named().map(|(axis, v)| axis.of(v)).collect();
            let mut own: Vec<String> = part(false).collect();
            if several {
                // The workload stands at the beginning of sentences.
                let subject = p.subject.strip_suffix(&format!(", {}", p.class)).unwrap_or(&p.subject).to_owned();
                own.push(subject.clone());
                parts.push(subject);
            }
            out.push(Choice {
                at: &p.at,
                load: sweep.axes.iter().zip(&p.at).filter(|(axis, _)| axis.is_load()).map(|(_, v)| v).collect(),
                variant: &p.variant,
                subject: &p.subject,
                class: &p.class,
                place: parts.join(", "),
                load_place: part(true).collect::<Vec<_>>().join(", "),
                own_place: own.join(", "),
                seeds: BTreeMap::new(),
            });
            out.len() - 1
        });
        for (metric, v) in &p.metrics {
            out[at].seeds.entry(metric.clone()).or_default().push(*v);
        }
    }
    out
}

impl Choice<'_> {
    /// Name of its subject without that of the workload.
    pub(super) fn whose(&self) -> &str {
        self.subject.strip_suffix(self.class).and_then(|s| s.strip_suffix(", ")).unwrap_or(self.subject)
    }

    pub(super) fn cell(&self, m: &Metric) -> Option<Cell> {
        value(m, &self.seeds)
    }

    /// True if it started finite work in every run and finished none of it.
    pub(super) fn finished_nothing(&self) -> bool {
        let none = |started: &str, done: &str| {
            let all = |name: &str| self.seeds.get(name).map_or(0.0, |v| v.iter().sum::<f64>());
            (all(started), all(done))
        };
        let (queries, messages) = (none("queries", "queries_completed"), none("flows", "flows_completed"));
        queries.0 + messages.0 > 0.0 && queries.1 + messages.1 == 0.0
    }
}

pub(super) fn metric(name: &str) -> Option<Metric> {
    metrics().find(|m| m.name == name)
}

/// The metric that ranks the choices, and true if less is better: the first headline metric with several values. Its median is used where the tail
/// is only a lower bound at every point.
pub(super) fn telling(all: &[&Choice]) -> Option<(Metric, bool)> {
    let several = |m: &Metric| all.iter().filter(|c| c.cell(m).is_some()).nth(1).is_some();
    let known = |m: &Metric| all.iter().any(|c| c.cell(m).is_some_and(|c| !c.at_least));
    let (m, less) = headline_metrics().filter_map(|(name, less)| Some((metric(name)?, less))).find(|(m, _)| several(m))?;
    let median = (less && !known(&m)).then(|| metric(&m.name.replace("_p99_", "_p50_"))).flatten().filter(known);
    Some((median.unwrap_or(m), less))
}

/// The choices about each workload, with its name, or all choices if no group carries several workloads. Workloads are not compared with each other.
pub(super) fn by_class<'a, 'b>(all: &'b [Choice<'a>]) -> Vec<(&'a str, Vec<&'b Choice<'a>>)> {
    let mut out: Vec<(&str, Vec<&Choice>)> = Vec::new();
    for c in all.iter().filter(|c| !c.class.is_empty()) {
        match out.iter_mut().find(|(class, _)| *class == c.class) {
            Some((_, of)) => of.push(c),
            None => out.push((c.class, vec![c])),
        }
    }
    if out.is_empty() { vec![("", all.iter().collect())] } else { out }
}

/// The best and the worst choice with a value. A choice with unfinished work is never the best, and the worst among equals.
fn ends(all: &[&Choice], m: &Metric, less: bool) -> Option<((usize, Cell), (usize, Cell))> {
    let mut cells: Vec<(usize, Cell)> = all.iter().enumerate().filter_map(|(i, c)| Some((i, c.cell(m)?))).collect();
    cells.sort_by(|a, b| {
        let order = if less { a.1.mean.total_cmp(&b.1.mean) } else { b.1.mean.total_cmp(&a.1.mean) };
        order.then(a.1.at_least.cmp(&b.1.at_least)).then(a.0.cmp(&b.0))
    });
    let best = *cells.iter().find(|c| !(less && c.1.at_least))?;
    let worst = *cells.last().filter(|w| w.0 != best.0)?;
    Some((best, worst))
}

/// The best and the worst choice, each with its value.
pub(super) type Ends = ((usize, Cell), (usize, Cell));

/// The ends among the choices under the same load, at the load where they differ most: a load is given, and the smallest one is always the best.
pub(super) fn ends_at_one_load(all: &[&Choice], m: &Metric, less: bool) -> Option<Ends> {
    let loads = by_load(all);
    let within = |here: &Vec<usize>| {
        let of: Vec<&Choice> = here.iter().map(|i| all[*i]).collect();
        let (best, worst) = ends(&of, m, less)?;
        Some(((here[best.0], best.1), (here[worst.0], worst.1)))
    };
    let ratio = |e: &((usize, Cell), (usize, Cell))| {
        let (a, b) = (e.0.1.mean.abs(), e.1.1.mean.abs());
        if a.min(b) > 0.0 { a.max(b) / a.min(b) } else { f64::MAX }
    };
    let several = |here: &&Vec<usize>| here.iter().filter(|i| all[**i].cell(m).is_some()).count() > 1;
    // Unfinished work leaves a load open: its values are not nearly the same.
    let known: Vec<_> = loads.iter().filter(several).map(within).collect();
    let open = known.iter().any(Option::is_none);
    let most = known.into_iter().flatten().reduce(|a, b| if ratio(&b) > ratio(&a) { b } else { a });
    most.filter(|e| !open || !same(e.0.1, e.1.1))
}

/// Numbers of the choices under each load, in the order in which the loads occur. Sweeps have thousands of loads.
pub(super) fn by_load(all: &[&Choice]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places: BTreeMap<Vec<(u8, u64, &str)>, usize> = BTreeMap::new();
    for (i, c) in all.iter().enumerate() {
        let place = *places.entry(c.load.iter().map(|v| v.key()).collect()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(i);
    }
    groups
}

pub(super) fn same(a: Cell, b: Cell) -> bool {
    let within = |part: f64| (a.mean - b.mean).abs() <= part * a.mean.abs().max(b.mean.abs());
    !b.at_least && (within(SMALL) || within(NARROW) && overlap(a, b))
}

/// True if the intervals, or of a few seeds the ranges, have common values.
pub(super) fn overlap(a: Cell, b: Cell) -> bool {
    let of = |c: Cell| c.range.or(c.ends);
    matches!((of(a), of(b)), (Some(a), Some(b)) if a.0 <= b.1 && b.0 <= a.1)
}

pub(super) fn label(m: &Metric) -> String {
    m.label.replace("{first}", "the first group")
}
