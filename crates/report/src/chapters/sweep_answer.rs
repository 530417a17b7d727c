//! Sentences about a sweep: unfinished points, the best and the worst point, and the cost of the best.

use super::sweep_choices::{Choice, SMALL, by_class, by_load, ends_at_one_load, label, metric, same, telling};
use super::sweep_data::{Sweep, Value};
use super::sweep_other as other;
use crate::page::{Cell, Dimension, Grid, TitledGrid};
use forebay_analysis::{GridCell, Metric, bold, quantity};

/// Maximum number of places in a sentence, and of heat maps of a page.
const MAX_NAMED: usize = 3;
const MAX_MAPS: usize = 12;

/// Up to three sentences about each workload.
pub(super) fn sentences(all: &[Choice]) -> Vec<String> {
    let prefixed = |(class, of): (&str, Vec<&Choice>)| {
        let of = of_one(&of);
        if class.is_empty() { of } else { of.into_iter().map(|s| format!("{}: {s}", bold(class))).collect() }
    };
    by_class(all).into_iter().flat_map(prefixed).collect()
}

fn of_one(all: &[&Choice]) -> Vec<String> {
    let mut out: Vec<String> = stopped(all).into_iter().collect();
    let Some((m, less)) = telling(all) else { return out };
    let whole = all;
    let short: Vec<&Choice> = with_short_tails(all, &m);
    let all = short.as_slice();
    let Some((best, worst)) = ends_at_one_load(all, &m, less) else { return out };
    let (b, w) = (all[best.0], all[worst.0]);
    // Groups of one network share its links, and a load is no choice: nothing is best.
    let shared = !less && all.iter().any(|c| c.at == b.at && c.variant == b.variant && c.subject != b.subject);
    if shared || (b.load.len() == b.at.len() && b.subject == w.subject) {
        return out;
    }
    if let Some(sentence) = other::sentence(all, &m, &(best, worst)).or_else(|| other::unranked(all, &m, &(best, worst))) {
        out.push(sentence);
        return out;
    }
    if same(best.1, worst.1) {
        let of = if b.load.is_empty() { "at all points" } else { "with all settings at each load" };
        // The smaller value first.
        let (low, high) = if less { (best.1, worst.1) } else { (worst.1, best.1) };
        let range = format!("{} to {}", shown(low, &m), shown(high, &m));
        out.push(match b.load.is_empty() {
            true => format!("The {} is nearly the same {of}: {range}.", label(&m)),
            false => format!("The {} is nearly the same {of}.", label(&m)),
        });
        return out;
    }
    if !b.load.is_empty() {
        // One of several loads: the choice at all of them is the subject of another sentence.
        out.push(format!(
            "{} at {}: {} {} with {}; {} with {}.",
            bold("Largest difference"),
            b.load_place,
            label(&m),
            bold(&shown(best.1, &m)),
            b.own_place,
            bold(&shown(worst.1, &m)),
            w.own_place
        ));
        out.extend(price(all, best.0, &m));
        return out;
    }
    out.push(format!(
        "{}: {} {} at {}; {}: {} at {}.",
        bold("Best"),
        label(&m),
        bold(&shown(best.1, &m)),
        b.place,
        bold("worst"),
        bold(&shown(worst.1, &m)),
        w.place
    ));
    out.extend(other::alike(all, &m, best));
    out.extend(price(all, best.0, &m));
    out.extend(long_tail(whole, (b, best.1), &m));
    out.extend(open(all, (b, best.1), &m, less));
    out
}

/// Sentence about a choice that may be better than the best one: its value is a lower bound.
fn open(all: &[&Choice], (best, cell): (&Choice, Cell), m: &Metric, less: bool) -> Option<String> {
    let lower = |c: &&&Choice| less && c.load == best.load && c.cell(m).is_some_and(|c| c.at_least && c.mean < cell.mean);
    let mean = |c: &Choice| c.cell(m).map_or(f64::INFINITY, |c| c.mean);
    let one = all.iter().filter(lower).min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let value = shown(one.cell(m)?, m);
    Some(format!("At {} it is {value}, which may be better: some work was still running at the end.", one.place))
}

