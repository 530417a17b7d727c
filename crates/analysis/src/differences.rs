//! Differences of compared results from the first one: for each quantity of each workload, the ratio over pairs of runs with the same seed.

use crate::cells::{Cell, FEW, cell, within};
use crate::censored_quantiles::TIGHT;
use crate::comparison::Difference;
use crate::data::Data;
use crate::dimension::Dimension;
use crate::format::{list, number};
use crate::workload_times::by_class;
use forebay_store::stats::is_bound;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Differences from the base.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Differences {
    /// Name of the base.
    pub base: String,
    /// Compared quantities.
    pub quantities: Vec<Quantity>,
    /// Meaning of the intervals.
    pub note: String,
}

/// A quantity with its changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Name, such as "queries of gets, median".
    pub title: String,
    /// Unit.
    #[serde(serialize_with = "crate::dimension::by_name")]
    pub unit: Dimension,
    /// One for each result that has the quantity.
    pub changes: Vec<Change>,
}

/// Change of a quantity from the base to one result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Index of the subject.
    pub subject: usize,
    /// Name of the result.
    pub name: String,
    /// Mean of the base.
    pub base: Cell,
    /// Mean of the result.
    pub value: Cell,
    /// Ratio to the base: geometric mean over the pairs of runs; `None` where one of them is 0 or unfinished work hides it.
    pub ratio: Option<f64>,
    /// Interval of the ratio; `None` for a single pair.
    pub ends: Option<(f64, f64)>,
    /// True if the interval excludes an equal value.
    pub clear: bool,
    /// The change in words.
    pub words: String,
}

/// Maximum number of quantities.
const MAX_QUANTITIES: usize = 20;
/// Ratios from this value on are printed as multiples, smaller ones in percent.
const MULTIPLE: f64 = 1.95;
/// A ratio that differs from 1 by less is called equal.
const EQUAL: f64 = 0.005;

/// Kind of a quantity, which determines the words for its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Count,
    Queue,
    Part,
}

impl Kind {
    fn unit(self) -> Dimension {
        match self {
            Kind::Time => Dimension::Seconds,
            Kind::Rate => Dimension::BitsPerSecond,
            Kind::Count => Dimension::Count,
            Kind::Queue => Dimension::Packets,
            Kind::Part => Dimension::Fraction,
        }
    }

    /// Words for a smaller and for a larger value.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Time | Kind::Queue => ("shorter", "longer"),
            Kind::Rate | Kind::Part => ("lower", "higher"),
            Kind::Count => ("fewer", "more"),
        }
    }

    /// True if a reduction can be a multiple: "10 times shorter", but not "10 times fewer".
    fn divides(self) -> bool {
        matches!(self, Kind::Time | Kind::Queue)
    }
}

/// Values of a quantity over the runs of a subject.
struct Values {
    title: String,
    kind: Kind,
    of: Vec<f64>,
    /// True for lower bounds, because work was unfinished.
    at_least: bool,
    /// True for lower bounds that would hardly grow if this work never ended.
    tight: bool,
}

/// Quantities of the summary: name, title and kind; those of a network follow those of a group.
const OF_GROUPS: [(&str, &str, Kind); 4] = [
    ("makespan_s", "completion of all messages", Kind::Time),
    ("deadlines_missed", "missed deadlines", Kind::Part),
    ("rtos", "retransmission timeouts", Kind::Count),
    ("segs_retx", "retransmitted segments", Kind::Count),
];
const OF_NETWORKS: [(&str, &str, Kind); 2] =
    [("drops", "dropped packets, all ports", Kind::Count), ("queue_p99_pkts", "99th percentile of the queue", Kind::Queue)];

