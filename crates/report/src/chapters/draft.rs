//! Figures over time before their series are reduced. All drafts of a page are made first, because they share a budget of points.

use super::reduce::{self, Series};
use crate::page::{Chart, Dimension, Events, Figure, Panel, Threshold, TimeChart, View};
use forebay_analysis::Data;
use std::collections::BTreeSet;

/// Maximum number of views of a figure over time. Our choice: a longer list of ports and seeds is not useful.
pub(super) const MAX_VIEWS: usize = 24;
/// Maximum number of networks with a panel each; more share one.
pub(super) const MAX_PANELS: usize = 4;

/// A figure with unreduced series.
#[derive(Debug)]
pub(super) struct Draft {
    pub id: &'static str,
    pub title: &'static str,
    pub text: String,
    pub choice: &'static str,
    pub views: Vec<(String, Vec<DraftPanel>)>,
}

#[derive(Debug, Default)]
pub(super) struct DraftPanel {
    pub title: String,
    pub unit: Dimension,
    pub series: Vec<Series>,
    pub events: Vec<Events>,
    pub thresholds: Vec<Threshold>,
}

/// Converts drafts to figures with at most about `budget` points together.
pub(super) fn finish(drafts: Vec<Draft>, budget: usize) -> Vec<Figure> {
    let panels = || drafts.iter().flat_map(|d| &d.views).flat_map(|v| &v.1);
    let in_events: usize = panels().flat_map(|p| &p.events).map(|e| 2 * e.at.len()).sum();
    let wants: Vec<usize> = panels().flat_map(|p| &p.series).map(Series::wants).collect();
    let mut shares = reduce::share(&wants, budget.saturating_sub(in_events)).into_iter();
    let mut chart = |panels: Vec<DraftPanel>| {
        let mut widths = Vec::new();
        let mut panel = |p: DraftPanel| {
            let lines = p.series.iter().zip(&mut shares).map(|(s, share)| {
                let (line, width) = s.line(share);
                widths.push(width);
                line
            });
            Panel {
                title: p.title,
                unit: p.unit,
                lines: lines.collect(),
                events: p.events,
                thresholds: p.thresholds,
                tall: false,
            }
        };
        let panels = panels.into_iter().map(&mut panel).collect();
        Chart::Time(TimeChart { panels, note: reduce::note(widths.into_iter()) })
    };
    let mut figure = |d: Draft| Figure {
        id: d.id.into(),
        title: d.title.into(),
        text: d.text,
        choice: if d.views.len() > 1 { d.choice.into() } else { String::new() },
        views: d.views.into_iter().map(|(name, panels)| View { name, chart: chart(panels) }).collect(),
    };
    drafts.into_iter().map(&mut figure).collect()
}

/// Repetitions to show with their labels: the seed where all networks have the same.
pub(super) fn repetitions(data: &Data) -> Vec<(u32, String)> {
    let numbers: BTreeSet<u32> = data.runs.iter().map(|r| r.number).collect();
    let name = |number: u32| {
        let seeds: BTreeSet<u64> = data.runs.iter().filter(|r| r.number == number).map(|r| r.seed).collect();
        match seeds.first() {
            Some(seed) if seeds.len() == 1 => format!("seed {seed}"),
            _ => format!("run {}", number + 1),
        }
    };
    numbers.into_iter().map(|n| (n, name(n))).collect()
}
