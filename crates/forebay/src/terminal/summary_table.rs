//! Table of a run: one line per number, one column per transport, means with 95 % intervals if there are several seeds.

use crate::terminal::columns::{self, Column};
use crate::terminal::style::{BOLD, DIM, NAME, paint};
use forebay_analysis::{FULLEST_PORT, Metric, cell_of, metrics};
use forebay_experiment::transport::Group;
use forebay_store::summary::{Dimension, GROUP_METRICS, NETWORK_METRICS, Summary};
use forebay_types::GroupId;
use std::collections::BTreeMap;

/// A mean over seeds.
pub(crate) type Mean = forebay_analysis::Cell;

/// Summaries of one variant, one for each seed.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Name.
    pub label: String,
    /// In the order of the seeds.
    pub seeds: Vec<Summary>,
}

/// Rows of numbers that a summary prints unless all are asked for.
pub(crate) const ROWS: usize = 12;

/// The numbers that describe a result best, in this order: times, stalls, bandwidth, queue. The others follow in the order of the table.
const FIRST_ROWS: [&str; 19] = [
    "qct_p50_s",
    "qct_p99_s",
    "fct_small_p50_s",
    "fct_small_p99_s",
    "deadlines_missed",
    "goodput_bps",
    "long_fairness",
    "datagrams_lost",
    "rtos",
    "queries_completed",
    "flows_completed",
    "makespan_s",
    "queue_p99_pkts",
    "drops",
    "marks",
    "utilization",
    "qct_max_s",
    "fct_large_p50_s",
    "slowdown_p99",
];

/// One line of the table.
pub(crate) struct Line {
    label: String,
    /// Unit that all cells are in.
    pub(crate) unit: &'static str,
    /// One for each column.
    pub(crate) cells: Vec<Cell>,
}

/// Cell of the table.
pub(crate) enum Cell {
    /// A mean, and its interval.
    Value {
        /// The mean.
        mean: String,
        /// With several seeds, such as `± 3`.
        spread: Option<String>,
        /// True if this is the range of a few seeds, not a confidence interval.
        range: bool,
    },
    /// The column could have a value and has none.
    Missing,
    /// The line is not about this column.
    Blank,
}

impl Line {
    /// True if two columns show different means, or if only one column has a value.
    fn differs(&self) -> bool {
        let mut means = self.cells.iter().filter(|c| !matches!(c, Cell::Blank)).map(Cell::mean);
        let first = means.next();
        let mut others = means.peekable();
        others.peek().is_none() || others.any(|m| Some(m) != first)
    }
}

impl Cell {
    /// The mean as text.
    fn mean(&self) -> &str {
        match self {
            Cell::Value { mean, .. } => mean,
            Cell::Missing => "-",
            Cell::Blank => "",
        }
    }

    /// Half the width of the interval as text, empty without one.
    fn spread(&self) -> &str {
        if let Cell::Value { spread, .. } = self { spread.as_deref().unwrap_or("") } else { "" }
    }
}

/// `value` with a decimal prefix and three digits: `12.3 M pkt/s`.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    match prefixed(value) {
        (number, "") => format!("{number} {unit}"),
        (number, prefix) => format!("{number} {prefix} {unit}"),
    }
}

/// As [`scaled`], for the symbol of a unit: `12.3 MB`.
pub(crate) fn scaled_symbol(value: f64, symbol: &str) -> String {
    let (number, prefix) = prefixed(value);
    format!("{number} {prefix}{symbol}")
}

/// Three digits, and a decimal prefix.
fn prefixed(value: f64) -> (String, &'static str) {
    for (scale, prefix) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= scale {
            let v = value / scale;
            return (format!("{v:.*}", decimals(v, 3)), prefix);
        }
    }
    (format!("{value:.0}"), "")
}

/// Draws the table, in blocks of columns that fit `width`, with at most `rows` rows: those that differ between the columns, the most important
/// ones first to stay.
pub(crate) fn render(variants: &[Variant], rows: Option<usize>, width: Option<usize>, colour: bool) -> String {
    render_under(variants, |columns| heads(variants, columns), rows, width, colour)
}

