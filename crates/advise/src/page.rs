//! The page of an advice: the recommendation first, then bars and the table.

use crate::rank::{Change, Entry, Standing};
use crate::search::Advice;
use crate::words::recommendation;
use forebay_report::page::{Cell, Dimension, Fact, Headline, HeadlineChart, MetricRow, MetricTable, Page, Subject};
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
    if !steps.is_empty() {
        sentences.push(format!("**How:** {}.", steps.join("; then ")));
    }
    let numbered = shown.iter().enumerate().map(|(i, e)| format!("{}. {}", i + 1, e.name));
    let subjects = std::iter::once("as it is".to_owned()).chain(numbered);
    let facts = [
        ("objective", a.objective.to_string()),
        ("stack", a.stack.clone()),
        ("order", "by the gain that the 95 % interval leaves sure; what starves somebody is last".to_owned()),
    ];
    let today = |c: Option<Change>| c.map(|c| Cell { mean: c.before, half_width: None, at_least: false });
    let after = |c: Option<Change>| c.map(|c| Cell { mean: c.after, half_width: None, at_least: false });
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
    let mut rows: Vec<MetricRow> = charts
        .iter()
        .map(|c| MetricRow { label: c.title.clone(), unit: c.unit, help: "mean over the seeds".into(), cells: c.values.clone() })
        .collect();
    let mut more = |label: &str, unit: Dimension, help: &str, value: &dyn Fn(&Entry) -> Option<f64>| {
        let cell = |e: &Entry| value(e).map(|mean| Cell { mean, half_width: None, at_least: false });
        let cells = std::iter::once(None).chain(shown.iter().map(|e| cell(e))).collect();
        rows.push(MetricRow { label: label.into(), unit, help: help.into(), cells });
    };
    let interval = |e: &Entry| e.objective.and_then(|c| c.interval());
    more(
        "factor against today",
        Dimension::Ratio,
        "of the objective, geometric mean over the seeds, each against today with the same seed",
        &|e| e.objective.map(|c| c.factor()),
    );
    more("its interval from", Dimension::Ratio, "lower end of the 95 % interval of that factor", &|e| interval(e).map(|i| i.0));
    more("to", Dimension::Ratio, "upper end; an interval that contains 1 is inside the noise", &|e| interval(e).map(|i| i.1));
    more("done", Dimension::Fraction, "completed of the messages or queries that started", &|e| {
        (e.done.1 > 0).then(|| e.done.0 as f64 / e.done.1 as f64)
    });
    more("seeds", Dimension::Count, "seeds that were compared", &|e| Some(e.seeds as f64));
    let starving = a.entries.iter().filter(|e| e.standing == Standing::Starves);
    let starving = starving.map(|e| format!("{} starves somebody: it cannot be recommended", e.name));
    let dropped = a.dropped.iter().map(|(name, why)| format!("{name} was not simulated: {why}"));
    Page {
        title: format!("{}: what to change", a.name),
        summary: format!("{} changes tried for the {}, best first", a.entries.len(), a.objective),
        facts: facts.into_iter().map(|(label, value)| Fact { label: label.into(), value }).collect(),
        notes: starving.chain(dropped).collect(),
        subjects: subjects.map(|name| Subject { name }).collect(),
        headline: Headline { sentences, charts },
        table: MetricTable { rows },
        ..Page::default()
    }
}

fn unit(goal: Goal) -> Dimension {
    if goal == Goal::Goodput { Dimension::BitsPerSecond } else { Dimension::Seconds }
}
