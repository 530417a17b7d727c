//! Page of a report: verdicts, then the picture behind each row.

use crate::referee::Report;
use crate::referee::format::{rows, sentence};
use crate::referee::picture::{Curve, Picture};
use crate::referee::row::Finding;
use forebay_report::page::{
    Chart, Dimension, Fact, Figure, Grid, GridCell, Headline, Page, Panel, Section, Threshold, TimeChart, TimeLine, Times,
    TitledGrid, View,
};

/// Page as data for [`forebay_report::render`]. Rows have pictures if the request has asked for them.
pub fn page(report: &Report) -> Page {
    let sentences = report.columns.iter().enumerate().map(|(i, world)| sentence(report, i, world)).collect();
    let mut sections = vec![verdicts(report)];
    let mut number = 0;
    for group in report.findings.chunk_by(|a, b| a.group == b.group) {
        let figures: Vec<Figure> = group
            .iter()
            .filter_map(|f| {
                number += 1;
                figure(report, f, number)
            })
            .collect();
        if let Some(first) = group.first().filter(|_| !figures.is_empty()) {
            let id = format!("group-{}", sections.len());
            sections.push(Section { id, title: first.group.into(), figures, ..Section::default() });
        }
    }
    Page {
        title: format!("{}: verdicts of the referee", report.cc),
        summary: format!("{} rows in {}", report.findings.len(), report.columns.join(" and ")),
        facts: vec![Fact { label: "congestion control".into(), value: report.cc.clone() }],
        headline: Headline { sentences, charts: Vec::new() },
        sections,
        ..Page::default()
    }
}

/// All rows as a table.
fn verdicts(report: &Report) -> Section {
    let (heads, body) = rows(report);
    let line = |cells: Vec<String>| cells.into_iter().map(GridCell::text).collect();
    let grid = Grid { heads, rows: body.into_iter().map(line).collect() };
    Section {
        id: "rows".into(),
        title: "Rows".into(),
        grids: vec![TitledGrid { title: String::new(), grid }],
        ..Section::default()
    }
}

/// Scenarios of a row over time, those of the judged congestion control first.
fn figure(report: &Report, f: &Finding, number: usize) -> Option<Figure> {
    let mut names: Vec<&String> = Vec::new();
    for name in f.cells.iter().flat_map(|c| &c.scenarios) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let view = |name: &String| {
        let panels = panels(report.pictures.get(name)?);
        let chart = Chart::Time(TimeChart { panels, note: String::new() });
        Some(View { name: name.clone(), chart })
    };
    let views: Vec<View> = names.into_iter().filter_map(view).collect();
    let verdict =
        |(c, world): (&crate::referee::Cell, &String)| format!("{world}: {}, {} ({})", c.value, c.verdict.name(), c.band);
    let results: Vec<String> = f.cells.iter().zip(&report.columns).map(verdict).collect();
    let text = format!("{}. Source: {}.", results.join("; "), f.source);
    let choice = if views.len() > 1 { "scenario".into() } else { String::new() };
    (!views.is_empty()).then(|| Figure { id: format!("row-{number}"), title: f.row.into(), text, choice, views })
}

fn panels(p: &Picture) -> Vec<Panel> {
    let line = |c: &Curve| TimeLine {
        label: c.name.clone(),
        at: Times::List(c.at.clone()),
        y: c.values.iter().map(|v| Some(*v)).collect(),
        ..TimeLine::default()
    };
    let panel = |title: &str, unit, curves: &[Curve]| Panel {
        title: title.into(),
        unit,
        lines: curves.iter().map(line).collect(),
        ..Panel::default()
    };
    let rate = p.rate.map(|value| Threshold { name: "rate of bottleneck".into(), value });
    let goodput = panel("goodput", Dimension::BitsPerSecond, &p.goodput);
    let goodput = Panel { thresholds: rate.into_iter().collect(), ..goodput };
    let queue = panel("queue at bottleneck", Dimension::Packets, &p.queue);
    let cwnd = panel("congestion window", Dimension::Segments, &p.cwnd);
    [goodput, queue, cwnd].into_iter().filter(|p| !p.lines.is_empty()).collect()
}
