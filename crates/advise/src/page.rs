//! Report page of the advice: the recommendation, gain against cost, the networks tried, the installation, then all changes.

use crate::rank::{Change, Entry};
use crate::search::Advice;
use crate::sentences::recommendation;
use crate::table::{cells, network_rows, short_head, titles, today};
use forebay_report::page::{
    Axis, Chart, Dimension, Fact, Figure, Grid, GridCell, Headline, LineChart, Page, Section, Subject, TitledGrid, View, XyLine,
};
use forebay_scenario::Goal;

/// Maximum number of changes in the chart beside the present network.
const MAX_SHOWN: usize = 10;

/// Page as data for [`forebay_report::render`].
pub fn page(a: &Advice) -> Page {
    let best = a.recommended.filter(|i| *i >= MAX_SHOWN);
    let shown: Vec<(usize, &Entry)> = a.entries.iter().enumerate().filter(|(i, _)| *i < MAX_SHOWN || best == Some(*i)).collect();
    // The headline has no code, so that names of networks are quoted.
    let mut sentences: Vec<String> = recommendation(a).into_iter().map(|s| s.replace('`', "\"")).collect();
    if let Some(first) = sentences.first_mut() {
        *first = format!("**{first}**");
    }
    let numbered = shown.iter().map(|(i, e)| format!("{}. {}", i + 1, e.name));
    let subjects = std::iter::once("as it is".to_owned()).chain(numbered);
    let facts = [
        ("objective", a.objective.to_string()),
        ("stack", a.stack.clone()),
        ("networks tried", a.variations.join(", ")),
        (
            "order",
            "the recommended change, then by the largest loss over all networks; changes that starve a traffic class rank last"
                .to_owned(),
        ),
    ];
    let dropped = a.dropped.iter().map(|(name, why)| format!("{name} was not simulated: {why}"));
    let fixed = a.fixed.iter().map(|(name, why)| format!("`{name}` was not tried: {why}"));
    let sections = [scatter(a, &shown), Some(in_networks(a)), installation(a), Some(prices(a)), Some(all_changes(a))];
    Page {
        title: format!("{}: recommended change", a.name),
        summary: format!("{} changes evaluated for the {}, best first", a.entries.len(), a.objective),
        facts: facts.into_iter().map(|(label, value)| Fact { label: label.into(), value }).collect(),
        notes: dropped.chain(fixed).collect(),
        subjects: subjects.map(|name| Subject { name, ..Subject::default() }).collect(),
        headline: Headline { sentences, charts: Vec::new() },
        sections: sections.into_iter().flatten().collect(),
        // The list of all changes is long, and the sections before it have those that matter.
        folded: vec!["tried".into()],
        ..Page::default()
    }
}

/// Gain against cost: the objective on a logarithmic axis to the right, and the number of each other class upward.
fn scatter(a: &Advice, shown: &[(usize, &Entry)]) -> Option<Section> {
    let goal = a.objective.goal;
    let today = a.today.objective?.before;
    let views: Vec<View> = a
        .today
        .others
        .iter()
        .enumerate()
        .filter_map(|(i, o)| {
            let before = o.change?.before;
            let point = |subject: usize, (label, mark): (String, &str), x: f64, y: f64| XyLine {
                subject: Some(subject),
                label,
                mark: mark.into(),
                x: vec![x],
                y: vec![Some(y)],
                ..XyLine::default()
            };
            // The interval of the factor, or its range over a few seeds, around the mean with the change.
            let ends = |c: &Change| c.shown().map(|(low, high)| (c.after * low / c.factor(), c.after * high / c.factor()));
            let mut lines = vec![point(0, ("as it is".into(), "as it is"), today, before)];
            lines.extend(shown.iter().enumerate().filter_map(|(n, (at, e))| {
                let (x, y) = (e.objective?, e.others.get(i)?.change?);
                let mark = if a.recommended == Some(*at) { "recommended" } else { "" };
                let (x_ends, y_ends) = (ends(&x).into_iter().collect(), ends(&y).into_iter().collect());
                Some(XyLine { x_ends, y_ends, ..point(n + 1, (format!("{}. {}", at + 1, e.name), mark), x.after, y.after) })
            }));
            let chart = LineChart {
                x: Axis { title: a.objective.to_string(), unit: unit(goal), log: true },
                y: Axis { title: format!("{} of {}", o.goal, o.class), unit: unit(o.goal), log: true },
                points: true,
                lines,
            };
            Some(View { name: o.class.clone(), chart: Chart::Lines(chart) })
        })
        .collect();
    let better = |goal: Goal, less: &'static str, more: &'static str| if goal.more_is_better() { more } else { less };
    let text = format!(
        "Each point is one change in the network of the file, with the 95 % confidence interval of its effect, or with the range over fewer than five \
         seeds. Better is to the {}.",
        better(goal, "left", "right")
    );
    let figure = Figure {
        id: "gain-price".into(),
        title: "Gain and price".into(),
        text,
        choice: if views.len() > 1 { "other traffic".into() } else { String::new() },
        views,
    };
    (!figure.views.is_empty()).then(|| Section {
        id: "price".into(),
        title: "Gain and price".into(),
        text: String::new(),
        grids: Vec::new(),
        figures: vec![figure],
    })
}

