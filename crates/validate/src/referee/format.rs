//! The report as text and as JSON.

use crate::referee::row::{Cell, Verdict};
use crate::referee::{Finding, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Summary of each backend and one line for each row, in columns.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    for (column, world) in report.columns.iter().enumerate() {
        let _ = writeln!(out, "{}", sentence(report, column, world));
    }
    let several = report.columns.len() > 1;
    if several {
        out.push_str(&differences(report));
    }
    let (heads, lines) = rows(report);
    let width = |place: usize| {
        let head = if several { heads[place].chars().count() } else { 0 };
        lines.iter().map(|l| l[place].chars().count()).max().unwrap_or(0).max(head)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let write = |out: &mut String, cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(out, "  {}", padded.join("  ").trim_end());
    };
    if several {
        out.push('\n');
        write(&mut out, &heads);
    }
    let mut group = "";
    for (f, line) in report.findings.iter().zip(&lines) {
        if f.group != group {
            group = f.group;
            let _ = writeln!(out, "\n{group}");
        }
        write(&mut out, line);
    }
    out
}

/// Heads of the columns, and the cells of each row.
pub(crate) fn rows(report: &Report) -> (Vec<String>, Vec<Vec<String>>) {
    (heads(&report.columns), report.findings.iter().map(|f| line(f, &report.columns)).collect())
}

/// Heads of the columns, for several backends.
fn heads(columns: &[String]) -> Vec<String> {
    let values = columns.iter().cloned();
    let fixed = ["band", "source"].map(str::to_owned);
    ["row".to_owned()].into_iter().chain(values).chain(fixed).chain(columns.iter().cloned()).collect()
}

/// Cells of a line: the row, the values, the bands, the source, the verdicts.
fn line(f: &Finding, columns: &[String]) -> Vec<String> {
    let values = f.cells.iter().map(|c| c.value.clone());
    let verdicts = f.cells.iter().map(|c| c.verdict.name().to_owned());
    [f.row.to_owned()].into_iter().chain(values).chain([bands(f, columns), f.source.to_owned()]).chain(verdicts).collect()
}

/// The band of the first backend, and those of the others where they differ.
fn bands(f: &Finding, columns: &[String]) -> String {
    let Some((first, others)) = f.cells.split_first() else { return String::new() };
    let different = others.iter().zip(&columns[1..]).filter(|(c, _)| c.band != first.band);
    let different: String = different.map(|(c, world)| format!("; {world}: {}", c.band)).collect();
    format!("{}{different}", first.band)
}

/// Counts of the verdicts, such as `cubic in sim: 20 of 22 judged rows hold, 2 are violated; 9 are reported, 3 do not apply`.
pub(crate) fn sentence(report: &Report, column: usize, world: &str) -> String {
    let cells = || report.findings.iter().filter_map(|f| f.cells.get(column));
    let count = |v: Verdict| cells().filter(|c| c.verdict == v).count();
    let (holds, violated, unknown) = (count(Verdict::Holds), count(Verdict::Violated), count(Verdict::Unknown));
    let mut text =
        format!("{} in {world}: {holds} of {} judged rows hold, {violated} are violated", report.cc, holds + violated + unknown);
    if unknown > 0 {
        let _ = write!(text, ", {unknown} are unknown");
    }
    let _ = write!(text, "; {} are reported", count(Verdict::Reported));
    if count(Verdict::NotApplicable) > 0 {
        let _ = write!(text, ", {} do not apply", count(Verdict::NotApplicable));
    }
    if count(Verdict::Refused) > 0 {
        let _ = write!(text, ", {} cannot run in {world}", count(Verdict::Refused));
    }
    text
}

/// The rows that one backend judges otherwise than another.
fn differences(report: &Report) -> String {
    let judged = |c: &&Cell| matches!(c.verdict, Verdict::Holds | Verdict::Violated);
    let differs = |f: &&Finding| {
        let mut verdicts = f.cells.iter().filter(judged).map(|c| c.verdict);
        verdicts.next().is_some_and(|first| verdicts.any(|v| v != first))
    };
    let rows: Vec<&str> = report.findings.iter().filter(differs).map(|f| f.row).collect();
    match rows.as_slice() {
        [] => "Verdicts are equal in all rows that several backends judge.\n".into(),
        rows => format!("Verdicts differ in: {}\n", rows.join("; ")),
    }
}

/// The report as a JSON document.
pub fn json(report: &Report) -> Value {
    let cell = |(c, world): (&Cell, &String)| {
        json!({
            "world": world, "value": c.value, "band": c.band, "verdict": c.verdict.name(), "scenarios": c.scenarios,
        })
    };
    let row = |f: &Finding| {
        let results: Vec<Value> = f.cells.iter().zip(&report.columns).map(cell).collect();
        json!({ "group": f.group, "row": f.row, "source": f.source, "results": results })
    };
    let summary = |(column, world): (usize, &String)| sentence(report, column, world);
    json!({
        "cc": report.cc, "worlds": report.columns,
        "summary": report.columns.iter().enumerate().map(summary).collect::<Vec<_>>(),
        "rows": report.findings.iter().map(row).collect::<Vec<_>>(),
    })
}
