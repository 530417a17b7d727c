//! The table at the end of a sweep: one row a point and transport, a few numbers each, means with 95 % intervals over the seeds.

use crate::style::{DIM, NAME, paint};
use crate::table::Mean;
use crate::table::{Cell, FIRST, Line, finish_line, legend, line, width};
use crate::wrap::blocks;
use forebay_analysis::{Metric, cell_of, metrics};
use forebay_runner::sweep::{Plan, Records, Unit, UnitRecord};
use forebay_types::GroupId;
use std::collections::BTreeMap;
use std::fmt::Write;

/// More rows than this are counted.
const MAX_ROWS: usize = 40;
/// Numbers that are shown by default.
const SHOWN: usize = 5;
/// The most telling numbers first: of these, those that the traffic has.
const TELLING: [&str; 13] = [
    "goodput_bps",
    "long_goodput_bps",
    "qct_p50_s",
    "qct_p99_s",
    "rtos_per_query",
    "fct_small_p99_s",
    "deadlines_missed",
    "slowdown_p99",
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

/// Draws the table with the metrics of these names; with none, the most telling ones.
pub(crate) fn render(plan: &Plan, records: &Records, names: &[String], fits: Option<usize>, colour: bool) -> String {
    let all = rows(plan, records);
    let metrics = choose(names, &all);
    let shown = &all[..all.len().min(MAX_ROWS)];
    let mut heads: Vec<String> = plan.sweep().axes().iter().map(|a| a.short.clone()).collect();
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); heads.len()];
    for row in shown {
        let point = plan.sweep().point(row.unit.point() as usize);
        for (i, axis) in plan.sweep().axes().iter().enumerate() {
            let value = point.as_ref().and_then(|p| axis.values.get(p.values[i]?));
            columns[i].push(value.map_or(String::new(), |v| v.text.clone()));
        }
    }
    // The transport, unless it is the same everywhere or an axis says it.
    let name = |r: &Row| -> String {
        let names = plan.names(r.unit);
        match (names.groups.len(), names.groups.get(r.group)) {
            (2.., Some(group)) => group.clone(),
            _ => names.variant.clone(),
        }
    };
    let several = shown.iter().any(|r| r.unit.variant() > 0 || r.group > FIRST);
    if several {
        heads.push("transport".into());
        columns.push(shown.iter().map(name).collect());
    }
    let numbers: Vec<(&Metric, Option<Line>)> = metrics.iter().map(|m| (m, number(m, shown))).collect();
    let legend = legend(numbers.iter().flat_map(|(_, l)| l).flat_map(|l| &l.cells), colour);
    let widths: Vec<usize> = numbers.iter().map(|n| drawn(n).0 + 2).collect();
    let taken = heads.iter().zip(&columns).map(|(h, k)| width(k.iter().map(String::as_str).chain([h.as_str()])) + 2).sum();
    let block = |of: std::ops::Range<usize>| draw(&heads, &columns, &numbers[of], shown.len(), colour);
    blocks(taken, &widths, fits).into_iter().map(block).collect::<Vec<_>>().join("\n")
        + &legend
        + &more(all.len() - shown.len(), colour)
}

fn more(rows: usize, colour: bool) -> String {
    if rows == 0 { String::new() } else { paint(colour, DIM, &format!("... {rows} more in summary.parquet")) + "\n" }
}