/// Draws the table under other heads: for each line of them, a text for each column.
pub(crate) fn render_under(
    variants: &[Variant],
    heads: impl FnOnce(&[Source]) -> Vec<Vec<String>>,
    rows: Option<usize>,
    width: Option<usize>,
    colour: bool,
) -> String {
    let columns = columns(variants);
    let heads = heads(&columns);
    let mut lines = Vec::new();
    let first = variants.iter().flat_map(|v| &v.seeds).find_map(|s| s.groups.first()).map_or("", |g| &g.name);
    let seeds: Vec<BTreeMap<&str, Vec<f64>>> = columns.iter().map(|&(v, g)| over_seeds(&variants[v], g)).collect();
    let mut ports = variants.iter().flat_map(|v| &v.seeds).map(|s| s.network.port.as_str()).filter(|p| !p.is_empty());
    let port = ports.next().map(|first| if ports.all(|p| p == first) { first } else { FULLEST_PORT });
    for m in metrics().filter(|m| !m.label.is_empty()) {
        let row: Vec<Option<Mean>> = seeds.iter().map(|of| mean(&m, of)).collect();
        let here = if !m.shared || m.label.contains(", all") { "" } else { port.unwrap_or("") };
        let label = [&m.label.replace("{first}", first), here].join(if here.is_empty() { "" } else { ", " });
        // The network is shared by the groups of a variant: its numbers are in the first column only.
        lines.extend(line(label, m.unit, m.if_any, &row).map(|mut l| {
            let cells = l.cells.iter_mut().enumerate();
            cells.filter(|(i, _)| m.shared && !is_first(&columns, *i)).for_each(|(_, cell)| *cell = Cell::Blank);
            (m.name, l)
        }));
    }
    let all = lines.len();
    let lines = match rows {
        Some(rows) => most_important(lines, rows),
        None => lines.into_iter().map(|(_, line)| line).collect(),
    };
    if lines.is_empty() && all > 0 {
        return paint(colour, DIM, "No number differs between the columns: --all prints them") + "\n";
    }
    // A prediction has no seeds.
    let predicted = |s: &Summary| s.network.uncounted;
    let once = variants.iter().all(|v| v.seeds.len() == 1) && !variants.iter().flat_map(|v| &v.seeds).all(predicted);
    draw(&heads, &lines, width, colour)
        + &legend(lines.iter().flat_map(|l| &l.cells), once, colour)
        + &omitted(all - lines.len(), "--all prints them", colour)
}

/// At most `rows` of the lines, in their order: those that differ between columns and stand first in [`FIRST_ROWS`].
fn most_important(lines: Vec<(&'static str, Line)>, rows: usize) -> Vec<Line> {
    let place = |name: &str| FIRST_ROWS.iter().position(|n| *n == name).unwrap_or(FIRST_ROWS.len());
    let mut chosen: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].1.differs()).collect();
    // Stable: rows that are not listed keep their order.
    chosen.sort_by_key(|&i| place(lines[i].0));
    chosen.truncate(rows);
    lines.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, (_, line))| line).collect()
}

/// The line with the number of omitted rows, and the option that prints them.
pub(crate) fn omitted(rows: usize, place: &str, colour: bool) -> String {
    let text = match rows {
        0 => return String::new(),
        1 => format!("1 more row: {place}"),
        _ => format!("{rows} more rows: {place}"),
    };
    paint(colour, DIM, &text) + "\n"
}

/// The group whose column has the numbers of the network.
pub(crate) const FIRST: GroupId = GroupId::new(0);

/// A column: number of the variant, and its transport group.
pub(crate) type Source = (usize, GroupId);

/// True for the first column of a variant, which has the numbers of the network.
fn is_first(columns: &[Source], i: usize) -> bool {
    i == 0 || columns[i - 1].0 != columns[i].0
}

