//! Standings in words.

use crate::cells::{Cell, FEW, cells};
use crate::data::{Data, Query};
use crate::dimension::Dimension;
use crate::format::{self, bold, factor, list, number, quantity};
use crate::headline_metrics::HeadlineMetric;
use crate::ranking::{Better, Ranking, compare};
use forebay_store::stats::{estimate, quantile};

/// Subjects that are compared with each other, and the prefix of their sentences.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    /// Beginning of the sentences; may be empty.
    pub prefix: String,
    /// Indices of subjects.
    pub members: Vec<usize>,
}

/// Maximum number of subjects in a sentence beside the best one.
const MAX_NAMED: usize = 3;
/// From this ratio of the largest to the smallest mean on, subjects are not called equal, even without a significant difference. Our choice.
const APART: f64 = 2.0;
/// Differences up to this fraction of the best value are called small, even if significant. Our choice.
const SMALL: f64 = 0.05;
/// Minimum fraction of a difference that timeouts must explain to be named as its cause. Our choice: half, because the wait is estimated by the
/// median, and backed-off timers wait longer.
const CAUSE: f64 = 0.5;
/// Below this number of queries, a cause is qualified with their number. Our choice.
const FEW_QUERIES: usize = 10;

fn name(data: &Data, subject: usize) -> String {
    data.subjects[subject].name.clone()
}

/// Prefix of a lower bound.
fn at_least(cell: Option<Cell>) -> &'static str {
    cell.map_or("", |c| c.at_least())
}

/// Prefix of the difference between the best value and another one, either of which may be a lower bound.
fn differs_by(best: Option<Cell>, other: Option<Cell>) -> &'static str {
    match [best, other].map(|c| c.is_some_and(|c| c.at_least)) {
        [false, true] => "at least ",
        [true, false] => "at most ",
        [true, true] => "about ",
        [false, false] => "",
    }
}

fn mean(cells: &[Option<Cell>], subject: usize) -> f64 {
    cells[subject].map_or(f64::NAN, |c| c.mean)
}

/// `5.2 times` or `1.12 times`: a multiple, where a percentage does not fit the sentence.
pub(crate) fn times(large: f64, small: f64) -> String {
    let text = number(large / small);
    if text == "1" { "as much as".into() } else { format!("{} times", bold(&text)) }
}