/// Minimum ratio of a 99th percentile to the smallest one of a choice that a low median does not make good. Our choice, as for tails in runs.
const LONG_TAIL: f64 = 10.0;

/// The choices that a median ranks: without those with a lower median than all others at the same load, whose 99th percentile, a lower bound,
/// exceeds the smallest one by far.
fn with_short_tails<'a, 'b>(all: &[&'b Choice<'a>], m: &Metric) -> Vec<&'b Choice<'a>> {
    let median = |c: &Choice| c.cell(m).map_or(f64::INFINITY, |c| c.mean);
    let mut kept = vec![true; all.len()];
    for here in by_load(all) {
        let of: Vec<&Choice> = here.iter().map(|i| all[*i]).collect();
        let longest = longest_short_tail(&of, m);
        let is_long = |c: &Choice| has_long_tail(c, m, longest);
        let least = of.iter().filter(|c| !is_long(c)).map(|c| median(c)).fold(f64::INFINITY, f64::min);
        for (i, c) in here.into_iter().zip(of) {
            kept[i] = !is_long(c) || median(c) >= least;
        }
    }
    all.iter().zip(kept).filter(|(_, kept)| *kept).map(|(c, _)| *c).collect()
}

/// Largest 99th percentile of a choice that a low median makes good, among choices at the same load: every tail grows with the load.
fn longest_short_tail(at_load: &[&Choice], m: &Metric) -> f64 {
    let Some(tail) = tail_of(m) else { return f64::INFINITY };
    LONG_TAIL * at_load.iter().filter_map(|c| c.cell(&tail)).map(|c| c.mean).fold(f64::INFINITY, f64::min)
}

fn has_long_tail(one: &Choice, m: &Metric, longest: f64) -> bool {
    tail_of(m).and_then(|tail| one.cell(&tail)).is_some_and(|own| own.mean > longest)
}

/// The 99th percentile of a median.
fn tail_of(m: &Metric) -> Option<Metric> {
    m.name.contains("_p50_").then(|| metric(&m.name.replace("_p50_", "_p99_"))).flatten()
}

/// Sentence about a choice with a lower median than the best one, and a much longer tail.
fn long_tail(all: &[&Choice], (best, cell): (&Choice, Cell), m: &Metric) -> Option<String> {
    let at_load: Vec<&Choice> = all.iter().copied().filter(|c| c.load == best.load).collect();
    let longest = longest_short_tail(&at_load, m);
    let lower = |c: &&&Choice| has_long_tail(c, m, longest) && c.cell(m).is_some_and(|c| c.mean < cell.mean);
    let one = at_load.iter().find(lower)?;
    let (tail, own) = (tail_of(m)?, one.cell(m)?);
    let far = one.cell(&tail)?;
    Some(format!(
        "At {} the median is lower ({}), but the 99th percentile is {}.",
        one.place,
        shown(own, m),
        bold(&shown(far, &tail))
    ))
}

fn stopped(all: &[&Choice]) -> Option<String> {
    let places: Vec<&str> = all.iter().filter(|c| c.finished_nothing()).map(|c| c.place.as_str()).collect();
    let mut named: Vec<String> = places.iter().take(MAX_NAMED).map(|p| (*p).to_owned()).collect();
    if places.len() > MAX_NAMED {
        named.push(format!("{} more", places.len() - MAX_NAMED));
    }
    (!places.is_empty())
        .then(|| format!("{} at {} of {} results: {}.", bold("Nothing finished"), places.len(), all.len(), named.join("; ")))
}

/// Cost of the best choice: for the other groups of its network, or else in its own goodput or queue.
fn price(all: &[&Choice], best: usize, judged_by: &Metric) -> Option<String> {
    let at = all[best].at;
    // Variants have separate networks and cost each other nothing.
    let others: Vec<usize> = (0..all.len())
        .filter(|&i| all[i].at == at && all[i].variant == all[best].variant && all[i].subject != all[best].subject)
        .collect();
    if !others.is_empty() {
        let costs: Vec<String> =
            others.iter().take(MAX_NAMED).filter_map(|&o| cost(all, o, "goodput_bps", false, true)).collect();
        return Some(if costs.is_empty() { "Other groups lose no goodput.".into() } else { costs.join(" ") });
    }
    let second = [("goodput_bps", false), ("queue_p99_pkts", true)].into_iter().find(|(name, _)| *name != judged_by.name)?;
    cost(all, best, second.0, second.1, false)
}

