//! Table of a sweep: one row per point and transport, a few numbers each, means with 95 % intervals over the seeds.

use crate::terminal::columns::{self, Column};
use crate::terminal::style::{DIM, NAME};
use crate::terminal::summary_table::Mean;
use crate::terminal::summary_table::{FIRST, Line, aligned, legend, line, omitted};
use forebay_analysis::{Metric, cell_of, metrics};
use forebay_runner::sweep::{Plan, Records, Unit, UnitRecord};
use forebay_scenario::{Axis, Point};
use forebay_types::GroupId;
use std::collections::BTreeMap;

/// Numbers that are shown by default.
const SHOWN: usize = 6;
/// The numbers with the largest effect first; those that the traffic has are shown.
const METRICS: [&str; 17] = [
    "goodput_bps",
    "active_goodput_bps",
    "long_goodput_bps",
    "qct_p50_s",
    "qct_p99_s",
    "qct_p999_s",
    "rtos_per_query",
    "fct_small_p99_s",
    "fct_small_p999_s",
    "deadlines_missed",
    "slowdown_p99",
    "makespan_s",
    "long_fairness",
    "queue_mean_pkts",
    "rtos",
    "drops",
    "fct_small_mean_s",
];

/// One row: a transport group of a variant of a point.
struct Row<'a> {
    unit: &'a Unit,
    group: GroupId,
    seeds: Vec<&'a UnitRecord>,
}

/// Draws at most `rows` rows with the metrics of these names; by default with those of [`METRICS`].
pub(crate) fn render(
    plan: &Plan,
    records: &Records,
    (names, rows): (&[String], Option<usize>),
    fits: Option<usize>,
    colour: bool,
) -> String {
    let all = all_rows(plan, records);
    let metrics = choose(names, &all);
    let shown = &all[..all.len().min(rows.unwrap_or(usize::MAX))];
    let points: Vec<_> = shown.iter().map(|row| plan.sweep().point(row.unit.point() as usize)).collect();
    let axis = |(i, axis): (usize, &Axis)| {
        let value = |point: &Option<Point>| axis.values.get(point.as_ref()?.values[i]?).map(|v| v.text.clone());
        key(&axis.short, points.iter().map(|p| value(p).unwrap_or_default()).collect())
    };
    let mut keys: Vec<Column> = plan.sweep().axes().iter().enumerate().map(axis).collect();
    // The transport, unless it is the same everywhere or is an axis.
    let class = |r: &Row| r.seeds.first().map_or("", |s| s.class(r.group)).to_owned();
    let name = |r: &Row| -> String {
        let names = plan.names(r.unit);
        let group = r.seeds.first().and_then(|s| s.groups.position(|name| s.groups.get(r.group) == Some(name)));
        match (names.groups.len(), names.groups.get(group.unwrap_or(r.group))) {
            (2.., Some(group)) => group.clone(),
            _ => names.variant.clone(),
        }
    };
    let several = shown.iter().any(|r| r.unit.variant() > 0 || (r.group > FIRST && class(r).is_empty()));
    if several {
        keys.push(key("transport", shown.iter().map(name).collect()));
    }
    if shown.iter().any(|r| !class(r).is_empty()) {
        let text = |r: &Row| if class(r).is_empty() { "all".to_owned() } else { class(r) };
        keys.push(key("workload", shown.iter().map(text).collect()));
    }
    keys.iter_mut().last().into_iter().for_each(|last| last.gap = 2);
    let numbers: Vec<(&Metric, Option<Line>)> = metrics.iter().map(|m| (m, number(m, shown))).collect();
    let lines = || numbers.iter().filter_map(|(_, line)| line.as_ref());
    // Units are below the names, if there are any.
    let units = lines().any(|line| !line.unit.is_empty());
    let column = |(m, line): &(&Metric, Option<Line>)| {
        let unit = units.then(|| line.as_ref().map_or("", |l| l.unit).to_owned());
        Column {
            heads: [title(m.name).to_owned()].into_iter().chain(unit).collect(),
            cells: line
                .as_ref()
                .map_or_else(|| vec!["-".into(); shown.len()], |l| aligned(&l.cells.iter().collect::<Vec<_>>(), colour)),
            right: true,
            gap: 0,
        }
    };
    let columns: Vec<Column> = numbers.iter().map(column).collect();
    // A prediction counts nothing, and has no seeds.
    let once = all.iter().all(|r| r.seeds.len() == 1) && all.iter().any(|r| !of(r, "drops").is_empty());
    columns::render(&keys, &columns, if units { &[NAME, DIM] } else { &[NAME] }, fits, colour)
        + &legend(lines().flat_map(|l| &l.cells), once, colour)
        + &omitted(all.len() - shown.len(), "--all prints them; summary.parquet has them too", colour)
}

/// A column that identifies rows: texts to the left, numbers to the right.
fn key(head: &str, cells: Vec<String>) -> Column {
    let number = |text: &String| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    Column { heads: vec![head.to_owned()], right: cells.iter().all(number), cells, gap: 0 }
}

/// All rows in the order of the plan: seeds of one point and variant together.
fn all_rows<'a>(plan: &'a Plan, records: &'a Records) -> Vec<Row<'a>> {
    let mut out: Vec<Row<'a>> = Vec::new();
    let mut last = None;
    for (i, unit) in plan.units().iter().enumerate() {
        let Some(record) = records.get(plan, i) else { continue };
        // The first seed of a point may be missing if a limit ended the sweep.
        if last.replace((unit.point(), unit.variant())) != Some((unit.point(), unit.variant())) {
            out.extend(record.groups.ids().map(|group| Row { unit, group, seeds: Vec::new() }));
        }
        let groups = record.groups.len();
        let from = out.len().saturating_sub(groups);
        out[from..].iter_mut().for_each(|r| r.seeds.push(record));
    }
    out
}

fn choose(names: &[String], rows: &[Row]) -> Vec<Metric> {
    let find = |name: &str| metrics().find(|m| m.name == name);
    if !names.is_empty() {
        return names.iter().filter_map(|n| metrics().find(|m| m.name == n || printed(m).contains(&n.as_str()))).collect();
    }
    let nonzero = |m: &Metric| rows.iter().any(|r| of(r, m.name).iter().any(|v| *v != 0.0));
    METRICS.iter().filter_map(|n| find(n)).filter(nonzero).take(SHOWN).collect()
}

/// Other names of a metric: its title in the table of a sweep, and its label in that of a run.
pub(crate) fn printed(m: &Metric) -> Vec<&'static str> {
    let all = [title(m.name), m.label];
    all.into_iter().filter(|name| !name.is_empty() && *name != m.name).collect()
}

/// A metric of all rows; `None`: no row has a value.
fn number(m: &Metric, rows: &[Row]) -> Option<Line> {
    let mean = |r: &Row| -> Option<Mean> {
        let seeds: BTreeMap<&str, Vec<f64>> = metrics().map(|m| (m.name, of(r, m.name))).collect();
        cell_of(m, |name| seeds.get(name).map_or(&[], Vec::as_slice))
    };
    line(m.name.to_owned(), m.unit, false, &rows.iter().map(mean).collect::<Vec<_>>())
}

/// The values of the seeds. Metrics are the columns of a record.
fn of(r: &Row, name: &str) -> Vec<f64> {
    let column = metrics().position(|m| m.name == name);
    column.map_or_else(Vec::new, |at| r.seeds.iter().filter_map(|s| s.value(r.group, at)).collect())
}

/// `goodput_bps` shown in Gbps is called `goodput`: the unit is below.
fn title(name: &str) -> &str {
    ["_bps", "_s", "_pkts"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}
