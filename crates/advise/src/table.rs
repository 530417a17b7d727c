//! Tables of the advice for the terminal: all changes, and the best ones in each network.

use crate::format::{cell, factor, quantity, times};
use crate::rank::{Assessment, Entry};
use crate::robustness::ChangeResult;
use crate::search::Advice;
use std::fmt::Write as _;

/// Cells of a change: value of the objective, factor, worst and best network, stalls, and effects on other classes.
pub(crate) fn cells(a: &Advice, e: &Entry) -> Vec<String> {
    let goal = a.objective.goal;
    let verdict = match (e.assessment, e.objective) {
        (Assessment::Starves, _) => "starves".to_owned(),
        (Assessment::Unknown, _) | (_, None) => "unknown".to_owned(),
        (_, Some(c)) if c.interval().is_none() => "one seed".to_owned(),
        (_, Some(c)) if c.is_equal() => "no difference".to_owned(),
        (_, Some(c)) if c.is_noise() => "no clear change".to_owned(),
        (_, Some(_)) if e.gain(goal) > 1.0 => "better".to_owned(),
        _ => "worse".to_owned(),
    };
    let (value, change) = e.objective.map_or(("-".into(), "-".into()), |c| {
        let interval = c.shown().map_or(String::new(), |(low, high)| format!(" ({} to {})", factor(low), factor(high)));
        (cell(c.after, goal, e.at_least), format!("{}{interval}", factor(c.factor())))
    });
    let mut out = vec![value, change, verdict];
    out.extend(worst_and_best(a, e));
    let own = e.prices.get(a.own);
    out.push(own.map_or_else(|| "-".into(), |p| format!("{}/{}", p.stalled.1, p.started.1)));
    out.push(e.seeds.to_string());
    out.extend(e.others.iter().map(|o| match (o.starved, o.change) {
        (true, _) => "starved".to_owned(),
        (_, None) => "-".to_owned(),
        (_, Some(c)) => {
            let against = match (c.is_noise() && c.interval().is_some(), c.common_direction()) {
                (true, Some((low, high))) => format!("({} to {} by seed)", factor(low), factor(high)),
                (true, None) => "(no clear change)".to_owned(),
                (false, _) => format!("({})", factor(c.factor())),
            };
            format!("{} {against}", quantity(c.after, o.goal))
        }
    }));
    out
}

/// Worst value, best value, and largest loss against the best change, over all networks.
fn worst_and_best(a: &Advice, e: &Entry) -> [String; 3] {
    let goal = a.objective.goal;
    let Some(robust) = &e.robust else { return ["".into(), "".into(), "".into()] };
    let Some((worst, best)) = robust.extremes(goal) else { return ["".into(), "".into(), "".into()] };
    let at = |i: usize| {
        let value = robust.outcome(i).map_or_else(String::new, |o| cell(o.value, goal, o.at_least));
        format!("{value} {}", a.variations[i])
    };
    let complete = robust.tried.iter().all(|t| t.outcome().is_some());
    let loss = match robust.objection() {
        Some((i, text)) => format!("{text} ({})", a.variations[i]),
        None if complete => format!("x {}", times(robust.regret)),
        None => format!("x {} or more", times(robust.regret)),
    };
    [at(worst), at(best), loss]
}

/// Titles of the columns of [`cells`].
pub(crate) fn titles(a: &Advice) -> Vec<String> {
    let mut out: Vec<String> = vec![a.objective.to_string()];
    out.extend(
        ["against today", "verdict", "worst network", "best network", "largest loss", "stalled", "seeds"].map(String::from),
    );
    out.extend(a.today.others.iter().map(|o| format!("{} of {}", o.goal, o.class)));
    out
}