/// Differences of all results from the first one; `None` for a single result, and for results without a common quantity.
pub fn differences(data: &Data) -> Option<Differences> {
    let pairs: Vec<(usize, usize)> = (0..data.subjects.len()).filter_map(|s| Some((base_of(data, s)?, s))).collect();
    let mut out = Differences::default();
    let bases: BTreeSet<usize> = pairs.iter().map(|p| p.0).collect();
    let known: BTreeMap<usize, Vec<Values>> = bases.iter().map(|b| (*b, values(data, *b))).collect();
    for (base, other) in &pairs {
        for v in values(data, *other) {
            let Some(from) = known[base].iter().find(|b| b.title == v.title) else { continue };
            let Some(change) = change(data, *other, from, &v) else { continue };
            match out.quantities.iter_mut().find(|q| q.title == v.title) {
                Some(q) => q.changes.push(change),
                None => out.quantities.push(Quantity { title: v.title, unit: v.kind.unit(), changes: vec![change] }),
            }
        }
    }
    // Without a value anywhere there is nothing to compare.
    out.quantities.retain(|q| q.changes.iter().any(|c| c.base.mean > 0.0 || c.value.mean > 0.0));
    out.quantities.truncate(MAX_QUANTITIES);
    let mut names: Vec<String> = bases.iter().map(|b| data.networks[data.subjects[*b].network].name.clone()).collect();
    names.dedup();
    out.base = list(&names);
    out.note = note(data);
    (!out.quantities.is_empty()).then_some(out)
}

/// The subject that `subject` is compared with: the same group of the first variant, or of the same variant of the first directory.
fn base_of(data: &Data, subject: usize) -> Option<usize> {
    let own = data.network_of(subject);
    let first_dir = data.networks.first()?.dir;
    let in_first = || data.networks.iter().filter(|n| n.dir == first_dir);
    let several = data.networks.iter().any(|n| n.dir != first_dir);
    let base = match (several, in_first().count()) {
        (true, 2..) => in_first().find(|n| n.variant == own.variant)?,
        _ => data.networks.first()?,
    };
    if std::ptr::eq(base, own) || several && own.dir == first_dir {
        return None;
    }
    let place = subject - own.first;
    let group = &data.subjects[subject].group;
    let groups = base.first..base.first + base.groups;
    let same = groups.clone().find(|s| data.subjects[*s].group == *group);
    // A variant is often named by the congestion control of its only group.
    same.or_else(|| groups.clone().nth(place).filter(|_| base.groups == own.groups))
}

/// All quantities of a subject.
fn values(data: &Data, subject: usize) -> Vec<Values> {
    let network = data.network_of(subject);
    let of_group = if network.groups > 1 { format!(", {}", data.subjects[subject].group) } else { String::new() };
    let times = by_class(data, subject);
    let several = data.classes.len() > 1;
    let of_class = |class: Option<u32>| data.class(class).filter(|_| several).map_or_else(String::new, |c| format!(" of {c}"));
    let mut out = Vec::new();
    for ((class, queries), times) in &times {
        let work = format!("{}{}{of_group}", if *queries { "queries" } else { "messages" }, of_class(*class));
        for (p, name) in [(0.5, "median"), (0.99, "99th percentile")] {
            let (of, never) = times.by_run(p);
            let at_least = of.iter().zip(&never).any(|(now, never)| is_bound(*now, *never));
            let tight = never.iter().sum::<f64>() <= TIGHT * of.iter().sum::<f64>();
            out.push(Values { title: format!("{work}: {name}"), kind: Kind::Time, of, at_least, tight });
        }
        let open = |run: usize| times.unfinished(run) as f64;
        let runs = (0..data.runs.len()).filter(|r| data.runs[*r].network == data.subjects[subject].network);
        let of = runs.map(open).collect();
        out.push(Values { title: format!("{work}: unfinished"), kind: Kind::Count, of, at_least: false, tight: false });
    }
    out.extend(goodputs(data, subject).into_iter().map(|(class, of)| {
        let title = format!("goodput of the long flows{}{of_group}", of_class(class));
        Values { title, kind: Kind::Rate, of, at_least: false, tight: false }
    }));
    let metric = |(name, title, kind): &(&str, &str, Kind), of_group: &str| {
        let of = data.values(subject, name).to_vec();
        let all_ended = data.values(subject, "makespan_exact_quantile").iter().all(|exact| *exact > 0.0);
        let at_least = *name == "makespan_s" && !all_ended;
        (!of.is_empty()).then(|| Values { title: format!("{title}{of_group}"), kind: *kind, of, at_least, tight: false })
    };
    out.extend(OF_GROUPS.iter().filter_map(|m| metric(m, &of_group)));
    // All groups of a network share its ports.
    if network.first == subject {
        out.extend(OF_NETWORKS.iter().filter_map(|m| metric(m, "")));
    }
    out
}

