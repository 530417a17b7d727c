//! Reads the directory of a sweep for its page.

use super::sweep_data::{Point, Sweep, SweptAxis, Value};
use crate::page::{Dimension, Fact, Page, ScenarioText};
use forebay_analysis::count;
use forebay_analysis::metrics;
use forebay_store::StoreError;
use forebay_store::rows::{Bools, Floats, Ints, Rows, Texts};
use forebay_store::sweep::{AxisRecord, SweepDir, SweepManifest};
use std::collections::{BTreeMap, BTreeSet};

/// The page of a sweep with tables. It notes if they do not include all runs.
///
/// # Errors
/// Files that cannot be read.
pub fn page(dir: &SweepDir) -> Result<Page, StoreError> {
    let m = dir.manifest()?;
    let mut page = super::sweep::page(&read(dir, &m)?);
    let partial = Some(m.partial.clone()).filter(|p| !p.is_empty());
    page.notes = [partial.into_iter().collect(), m.notes.clone(), page.notes].concat();
    page.facts = facts(&m);
    page.scenarios = vec![ScenarioText {
        file: m.scenario.file.clone(),
        text: m.scenario.text.clone(),
        overrides: [m.scenario.overrides, m.scenario.sweeps].concat(),
        resolved: Vec::new(),
    }];
    Ok(page)
}

fn facts(m: &SweepManifest) -> Vec<Fact> {
    let fact = |label: &str, value: String| Fact { label: label.into(), value };
    let time = |t: &str| t.replace('T', " ").replace('Z', " UTC");
    let runs = m.points.iter().map(|p| p.units.len()).sum();
    let all = vec![
        fact("fingerprint", m.fingerprint.clone()),
        fact("forebay", m.forebay.clone()),
        fact("world", m.worlds.join(", ")),
        fact("stack", m.stacks.join(", ")),
        fact("runs", format!("{} of {}", count(runs, "run"), count(m.points.len(), "point"))),
        fact("finished", time(m.finished.as_deref().unwrap_or(""))),
        fact("machine", format!("{} {}, {}", m.host.os, m.host.arch, count(m.host.cpus, "processor"))),
    ];
    all.into_iter().filter(|f| !f.value.is_empty()).collect()
}

/// Axes of the page. Keys that change together form one axis.
struct AxisGroup<'m> {
    /// Key, or the keys of a list.
    key: String,
    axes: Vec<&'m AxisRecord>,
    /// True if its values are those of the first axis, as numbers.
    numbers: bool,
}

/// The groups of axes, the one to draw against first: the first with numeric values, if there is one.
fn axis_groups(m: &SweepManifest) -> Vec<AxisGroup<'_>> {
    let mut out: Vec<AxisGroup> = Vec::new();
    let of = |source: &str| m.axes.iter().filter(|a| a.source == source).collect::<Vec<_>>();
    let numbers = |axes: &[&AxisRecord]| axes.first().is_some_and(|a| a.numbers.is_some());
    for axis in of("grid") {
        out.push(AxisGroup { key: axis.key.clone(), numbers: numbers(&[axis]), axes: vec![axis] });
    }
    let zip = of("zip");
    if let Some(first) = zip.first() {
        // The others follow from the first, unless it has a value twice.
        let distinct = m.points.len() > 1 && zip.iter().all(|a| a.values.len() <= first.values.len());
        out.push(AxisGroup { key: first.key.clone(), numbers: distinct && numbers(&zip), axes: zip });
    }
    let list = of("list");
    if !list.is_empty() {
        let keys: Vec<&str> = list.iter().map(|a| a.key.as_str()).collect();
        out.push(AxisGroup { key: keys.join(", "), axes: list, numbers: false });
    }
    if let Some(i) = out.iter().position(|d| d.numbers) {
        let first = out.remove(i);
        out.insert(0, first);
    }
    // Values count as numbers on the axis; elsewhere they are names, as written.
    out.iter_mut().skip(1).for_each(|d| d.numbers = false);
    out
}

/// Unit of an axis, from the column of its numbers.
fn unit(axis: &AxisRecord) -> Dimension {
    let column = axis.number_column.as_deref().and_then(|c| c.strip_prefix(axis.key.as_str()));
    match column {
        Some("_s") => Dimension::Seconds,
        Some("_bps") => Dimension::BitsPerSecond,
        Some("_bytes") => Dimension::Bytes,
        Some("_pkts") => Dimension::Packets,
        _ if axis.values.iter().all(|v| v.is_i64()) => Dimension::Count,
        _ => Dimension::Ratio,
    }
}

/// An axis as a column of the table.
struct Column<'a> {
    short: &'a str,
    texts: Texts<'a, &'a str>,
    ints: Ints<'a>,
    floats: Floats<'a>,
    bools: Bools<'a>,
}

