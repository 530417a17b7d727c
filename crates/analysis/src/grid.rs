//! Results as tables of texts, for the terminal, the page and Python.

use crate::application_limits::ApplicationLimit;
use crate::cells::Cell;
use crate::data::{Data, Port};
use crate::dimension::Dimension;
use crate::format::{number, prefix, quantity};
use crate::long_flow_limits;
use crate::workload_shares::{WorkloadShare, workload_shares};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Grid {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// Rows of equal length.
    pub rows: Vec<Vec<GridCell>>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GridCell {
    /// Displayed text.
    pub text: String,
    /// Sort value; `None` for texts.
    pub value: Option<f64>,
    /// Rank in a heat map, 0 to 1; `None` elsewhere.
    pub shade: Option<f64>,
}

impl GridCell {
    /// A text.
    pub fn text(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), ..GridCell::default() }
    }

    /// A number with its interval and unit; a dash without a value.
    pub fn quantity(cell: Option<Cell>, unit: Dimension) -> GridCell {
        let Some(c) = cell else { return GridCell::text("–") };
        let (factor, name) = prefix(c.mean, unit);
        // The interval has two digits (JCGM 100:2008, 7.2.6).
        let reach = |v: f64| {
            let digits = (1 - (v / factor).abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
            number(format!("{:.digits$}", v / factor).parse().unwrap_or(v))
        };
        let spread = c.spread(reach).filter(|s| s != "± 0").map_or_else(String::new, |s| format!(" {s}"));
        let text = format!("{}{spread}{name}", number(c.mean / factor));
        GridCell { text: if c.at_least { format!("≥ {text}") } else { text }, value: Some(c.mean), shade: None }
    }
}

/// Each workload at its bottleneck port; `None` for a single workload.
pub fn workloads(data: &Data) -> Option<Grid> {
    let all = workload_shares(data);
    let of = |n: usize| all.iter().filter(move |c| data.subjects[c.subject].network == n).count();
    if (0..data.networks.len()).all(|n| of(n) < 2) {
        return None;
    }
    let mut heads =
        vec!["workload", "transport", "done", "total goodput", "goodput at port", "port", "share of port", "fairness"];
    let limit = |c: &WorkloadShare| {
        let ends = || ApplicationLimit::of(data, c.subject, c.class).map(ApplicationLimit::cell);
        long_flow_limits::limits(data, c.subject, c.class).map(|l| l.cell(data)).or_else(ends)
    };
    let limits: Vec<Option<String>> = all.iter().map(limit).collect();
    let limited = limits.iter().any(Option::is_some);
    heads.extend(limited.then_some("limited by"));
    let row = |(c, limit): (&WorkloadShare, &Option<String>)| {
        let mut cells = row(data, c);
        cells.extend(limited.then(|| GridCell::text(limit.as_deref().unwrap_or("–"))));
        cells
    };
    Some(Grid { heads: heads.into_iter().map(String::from).collect(), rows: all.iter().zip(&limits).map(row).collect() })
}

/// Maximum number of listed ports.
const MAX_PORTS: usize = 16;
/// Minimum utilization of listed ports without drops and marks. Our choice.
const BUSY: f64 = 0.05;

/// Ports with drops, marks or high utilization, ordered by drops, queue and marks. They belong to all transports of their network. `None` without
/// any.
pub fn ports(data: &Data) -> Option<Grid> {
    let mut list: Vec<&Port> = data.ports.iter().filter(|p| p.utilization >= BUSY || p.drops + p.marks > 0.0).collect();
    let queue = |p: &Port| p.queue_p99.unwrap_or(p.queue_mean);
    let harm = |a: &&Port, b: &&Port| {
        let by = |get: fn(&Port) -> f64| get(b).total_cmp(&get(a));
        by(|p| p.drops).then(queue(b).total_cmp(&queue(a))).then(by(|p| p.marks)).then(by(|p| p.utilization))
    };
    // The first ports of each network, so that none is missing.
    let each = (MAX_PORTS / data.networks.len().max(1)).max(1);
    list.sort_by(|a, b| a.network.cmp(&b.network).then(harm(a, b)));
    let mut taken = vec![0; data.networks.len()];
    list.retain(|p| {
        taken[p.network] += 1;
        taken[p.network] <= each
    });
    list.sort_by(harm);
    list.truncate(MAX_PORTS.max(data.networks.len()));
    let several = data.networks.len() > 1;
    let mut heads: Vec<&str> = if several { vec!["run"] } else { Vec::new() };
    heads.extend([
        "port",
        "rate",
        "utilization",
        "drops",
        "marks",
        "queue mean",
        "queue p99",
        "queue max",
        "K",
        "buffer",
        "of the shared buffer",
    ]);
    let lengths = |p: &Port| [p.limits.mark, p.limits.buffer, p.limits.shared];
    let known: Vec<bool> = (0..3).map(|i| list.iter().any(|p| lengths(p)[i].is_some())).collect();
    heads.retain(|h| !["K", "buffer", "of the shared buffer"].iter().zip(&known).any(|(name, known)| name == h && !known));
    let row = |p: &&Port| {
        let number = |v: f64, unit: Dimension| GridCell { text: quantity(rounded(v), unit), value: Some(v), shade: None };
        let maybe = |v: Option<f64>| v.map_or_else(|| GridCell::text("–"), |v| number(v, Dimension::Packets));
        let mut cells = if several { vec![GridCell::text(data.network_label(p.network))] } else { Vec::new() };
        cells.extend([
            GridCell::text(&p.name),
            number(p.rate_bps, Dimension::BitsPerSecond),
            number(p.utilization, Dimension::Fraction),
        ]);
        cells.extend([p.drops, p.marks].map(|v| number(v, Dimension::Count)));
        cells.extend([maybe(Some(p.queue_mean)), maybe(p.queue_p99), maybe(Some(p.queue_max))]);
        cells.extend(lengths(p).into_iter().zip(&known).filter(|(_, known)| **known).map(|(v, _)| maybe(v)));
        cells
    };
    (!list.is_empty())
        .then(|| Grid { heads: heads.into_iter().map(String::from).collect(), rows: list.iter().map(row).collect() })
}