/// Goodput of the endless flows of each workload, one value for each run, bit/s.
fn goodputs(data: &Data, subject: usize) -> BTreeMap<Option<u32>, Vec<f64>> {
    let network = data.subjects[subject].network;
    let runs: Vec<usize> = (0..data.runs.len()).filter(|r| data.runs[*r].network == network).collect();
    let mut bytes: BTreeMap<Option<u32>, BTreeMap<usize, u64>> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.subject == subject && f.size == 0) {
        *bytes.entry(f.class).or_default().entry(f.run).or_default() += f.measured;
    }
    let rate = |of: &BTreeMap<usize, u64>, run: &usize| {
        let time = (data.runs[*run].end_ns - data.runs[*run].measured_from_ns) as f64 * 1e-9;
        if time > 0.0 { of.get(run).copied().unwrap_or(0) as f64 * 8.0 / time } else { 0.0 }
    };
    bytes.into_iter().map(|(class, of)| (class, runs.iter().map(|run| rate(&of, run)).collect())).collect()
}

fn change(data: &Data, subject: usize, base: &Values, value: &Values) -> Option<Change> {
    let mean = |v: &Values| cell(&v.of).map(|c| Cell { at_least: v.at_least, tight: v.tight, ..c });
    let (from, to) = (mean(base)?, mean(value)?);
    let network = data.network_of(subject);
    let of_network = OF_NETWORKS.iter().any(|m| m.1 == value.title);
    let name = if of_network { data.network_label(data.subjects[subject].network) } else { data.subjects[subject].name.clone() };
    let name = if network.groups > 1 && !of_network { network.name.clone() } else { name };
    let pairs = Difference::between(&base.of, &value.of);
    let ratio = match pairs {
        Some(d) => d.mean.exp(),
        None => to.mean / from.mean,
    };
    let hidden = hides(&from, &to);
    let ratio = Some(ratio).filter(|r| r.is_finite() && *r > 0.0 && !hidden);
    let ends = pairs.filter(|_| ratio.is_some()).map(|d| (1.0 + d.low, 1.0 + d.high));
    // Runs without any have no ratio: the interval of the difference tells whether the change is clear.
    let steps = pairs.is_none().then(|| step(&base.of, &value.of)).flatten();
    let clear = ratio.is_some_and(|r| match (ends, steps) {
        (Some((low, high)), _) => low > 1.0 || high < 1.0,
        (None, Some((low, high))) => low > 0.0 || high < 0.0,
        (None, None) => r != 1.0,
    });
    let narrow = pairs.is_some_and(Difference::is_narrow);
    let words = match ratio {
        Some(_) if !clear && steps.is_some() => "no clear change".to_owned(),
        Some(ratio) => {
            let bound = if open(&from) || open(&to) { "at least " } else { "" };
            bound.to_owned() + &in_words(value.kind, ratio, ends.map(|e| (e, narrow)))
        }
        None if hidden => "unknown: work was unfinished at the end".to_owned(),
        None if from.mean == 0.0 && to.mean == 0.0 => "none in both".to_owned(),
        None if to.mean == 0.0 => "none left".to_owned(),
        None => "none in the base".to_owned(),
    };
    Some(Change { subject, name, base: from, value: to, ratio, ends, clear, words })
}

/// True for a lower bound that can be any larger value.
fn open(c: &Cell) -> bool {
    c.at_least && !c.tight
}

/// Interval of the difference between pairs of runs: the range of a few. `None` for a single pair.
fn step(base: &[f64], value: &[f64]) -> Option<(f64, f64)> {
    let each: Vec<f64> = base.iter().zip(value).map(|(a, b)| b - a).collect();
    let c = within(&each, f64::NEG_INFINITY, f64::INFINITY).filter(|_| base.len() == value.len())?;
    c.range.or(c.ends)
}