/// The groups of all variants. A group of TCP without any traffic beside datagrams has no column.
fn columns(variants: &[Variant]) -> Vec<Source> {
    let sends = |seeds: &[Summary], g: GroupId| {
        seeds.iter().filter_map(|s| s.groups.get(g)).any(|of| of.flows + of.long_flows + of.queries > 0)
    };
    let groups = |variant: &Variant| -> Vec<GroupId> {
        let all: Vec<GroupId> = variant.seeds.first().map(|s| s.groups.ids()).into_iter().flatten().collect();
        let datagrams = |g: &GroupId| variant.seeds[0].groups.get(*g).is_some_and(|of| of.name == Group::DATAGRAMS);
        let idle = |g: &GroupId| !datagrams(g) && !sends(&variant.seeds, *g);
        let only_datagrams = all.iter().any(datagrams) && all.iter().all(|g| datagrams(g) || idle(g));
        all.into_iter().filter(|g| !(only_datagrams && idle(g))).collect()
    };
    variants.iter().enumerate().flat_map(|(v, variant)| groups(variant).into_iter().map(move |g| (v, g))).collect()
}

/// Explains the sign before numbers, and the range behind them, if they occur. With one run (`once`) there is no interval.
pub(crate) fn legend<'a>(cells: impl Iterator<Item = &'a Cell>, once: bool, colour: bool) -> String {
    let (mut bound, mut few) = (false, false);
    for c in cells {
        bound |= c.mean().starts_with('≥');
        few |= matches!(c, Cell::Value { range: true, .. });
    }
    let mut text = String::new();
    if bound {
        text += "≥ at least: some were still running at the end, and count with their time so far\n";
    }
    if few {
        text += "±, + and − the range over the seeds; from five runs (--runs) on, a 95 % confidence interval\n";
    }
    if once {
        text += "one run: no interval; --runs 5 adds it\n";
    }
    if text.is_empty() { text } else { paint(colour, DIM, &text) }
}

/// Heads of the columns: the variant's name, and below it the group's if a variant has several. Groups of the only variant have no variant's name.
fn heads(variants: &[Variant], columns: &[Source]) -> Vec<Vec<String>> {
    let several = variants.iter().any(|v| v.seeds.first().is_some_and(|s| s.groups.len() > 1));
    let label = |i: usize| if is_first(columns, i) { variants[columns[i].0].label.clone() } else { String::new() };
    let first = (0..columns.len()).map(label).collect();
    let second = columns.iter().map(|&(v, g)| variants[v].seeds[0].groups[g].name.clone()).collect();
    match (several, variants.len()) {
        (false, _) => vec![first],
        (true, 1) => vec![second],
        (true, _) => vec![first, second],
    }
}

/// The values of the seeds of a group by the name of the metric.
fn over_seeds(variant: &Variant, group: GroupId) -> BTreeMap<&'static str, Vec<f64>> {
    let own =
        GROUP_METRICS.iter().map(|m| (m.name, variant.seeds.iter().filter_map(|s| (m.get)(s.groups.get(group)?)).collect()));
    let shared = NETWORK_METRICS.iter().map(|m| (m.name, variant.seeds.iter().filter_map(|s| (m.get)(&s.network)).collect()));
    own.chain(shared).collect()
}

/// Mean and interval of a metric over the seeds.
fn mean(m: &Metric, of: &BTreeMap<&str, Vec<f64>>) -> Option<Mean> {
    cell_of(m, |name| of.get(name).map_or(&[], Vec::as_slice))
}