/// Three digits, none after the decimal point from 100 on.
fn rounded(v: f64) -> f64 {
    if v.abs() >= 100.0 { v.round() } else { v }
}

fn row(data: &Data, c: &WorkloadShare) -> Vec<GridCell> {
    let done = match (c.count.of, c.count.queries) {
        (0, _) => GridCell::text("–"),
        (of, queries) => GridCell {
            text: format!("{} of {of} {}", c.count.done, if queries { "queries" } else { "messages" }),
            value: Some(c.count.done as f64 / of as f64),
            shade: None,
        },
    };
    let port = c.port.map_or_else(|| "–".to_owned(), |p| data.ports[p].name.clone());
    let more = if c.more_ports > 0 { format!(" (of {})", c.more_ports + 1) } else { String::new() };
    let share =
        GridCell {
            text: c.share.map_or_else(|| "–".into(), |s| quantity(s, Dimension::Fraction)), value: c.share, shade: None
        };
    let fairness = GridCell {
        text: c.fairness.map_or_else(|| "–".into(), |f| number(f.mean)),
        value: c.fairness.map(|f| f.mean),
        shade: None,
    };
    vec![
        GridCell::text(&c.name),
        GridCell::text(&data.subjects[c.subject].name),
        done,
        GridCell::quantity(c.total, Dimension::BitsPerSecond),
        GridCell::quantity(c.goodput, Dimension::BitsPerSecond),
        GridCell::text(port + &more),
        share,
        fairness,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete_workloads::tests::beside_tenants;

    #[test]
    fn row_for_each_workload() {
        let grid = workloads(&beside_tenants(280_000_000, 9_120_000_000, false)).unwrap();
        let rows: Vec<Vec<&str>> = grid.rows.iter().map(|r| r.iter().map(|c| c.text.as_str()).collect()).collect();
        assert_eq!(
            rows,
            [
                ["storage", "dctcp", "0 of 1 queries", "280 Mbit/s", "280 Mbit/s", "bottleneck (of 41)", "2.8 %", "1"],
                ["tenants", "cubic", "–", "9.12 Gbit/s", "9.12 Gbit/s", "bottleneck (of 2)", "91.2 %", "–"],
            ]
        );
        assert_eq!(grid.heads.len(), rows[0].len());
    }

    #[test]
    fn mean_and_interval_share_a_unit() {
        let text =
            |mean: f64, ends, unit| GridCell::quantity(Some(Cell { mean, ends, at_least: true, ..Cell::default() }), unit).text;
        assert_eq!(text(0.012, Some((0.011, 0.013)), Dimension::Seconds), "≥ 12 ± 1 ms");
        assert_eq!(text(0.012, Some((0.012, 0.015)), Dimension::Seconds), "≥ 12 +3 −0 ms");
        assert_eq!(text(1.2, Some((1.1, 1.3)), Dimension::Seconds), "≥ 1.2 ± 0.1 s");
        assert_eq!(text(963e6, Some((963e6 - 44_444.0, 963e6 + 44_444.0)), Dimension::BitsPerSecond), "≥ 963 ± 0.044 Mbit/s");
        assert_eq!(text(0.0, Some((0.0, 0.0)), Dimension::Count), "≥ 0");
        assert_eq!(text(1.2, None, Dimension::Seconds), "≥ 1.2 s");
        assert_eq!(text(3.0, Some((2.0, 4.0)), Dimension::Count), "≥ 3 ± 1");
    }

    #[test]
    fn one_workload_needs_no_table() {
        let mut d = beside_tenants(280_000_000, 9_120_000_000, false);
        d.flows.retain(|f| f.subject == 0);
        assert_eq!(workloads(&d), None);
    }
}