/// The objective in every network: rows are networks, columns the best changes.
fn in_networks(a: &Advice) -> Section {
    let (heads, body) = network_rows(a, false);
    let heads = std::iter::once("network".to_owned()).chain(heads.iter().map(|h| short_head(h))).collect();
    let row = |(name, cells): (String, Vec<String>)| -> Vec<GridCell> {
        std::iter::once(name).chain(cells).map(|t| GridCell::text(&t)).collect()
    };
    let grid = Grid { heads, rows: body.into_iter().map(row).collect() };
    let text = format!(
        "The {} in the network of the file and in variations of what is not known exactly, with all messages of its seeds together. `!`: the change \
         is worse than the present network there. Columns have the numbers of the changes below.",
        a.objective
    );
    section("networks", "In other networks", &text, grid)
}

/// Installation of the recommendation: machines, commands, reversal, reboot and open connections.
fn installation(a: &Advice) -> Option<Section> {
    let best = a.recommended.and_then(|i| a.entries.get(i))?;
    let rows = best.install.iter().flat_map(|s| {
        let run = if s.undo.is_empty() { "set" } else { "run" };
        let all = [
            (run, s.run.join("; ")),
            ("undo", s.undo.join("; ")),
            ("reboot", s.keep.clone()),
            ("open connections", s.open.clone()),
        ];
        let filled = all.into_iter().filter(|(_, text)| !text.is_empty());
        let row = |(what, text): (&str, String)| {
            let text = text.replace('`', "\"");
            let (command, words) = if matches!(what, "run" | "undo") { (text.as_str(), "") } else { ("", text.as_str()) };
            [s.place.as_str(), what, command, words].map(GridCell::text).to_vec()
        };
        filled.map(row).collect::<Vec<_>>()
    });
    let heads = ["where", "step", "command", "setting or effect"].map(String::from).to_vec();
    let grid = Grid { heads, rows: rows.collect() };
    Some(section("how", "Installation", "Replace PORT, SUBNET, DEVICE and CGROUP by your own.", grid))
}

/// Numbers of every class with the recommended change, before and after.
fn prices(a: &Advice) -> Section {
    let best = a.recommended.and_then(|i| a.entries.get(i)).unwrap_or(&a.today);
    let pair = |values: Option<(f64, f64)>, goal: Goal| {
        let text = |(b, a): (f64, f64)| format!("{} to {}", crate::format::quantity(b, goal), crate::format::quantity(a, goal));
        values.map_or_else(|| "-".into(), text)
    };
    let counts = |(b, a): (usize, usize)| format!("{b} to {a}");
    let row = |p: &crate::rank::BeforeAfter| -> Vec<GridCell> {
        let cells = [
            p.class.clone(),
            pair(p.p50, Goal::P50),
            pair(p.p99, Goal::P99),
            pair(Some(p.goodput), Goal::Goodput),
            counts(p.stalled),
            counts(p.unfinished),
            counts(p.started),
        ];
        cells.iter().map(GridCell::text).collect()
    };
    let heads = ["class", "median", "p99", "goodput", "stalled", "unfinished", "started"].map(String::from).to_vec();
    let text = "Today and with the change, all seeds together. A message is stalled if it waited for a retransmission timeout, or \
                was unfinished after more than ten times the median when the runs ended.";
    let title = if a.recommended.is_some() { "All classes with the recommended change" } else { "All classes today" };
    section("classes", title, text, Grid { heads, rows: best.prices.iter().map(row).collect() })
}

/// Columns of the table of all changes, of those that the terminal can print: the others are in the table of networks.
const COLUMNS: [usize; 5] = [0, 1, 2, 5, 6];

/// All changes, as in the terminal.
fn all_changes(a: &Advice) -> Section {
    let own = titles(a).len() - a.today.others.len();
    let shown = |all: Vec<String>| -> Vec<String> {
        let (mine, others) = all.split_at(own);
        COLUMNS.iter().map(|c| mine[*c].clone()).chain(others.iter().cloned()).collect()
    };
    let numbers = |e: &Entry, change: &dyn Fn(Change) -> f64| -> Vec<Option<f64>> {
        let mine = [
            e.objective.map(change),
            e.objective.map(|c| c.factor()),
            None,
            e.robust.as_ref().map(|r| r.regret),
            e.prices.get(a.own).map(|p| p.stalled.1 as f64),
        ];
        mine.into_iter().chain(e.others.iter().map(|o| o.change.map(change))).collect()
    };
    let row = |name: String, texts: Vec<String>, values: Vec<Option<f64>>| {
        let cells = texts.into_iter().zip(values).map(|(text, value)| GridCell { text, value, shade: None });
        std::iter::once(GridCell::text(&name)).chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![row(a.today.name.clone(), shown(today(a)), numbers(&a.today, &|c| c.before))];
    rows.extend(
        a.entries
            .iter()
            .enumerate()
            .map(|(i, e)| row(format!("{}. {}", i + 1, e.name), shown(cells(a, e)), numbers(e, &|c| c.after))),
    );
    let text = "Each change is compared with the present network by the same seeds: the factor is a geometric mean over them, and a change is not clear \
                if its interval includes 1. The largest loss is the worst ratio to the best change over all networks. Changes that starve a traffic \
                class rank last.";
    section("tried", "All changes", text, Grid { heads: [vec!["change".to_owned()], shown(titles(a))].concat(), rows })
}

fn section(id: &str, title: &str, text: &str, grid: Grid) -> Section {
    let grids = vec![TitledGrid { title: String::new(), grid }];
    Section { id: id.into(), title: title.into(), text: text.into(), grids, figures: Vec::new() }
}

fn unit(goal: Goal) -> Dimension {
    match goal {
        Goal::Goodput => Dimension::BitsPerSecond,
        Goal::DeadlineMisses => Dimension::Ratio,
        _ => Dimension::Seconds,
    }
}
