//! Best choice load by load, for a sweep over both choices of an operator and loads. The best point of all would be that of the smallest load.

use super::sweep_choices::{Choice, SMALL, by_class, telling};
use super::sweep_data::{Sweep, Value};
use crate::page::Cell;
use forebay_analysis::{bold, list, metrics, number, quantity};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of choices in the sentence.
const MAX_NAMED: usize = 3;
/// Ratio of goodputs below which a loss is named. Our choice, as in comparisons of runs.
const PAYS: f64 = 0.8;

/// Name of a choice at a load, its value, and true for a lower bound of a metric where less is better.
type Named = (String, f64, bool);

/// The choice with the best value of the main metric at the largest number of loads. `None` without loads, or without several choices at one.
pub(super) fn sentence(sweep: &Sweep, all: &[Choice]) -> Option<String> {
    let one = |(class, of): (&str, Vec<&Choice>)| {
        let sentence = of_one(sweep, &of)?;
        Some(if class.is_empty() { sentence } else { format!("{}: {sentence}", bold(class)) })
    };
    by_class(all).into_iter().find_map(one)
}

fn of_one(sweep: &Sweep, all: &[&Choice]) -> Option<String> {
    let (m, less) = telling(all)?;
    let loads: Vec<usize> = (0..sweep.axes.len()).filter(|i| sweep.axes[*i].is_load()).collect();
    if loads.is_empty() {
        return None;
    }
    // Groups without the main metric have no value.
    let mut judged = all.iter().filter(|c| c.cell(&m).is_some()).map(|c| c.whose());
    let first = judged.next();
    let several = judged.any(|s| Some(s) != first) && !sweep.axes_name_subjects();
    let name = |c: &Choice| {
        let own = (0..sweep.axes.len()).filter(|i| !loads.contains(i) && c.at[*i] != Value::Unset);
        let value = |i: usize| format!("{} {}", sweep.axes[i].short, c.at[i].text()).trim().to_owned();
        own.map(value).chain(several.then(|| c.whose().to_owned())).collect::<Vec<String>>().join(", ")
    };
    // Loads in the order of the sweep, each with its choices and their values.
    let mut by_load: Vec<(Vec<&Value>, Vec<Named>)> = Vec::new();
    let mut places: BTreeMap<Vec<(u8, u64, &str)>, usize> = BTreeMap::new();
    for c in all {
        let Some(cell) = c.cell(&m) else { continue };
        let load: Vec<&Value> = loads.iter().map(|i| &c.at[*i]).collect();
        let place = *places.entry(load.iter().map(|v| v.key()).collect()).or_insert(by_load.len());
        if place == by_load.len() {
            by_load.push((load, Vec::new()));
        }
        by_load[place].1.push((name(c), cell.mean, less && cell.at_least));
    }
    by_load.retain(|(_, of)| of.len() > 1);
    let n = by_load.len();
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let mut open = 0;
    for (_, of) in &by_load {
        let better = |a: &f64, b: &f64| if less { a.total_cmp(b) } else { b.total_cmp(a) };
        match of.iter().filter(|c| !c.2).min_by(|a, b| better(&a.1, &b.1)) {
            Some(best) => {
                // Choices with small differences share the rank.
                for (name, ..) in of.iter().filter(|c| !c.2 && (c.1 - best.1).abs() <= SMALL * best.1.abs()) {
                    *wins.entry(name.clone()).or_default() += 1;
                }
            }
            None => open += 1,
        }
    }
    let choices: BTreeSet<&str> = by_load.iter().flat_map(|(_, of)| of).map(|c| c.0.as_str()).collect();
    let equal = wins.len() == choices.len() && wins.values().all(|w| Some(w) == wins.values().next());
    if n < 2 || equal && (open > 0 || wins.values().sum::<usize>() != n) {
        return None;
    }
    let word = if less { "lowest" } else { "highest" };
    if equal {
        // Each load has another winner.
        let text = |load: &[&Value]| loads.iter().zip(load).map(|(i, v)| sweep.axes[*i].of(v)).collect::<Vec<_>>().join(", ");
        let better = |a: &f64, b: &f64| if less { a.total_cmp(b) } else { b.total_cmp(a) };
        let best = |of: &[Named]| of.iter().min_by(|a, b| better(&a.1, &b.1)).map_or(String::new(), |c| c.0.clone());
        let each = by_load.iter().map(|(load, of)| format!("{} at {}", bold(&best(of)), text(load)));
        let label = m.label.replace("{first}", "the first group");
        return Some(format!("The {word} {label} depends on the load: {}.", list(&each.collect::<Vec<_>>())));
    }
    let keys: Vec<String> = loads.iter().map(|i| sweep.axes[*i].short.clone()).collect();
    let mut order: Vec<(&String, &usize)> = wins.iter().collect();
    order.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), (*name).clone()));
    let open = if open == 0 {
        String::new()
    } else {
        format!("; {open} of them cannot be ranked, with unfinished queries or messages at every choice")
    };
    let label = m.label.replace("{first}", "the first group");
    let most = order.first().map_or(0, |(_, n)| **n);
    let best: Vec<String> = order.iter().filter(|(_, n)| **n == most).map(|(name, _)| bold(name)).collect();
    let more = best.len().saturating_sub(MAX_NAMED);
    let shown = &best[..best.len() - more];
    let who = if more == 0 { list(shown) } else { format!("{} and {more} more", shown.join("; ")) };
    let (keys, n) = (list(&keys), number(n as f64));
    Some(match best.len() {
        0 => format!(
            "Load by load ({keys}: {n} loads), the {word} {label} is unknown: queries or messages were still running at every choice."
        ),
        1 => {
            let winner = order.first().map_or("", |(name, _)| name.as_str());
            let load = |c: &Choice| loads.iter().map(|i| sweep.axes[*i].of(&c.at[*i])).collect::<Vec<_>>().join(", ");
            let price = if less { price(all, winner, &name, &load) } else { None };
            let price = price.unwrap_or_default();
            format!(
                "Load by load ({keys}: {n} loads), {who} has the {word} {label} at {most} of {n}, possibly shared{open}{price}."
            )
        }
        _ => format!("Load by load ({keys}: {n} loads), these have the {word} {label} at {most} of {n} each: {who}{open}."),
    })
}