/// True if unfinished work hides the direction of a change.
fn hides(from: &Cell, to: &Cell) -> bool {
    match (open(from), open(to)) {
        (false, false) => false,
        (true, true) => true,
        (true, false) => to.mean >= from.mean,
        (false, true) => to.mean <= from.mean,
    }
}

/// `44 times shorter (37 to 51 times)`, `6 % longer`, `no clear change (−40 % to +60 %)`. `ends` is the interval, and true if it is narrow.
fn in_words(kind: Kind, ratio: f64, ends: Option<((f64, f64), bool)>) -> String {
    let (less, more) = kind.words();
    let direction = if ratio < 1.0 { less } else { more };
    let Some(((low, high), narrow)) = ends else {
        return if (ratio - 1.0).abs() < EQUAL { "the same".to_owned() } else { format!("{} {direction}", amount(kind, ratio)) };
    };
    if (low - 1.0).abs().max((high - 1.0).abs()) < EQUAL {
        return "the same".to_owned();
    }
    if low <= 1.0 && high >= 1.0 {
        let part = |r: f64| {
            let sign = if r < 1.0 { "−" } else { "+" };
            if r >= 10.0 { format!("{} times", rounded(r)) } else { format!("{sign}{} %", rounded((r - 1.0).abs() * 100.0)) }
        };
        let first = if narrow { "no difference of 20 % or more" } else { "no clear change" };
        return format!("{first} ({} to {})", part(low), part(high));
    }
    // The smaller change first.
    let (near, far) = if ratio < 1.0 { (amount(kind, high), amount(kind, low)) } else { (amount(kind, low), amount(kind, high)) };
    if near == far {
        return format!("{near} {direction}");
    }
    let unit = |s: &str| s.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let near = match near.rsplit_once(' ') {
        Some((value, of)) if unit(&far).as_deref() == Some(of) => value.to_owned(),
        _ => near,
    };
    format!("{} {direction} ({near} to {far})", amount(kind, ratio))
}

/// Size of a change: `44 times` or `6 %`.
fn amount(kind: Kind, ratio: f64) -> String {
    match ratio {
        r if r >= MULTIPLE => format!("{} times", rounded(r)),
        r if r >= 1.0 => format!("{} %", rounded((r - 1.0) * 100.0)),
        r if r <= 1.0 / MULTIPLE && kind.divides() => format!("{} times", rounded(1.0 / r)),
        r => format!("{} %", rounded((1.0 - r) * 100.0)),
    }
}

/// Two significant digits; three for a percentage near 100.
fn rounded(v: f64) -> String {
    if v <= 0.0 || !v.is_finite() {
        return "0".to_owned();
    }
    let digits = if (99.0..100.0).contains(&v) { 2 } else { 1 };
    let unit = 10f64.powi(v.log10().floor() as i32 - digits);
    number((v / unit).round() * unit)
}