/// A line, unless no column has a value, or with `if_any` none but 0. All cells share a unit and a number of decimals, so that they compare at a
/// glance.
pub(crate) fn line(label: String, unit: Dimension, if_any: bool, row: &[Option<Mean>]) -> Option<Line> {
    let means = || row.iter().flatten().map(|e| e.mean.abs());
    let largest = means().reduce(f64::max).filter(|l| *l > 0.0 || !if_any)?;
    let (scale, unit_text) = scale(unit, largest);
    let smallest = means().filter(|m| *m > 0.0).reduce(f64::min).unwrap_or(0.0);
    let whole = row.iter().flatten().all(|e| e.mean.fract() == 0.0 && e.ends.is_none_or(|(low, high)| low == high));
    let digits = match unit {
        Dimension::Count | Dimension::Packets if whole => 0,
        Dimension::Count => decimals(largest, 3).min(1),
        _ => decimals(largest / scale, 3).max(decimals(smallest / scale, 2)).min(4),
    };
    let cell = |e: &Option<Mean>| match e {
        None => Cell::Missing,
        Some(e) => Cell::Value {
            mean: format!("{}{:.digits$}", if e.at_least { "≥ " } else { "" }, e.mean / scale),
            spread: e.spread(|v| format!("{:.digits$}", v / scale)),
            range: e.range.is_some(),
        },
    };
    Some(Line { label, unit: unit_text, cells: row.iter().map(cell).collect() })
}

/// Divisor and text of the unit in which a line with this largest value is shown.
pub(crate) fn scale(unit: Dimension, largest: f64) -> (f64, &'static str) {
    match unit {
        Dimension::BitsPerSecond if largest >= 1e9 => (1e9, "Gbps"),
        // Between 100 Mbps and 1 Gbps too: links are named by their Gbps.
        Dimension::BitsPerSecond if largest >= 1e8 => (1e9, "Gbps"),
        Dimension::BitsPerSecond => (1e6, "Mbps"),
        Dimension::Seconds if largest >= 1.0 => (1.0, "s"),
        Dimension::Seconds if largest >= 1e-3 => (1e-3, "ms"),
        Dimension::Seconds => (1e-6, "us"),
        Dimension::Fraction => (1e-2, "%"),
        Dimension::Bytes if largest >= 1e6 => (1e6, "MB"),
        Dimension::Bytes => (1e3, "kB"),
        Dimension::Packets => (1.0, "pkt"),
        Dimension::Segments => (1.0, "segments"),
        Dimension::Count | Dimension::Ratio => (1.0, ""),
    }
}

/// Decimals that show `value` with about `significant` digits.
pub(crate) fn decimals(value: f64, significant: i32) -> usize {
    if value <= 0.0 || !value.is_finite() {
        return 0;
    }
    (significant - 1 - value.log10().floor() as i32).clamp(0, 9) as usize
}

fn draw(heads: &[Vec<String>], lines: &[Line], fits: Option<usize>, colour: bool) -> String {
    let blank = || vec![String::new(); heads.len()];
    let labels = lines.iter().map(|l| l.label.clone()).collect();
    let units = lines.iter().map(|l| paint(colour, DIM, l.unit)).collect();
    let keys = [labels, units].map(|cells| Column { heads: blank(), cells, ..Column::default() });
    let column = |c: usize| Column {
        heads: heads.iter().map(|line| line[c].clone()).collect(),
        cells: aligned(&lines.iter().map(|l| &l.cells[c]).collect::<Vec<_>>(), colour),
        right: true,
        gap: 0,
    };
    let all: Vec<Column> = (0..heads.first().map_or(0, Vec::len)).map(column).collect();
    columns::render(&keys, &all, &[NAME, BOLD, BOLD][..heads.len()], fits, colour)
}

/// The cells of a column as texts: means end and intervals begin at the same place.
pub(crate) fn aligned(cells: &[&Cell], colour: bool) -> Vec<String> {
    let widest = |text: fn(&Cell) -> &str| cells.iter().map(|c| text(c).chars().count()).max().unwrap_or(0);
    let (mean, spread) = (widest(Cell::mean), widest(Cell::spread));
    let interval = |c: &Cell| match (spread, c.spread()) {
        (0, _) => String::new(),
        (_, "") => " ".repeat(spread + 1),
        (_, text) => paint(colour, DIM, &format!(" {text:<spread$}")),
    };
    cells.iter().map(|c| format!("{:>mean$}{}", c.mean(), interval(c))).collect()
}

#[cfg(test)]
#[path = "summary_table_tests.rs"]
mod tests;