/// The subject with the best value, the differences, and the undecided subjects.
pub(crate) fn sentence(
    data: &Data,
    s: &Ranking,
    cells: &[Option<Cell>],
    t: &HeadlineMetric,
    unit: Dimension,
    seeds: usize,
) -> String {
    let (less, best) = (t.better == Better::Less, mean(cells, s.best));
    let text = |i: usize| at_least(cells[i]).to_owned() + &quantity(mean(cells, i), unit);
    if s.worse.is_empty() {
        let names: Vec<String> = std::iter::once(&s.best).chain(&s.tied).map(|i| name(data, *i)).collect();
        let (a, b) = (text(s.best), s.tied.last().map_or_else(String::new, |l| text(*l)));
        let range = if a == b { a } else { format!("{a} to {b}") };
        let open = unknown(data, s, cells, seeds, &text);
        if s.tied.is_empty() {
            // All others were still running.
            return format!("The {} of {} is {}{open}.", t.phrase, bold(&name(data, s.best)), bold(&text(s.best)));
        }
        let difference = Difference::widest(data, s, t.metric);
        return if let Some(d) = difference.filter(|d| !d.is_narrow() && s.has_intervals) {
            // No difference is shown, and none is excluded.
            let each: Vec<String> =
                std::iter::once(&s.best).chain(&s.tied).map(|i| format!("{} {}", name(data, *i), text(*i))).collect();
            format!("Too few runs to rank the {}: {}; {}{open}.", t.phrase, list(&each), d.words(seeds))
        } else if s.has_intervals {
            let each = match names.len() {
                _ if range.contains(" to ") => "",
                2 => " for both,",
                _ => " for all,",
            };
            format!(
                "No difference of 20 % or more in the {} between {}: {range}{each} over {seeds} seeds{open}.",
                t.phrase,
                list(&names)
            )
        } else {
            format!("{} have the same {}: {range}{open}.", list(&names), t.phrase)
        };
    }
    let value = |i: &usize| mean(cells, *i);
    if best > 0.0 && !matters(s, cells) {
        let all_ranked = || std::iter::once(&s.best).chain(&s.tied).chain(&s.worse);
        let (low, high) = (
            all_ranked().min_by(|a, b| value(a).total_cmp(&value(b))),
            all_ranked().max_by(|a, b| value(a).total_cmp(&value(b))),
        );
        let (low, high) = (low.map_or_else(String::new, |i| text(*i)), high.map_or_else(String::new, |i| text(*i)));
        let range = if low == high { low } else { format!("{low} to {high}") };
        return format!("The {} is nearly the same: {range}.", t.phrase);
    }
    // Small differences are no ranking, however sure they are, and a bound close to the best value does not state one.
    let is_bound = |i: &usize| cells[*i].is_some_and(|c| c.at_least && !c.tight);
    let close = |i: &usize| (value(i) - best).abs() <= SMALL * best.abs();
    let (bounds, worse): (Vec<usize>, Vec<usize>) = s.worse.iter().copied().partition(|i| is_bound(i) && close(i));
    let (alike, worse): (Vec<usize>, Vec<usize>) = worse.into_iter().partition(close);
    let (alike, worse) = if worse.is_empty() && bounds.is_empty() { (Vec::new(), alike) } else { (alike, worse) };
    let word = if less { "lowest" } else { "highest" };
    // With the interval, where the statement needs it.
    let spread = |i: usize| cells[i].map_or_else(String::new, |c| c.spread_in(unit));
    let own = if s.tied.is_empty() { String::new() } else { spread(s.best) };
    let mut out = format!("{} has the {word} {}: {}{own}", bold(&name(data, s.best)), t.phrase, bold(&text(s.best)));
    // Multiples of an index between 0 and 1 are meaningless.
    let index = unit == Dimension::Ratio && !less;
    let comparable = best > 0.0 && !index && worse.iter().all(|b| value(b) > 0.0);
    if worse.is_empty() {
        // Every other value is a bound, or nearly equal.
    } else if worse.len() > MAX_NAMED {
        let (first, last) = (worse[0], worse[worse.len() - 1]);
        out += &format!(", against {} to {} of {} others", text(first), text(last), worse.len());
    } else if comparable {
        let one = |b: &usize| {
            let v = mean(cells, *b);
            let by =
                differs_by(cells[s.best], cells[*b]).to_owned() + &if less { format::less(best, v) } else { factor(best, v) };
            // `three times more` is read as four times as much.
            let than = if less {
                "less than"
            } else if by.ends_with("times") {
                "that of"
            } else {
                "more than"
            };
            format!("{} {than} {} ({})", bold(&by), name(data, *b), text(*b))
        };
        out += &format!(", {}", list(&worse.iter().map(one).collect::<Vec<_>>()));
    } else {
        let each: Vec<String> = worse.iter().map(|b| format!("{} of {}", text(*b), name(data, *b))).collect();
        out += &format!(", against {}", list(&each));
    }
    if !alike.is_empty() {
        let names: Vec<String> = alike.iter().map(|i| format!("{} ({})", name(data, *i), text(*i))).collect();
        out += &format!("; nearly equal: {}", list(&names));
    }
    if !bounds.is_empty() {
        let names: Vec<String> = bounds.iter().map(|i| format!("{} ({})", name(data, *i), text(*i))).collect();
        let s = if bounds.len() == 1 { "s" } else { "" };
        out += &format!("; {} exceed{s} it by an unknown amount", list(&names));
    }
    if !s.tied.is_empty() {
        let names: Vec<String> = s.tied.iter().map(|l| format!("{} ({}{})", name(data, *l), text(*l), spread(*l))).collect();
        out += &if s.has_intervals {
            format!("; the difference from {} is not significant over {seeds} seeds", list(&names))
        } else {
            format!("; equal: {}", list(&names))
        };
    }
    out + &unknown(data, s, cells, seeds, &text) + "."
}

/// Relative difference between two subjects, from pairs of runs with the same seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    /// Its 95 % confidence interval, or with few seeds the smallest and largest.
    pub low: f64,
    pub high: f64,
    pub few: bool,
    /// Mean of the logarithm.
    pub mean: f64,
    /// Standard deviation of the logarithm.
    pub sd: f64,
}

