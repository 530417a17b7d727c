//! Messages far beyond the median that neither the median nor the 99th percentile shows.

use crate::comparison::link_rate;
use crate::data::{Data, Flow, Query};
use crate::dimension::Dimension;
use crate::format::{bold, list, number, quantity};
use crate::head_of_line::DelayCause;
use crate::late_messages;
use std::collections::BTreeMap;

/// Multiple of the median from which on a message is in the tail. Our choice.
pub const FAR: f64 = 10.0;
/// Words of every sentence about a tail.
pub(crate) const WORDS: &str = "more than ten times the median";
/// Fraction from which on the 99th percentile shows them.
const SHOWN: f64 = 0.01;
/// Maximum number of subjects in a sentence.
const MAX_NAMED: usize = 3;

/// A message or query that ended, or still runs.
struct Item {
    /// Time so far, s.
    took: f64,
    /// In multiples of the time on an unloaded network.
    slowness: f64,
    waited: Option<(DelayCause, Option<DelayCause>)>,
}

/// The tail of one kind of work.
pub(crate) struct Tail {
    /// Name of the workload, where there are several.
    class: Option<String>,
    /// `queries` or `messages`.
    things: &'static str,
    all: usize,
    /// Median time, s.
    median: f64,
    slow: Vec<Item>,
}

/// Work of a subject by workload: its queries, or its messages outside queries.
fn items(data: &Data, subject: usize, queries: bool) -> BTreeMap<Option<u32>, Vec<Item>> {
    let mut of: BTreeMap<Option<u32>, Vec<Item>> = BTreeMap::new();
    let age = |run: usize, start_ns: i64| (data.runs[run].end_ns - start_ns).max(0) as f64 * 1e-9;
    if queries {
        let network = data.subjects[subject].network;
        let bit = 1u64 << (subject - data.networks[network].first).min(63);
        let mut rates: BTreeMap<u32, Option<f64>> = BTreeMap::new();
        for q in data.queries.iter().filter(|q: &&Query| data.runs[q.run].network == network && q.groups & bit != 0) {
            let rate = q.receiver.and_then(|r| *rates.entry(r).or_insert_with(|| link_rate(data, network, r)));
            let ideal = rate.map_or(0.0, |rate| q.bytes as f64 * 8.0 / rate).max(q.ideal_s);
            let took = q.qct.unwrap_or_else(|| age(q.run, q.start_ns));
            let waited = q.waited.map(|cause| ((cause, q.delay_port), q.blocked_by));
            of.entry(q.class).or_default().push(Item { took, slowness: took / ideal, waited });
        }
    } else {
        for f in data.flows.iter().filter(|f: &&Flow| f.subject == subject && f.size > 0 && !f.in_query) {
            let took = f.fct.unwrap_or_else(|| age(f.run, f.start_ns));
            let waited = f.waited.map(|cause| ((cause, f.delay_port), f.blocked_by));
            of.entry(f.class).or_default().push(Item { took, slowness: took / f.ideal_s, waited });
        }
    }
    of
}

/// The tails of a subject that its percentiles do not show, the longest time first. `queries`: those of queries, otherwise of messages.
pub(crate) fn tails(data: &Data, subject: usize, queries: bool) -> Vec<Tail> {
    let of = items(data, subject, queries);
    let several = of.len() > 1;
    let name = |class: Option<u32>| data.class(class).filter(|_| several).map(str::to_owned);
    let things = if queries { "queries" } else { "messages" };
    let mut out: Vec<Tail> = of
        .into_iter()
        .filter_map(|(class, items)| {
            let all = items.len();
            let mut times: Vec<f64> = items.iter().map(|i| i.took).collect();
            times.sort_unstable_by(f64::total_cmp);
            Some(Tail { class: name(class), things, all, median: times[all / 2], slow: beyond(items)? })
        })
        .collect();
    let longest = |t: &Tail| t.slow.iter().map(|i| i.took).fold(0.0, f64::max);
    out.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    out
}

/// The items beyond [`FAR`] times the median, if there are some and the 99th percentile does not show them.
fn beyond(items: Vec<Item>) -> Option<Vec<Item>> {
    let mut slowness: Vec<f64> = items.iter().map(|i| i.slowness).filter(|s| s.is_finite()).collect();
    slowness.sort_unstable_by(f64::total_cmp);
    let median = *slowness.get(slowness.len() / 2)?;
    let most = SHOWN * items.len() as f64;
    let slow: Vec<Item> = items.into_iter().filter(|i| i.slowness.is_finite() && i.slowness > FAR * median).collect();
    (!slow.is_empty() && slow.len() as f64 <= most).then_some(slow)
}