/// Loss of goodput of the choice `winner` at the load where it is largest, as the end of a sentence. `name` and `load` name the choice and its load.
fn price(all: &[&Choice], winner: &str, name: &impl Fn(&Choice) -> String, load: &impl Fn(&Choice) -> String) -> Option<String> {
    let goodput = metrics().find(|m| m.name == "goodput_bps")?;
    let cell = |c: &Choice| c.cell(&goodput).filter(|c| c.mean > 0.0);
    let mut worst: Option<(f64, String)> = None;
    for own in all.iter().filter(|c| name(c) == winner) {
        let others = all.iter().filter(|c| load(c) == load(own) && name(c) != winner).filter_map(|c| Some((c, cell(c)?)));
        let most = others.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let (Some(here), Some((other, most))) = (cell(own), most) else { continue };
        let overlap = here.ends.zip(most.ends).is_some_and(|(here, most)| here.1 >= most.0);
        let ratio = here.mean / most.mean;
        if ratio < PAYS && !overlap && worst.as_ref().is_none_or(|w| ratio < w.0) {
            let rate = |c: Cell| quantity(c.mean, goodput.unit);
            let (here, most) = (bold(&rate(here)), rate(most));
            worst = Some((ratio, format!("; its goodput is lower: {here} at {}, against {most} of {}", load(own), name(other))));
        }
    }
    worst.map(|w| w.1)
}

#[cfg(test)]
mod tests {
    use super::super::sweep_choices::choices;
    use super::super::sweep_data::{Point, SweptAxis};
    use super::*;
    use crate::page::Dimension;

    #[test]
    fn best_choice_load_by_load() {
        let axis = |key: &str, short: &str| SweptAxis { key: key.into(), short: short.into(), unit: Dimension::Count };
        let axes = vec![axis("topology.senders", "senders"), axis("topology.bottleneck.buffer", "buffer")];
        let mut s = Sweep { title: String::new(), axes, points: Vec::new() };
        for senders in [8.0, 16.0, 32.0] {
            for buffer in [50.0, 100.0] {
                // The large buffer is better, except for the smallest load.
                let p99 = senders * 1e-3 * if (buffer > 60.0) == (senders > 8.0) { 1.0 } else { 2.0 };
                let at = vec![Value::Number(senders), Value::Number(buffer)];
                let metrics = vec![("qct_p99_s".into(), p99)];
                s.points.push(Point { at, variant: String::new(), class: String::new(), subject: "cubic".into(), metrics });
            }
        }
        assert_eq!(
            sentence(&s, &choices(&s)).unwrap(),
            "Load by load (senders: 3 loads), **buffer 100** has the lowest query completion p99 at 2 of 3, possibly shared."
        );
        for p in &mut s.points {
            let goodput = if p.at[1] == Value::Number(100.0) { 6e9 } else { 9e9 };
            p.metrics.push(("goodput_bps".into(), goodput));
        }
        assert!(
            sentence(&s, &choices(&s)).unwrap().ends_with(
                " at 2 of 3, possibly shared; its goodput is lower: **6 Gbit/s** at senders 8, against 9 Gbit/s of buffer 50."
            ),
            "{:?}",
            sentence(&s, &choices(&s))
        );
        s.axes[0].key = "topology.bottleneck.queue.k".into();
        assert_eq!(sentence(&s, &choices(&s)), None, "nothing but choices");
    }
}