/// A metric of a choice against the best value of its subject at the same load; other loads are not comparable. `None` where it is as good.
fn cost(all: &[&Choice], choice: usize, name: &str, less: bool, other: bool) -> Option<String> {
    let m = metric(name)?;
    let here = all[choice].cell(&m)?;
    let own = all.iter().filter(|c| c.subject == all[choice].subject && c.load == all[choice].load);
    let better = |a: &(f64, &str), b: &(f64, &str)| if less { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) };
    let (most, place) = own.filter_map(|c| Some((c.cell(&m)?.mean, c.place.as_str()))).min_by(better)?;
    let worse = (most - here.mean).abs() > SMALL * most.abs().max(here.mean.abs());
    let whose = if other { format!("Cost for {}: the", bold(all[choice].subject)) } else { "Cost: the".to_owned() };
    worse.then(|| {
        let (here, most) = (quantity(here.mean, m.unit), quantity(most, m.unit));
        format!("{whose} {} is {} there, {} at its best ({place}).", label(&m), bold(&here), bold(&most))
    })
}

fn shown(c: Cell, m: &Metric) -> String {
    c.at_least().to_owned() + &quantity(c.mean, m.unit)
}

/// Sortable table of all choices with their main metrics.
pub(super) fn table(sweep: &Sweep, all: &[Choice]) -> TitledGrid {
    let shown: Vec<Metric> = [
        "qct_p99_s",
        "fct_small_p99_s",
        "deadlines_missed",
        "goodput_bps",
        "long_fairness",
        "rtos_per_query",
        "rtos",
        "queue_p99_pkts",
        "drops",
    ]
    .iter()
    .filter_map(|name| metric(name))
    .filter(|m| all.iter().any(|c| c.cell(m).is_some_and(|c| c.mean != 0.0)))
    .collect();
    let mut heads: Vec<String> =
        sweep.axes.iter().map(|a| if a.short.is_empty() { a.key.clone() } else { a.short.clone() }).collect();
    heads.push("transport".into());
    heads.extend(shown.iter().map(label));
    let row = |c: &Choice| {
        let keys = c.at.iter().zip(&sweep.axes).map(|(v, axis)| key(v, axis.unit));
        let numbers = shown.iter().map(|m| GridCell::quantity(c.cell(m), m.unit));
        keys.chain([GridCell::text(c.subject)]).chain(numbers).collect()
    };
    TitledGrid { title: String::new(), grid: Grid { heads, rows: all.iter().map(row).collect() } }
}

fn key(v: &Value, unit: Dimension) -> GridCell {
    match v {
        Value::Number(n) => GridCell { text: quantity(*n, unit), value: Some(*n), ..GridCell::default() },
        other => GridCell::text(other.text()),
    }
}