/// Meaning of the intervals, by the number of runs.
fn note(data: &Data) -> String {
    let seeds = data.seeds();
    let pairs = "A ratio is the geometric mean over pairs of runs with the same seed";
    match seeds {
        0 | 1 => "Only one seed was run: differences may be due to chance.".to_owned(),
        n if n < FEW => format!(
            "{pairs}, its interval the range over the {n} seeds: with fewer than five, a confidence interval would say little. \
             A hollow point is not a clear change."
        ),
        _ => format!("{pairs}, with its 95 % confidence interval. A hollow point is not a clear change."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::{Flow, Run};

    /// Two results with `runs` runs each, in which messages take these times (s).
    fn compared(base: &[f64], other: &[f64]) -> Data {
        let named: [(&str, Given); 2] = [("before", &[]), ("after", &[])];
        let mut d = networks(&named);
        for (network, times) in [base, other].into_iter().enumerate() {
            for (number, time) in (0..).zip(times) {
                d.runs.push(Run { network, number, end_ns: 1_000_000_000, ..Run::default() });
                let run = d.runs.len() - 1;
                d.flows.push(Flow { subject: network, run, size: 1_000, fct: Some(*time), ..Flow::default() });
            }
        }
        d
    }

    fn only(d: &Data) -> Change {
        let all = differences(d).unwrap();
        assert_eq!((all.base.as_str(), all.quantities[0].title.as_str()), ("before", "messages: median"));
        assert_eq!(all.quantities[0].changes.len(), 1);
        all.quantities[0].changes[0].clone()
    }

    #[test]
    fn paired_ratio_has_interval() {
        // Each seed is ten times shorter, although the seeds differ by a factor of two.
        let base = [0.1, 0.12, 0.15, 0.18, 0.2];
        let c = only(&compared(&base, &base.map(|v| v / 10.0)));
        assert!((c.ratio.unwrap() - 0.1).abs() < 1e-9 && c.clear);
        assert_eq!(c.words, "10 times shorter");
        let c = only(&compared(&base, &[0.2, 0.18, 0.15, 0.12, 0.1]));
        assert!(!c.clear, "{c:?}");
        assert!(c.words.starts_with("no clear change (−"), "{}", c.words);
    }

    #[test]
    fn one_seed_has_no_interval() {
        let d = compared(&[0.1], &[0.106]);
        let c = only(&d);
        assert_eq!((c.ends, c.words.as_str()), (None, "6 % longer"));
        assert!(differences(&d).unwrap().note.starts_with("Only one seed"));
    }

    #[test]
    fn unfinished_work_hides_direction() {
        let mut d = compared(&[0.1, 0.1], &[0.05, 0.05]);
        // The messages of `after` run since 50 ms before the end: their time can be any longer one.
        d.flows.iter_mut().filter(|f| f.subject == 1).for_each(|f| (f.fct, f.start_ns) = (None, 950_000_000));
        let c = only(&d);
        assert_eq!((c.ratio, c.words.as_str()), (None, "unknown: work was unfinished at the end"));
        let all = differences(&d).unwrap();
        let open = all.quantities.iter().find(|q| q.title == "messages: unfinished").unwrap();
        assert_eq!((open.changes[0].value.mean, open.changes[0].words.as_str()), (1.0, "none in the base"));
        // They run for longer than the base took: longer, by an unknown factor.
        d.flows.iter_mut().filter(|f| f.subject == 1).for_each(|f| f.start_ns = 0);
        assert_eq!(only(&d).words, "at least 10 times longer");
    }

    #[test]
    fn counts_with_zeros_need_all_seeds() {
        let of = |values: &[f64]| Values {
            title: String::new(),
            kind: Kind::Count,
            of: values.to_vec(),
            at_least: false,
            tight: false,
        };
        let d = compared(&[0.1], &[0.1]);
        let words = |base: &[f64], value: &[f64]| change(&d, 1, &of(base), &of(value)).unwrap().words;
        assert_eq!(words(&[4.0, 2.0, 0.0], &[2.0, 3.0, 0.0]), "no clear change");
        assert_eq!(words(&[400.0, 500.0, 600.0], &[20.0, 10.0, 0.0]), "98 % fewer");
        assert_eq!((words(&[4.0], &[0.0]), words(&[0.0], &[4.0])), ("none left".to_owned(), "none in the base".to_owned()));
    }

    #[test]
    fn reductions_of_counts_in_percent() {
        assert_eq!(in_words(Kind::Count, 0.1, Some(((0.08, 0.12), true))), "90 % fewer (88 to 92 %)");
        assert_eq!(in_words(Kind::Time, 0.4, Some(((0.3, 0.6), false))), "2.5 times shorter (40 % to 3.3 times)");
        assert_eq!(in_words(Kind::Rate, 1.001, Some(((0.999, 1.003), true))), "the same");
    }

    #[test]
    fn base_has_same_group() {
        let mut d = Data::default();
        for network in 0..2 {
            d.networks.push(crate::Network { first: network * 2, groups: 2, ..crate::Network::default() });
            for group in ["old", "new"] {
                d.subjects.push(crate::Subject { group: group.into(), network, ..crate::Subject::default() });
            }
        }
        assert_eq!((0..4).map(|s| base_of(&d, s)).collect::<Vec<_>>(), [None, None, Some(0), Some(1)]);
        assert_eq!(differences(&Data::default()), None);
    }
}
