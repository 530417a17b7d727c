//! Report page of an advice: the recommendation with bars, its installation, then all changes.

use crate::rank::{Change, Entry};
use crate::search::Advice;
use crate::words::{cells, recommendation, titles, today};
use forebay_report::page::{Cell, Dimension, Fact, Grid, GridCell, Headline, HeadlineChart, Page, Section, Subject, TitledGrid};
use forebay_scenario::Goal;

/// Maximum number of changes on the page beside the present network.
const MAX_SHOWN: usize = 10;

/// Page as data for [`forebay_report::render`].
pub fn page(a: &Advice) -> Page {
    let shown: Vec<&Entry> = a.entries.iter().take(MAX_SHOWN).collect();
    let (mut sentences, steps) = recommendation(a);
    if let Some(first) = sentences.first_mut() {
        *first = format!("**{first}**");
    }
    let numbered = shown.iter().enumerate().map(|(i, e)| format!("{}. {}", i + 1, e.name));
    let subjects = std::iter::once("as it is".to_owned()).chain(numbered);
    let facts = [
        ("objective", a.objective.to_string()),
        ("stack", a.stack.clone()),
        ("order", "by the lower end of the 95 % interval of the gain; changes that starve a traffic class rank last".to_owned()),
    ];
    let before = |c: Option<Change>| c.map(|c| Cell { mean: c.before, ..Cell::default() });
    let after = |c: Option<Change>| c.map(|c| Cell { mean: c.after, ..Cell::default() });
    let row = |title: String, goal: Goal, change: &dyn Fn(&Entry) -> Option<Change>| HeadlineChart {
        title,
        unit: unit(goal),
        better: if goal == Goal::Goodput { "more is better".into() } else { "less is better".into() },
        values: std::iter::once(before(change(&a.today))).chain(shown.iter().map(|e| after(change(e)))).collect(),
    };
    let mut charts = vec![row(a.objective.to_string(), a.objective.goal, &|e| e.objective)];
    for (i, o) in a.today.others.iter().enumerate().take(2) {
        charts.push(row(format!("{} of {}", o.goal, o.class), o.goal, &move |e| e.others.get(i).and_then(|o| o.change)));
    }
    let dropped = a.dropped.iter().map(|(name, why)| format!("{name} was not simulated: {why}"));
    Page {
        title: format!("{}: recommended change", a.name),
        summary: format!("{} changes evaluated for the {}, best first", a.entries.len(), a.objective),
        facts: facts.into_iter().map(|(label, value)| Fact { label: label.into(), value }).collect(),
        notes: dropped.collect(),
        subjects: subjects.map(|name| Subject { name }).collect(),
        headline: Headline { sentences, charts },
        sections: [installation(&steps), Some(all_changes(a))].into_iter().flatten().collect(),
        ..Page::default()
    }
}

/// Installation of the recommendation: machines, with the command or setting for each.
fn installation(steps: &[String]) -> Option<Section> {
    let row = |step: &String| {
        let (place, what) = step.split_once(": ").unwrap_or(("", step));
        vec![GridCell::text(place), GridCell::text(what)]
    };
    let grid = Grid { heads: ["where", "what"].map(String::from).to_vec(), rows: steps.iter().map(row).collect() };
    (!steps.is_empty()).then(|| section("how", "How", "Replace PORT, SUBNET and DEVICE by your own.", grid))
}

/// All changes, as in the terminal.
fn all_changes(a: &Advice) -> Section {
    let goal = a.objective.goal;
    let numbers = |e: &Entry, change: &dyn Fn(Change) -> f64| -> Vec<Option<f64>> {
        let own = [
            e.objective.map(change),
            e.objective.map(|c| c.factor()),
            None,
            (e.done.1 > 0).then(|| e.done.0 as f64 / e.done.1 as f64),
            Some(e.seeds as f64),
        ];
        own.into_iter().chain(e.others.iter().map(|o| o.change.map(change))).collect()
    };
    let row = |name: String, texts: Vec<String>, values: Vec<Option<f64>>| {
        let cells = texts.into_iter().zip(values).map(|(text, value)| GridCell { text, value, shade: None });
        std::iter::once(GridCell::text(name)).chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![row(a.today.name.clone(), today(a), numbers(&a.today, &|c| c.before))];
    rows.extend(
        a.entries
            .iter()
            .enumerate()
            .map(|(i, e)| row(format!("{}. {}", i + 1, e.name), cells(e, goal), numbers(e, &|c| c.after))),
    );
    let text = "Best first, by the lower end of the 95 % interval of the gain. Each change is compared with the present network by the same seeds: the \
                factor is a geometric mean over them, and a change is noise if its interval includes 1. Changes that starve a traffic class rank last.";
    section("tried", "All changes", text, Grid { heads: [vec!["change".to_owned()], titles(a)].concat(), rows })
}

fn section(id: &str, title: &str, text: &str, grid: Grid) -> Section {
    let grids = vec![TitledGrid { title: String::new(), grid }];
    Section { id: id.into(), title: title.into(), text: text.into(), grids, figures: Vec::new() }
}

fn unit(goal: Goal) -> Dimension {
    if goal == Goal::Goodput { Dimension::BitsPerSecond } else { Dimension::Seconds }
}
