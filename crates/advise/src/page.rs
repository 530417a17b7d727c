//! The page of an advice: the recommendation first, then bars and the table.

use crate::rank::{Change, Entry};
use crate::search::Advice;
use crate::words::{cells, recommendation, titles};
use forebay_report::page::{Cell, Fact, Headline, HeadlineChart, MetricRow, MetricTable, Page, Subject, Unit};
use forebay_scenario::Goal;

/// Most changes that the page shows beside today.
const SHOWN: usize = 10;

/// The page, as data for [`forebay_report::render`].
pub fn page(a: &Advice) -> Page {
    let shown: Vec<&Entry> = a.entries.iter().take(SHOWN).collect();
    let (mut sentences, steps) = recommendation(a);
    if let Some(first) = sentences.first_mut() {
        *first = format!("**{first}**");
    }
    let subjects = std::iter::once("as it is").chain(shown.iter().map(|e| e.name.as_str()));
    let facts = std::iter::once(("objective".to_owned(), a.objective.to_string()))
        .chain([("stack".to_owned(), a.stack.clone())])
        .chain(steps.iter().enumerate().map(|(i, s)| (format!("install, step {}", i + 1), s.clone())));
    let today = |c: Option<Change>| c.map(|c| Cell { mean: c.before, half_width: None });
    let after = |c: Option<Change>| c.map(|c| Cell { mean: c.after, half_width: None });
    let row = |title: String, goal: Goal, change: &dyn Fn(&Entry) -> Option<Change>| HeadlineChart {
        title,
        unit: unit(goal),
        better: if goal == Goal::Goodput { "more is better".into() } else { "less is better".into() },
        values: std::iter::once(today(change(&a.today))).chain(shown.iter().map(|e| after(change(e)))).collect(),
    };
    let mut charts = vec![row(a.objective.to_string(), a.objective.goal, &|e| e.objective)];
    for (i, o) in a.today.others.iter().enumerate().take(2) {
        charts.push(row(format!("{} of {}", o.goal, o.class), o.goal, &move |e| e.others.get(i).and_then(|o| o.change)));
    }
    let rows = charts
        .iter()
        .map(|c| MetricRow { label: c.title.clone(), unit: c.unit, help: "mean over the seeds".into(), cells: c.values.clone() })
        .collect();
    let heads = titles(a);
    let notes = shown
        .iter()
        .map(|e| {
            let parts: Vec<String> = heads.iter().zip(cells(e, a.objective.goal)).map(|(t, c)| format!("{t}: {c}")).collect();
            format!("{}: {}", e.name, parts.join("; "))
        })
        .chain(a.dropped.iter().map(|(name, why)| format!("{name} was not simulated: {why}")));
    Page {
        title: format!("{}: what to change", a.name),
        summary: format!("{} changes tried for the {}, best first", a.entries.len(), a.objective),
        facts: facts.map(|(label, value)| Fact { label, value }).collect(),
        notes: notes.collect(),
        subjects: subjects.map(|name| Subject { name: name.to_owned() }).collect(),
        headline: Headline { sentences, charts },
        table: MetricTable { rows },
        ..Page::default()
    }
}

fn unit(goal: Goal) -> Unit {
    if goal == Goal::Goodput { Unit::BitsPerSecond } else { Unit::Seconds }
}