/// For two keys or more: heat maps of the main metric over the first two, one per combination of the rest. Stronger colors are better.
pub(super) fn maps(sweep: &Sweep, all: &[Choice]) -> Vec<TitledGrid> {
    let first: Vec<&Choice> = by_class(all).into_iter().next().map_or_else(Vec::new, |c| c.1);
    let (Some((m, less)), [x, y, ..]) = (telling(&first), sweep.axes.as_slice()) else { return Vec::new() };
    let range = |load: Option<&[&Value]>| -> (f64, f64) {
        let of = all.iter().filter(|c| load.is_none_or(|load| c.load == load));
        of.filter_map(|c| c.cell(&m)).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), c| (a.min(c.mean), b.max(c.mean)))
    };
    let (low, high) = range(None);
    if high - low <= SMALL * high.abs() {
        return Vec::new();
    }
    // Colors compare settings under one load. Differences that are ignored elsewhere have no color of their own.
    let place = |c: Cell, load: &[&Value]| {
        let (low, high) = range(Some(load));
        if high - low <= SMALL * high.abs() {
            return if less { 0.0 } else { 1.0 };
        }
        let log = low > 0.0 && high > 20.0 * low;
        if log { (c.mean / low).ln() / (high / low).ln() } else { (c.mean - low) / (high - low) }
    };
    let mut maps: Vec<(String, Vec<&Choice>)> = Vec::new();
    let named = sweep.axes_name_subjects();
    for c in all {
        let rest = c.at.iter().zip(&sweep.axes).skip(2).filter(|(v, _)| **v != Value::Unset);
        let mut parts: Vec<String> =
            rest.map(|(v, a)| format!("{} {}", a.short, key(v, a.unit).text).trim().to_owned()).collect();
        if !named {
            parts.insert(0, c.subject.to_owned());
        }
        let title = parts.join(", ");
        match maps.iter_mut().find(|(t, _)| *t == title) {
            Some((_, of)) => of.push(c),
            None => maps.push((title, vec![c])),
        }
    }
    maps.retain(|(_, of)| of.iter().any(|c| c.cell(&m).is_some()));
    maps.truncate(MAX_MAPS);
    let map = |(title, of): (String, Vec<&Choice>)| {
        let (xs, ys) = (distinct(&of, 0), distinct(&of, 1));
        let mut heads = vec![format!("{} \\ {}", y.short, x.short)];
        heads.extend(xs.iter().map(|v| key(v, x.unit).text));
        let cell = |xv: &Value, yv: &Value| {
            let choice = of.iter().find(|c| c.at.first() == Some(xv) && c.at.get(1) == Some(yv));
            let c = choice.and_then(|c| c.cell(&m));
            let good = choice.zip(c).map(|(choice, c)| place(c, &choice.load)).map(|p| if less { 1.0 - p } else { p });
            // A lower bound has no rank.
            let good = good.map(|g| if less && c.is_some_and(|c| c.at_least) { 0.0 } else { g });
            GridCell { shade: good, ..GridCell::quantity(c.map(|c| Cell { ends: None, range: None, ..c }), m.unit) }
        };
        let row = |yv: &&Value| [key(yv, y.unit)].into_iter().chain(xs.iter().map(|xv| cell(xv, yv))).collect();
        let title = if title.is_empty() { label(&m) } else { format!("{}: {title}", label(&m)) };
        TitledGrid { title, grid: Grid { heads, rows: ys.iter().map(row).collect() } }
    };
    maps.into_iter().map(map).collect()
}