impl Tail {
    /// `0.42 % of 7718 queries take 207 ms to 412 ms, more than ten times the median (main cause: ...)`.
    pub(crate) fn words(&self, data: &Data) -> String {
        let (low, high) = self.slow.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), i| (low.min(i.took), high.max(i.took)));
        let time = |s: f64| quantity(s, Dimension::Seconds);
        let range = if time(low) == time(high) { bold(&time(high)) } else { bold(&format!("{} to {}", time(low), time(high))) };
        let part = quantity(self.slow.len() as f64 / self.all as f64, Dimension::Fraction);
        let how_many = if self.slow.len() == 1 { "1".to_owned() } else { format!("{part} ({})", self.slow.len()) };
        let of = self.class.as_ref().map_or_else(String::new, |class| format!(" of {class}"));
        let take = if self.slow.len() == 1 { "takes" } else { "take" };
        let cause = late_messages::shared_cause(data, self.slow.iter().filter_map(|i| i.waited));
        let cause = cause.map_or_else(String::new, |c| format!(" (main cause: {c})"));
        // Where sizes differ, times do not show it.
        let slowdown = if self.things == "messages" || low <= FAR * self.median { " slowdown" } else { "" };
        format!("{how_many} of {} {}{of} {take} {range}, {WORDS}{slowdown}{cause}", self.all, self.things)
    }
}

/// Part of the work whose common cause is named where none is late. Our choice.
const TENTH: f64 = 0.1;
/// Least work for that.
const ENOUGH: usize = 20;
/// Minimum time of each of it, in multiples of the time on an unloaded network. Our choice.
const SLOWED: f64 = 1.5;
/// Minimum multiple of the median. Our choice.
const BEYOND: f64 = 1.25;

/// `The slowest tenth takes 2.4 ms to 3.1 ms, 1.9 to 2.5 times as long as on an unloaded network (main cause: bandwidth share of a->b)`: for a subject
/// with one kind of work, of which nothing is late.
pub(crate) fn slowest_tenth(data: &Data, subject: usize) -> Option<String> {
    if [true, false].iter().any(|queries| !tails(data, subject, *queries).is_empty()) {
        return None;
    }
    let kinds = [true, false].map(|queries| (queries, items(data, subject, queries)));
    let mut kinds = kinds.into_iter().flat_map(|(queries, of)| of.into_values().map(move |items| (queries, items)));
    let (queries, mut all) = kinds.next().filter(|_| kinds.next().is_none())?;
    all.retain(|i| i.slowness.is_finite());
    if all.len() < ENOUGH {
        return None;
    }
    all.sort_by(|a, b| b.slowness.total_cmp(&a.slowness));
    let median = all[all.len() / 2].slowness;
    all.truncate((TENTH * all.len() as f64) as usize);
    if all.last()?.slowness < SLOWED.max(BEYOND * median) {
        return None;
    }
    let cause = late_messages::shared_cause(data, all.iter().filter_map(|i| i.waited))?;
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), i| (low.min(i.took), high.max(i.took)));
    let things = if queries { "queries" } else { "messages" };
    Some(format!(
        "The slowest tenth of the {things} takes {} to {}, at least {} times as long as on an unloaded network (main cause: {cause}).",
        quantity(low, Dimension::Seconds),
        bold(&quantity(high, Dimension::Seconds)),
        number(all.last()?.slowness)
    ))
}

/// A sentence about the tails of several subjects; `None` without any.
pub(crate) fn compared(data: &Data) -> Option<String> {
    let first = |s: usize| [true, false].iter().find_map(|queries| tails(data, s, *queries).into_iter().next());
    let found: Vec<(usize, Tail)> = (0..data.subjects.len()).filter_map(|s| Some((s, first(s)?))).collect();
    let one = |(s, tail): &(usize, Tail)| format!("{}: {}", bold(&data.subjects[*s].name), tail.words(data));
    let each: Vec<String> = found.iter().take(MAX_NAMED).map(one).collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    let rest: Vec<String> = found.iter().skip(MAX_NAMED).map(|(s, _)| data.subjects[*s].name.clone()).collect();
    let rest = if more > 0 { format!("; also {}", list(&rest)) } else { String::new() };
    (!each.is_empty()).then(|| format!("Beyond the 99th percentile: {}{rest}.", each.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::Run;
    use forebay_experiment::waits::Cause;

    fn calls(slow: usize) -> Data {
        let named: [(&str, Given); 1] = [("cubic", &[])];
        let mut d = networks(&named);
        d.runs.push(Run { end_ns: 10_000_000_000, ..Run::default() });
        d.classes = vec!["redis".into()];
        let query = |qct| Query { class: Some(0), qct: Some(qct), groups: 1, ideal_s: 100e-6, ..Query::default() };
        d.queries = vec![query(171e-6); 1000 - slow];
        d.queries.extend((0..slow).map(|i| Query { waited: Some(Cause::Timeout), ..query(0.207 + 0.001 * i as f64) }));
        d
    }

    #[test]
    fn hidden_tail_is_counted() {
        let words = |slow| tails(&calls(slow), 0, true).first().map(|t| t.words(&calls(slow)));
        assert_eq!(
            words(4).unwrap(),
            "0.4 % (4) of 1000 queries take **207 ms to 210 ms**, more than ten times the median (main cause: retransmission timeout)"
        );
        assert_eq!(
            words(1).unwrap(),
            "1 of 1000 queries takes **207 ms**, more than ten times the median (main cause: retransmission timeout)"
        );
        assert_eq!(words(0), None);
        assert_eq!(words(11), None, "the 99th percentile shows them");
    }
}
