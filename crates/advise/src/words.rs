//! The answer in words: the recommendation first, then the table of all that was tried.

use crate::rank::{Change, Entry, Others, Standing};
use crate::search::Advice;
use forebay_scenario::Goal;
use std::fmt::Write as _;

/// The recommendation, one sentence a line, and what installs it.
pub fn recommendation(a: &Advice) -> (Vec<String>, Vec<String>) {
    let Some(best) = a.recommended.and_then(|i| a.entries.get(i)) else {
        return (vec![nothing(a)], Vec::new());
    };
    let mut out = vec![format!("Do this: {}.", best.name)];
    if let Some(c) = best.objective {
        out.push(format!("The {} {}.", a.objective, change(&c, a.objective.goal)));
    }
    out.extend(best.others.iter().map(|o| format!("The price for {}: {}.", o.class, price(o))));
    let (done, started) = best.done;
    if done < started {
        out.push(format!(
            "Of {}, {done} of {started} were done when the runs ended; the others count as long as they had run.",
            a.objective.class
        ));
    }
    (out, best.install.clone())
}

/// There is nothing to recommend, and why.
fn nothing(a: &Advice) -> String {
    if a.today.standing == Standing::Unknown {
        return format!("The {} has no value in these runs: nothing was measured that could become better.", a.objective);
    }
    format!("Change nothing: of {} changes none makes the {} better by more than chance.", a.entries.len(), a.objective)
}

/// `falls from 208 ms to 4.1 ms (÷ 50, 95 % interval ÷ 40 to ÷ 63)`.
fn change(c: &Change, goal: Goal) -> String {
    let verb = if c.factor() < 1.0 { "falls" } else { "rises" };
    let interval = match c.interval() {
        Some((low, high)) => format!(", 95 % interval {} to {}", factor(low), factor(high)),
        None => ", one seed: no interval".to_owned(),
    };
    let noise = if c.is_noise() { ", inside the noise" } else { "" };
    format!("{verb} from {} to {} ({}{interval}{noise})", quantity(c.before, goal), quantity(c.after, goal), factor(c.factor()))
}

fn price(o: &Others) -> String {
    if o.starved {
        return "it gets nothing done".into();
    }
    match o.change {
        None => "unknown, nothing to compare".into(),
        Some(c) if c.is_noise() => format!(
            "none that stands out from chance ({} {} to {})",
            o.goal,
            quantity(c.before, o.goal),
            quantity(c.after, o.goal)
        ),
        Some(c) => format!("its {} {}", o.goal, change(&c, o.goal)),
    }
}

/// A factor that reads the same in both directions: `x 1.3`, `÷ 50`.
pub(crate) fn factor(f: f64) -> String {
    let digits = |f: f64| if f >= 10.0 { format!("{f:.0}") } else { format!("{f:.2}") };
    if f >= 1.0 { format!("x {}", digits(f)) } else { format!("÷ {}", digits(1.0 / f)) }
}

/// A time or a rate with three digits.
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

/// One line of the table for an entry: what became of the objective, whether it is noise, and the prices.
pub(crate) fn cells(e: &Entry, goal: Goal) -> Vec<String> {
    let verdict = match (e.standing, e.objective) {
        (Standing::Starves, _) => "starves".to_owned(),
        (Standing::Unknown, _) | (_, None) => "unknown".to_owned(),
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
        (true, _) => "nothing done".to_owned(),
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

/// The cells of the network as it is, which is compared with nothing.
pub(crate) fn today(a: &Advice) -> Vec<String> {
    let mut today = cells(&a.today, a.objective.goal);
    today[1] = String::new();
    today[2] = if a.today.standing == Standing::Starves { "starves".into() } else { String::new() };
    for (cell, o) in today[5..].iter_mut().zip(&a.today.others) {
        *cell = o.change.map_or_else(|| "-".into(), |c| quantity(c.before, o.goal));
    }
    today
}

/// All that was tried, best first, under the network as it is.
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
    fn numbers_read_as_people_write_them() {
        assert_eq!(factor(0.02), "÷ 50");
        assert_eq!(factor(1.25), "x 1.25");
        assert_eq!(quantity(0.208, Goal::P99), "208 ms");
        assert_eq!(quantity(4.13e-3, Goal::Mean), "4.13 ms");
        assert_eq!(quantity(9.6e9, Goal::Goodput), "9.60 Gbps");
        assert_eq!(quantity(0.0, Goal::P50), "0.00 ns");
    }
}
