//! Advice in words: the recommendation, then the table of all changes.

use crate::rank::{Assessment, Change, ClassEffect, Entry};
use crate::search::Advice;
use forebay_scenario::Goal;
use std::fmt::Write as _;

/// Recommendation, one sentence per line, and its installation steps.
pub fn recommendation(a: &Advice) -> (Vec<String>, Vec<String>) {
    let Some(best) = a.recommended.and_then(|i| a.entries.get(i)) else {
        return (vec![no_recommendation(a)], Vec::new());
    };
    let mut out = vec![format!("Do this: {}.", best.name)];
    if let Some(c) = best.objective {
        out.push(format!("The {} {}.", a.objective, change(&c, a.objective.goal)));
    }
    out.extend(best.others.iter().map(|o| format!("Effect on {}: {}.", o.class, price(o))));
    let (done, started) = best.done;
    if done < started {
        out.push(format!(
            "Of {}, {done} of {started} were complete at the end of the runs; the others count with their time so far.",
            a.objective.class
        ));
    }
    (out, best.install.clone())
}

/// Reason why nothing is recommended.
fn no_recommendation(a: &Advice) -> String {
    if a.today.assessment == Assessment::Unknown {
        return format!("The {} has no value in these runs, so no change can be compared.", a.objective);
    }
    format!("Change nothing: none of {} changes improves the {} significantly.", a.entries.len(), a.objective)
}

/// `falls from 208 ms to 4.1 ms (÷ 50, 95 % interval ÷ 40 to ÷ 63)`.
fn change(c: &Change, goal: Goal) -> String {
    let verb = if c.factor() < 1.0 { "falls" } else { "rises" };
    let interval = match c.interval() {
        Some((low, high)) => format!(", 95 % interval {} to {}", factor(low), factor(high)),
        None => ", one seed: no interval".to_owned(),
    };
    let noise = if c.is_noise() { ", not significant" } else { "" };
    format!("{verb} from {} to {} ({}{interval}{noise})", quantity(c.before, goal), quantity(c.after, goal), factor(c.factor()))
}

fn price(o: &ClassEffect) -> String {
    if o.starved {
        return "it completes nothing".into();
    }
    match o.change {
        None => "unknown, no values to compare".into(),
        Some(c) if c.is_noise() => {
            format!("not significant ({} {} to {})", o.goal, quantity(c.before, o.goal), quantity(c.after, o.goal))
        }
        Some(c) => format!("its {} {}", o.goal, change(&c, o.goal)),
    }
}

/// Formats a factor in both directions: `x 1.3`, `÷ 50`.
pub(crate) fn factor(f: f64) -> String {
    let digits = |f: f64| if f >= 10.0 { format!("{f:.0}") } else { format!("{f:.2}") };
    if f >= 1.0 { format!("x {}", digits(f)) } else { format!("÷ {}", digits(1.0 / f)) }
}

/// Formats a time or rate with three digits.
pub(crate) fn quantity(value: f64, goal: Goal) -> String {
    let (units, unit): (&[(f64, &str)], f64) = match goal {
        Goal::Goodput => (&[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")], 1.0),
        _ => (&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], 1e-9),
    };
    let (scale, name) = units.iter().find(|(s, _)| value >= *s).copied().unwrap_or((unit, units[units.len() - 1].1));
    let v = value / scale;
    let digits = if v >= 100.0 {
        0
    } else if v >= 10.0 {
        1
    } else {
        2
    };
    format!("{v:.digits$} {name}")
}

/// Cells of a change: value of the objective, factor, significance, and effects on other classes.
pub(crate) fn cells(e: &Entry, goal: Goal) -> Vec<String> {
    let verdict = match (e.assessment, e.objective) {
        (Assessment::Starves, _) => "starves".to_owned(),
        (Assessment::Unknown, _) | (_, None) => "unknown".to_owned(),
        (_, Some(c)) if c.is_noise() => "noise".to_owned(),
        (_, Some(_)) if e.gain(goal) > 1.0 => "better".to_owned(),
        _ => "worse".to_owned(),
    };
    let (value, times) = e.objective.map_or(("-".into(), "-".into()), |c| {
        let interval = c.interval().map_or(String::new(), |(low, high)| format!(" ({} to {})", factor(low), factor(high)));
        (quantity(c.after, goal), format!("{}{interval}", factor(c.factor())))
    });
    let mut out = vec![value, times, verdict, format!("{}/{}", e.done.0, e.done.1), e.seeds.to_string()];
    out.extend(e.others.iter().map(|o| match (o.starved, o.change) {
        (true, _) => "starved".to_owned(),
        (_, None) => "-".to_owned(),
        (_, Some(c)) => format!(
            "{} {}",
            quantity(c.after, o.goal),
            if c.is_noise() { "(noise)".to_owned() } else { format!("({})", factor(c.factor())) }
        ),
    }));
    out
}

/// Titles of the columns of [`cells`].
pub(crate) fn titles(a: &Advice) -> Vec<String> {
    let mut out = vec![a.objective.to_string(), "against today (95 %)".into(), "verdict".into(), "done".into(), "seeds".into()];
    out.extend(a.today.others.iter().map(|o| format!("{} of {}", o.goal, o.class)));
    out
}

/// Cells of the present network, without a comparison.
pub(crate) fn today(a: &Advice) -> Vec<String> {
    let mut today = cells(&a.today, a.objective.goal);
    today[1] = String::new();
    today[2] = if a.today.assessment == Assessment::Starves { "starves".into() } else { String::new() };
    for (cell, o) in today[5..].iter_mut().zip(&a.today.others) {
        *cell = o.change.map_or_else(|| "-".into(), |c| quantity(c.before, o.goal));
    }
    today
}

/// Table of all changes, best first, below the present network.
pub fn table(a: &Advice) -> String {
    let goal = a.objective.goal;
    let mut rows = vec![("".to_owned(), titles(a)), (a.today.name.clone(), today(a))];
    rows.extend(a.entries.iter().enumerate().map(|(i, e)| (format!("{}. {}", i + 1, e.name), cells(e, goal))));
    let first = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
    let columns = rows[0].1.len();
    let widths: Vec<usize> = (0..columns).map(|c| rows.iter().map(|r| r.1[c].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for (name, cells) in &rows {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(factor(0.02), "÷ 50");
        assert_eq!(factor(1.25), "x 1.25");
        assert_eq!(quantity(0.208, Goal::P99), "208 ms");
        assert_eq!(quantity(4.13e-3, Goal::Mean), "4.13 ms");
        assert_eq!(quantity(9.6e9, Goal::Goodput), "9.60 Gbps");
        assert_eq!(quantity(0.0, Goal::P50), "0.00 ns");
    }
}