/// Moves the tied subjects that differ from the best one in pairs of runs with the same seed to the worse ones: their own intervals overlap only
/// because both vary with the seed.
pub(crate) fn paired(data: &Data, s: Ranking, t: &HeadlineMetric) -> Ranking {
    let differs = |i: &usize| {
        let d = Difference::of(data, t.metric, s.best, *i).filter(|d| !d.few && d.width() >= SMALL);
        d.is_some_and(|d| if t.better == Better::Less { d.low > 0.0 } else { d.high < 0.0 })
    };
    let (apart, tied): (Vec<usize>, Vec<usize>) = s.tied.iter().copied().partition(|i| differs(i));
    Ranking { worse: [apart, s.worse].concat(), tied, ..s }
}

/// A difference whose interval is narrower than this fraction is excluded. Our choice.
const NARROW: f64 = 0.2;
/// Two-sided 95 % quantile of the normal distribution.
const NORMAL: f64 = 1.96;
/// Maximum number of runs that is proposed.
const MOST_RUNS: f64 = 1000.0;

impl Difference {
    /// Between the best subject and another one; `None` without pairs of positive values.
    fn of(data: &Data, metric: &str, best: usize, other: usize) -> Option<Difference> {
        Difference::between(data.values(best, metric), data.values(other, metric))
    }

    /// Of the values of `other` from those of `best`, which are from runs with the same seeds in the same order.
    pub(crate) fn between(best: &[f64], other: &[f64]) -> Option<Difference> {
        let pairs = best.iter().zip(other).filter(|(a, b)| **a > 0.0 && **b > 0.0);
        let logs: Vec<f64> = pairs.map(|(a, b)| (b / a).ln()).collect();
        let e = estimate(&logs).filter(|_| logs.len() == best.len() && best.len() == other.len())?;
        let half = e.half_width?;
        let squares: f64 = logs.iter().map(|l| (l - e.mean).powi(2)).sum();
        let least_and_most = || logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |r, l| (l.min(r.0), l.max(r.1)));
        let few = logs.len() < FEW;
        let (low, high) = if few { least_and_most() } else { (e.mean - half, e.mean + half) };
        let sd = (squares / (logs.len() - 1) as f64).sqrt();
        Some(Difference { low: low.exp() - 1.0, high: high.exp() - 1.0, few, mean: e.mean, sd })
    }

    /// The widest between the best subject and those tied with it.
    pub(crate) fn widest(data: &Data, s: &Ranking, metric: &str) -> Option<Difference> {
        let all = s.tied.iter().filter_map(|i| Difference::of(data, metric, s.best, *i));
        all.max_by(|a, b| a.width().total_cmp(&b.width()))
    }

    fn width(self) -> f64 {
        self.high.max(0.0) - self.low.min(0.0)
    }

    pub(crate) fn is_narrow(self) -> bool {
        self.width() < NARROW
    }

    /// Interval, and the number of runs after which it would exclude equality, or would be narrow.
    pub(crate) fn words(self, seeds: usize) -> String {
        let part = |v: f64| format!("{}{} %", if v < 0.0 { "−" } else { "+" }, number((v.abs() * 100.0).round()));
        let runs_for = |half: f64| (NORMAL * self.sd / half).powi(2).ceil();
        let needed = runs_for(self.mean.abs()).min(runs_for(NARROW / 2.0)).max((seeds + 1) as f64);
        let runs = match needed {
            n if n <= MOST_RUNS => format!("about {} runs (--runs) would decide", number(n)),
            _ => format!("more than {} runs would be needed to decide", number(MOST_RUNS)),
        };
        let how = if self.few {
            format!("in {seeds} runs the difference ranges")
        } else {
            "the interval of the difference is".to_owned()
        };
        format!("{how} from {} to {}; {runs}", part(self.low), part(self.high))
    }
}

/// For medians that replace unknown tails: the best median may belong to the longest tail.
pub(crate) fn longer_tail(data: &Data, s: &Ranking, metric: &str) -> Option<String> {
    let tails = cells(data, metric);
    let shorter = |b: &&usize| APART * mean(&tails, **b) < mean(&tails, s.best);
    let other = s.worse.iter().chain(&s.tied).chain(&s.undecided).filter(shorter);
    let other = *other.min_by(|a, b| mean(&tails, **a).total_cmp(&mean(&tails, **b)))?;
    let text = |i: usize| at_least(tails[i]).to_owned() + &quantity(mean(&tails, i), Dimension::Seconds);
    Some(format!(
        " The 99th percentile with {} is longer, as far as it is known: {}, against {} with {}.",
        name(data, s.best),
        bold(&text(s.best)),
        text(other),
        name(data, other)
    ))
}