impl<'a> Column<'a> {
    fn new(rows: &Rows<'a>, axis: &'a AxisRecord) -> Column<'a> {
        let number = axis.number_column.as_deref().unwrap_or(&axis.key);
        Column {
            short: &axis.short,
            texts: rows.text(&axis.key, |t| t),
            ints: rows.int(number),
            floats: rows.float(number),
            bools: rows.bool(&axis.key),
        }
    }

    fn number(&self, row: usize) -> Option<f64> {
        self.ints.get(row).map(|i| i as f64).or_else(|| self.floats.get(row))
    }

    fn text(&self, row: usize) -> Option<String> {
        let text = self.texts.get(row).map(|t| (*t).to_owned());
        let truth = || self.bools.get(row).map(|b| b.to_string());
        text.or_else(|| self.number(row).map(forebay_analysis::number)).or_else(truth)
    }
}

/// Reads the table.
fn read(dir: &SweepDir, m: &SweepManifest) -> Result<Sweep, StoreError> {
    let mut dimensions = axis_groups(m);
    let batches = dir.table()?;
    // A swept congestion control names its lines, unless it is the only axis.
    let names = names(&batches.iter().map(Rows::new).collect::<Vec<_>>());
    let cc = dimensions.iter().skip(1).position(|d| d.key == "transport.cc" && names.each == 1).map(|i| i + 1);
    let cc = cc.map(|i| dimensions.remove(i).axes[0]);
    let swept = |d: &AxisGroup| SweptAxis {
        key: d.key.clone(),
        // Values of several axes name them.
        short: if let [one] = d.axes[..] { one.short.clone() } else { String::new() },
        unit: if d.numbers { unit(d.axes[0]) } else { Dimension::Ratio },
    };
    let mut sweep = Sweep { title: m.name.clone(), axes: dimensions.iter().map(swept).collect(), points: Vec::new() };
    for batch in &batches {
        let rows = Rows::new(batch);
        let columns: Vec<(bool, Vec<Column>)> =
            dimensions.iter().map(|d| (d.numbers, d.axes.iter().map(|a| Column::new(&rows, a)).collect())).collect();
        let cc = cc.map(|axis| Column::new(&rows, axis));
        let [variants, groups, classes] = ["variant", "transport", "class"].map(|c| rows.text(c, |t| t));
        let metrics: Vec<(&str, Floats)> = metrics().map(|m| (m.name, rows.float(m.name))).collect();
        for row in 0..rows.len() {
            let at = columns.iter().map(|(numbers, columns)| value(*numbers, columns, row)).collect();
            let (variant, group) = (variants.get(row).copied().unwrap_or(""), groups.get(row).copied().unwrap_or(""));
            let class = classes.get(row).copied().unwrap_or("");
            let whose = match &cc {
                Some(cc) => cc.text(row).unwrap_or_default(),
                None => names.subject(variant, group),
            };
            let subject = if class.is_empty() { whose } else { format!("{whose}, {class}") };
            let numbers = metrics.iter().filter_map(|(name, column)| Some(((*name).to_owned(), column.get(row)?)));
            let class = class.to_owned();
            sweep.points.push(Point { at, variant: variant.to_owned(), subject, class, metrics: numbers.collect() });
        }
    }
    Ok(sweep)
}

fn value(numbers: bool, columns: &[Column], row: usize) -> Value {
    match columns {
        [first, ..] if numbers && first.number(row).is_some() => Value::Number(first.number(row).unwrap_or(0.0)),
        [only] => only.text(row).map_or(Value::Unset, Value::Text),
        several => {
            let set = several.iter().filter_map(|c| Some(format!("{} {}", c.short, c.text(row)?)));
            Value::Text(set.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Names that distinguish variants and groups.
struct Names {
    variants: usize,
    /// Maximum number of rows of one point with one seed.
    each: usize,
    groups: BTreeMap<String, usize>,
}

fn names(batches: &[Rows]) -> Names {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rows: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for batch in batches {
        let [variant, group, class] = ["variant", "transport", "class"].map(|c| batch.text(c, |t| t));
        let (point, run) = (batch.int("point"), batch.int("run"));
        // Rows of single workloads have the names of their group.
        for row in (0..batch.len()).filter(|row| class.get(*row).is_none_or(|c| c.is_empty())) {
            *rows.entry((point.get(row).unwrap_or(0), run.get(row).unwrap_or(0))).or_default() += 1;
            let (Some(v), Some(g)) = (variant.get(row), group.get(row)) else { continue };
            if !groups.get(*v).is_some_and(|of| of.contains(*g)) {
                groups.entry((*v).to_owned()).or_default().insert((*g).to_owned());
            }
        }
    }
    Names {
        variants: groups.len(),
        each: rows.values().copied().max().unwrap_or(0),
        groups: groups.into_iter().map(|(v, g)| (v, g.len())).collect(),
    }
}

impl Names {
    fn subject(&self, variant: &str, group: &str) -> String {
        match (self.variants, self.groups.get(variant)) {
            (_, None | Some(1)) => variant.to_owned(),
            (1, _) => group.to_owned(),
            _ => format!("{variant}/{group}"),
        }
    }
}