/// All rows in the order of the plan: seeds of one point and variant together.
fn rows<'a>(plan: &'a Plan, records: &'a Records) -> Vec<Row<'a>> {
    let mut out: Vec<Row<'a>> = Vec::new();
    let mut last = None;
    for (i, unit) in plan.units().iter().enumerate() {
        let Some(record) = records.get(plan, i) else { continue };
        // Of a sweep that a limit ended, the first seed of a point may be missing.
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
        return names.iter().filter_map(|n| find(n)).collect();
    }
    let told = |m: &Metric| rows.iter().any(|r| of(r, m.name).iter().any(|v| *v != 0.0));
    TELLING.iter().filter_map(|n| find(n)).filter(told).take(SHOWN).collect()
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

/// `goodput_bps` shown in Gbps is called `goodput`: the unit stands below.
fn title(name: &str) -> &str {
    ["_bps", "_s", "_pkts"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// A number as it is drawn: how wide, how wide what follows the mean is, and mean and interval of each row, aligned by themselves.
fn drawn((m, l): &(&Metric, Option<Line>)) -> (usize, usize, Vec<(String, String)>) {
    let text = |c: &Cell| (c.mean().to_owned(), c.spread().unwrap_or("").to_owned());
    let column: Vec<(String, String)> = l.iter().flat_map(|l| &l.cells).map(text).collect();
    let spread = width(column.iter().map(|c| c.1.as_str()));
    let tail = if spread > 0 { spread + 1 } else { 0 };
    let mean = width(column.iter().map(|c| c.0.as_str()));
    let unit = l.as_ref().map_or(0, |l| l.unit.chars().count());
    ((mean + tail).max(title(m.name).chars().count()).max(unit), tail, column)
}

fn draw(heads: &[String], keys: &[Vec<String>], numbers: &[(&Metric, Option<Line>)], rows: usize, colour: bool) -> String {
    let key_widths: Vec<usize> =
        heads.iter().zip(keys).map(|(h, k)| width(k.iter().map(String::as_str).chain([h.as_str()]))).collect();
    let texts: Vec<Vec<(String, String)>> = numbers.iter().map(|n| drawn(n).2).collect();
    let widths: Vec<(usize, usize, usize)> =
        numbers.iter().map(|n| (drawn(n).0, drawn(n).0 - drawn(n).1, drawn(n).1.saturating_sub(1))).collect();
    let unit = |l: &Option<Line>| l.as_ref().map_or("", |l| l.unit);
    let mut out = String::new();
    // Writing to a string cannot fail, hence the ignored results below.
    // Numbers to the right, names to the left.
    let left: Vec<bool> =
        keys.iter().map(|k| k.iter().any(|t| !t.starts_with(|c: char| c.is_ascii_digit() || c == '-'))).collect();
    let pad = |text: &str, w: usize, left: bool| if left { format!("{text:<w$}") } else { format!("{text:>w$}") };
    for ((head, &w), &l) in heads.iter().zip(&key_widths).zip(&left) {
        let _ = write!(out, "{}  ", paint(colour, NAME, &pad(head, w, l)));
    }
    for ((m, _), (w, ..)) in numbers.iter().zip(&widths) {
        let _ = write!(out, "  {}", paint(colour, NAME, &format!("{:>w$}", title(m.name))));
    }
    finish_line(&mut out);
    if numbers.iter().any(|(_, l)| !unit(l).is_empty()) {
        key_widths.iter().for_each(|w| out.push_str(&" ".repeat(w + 2)));
        for ((_, l), (w, ..)) in numbers.iter().zip(&widths) {
            let _ = write!(out, "  {}", paint(colour, DIM, &format!("{:>w$}", unit(l))));
        }
        finish_line(&mut out);
    }
    for row in 0..rows {
        for ((column, &w), &l) in keys.iter().zip(&key_widths).zip(&left) {
            let _ = write!(out, "{}  ", pad(&column[row], w, l));
        }
        for (column, &(_, m, s)) in texts.iter().zip(&widths) {
            let none = ("-".to_owned(), String::new());
            let (mean, spread) = column.get(row).unwrap_or(&none);
            let _ = write!(out, "  {mean:>m$}");
            if !spread.is_empty() {
                let _ = write!(out, "{}", paint(colour, DIM, &format!(" {spread:<s$}")));
            } else if s > 0 {
                let _ = write!(out, "{:1$}", "", s + 1);
            }
        }
        finish_line(&mut out);
    }
    out
}
