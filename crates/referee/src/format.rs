//! The report as text and as JSON.

use crate::row::Verdict;
use crate::{Finding, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Summary sentence and one line for each row, in columns.
pub fn table(report: &Report) -> String {
    let mut out = format!("{}\n", sentence(report));
    let widths = |of: fn(&Finding) -> &str| report.findings.iter().map(|f| of(f).chars().count()).max().unwrap_or(0);
    let (row, value, band) = (widths(|f| f.row), widths(|f| &f.value), widths(|f| &f.band));
    let source = widths(|f| f.source);
    let mut group = "";
    for f in &report.findings {
        if f.group != group {
            group = f.group;
            let _ = writeln!(out, "\n{group}");
        }
        let _ =
            writeln!(out, "  {:row$}  {:value$}  {:band$}  {:source$}  {}", f.row, f.value, f.band, f.source, f.verdict.name());
    }
    out
}

/// Counts of the verdicts, such as `cubic in sim: 20 of 22 judged rows hold, 2 are violated; 9 are reported, 3 do not apply`.
fn sentence(report: &Report) -> String {
    let count = |v: Verdict| report.findings.iter().filter(|f| f.verdict == v).count();
    let (holds, violated, unknown) = (count(Verdict::Holds), count(Verdict::Violated), count(Verdict::Unknown));
    let mut text = format!(
        "{} in {}: {holds} of {} judged rows hold, {violated} are violated",
        report.cc,
        report.world,
        holds + violated + unknown
    );
    if unknown > 0 {
        let _ = write!(text, ", {unknown} are unknown");
    }
    let _ = write!(text, "; {} are reported", count(Verdict::Reported));
    if count(Verdict::NotApplicable) > 0 {
        let _ = write!(text, ", {} do not apply", count(Verdict::NotApplicable));
    }
    text
}

/// The report as a JSON document.
pub fn json(report: &Report) -> Value {
    let row = |f: &Finding| {
        json!({
            "group": f.group, "row": f.row, "value": f.value, "band": f.band, "source": f.source, "verdict": f.verdict.name(),
            "scenarios": f.scenarios,
        })
    };
    json!({
        "cc": report.cc, "world": report.world, "summary": sentence(report),
        "rows": report.findings.iter().map(row).collect::<Vec<_>>(),
    })
}