/// Cells of the present network, without a comparison.
pub(crate) fn today(a: &Advice) -> Vec<String> {
    let mut today = cells(a, &a.today);
    today[1] = String::new();
    today[2] = if a.today.assessment == Assessment::Starves { "starves".into() } else { String::new() };
    for (cell, o) in today[8..].iter_mut().zip(&a.today.others) {
        *cell = o.change.map_or_else(|| "-".into(), |c| quantity(c.before, o.goal));
    }
    today
}

/// Rows as lines, with the first column on the left and the others on the right.
fn lines(rows: &[(String, Vec<String>)]) -> String {
    let first = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
    let columns = rows.first().map_or(0, |r| r.1.len());
    let widths: Vec<usize> = (0..columns).map(|c| rows.iter().map(|r| r.1[c].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for (name, cells) in rows {
        let _ = write!(out, "{name}{}", " ".repeat(first - name.chars().count()));
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(out, "  {}{cell}", " ".repeat(width - cell.chars().count()));
        }
        let kept = out.trim_end().len();
        out.truncate(kept);
        out.push('\n');
    }
    out
}

/// Most rows of a table that is printed without `--all`.
const ROWS: usize = 12;

/// Columns of [`cells`] that are printed without `--all`: value, factor, worst network, stalls.
const SHORT: [usize; 4] = [0, 1, 3, 6];

/// Table of the changes, best first, below the present network: all of them with all columns, or the first ones, with the number of those left out.
pub fn table(a: &Advice, all: bool) -> (String, usize) {
    let mut rows = vec![(String::new(), titles(a)), (a.today.name.clone(), today(a))];
    let most = if all { a.entries.len() } else { ROWS - 1 };
    rows.extend(a.entries.iter().enumerate().take(most).map(|(i, e)| (format!("{}. {}", i + 1, e.name), cells(a, e))));
    let own = titles(a).len() - a.today.others.len();
    if !all {
        for (_, cells) in &mut rows {
            let others = cells.split_off(own);
            *cells = SHORT.iter().map(|c| cells[*c].clone()).chain(others).collect();
        }
    }
    (lines(&rows), a.entries.len().saturating_sub(most))
}

/// Values of the objective in each network: one row for each, with the present network and the best changes as columns.
pub(crate) fn network_rows(a: &Advice, all: bool) -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let goal = a.objective.goal;
    let columns: Vec<(String, &Entry)> = std::iter::once((a.today.name.clone(), &a.today))
        .chain(a.entries.iter().enumerate().map(|(i, e)| (format!("{}. {}", i + 1, e.name), e)))
        .filter(|(_, e)| e.robust.as_ref().is_some_and(|r| all || r.next(r.tried.len()).is_none()))
        .collect();
    let value = |e: &Entry, w: usize| match e.robust.as_ref().and_then(|r| r.tried.get(w)) {
        None | Some(ChangeResult::Behind) => "-".into(),
        Some(ChangeResult::Unknown(_)) => "unknown".into(),
        Some(ChangeResult::Measured(o)) => {
            let mark = if o.is_worse(goal) { " !" } else { "" };
            format!("{}{mark}", cell(o.value, goal, o.at_least))
        }
    };
    let heads = columns.iter().map(|(name, _)| name.clone()).collect();
    let row = |(w, name): (usize, &String)| (name.clone(), columns.iter().map(|(_, e)| value(e, w)).collect());
    (heads, a.variations.iter().enumerate().map(row).collect())
}

/// Number of a change: `3.` for `3. minimum RTO 5ms`.
pub(crate) fn short_head(head: &str) -> String {
    head.split_once(". ").map_or_else(|| head.to_owned(), |(number, _)| format!("{number}."))
}

/// Table of the objective in each network. Columns have the numbers of [`table`]: those of all changes that were tried in some, or of those that were
/// tried in all.
pub fn networks(a: &Advice, all: bool) -> String {
    let (heads, body) = network_rows(a, all);
    let mut rows = vec![(String::new(), heads.iter().map(|h| short_head(h)).collect())];
    rows.extend(body);
    lines(&rows)
}