/// Values of an axis: numbers sorted, names in the order of the sweep.
fn distinct<'a>(of: &[&Choice<'a>], axis: usize) -> Vec<&'a Value> {
    let mut values: Vec<&Value> = Vec::new();
    for v in of.iter().filter_map(|c| c.at.get(axis)) {
        if !values.contains(&v) {
            values.push(v);
        }
    }
    if values.iter().all(|v| matches!(v, Value::Number(_))) {
        let number = |v: &Value| if let Value::Number(n) = v { *n } else { f64::NAN };
        values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::sweep_choices::choices;
    use super::super::sweep_data::{Point, SweptAxis};
    use super::*;

    /// Varies K and the number of servers, for a group of services beside one of bulk traffic.
    fn sweep(shared: bool) -> Sweep {
        let axis = |key: &str, short: &str, unit| SweptAxis { key: key.into(), short: short.into(), unit };
        let mut s = Sweep {
            title: "k".into(),
            axes: vec![
                axis("topology.bottleneck.queue.k", "k", Dimension::Packets),
                axis("topology.senders", "senders", Dimension::Count),
            ],
            points: Vec::new(),
        };
        for k in [20.0, 200.0] {
            for n in [8.0, 64.0] {
                for seed in 0..2 {
                    let at = vec![Value::Number(k), Value::Number(n)];
                    let wait = (k * n * 1e-5, f64::from(seed) * 1e-9);
                    let own = vec![("qct_p99_s".into(), wait.0 + wait.1), ("goodput_bps".into(), 1e8)];
                    let bulk = vec![("goodput_bps".into(), k * 4e7)];
                    if shared {
                        s.points.push(Point {
                            at: at.clone(),
                            subject: "bulk".into(),
                            metrics: bulk,
                            variant: String::new(),
                            class: String::new(),
                        });
                    }
                    s.points.push(Point {
                        at,
                        subject: "services".into(),
                        metrics: own,
                        variant: String::new(),
                        class: String::new(),
                    });
                }
            }
        }
        s
    }

    #[test]
    fn best_worst_and_cost() {
        let s = sweep(true);
        let output = sentences(&choices(&s));
        assert_eq!(
            output,
            [
                "**Largest difference** at senders 64: query completion p99 **12.8 ms** with k 20 packets, services; **128 ms** with \
                 k 200 packets, services.",
                "Cost for **bulk**: the goodput is **800 Mbit/s** there, **8 Gbit/s** at its best (k 200 packets, senders 64, bulk).",
            ]
        );
    }

    /// More senders send more: this is not a cost of the best point, which has the fewest.
    #[test]
    fn cost_compares_equal_loads() {
        let mut s = sweep(false);
        for p in &mut s.points {
            let Value::Number(senders) = p.at[1] else { panic!("{:?}", p.at) };
            p.metrics.push(("queue_p99_pkts".into(), senders));
            p.metrics.retain(|(name, _)| name != "goodput_bps");
            p.metrics.push(("goodput_bps".into(), senders * 1e6));
        }
        let output = sentences(&choices(&s));
        assert!(output.len() == 1 && output[0].starts_with("**Largest difference** at senders "), "{output:?}");
        s.axes[1].key = "topology.bottleneck.rate".into();
        assert!(sentences(&choices(&s))[1].starts_with("Cost: the goodput is **8 Mbit/s** there, **64 Mbit/s** at its best"));
    }

    #[test]
    fn unfinished_points_come_first() {
        let mut s = sweep(false);
        for p in s.points.iter_mut().filter(|p| p.at[0] == Value::Number(20.0)) {
            p.metrics.extend([
                ("queries".into(), 1.0),
                ("queries_completed".into(), 0.0),
                ("queries_exact_quantile".into(), 0.0),
            ]);
        }
        let output = sentences(&choices(&s));
        assert_eq!(output[0], "**Nothing finished** at 2 of 4 results: k 20 packets, senders 8; k 20 packets, senders 64.");
        assert_eq!(output.len(), 1, "at each load only one choice has a time: {output:?}");
    }

    /// Every run ends during a query: the tail is never known, and the median only where fewer than half of them are running.
    #[test]
    fn median_replaces_unknown_tail() {
        let mut s = sweep(false);
        for p in &mut s.points {
            let p99 = p.metrics[0].1;
            let known = if p99 > 0.1 { 0.0 } else { 0.5 };
            p.metrics.extend([("qct_p50_s".into(), p99 / 2.0), ("queries_exact_quantile".into(), known)]);
        }
        assert!(
            sentences(&choices(&s))[0].starts_with(
                "**Largest difference** at senders 64: query completion p50 **6.4 ms** with k 20 packets; **at least 64 ms** with k 200 packets."
            ),
            "{:?}",
            sentences(&choices(&s))
        );
    }

    #[test]
    fn heat_map_of_first_two_keys() {
        let s = sweep(false);
        let maps = maps(&s, &choices(&s));
        assert_eq!((maps.len(), maps[0].title.as_str()), (1, "query completion p99: services"));
        let texts: Vec<Vec<&str>> = maps[0].grid.rows.iter().map(|r| r.iter().map(|c| c.text.as_str()).collect()).collect();
        assert_eq!(maps[0].grid.heads, ["senders \\ k", "20 packets", "200 packets"]);
        assert_eq!(texts, [["8", "1.6 ms", "16 ms"], ["64", "12.8 ms", "128 ms"]]);
        assert_eq!((maps[0].grid.rows[0][1].shade, maps[0].grid.rows[1][2].shade), (Some(1.0), Some(0.0)));
        assert_eq!(table(&s, &choices(&s)).grid.rows.len(), 4);
    }
}
