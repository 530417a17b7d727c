//! Results as a table of texts, which a terminal, a page and a program show alike.

use crate::cells::Cell;
use crate::classes::{Class, classes};
use crate::data::Data;
use crate::unit::Unit;
use crate::words::{number, quantity};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Grid {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<GridCell>>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GridCell {
    /// As it is shown.
    pub text: String,
    /// What rows are sorted by; `None` for texts.
    pub value: Option<f64>,
    /// How good it is among its like, 0 to 1, in a heat map; `None` elsewhere.
    pub shade: Option<f64>,
}

impl GridCell {
    /// A text.
    pub fn text(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), ..GridCell::default() }
    }

    /// A number in its unit, with half the width of its interval; a dash without one.
    pub fn quantity(cell: Option<Cell>, unit: Unit) -> GridCell {
        let Some(c) = cell else { return GridCell::text("–") };
        let spread = c.half_width.map_or_else(String::new, |h| format!(" ± {}", quantity(h, unit)));
        GridCell {
            text: format!("{}{}{spread}", if c.at_least { "≥ " } else { "" }, quantity(c.mean, unit)),
            value: Some(c.mean),
            shade: None,
        }
    }
}

/// Each workload at the port that limits it; `None` where there is one only, of which everything else tells.
pub fn workloads(data: &Data) -> Option<Grid> {
    let all = classes(data);
    let of = |n: usize| all.iter().filter(move |c| data.subjects[c.subject].network == n).count();
    if (0..data.networks.len()).all(|n| of(n) < 2) {
        return None;
    }
    let heads = ["workload", "transport", "done", "goodput", "at port", "share of port", "fairness"].map(String::from).to_vec();
    Some(Grid { heads, rows: all.iter().map(|c| row(data, c)).collect() })
}

fn row(data: &Data, c: &Class) -> Vec<GridCell> {
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
        GridCell { text: c.share.map_or_else(|| "–".into(), |s| quantity(s, Unit::Fraction)), value: c.share, shade: None };
    let fairness = GridCell {
        text: c.fairness.map_or_else(|| "–".into(), |f| number(f.mean)),
        value: c.fairness.map(|f| f.mean),
        shade: None,
    };
    vec![
        GridCell::text(&c.name),
        GridCell::text(&data.subjects[c.subject].name),
        done,
        GridCell::quantity(c.goodput, Unit::BitsPerSecond),
        GridCell::text(port + &more),
        share,
        fairness,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unfinished::tests::beside_tenants;

    #[test]
    fn what_each_workload_got() {
        let grid = workloads(&beside_tenants(280_000_000, 9_120_000_000, false)).unwrap();
        let rows: Vec<Vec<&str>> = grid.rows.iter().map(|r| r.iter().map(|c| c.text.as_str()).collect()).collect();
        assert_eq!(
            rows,
            [
                ["storage", "dctcp", "0 of 1 queries", "280 Mbit/s", "bottleneck (of 41)", "2.8 %", "1"],
                ["tenants", "cubic", "–", "9.12 Gbit/s", "bottleneck (of 2)", "91.2 %", "–"],
            ]
        );
        assert_eq!(grid.heads.len(), rows[0].len());
    }

    #[test]
    fn one_workload_needs_no_table() {
        let mut d = beside_tenants(280_000_000, 9_120_000_000, false);
        d.flows.retain(|f| f.subject == 0);
        assert_eq!(workloads(&d), None);
    }
}