/// Minimum ratio of the mean times of queries that are named although their 99th percentiles are alike. Our choice.
const MEANS_APART: f64 = 1.5;

/// Sentence about mean times of queries that differ clearly although the 99th percentiles are within 20 %: with and without many stalls, the slowest
/// of a hundred may have the same timeout.
pub(crate) fn mean_apart(data: &Data, t: &HeadlineMetric, s: &Ranking, cells: &[Option<Cell>]) -> Option<String> {
    if t.metric != "qct_p99_s" {
        return None;
    }
    let all: Vec<usize> = std::iter::once(s.best).chain(s.tied.iter().chain(&s.worse).copied()).collect();
    let tails: Vec<f64> = all.iter().map(|i| mean(cells, *i)).collect();
    let apart = |of: &[f64]| of.iter().fold(0.0_f64, |m, v| m.max(*v)) / of.iter().fold(f64::INFINITY, |m, v| m.min(*v));
    let means: Vec<f64> = all.iter().filter_map(|i| mean_time(data, *i)).collect();
    if means.len() < all.len() || apart(&tails) > 1.0 + NARROW || apart(&means) < MEANS_APART {
        return None;
    }
    let mut order: Vec<(usize, f64)> = all.into_iter().zip(means).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (first, rest) = order.split_first()?;
    let one = |(i, v): &(usize, f64)| format!("{} with {}", quantity(*v, Dimension::Seconds), name(data, *i));
    let rest: Vec<String> = rest.iter().take(MAX_NAMED).map(one).collect();
    let best = format!("**{}** with **{}**", quantity(first.1, Dimension::Seconds), name(data, first.0));
    Some(format!("A query takes {best} on average, {}, although the 99th percentiles are alike.", list(&rest)))
}

/// Undecided subjects: unfinished ones may be better than the best; others are worse, but not significantly.
fn unknown(data: &Data, s: &Ranking, cells: &[Option<Cell>], seeds: usize, text: &impl Fn(usize) -> String) -> String {
    let (less, more): (Vec<usize>, Vec<usize>) = s.undecided.iter().partition(|u| mean(cells, **u) < mean(cells, s.best));
    let named = |of: &[usize]| list(&of.iter().map(|u| format!("{} ({})", name(data, *u), text(*u))).collect::<Vec<_>>());
    let mut out = String::new();
    if !less.is_empty() {
        out += &format!(
            "; {} cannot be ranked: {} still running at the end",
            named(&less),
            if less.len() == 1 { "it was" } else { "they were" }
        );
    }
    if !more.is_empty() {
        out += &format!("; {} took longer, but {} cannot confirm it", named(&more), format::count(seeds, "seed"));
    }
    out
}

/// True if some subject is worse by more than a small or an unknown difference.
pub(crate) fn matters(s: &Ranking, cells: &[Option<Cell>]) -> bool {
    let best = mean(cells, s.best);
    let open = |b: &usize| cells[*b].is_some_and(|c| c.at_least);
    !s.undecided.is_empty() || s.worse.iter().any(|b| open(b) || (mean(cells, *b) - best).abs() > SMALL * best.abs())
}

/// Timeouts, if they explain a difference in query completion. The worse subjects must have significantly more of them, in at least one query of a
/// hundred, and the wait must be a large part of the difference of the means.
pub(crate) fn why(data: &Data, comparison: &Comparison, times: &Ranking) -> Option<String> {
    let rates = cells(data, "rtos_per_query");
    let ranking = compare(&rates, &comparison.members, Better::Less)?;
    let spared = ranking.best == times.best || ranking.tied.contains(&times.best);
    let guilty: Vec<usize> =
        times.worse.iter().copied().filter(|b| ranking.worse.contains(b) && mean(&rates, *b) >= 0.01).collect();
    let first = *guilty.first().filter(|_| spared)?;
    let wait = median_wait(data, &guilty)?;
    let gap = mean_time(data, first)? - mean_time(data, times.best)?;
    let waits = (mean(&rates, first) - mean(&rates, times.best)) * wait;
    // With the shorter mean there is nothing to explain, even where the median is longer.
    if gap <= 0.0 || waits < CAUSE * gap {
        return None;
    }
    let each: Vec<String> =
        guilty.iter().take(MAX_NAMED).map(|g| format!("{} with {}", number(mean(&rates, *g)), name(data, *g))).collect();
    let needs = link_time(data, times.best, None)
        .map_or_else(String::new, |s| format!("; an unloaded query takes {}", quantity(s, Dimension::Seconds)));
    let few: Vec<String> = guilty
        .iter()
        .map(|g| (queries(data, *g), *g))
        .filter(|(n, _)| *n < FEW_QUERIES)
        .take(MAX_NAMED)
        .map(
            |(n, g)| {
                if n == 1 { format!("one query of {}", name(data, g)) } else { format!("{n} queries of {}", name(data, g)) }
            },
        )
        .collect();
    let cause = if few.is_empty() { "Cause".into() } else { format!("Likely cause, from only {}", list(&few)) };
    Some(format!(
        "{cause}: timeouts per query: {}, {} with {}. A timeout costs {} (median){needs}.",
        bold(&list(&each)),
        number(mean(&rates, times.best)),
        name(data, times.best),
        bold(&quantity(wait, Dimension::Seconds)),
    ))
}

/// Started queries of a subject, in all runs.
fn queries(data: &Data, subject: usize) -> usize {
    let s = &data.subjects[subject];
    let bit = 1 << (subject - data.networks[s.network].first).min(63);
    data.queries.iter().filter(|q| data.runs[q.run].network == s.network && q.groups & bit != 0).count()
}

/// Mean completion time of the queries of a subject, or of its own messages where several groups share a query, s.
fn mean_time(data: &Data, subject: usize) -> Option<f64> {
    if let Some(own) = crate::cells::cell(data.values(subject, "query_message_mean_s")) {
        return Some(own.mean);
    }
    let s = &data.subjects[subject];
    let bit = 1 << (subject - data.networks[s.network].first).min(63);
    let own = data.queries.iter().filter(|q| data.runs[q.run].network == s.network && q.groups & bit != 0);
    let (sum, n) = own.filter_map(|q| q.qct).fold((0.0, 0u64), |(sum, n), took| (sum + took, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// Median timer value of the timeouts of some subjects, s.
pub(crate) fn median_wait(data: &Data, subjects: &[usize]) -> Option<f64> {
    let mut waits: Vec<f64> = data.timeouts.iter().filter(|t| subjects.contains(&t.subject)).map(|t| t.rto).collect();
    waits.sort_unstable_by(f64::total_cmp);
    quantile(&waits, 0.5)
}

/// Rate of the link into a host, bit/s.
pub(crate) fn link_rate(data: &Data, network: usize, host: u32) -> Option<f64> {
    let host = data.hosts.get(host as usize)?;
    let mut ports = data.ports.iter().filter(|p| p.network == network && p.to == *host && !p.to_switch);
    ports.next().map(|p| p.rate_bps).filter(|r| *r > 0.0)
}

/// Time of the link into the receiver of a query for its payload, averaged over the queries of a subject's network, s; of one workload, if given.
/// `None` without a query to a single receiver with a known link.
pub(crate) fn link_time(data: &Data, subject: usize, class: Option<u32>) -> Option<f64> {
    let network = data.subjects[subject].network;
    let mut rates: Vec<(u32, Option<f64>)> = Vec::new();
    let (mut sum, mut n) = (0.0, 0u64);
    // The messages of an unfinished query are not all known.
    let own = |q: &&Query| data.runs[q.run].network == network && class.is_none_or(|c| q.class == Some(c));
    let ended = data.queries.iter().filter(own).filter(|q| q.qct.is_some());
    for (q, receiver) in ended.filter_map(|q| Some((q, q.receiver?))) {
        let rate = match rates.iter().find(|r| r.0 == receiver) {
            Some(r) => r.1,
            None => {
                rates.push((receiver, link_rate(data, network, receiver)));
                rates.last().and_then(|r| r.1)
            }
        };
        if let Some(rate) = rate {
            sum += q.bytes as f64 * 8.0 / rate;
            n += 1;
        }
    }
    (n > 0).then(|| sum / n as f64)
}
