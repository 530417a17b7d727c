//! Headline of results: the metrics that matter for the traffic, and the ranking of the subjects with its cause.
//!
//! It is independent of the set of transports: names come from the tables. Subjects differ only if their confidence intervals over seeds do not
//! overlap ([`compare`]).

use crate::application_limits;
use crate::bad_links;
use crate::cells::Cell;
use crate::cells::cells;
use crate::censored_quantiles::mark_tight_bounds;
use crate::comparison::{self, Comparison, Difference};
use crate::data::{Data, Network, metrics};
use crate::deadlines;
use crate::dimension::Dimension;
use crate::format::{bold, list, quantity};
use crate::headline_metrics::{
    BY_TRAFFIC, FAIRNESS, GOODPUT, HeadlineMetric, MAKESPAN, MEDIANS, MISSED, QUEUE, SHARE, SMALL_MEAN, TIMEOUTS,
};
use crate::incomplete_workloads;
use crate::jobs;
use crate::known_figures;
use crate::late_messages;
use crate::loads::loads;
use crate::long_flow_limits;
use crate::long_flow_starvation;
use crate::measurement_gaps;
use crate::missing_marks;
use crate::ranking::{Better, Ranking, compare};
use crate::retransmissions;
use crate::single_transport;
use crate::tail;
use crate::workload_shares::{WorkloadShare, workload_shares};
use serde::Serialize;

/// Headline of results.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Headline {
    /// One to five sentences, most important first. Plain text, with bold parts between `**`.
    pub sentences: Vec<String>,
    /// One to three metrics with a bar for each subject.
    pub charts: Vec<HeadlineChart>,
}

/// One metric of all subjects.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HeadlineChart {
    /// Name of the metric.
    pub title: String,
    /// Unit of the values.
    #[serde(serialize_with = "crate::dimension::by_name")]
    pub unit: Dimension,
    /// "less is better" or "more is better"; may be empty.
    pub better: String,
    /// A value for each subject; `None` where it has none.
    pub values: Vec<Option<Cell>>,
}

/// Maximum numbers of sentences and charts.
const MAX_SENTENCES: usize = 5;
/// Maximum number of sentences about unfinished work.
const MAX_UNFINISHED: usize = 3;
/// Maximum number of sentences about starved endless flows.
const MAX_ENDLESS: usize = 2;
const MAX_CHARTS: usize = 3;
/// Minimum finished fraction of a workload for missed deadlines to come before its unfinished work. Our choice.
const NEARLY_DONE: f64 = 0.9;
/// A workload whose goodput with the best transport is below this fraction of that with another one counts as its cost. Our choice.
const PAYS: f64 = 0.8;
/// Minimum ratio of medians that are named although the 99th percentiles hardly differ. Our choice.
const MEDIANS_APART: f64 = 1.2;
/// Maximum ratio of the goodputs of groups that are called nearly the same. Our choice, as for other metrics.
const NEARLY_EQUAL: f64 = 1.05;
/// Queues up to this length delay nothing: bursts of a few segments. Our choice.
const FEW_PACKETS: f64 = 5.0;
/// Maximum number of subjects in the sentence about limits of long flows.
const MAX_LIMITED: usize = 3;
/// Maximum number of network events, in addition.
const MAX_EVENTS: usize = 3;

/// Sentences and charts.
pub fn headline(data: &Data) -> Headline {
    let mut judged: Vec<HeadlineMetric> =
        BY_TRAFFIC.iter().filter_map(|of| of.iter().copied().find(|t| present(data, t))).collect();
    let jobs = (0..data.subjects.len()).all(|s| jobs::makespan(data, s).is_some());
    judged.retain(|t| t.metric != MAKESPAN || jobs);
    // Missed deadlines come first.
    let missed =
        |t: &HeadlineMetric| t.metric == MISSED && cells(data, MISSED).iter().flatten().any(|c| c.mean > single_transport::LATE);
    judged.sort_by_key(|t| !missed(t));
    if let Some(nothing) = nothing(data) {
        return Headline { sentences: vec![nothing], charts: Vec::new() };
    }
    let mut sentences: Vec<String> = predicted(data).into_iter().collect();
    sentences.extend(measurement_gaps::began(data));
    let loads = loads(data);
    let deadlines = judged.first().is_some_and(missed);
    let unfinished = incomplete_workloads::sentences(data, &loads).into_iter().take(MAX_UNFINISHED);
    let (after, before): (Vec<_>, Vec<_>) = unfinished.partition(|(done, _)| deadlines && *done >= NEARLY_DONE);
    sentences.extend(before.into_iter().map(|(_, sentence)| sentence));
    sentences.extend(long_flow_starvation::sentences(data, &loads).into_iter().take(MAX_ENDLESS));
    let infeasible = judged.first().filter(|t| missed(t)).and_then(|_| deadlines::infeasible(data));
    let at = sentences.len();
    sentences.extend(if data.subjects.len() > 1 { compared(data, &judged) } else { single_transport::sentences(data) });
    let after = after.into_iter().map(|(_, sentence)| sentence);
    // After the sentence about late messages.
    infeasible.into_iter().chain(after).for_each(|s| sentences.insert(sentences.len().min(at + 1), s));
    // Groups of one network share its queue: it has no comparison.
    if data.subjects.len() > 1 && data.networks.len() == 1 && !data.flows.is_empty() {
        sentences.extend(single_transport::queue(data));
    }
    let alone = data.networks.len() == 1 && data.flows.windows(2).all(|f| f[0].subject == f[1].subject);
    sentences.truncate(MAX_SENTENCES);
    if let Some(warm) = measurement_gaps::warm(data) {
        sentences.truncate(MAX_SENTENCES - 1);
        sentences.push(warm);
    }
    if data.seeds() == 1 && data.subjects.len() > 1 && !alone && predicted(data).is_none() {
        sentences.truncate(MAX_SENTENCES - 1);
        sentences.push("Only one seed was run: differences may be due to chance.".into());
    }
    // Network events come with their consequences.
    sentences.extend(events(data));
    sentences.extend(bad_links::sentence(data));
    sentences.splice(0..0, known_figures::sentences(&data.known));
    // First, because without messages the most important sentence may be missing.
    sentences.splice(0..0, data.unread.iter().cloned());
    Headline { sentences, charts: charts(data, &judged) }
}

/// Network events, one sentence each while they are few.
fn events(data: &Data) -> Vec<String> {
    let mut lines = data.events.clone();
    let more = lines.len().saturating_sub(MAX_EVENTS);
    lines.truncate(MAX_EVENTS);
    if more > 0 {
        lines.push(format!("{} more in the table `events`", crate::format::count(more, "event")));
    }
    let sentence = |line: &String| format!("{}{}.", line[..1].to_uppercase(), &line[1..]);
    lines.iter().map(sentence).collect()
}

/// Marks the results of closed forms as predictions: such runs have no packets.
fn predicted(data: &Data) -> Option<String> {
    let computed = |n: &&Network| n.groups > 0 && data.values(n.first, "drops").is_empty() && !n.world.is_empty();
    let all: Vec<&Network> = data.networks.iter().filter(computed).collect();
    let world = &all.first()?.world;
    let whose = if all.len() == data.networks.len() {
        "These numbers are".to_owned()
    } else {
        format!("The numbers of {} are", list(&all.iter().map(|n| n.name.clone()).collect::<Vec<_>>()))
    };
    Some(format!("{whose} a {} of closed forms (backend {world}): nothing was simulated.", bold("prediction")))
}

/// Sentence about results without any traffic.
fn nothing(data: &Data) -> Option<String> {
    let own: Vec<bool> = metrics().map(|m| !m.shared && !m.label.is_empty()).collect();
    let numbers = || data.subjects.iter().flat_map(|s| s.values.iter().zip(&own)).filter(|(_, own)| **own).flat_map(|(v, _)| v);
    let silent =
        present(data, &GOODPUT) && numbers().all(|v| *v == 0.0) && data.flows.iter().all(|f| f.acked == 0 && f.size == 0);
    silent.then(|| format!("{}: no message started before the runs ended.", bold("Nothing was measured")))
}

fn present(data: &Data, t: &HeadlineMetric) -> bool {
    cells(data, t.metric).iter().any(Option::is_some)
}

/// True if some subject has endless flows.
fn long_flows(data: &Data) -> bool {
    cells(data, "long_flows").iter().flatten().any(|c| c.mean > 0.0)
}

fn compared(data: &Data, judged: &[HeadlineMetric]) -> Vec<String> {
    let mut out = Vec::new();
    let (comparisons, seeds) = (comparisons(data), data.seeds());
    let mut judged = judged.to_vec();
    if long_flows(data) && !data.shared() {
        judged.extend([GOODPUT, FAIRNESS]);
    }
    if judged.is_empty() && !long_flows(data) {
        judged.push(GOODPUT);
    }
    for (i, t) in judged.iter().enumerate() {
        for comparison in &comparisons {
            let judged_by = t.metric;
            let (t, cells) = known(data, t, &comparison.members);
            let unit = unit_of(t.metric);
            let Some(ranking) = compare(&cells, &comparison.members, t.better) else { continue };
            let ranking = comparison::paired(data, ranking, &t);
            out.extend(comparison::mean_apart(data, &t, &ranking, &cells).map(|s| comparison.prefix.clone() + &s));
            out.extend(median_apart(data, &t, &ranking, &cells, comparison));
            let tail = if t.metric == judged_by { None } else { comparison::longer_tail(data, &ranking, judged_by) };
            let mut sentence = comparison::sentence(data, &ranking, &cells, &t, unit, seeds);
            if t.metric == GOODPUT.metric
                && comparison::matters(&ranking, &cells)
                && let Some(cost) = retransmissions::cost(data, &ranking)
            {
                sentence = sentence.trim_end_matches('.').to_owned() + &cost + ".";
            }
            out.push(comparison.prefix.clone() + &sentence + &tail.unwrap_or_default());
            if i == 0 {
                let matters = comparison::matters(&ranking, &cells);
                out.extend(matters.then(|| comparison::why(data, comparison, &ranking)).flatten());
                out.extend(goodput_cost(data, &ranking, matters));
            }
        }
    }
    // Shares within a network come before less important sentences.
    let datagrams = |s: usize| {
        let text = single_transport::traffic(data, s).into_iter().next()?;
        Some(format!("{}: {text}", bold(&data.subjects[s].name)))
    };
    let datagrams = (0..data.subjects.len()).filter(|s| is_datagrams(data, *s) && !out.is_empty()).filter_map(datagrams);
    let shares = (0..data.networks.len()).filter_map(|n| share(data, n)).take(2).chain(datagrams.take(2)).collect::<Vec<_>>();
    let at = out.len().min(if judged.is_empty() { 0 } else { 2 });
    for (i, sentence) in shares.into_iter().enumerate() {
        out.insert(at + i, sentence);
    }
    let described = out.is_empty();
    if described {
        // The subjects have no metric in common: each is described.
        let of = |s: usize| {
            Some(format!("{}: {}", bold(&data.subjects[s].name), single_transport::traffic(data, s).into_iter().next()?))
        };
        let sent = |s: &usize| data.flows.is_empty() || data.flows.iter().any(|f| f.subject == *s);
        out.extend((0..data.subjects.len()).filter(sent).filter_map(of).take(MAX_SENTENCES - 1));
    }
    let told = out.iter().any(|s| s.contains(tail::WORDS));
    let tail = tail::compared(data).filter(|_| !told);
    let idle = application_limits::sentence(data);
    // A description has the limits.
    let limits = limited(data).filter(|_| !described);
    for (i, sentence) in limits.into_iter().chain(tail).chain(late_messages::sentence(data)).chain(idle).enumerate() {
        out.insert(out.len().min(comparisons.len() + i + 1), sentence);
    }
    // A ranking of such a transport is that of its response to losses.
    if let Some(sentence) = missing_marks::sentence(data) {
        out.insert(out.len().min(1), sentence);
    }
    out.extend(queue(data));
    out
}

/// Sentence about the medians where these differ clearly and the 99th percentiles do not: of a few messages, these are the largest.
fn median_apart(
    data: &Data,
    t: &HeadlineMetric,
    ranking: &Ranking,
    cells: &[Option<Cell>],
    comparison: &Comparison,
) -> Option<String> {
    let (median, cells, ranking) = telling_median(data, t, (ranking, cells), comparison)?;
    let sentence = comparison::sentence(data, &ranking, &cells, &median, unit_of(median.metric), data.seeds());
    Some(comparison.prefix.clone() + &sentence)
}

/// The median of `t`, its values and their ranking, if the medians differ clearly and the values of `t`, with their ranking, do not.
fn telling_median(
    data: &Data,
    t: &HeadlineMetric,
    (ranking, cells): (&Ranking, &[Option<Cell>]),
    comparison: &Comparison,
) -> Option<(HeadlineMetric, Vec<Option<Cell>>, Ranking)> {
    if comparison::matters(ranking, cells) {
        return None;
    }
    let (_, median) = MEDIANS.iter().find(|(of, _)| *of == t.metric)?;
    let (median, cells) = known(data, median, &comparison.members);
    let ranking = compare(&cells, &comparison.members, median.better)?;
    let mean = |i: &usize| cells[*i].map_or(f64::NAN, |c| c.mean);
    let apart = ranking.worse.iter().any(|w| mean(w) > MEDIANS_APART * mean(&ranking.best));
    apart.then_some((median, cells, ranking))
}

/// The median that the sentence about `t` names first, in some comparison.
fn named_median(data: &Data, t: &HeadlineMetric) -> Option<HeadlineMetric> {
    comparisons(data).iter().find_map(|comparison| {
        let (t, cells) = known(data, t, &comparison.members);
        let ranking = comparison::paired(data, compare(&cells, &comparison.members, t.better)?, &t);
        telling_median(data, &t, (&ranking, &cells), comparison).map(|(median, ..)| median)
    })
}

/// The long flows of each subject that their windows or buffers limit.
fn limited(data: &Data) -> Option<String> {
    let one = |s: usize| {
        let limits = long_flow_limits::limits(data, s, None).filter(|l| l.is_other_than_link(data))?;
        Some(format!("{}: {}", data.subjects[s].name, limits.words(data)?))
    };
    let each: Vec<String> = (0..data.subjects.len()).filter_map(one).take(MAX_LIMITED).collect();
    (!each.is_empty()).then(|| format!("Limits of long flows: {}.", each.join("; ")))
}

/// The metric and its values, or the median in its place if all tails are lower bounds.
fn known(data: &Data, t: &HeadlineMetric, members: &[usize]) -> (HeadlineMetric, Vec<Option<Cell>>) {
    let tight = |metric: &str| {
        let mut cells = cells(data, metric);
        mark_tight_bounds(data, metric, &mut cells);
        cells
    };
    let own = tight(t.metric);
    let open = |cells: &[Option<Cell>]| members.iter().filter_map(|m| cells[*m]).all(|c| c.at_least && !c.tight);
    let median = MEDIANS.iter().find(|(of, _)| *of == t.metric).map(|(_, m)| (*m, tight(m.metric)));
    match median.filter(|(_, of_median)| open(&own) && !open(of_median)) {
        Some(median) => median,
        None => (*t, own),
    }
}

/// The endless workload that loses most goodput with the best transport compared with another one, if each has its own network. It is the price of a
/// lead only if `leads`.
fn goodput_cost(data: &Data, s: &Ranking, leads: bool) -> Option<String> {
    if data.shared() || s.worse.is_empty() {
        return None;
    }
    let all = workload_shares(data);
    let endless = |c: &&WorkloadShare| c.count.of == 0;
    let price = |own: &WorkloadShare| {
        let others = all.iter().filter(endless).filter(|c| c.name == own.name && c.subject != own.subject);
        let (here, most) = (own.goodput?, others.max_by(|a, b| mean_of(a).total_cmp(&mean_of(b)))?);
        let less = here.mean < PAYS * mean_of(most) && !here.meets(&most.goodput?);
        less.then(|| {
            let with = |c: &WorkloadShare| {
                format!("{} with {}", quantity(mean_of(c), Dimension::BitsPerSecond), data.subjects[c.subject].name)
            };
            let loses = if leads { "loses goodput in return" } else { "has different goodputs" };
            (here.mean / mean_of(most), format!("{} {loses}: {}, {}.", bold(&own.name), with(own), with(most)))
        })
    };
    let own = all.iter().filter(endless).filter(|c| c.subject == s.best);
    own.filter_map(price).min_by(|a, b| a.0.total_cmp(&b.0)).map(|p| p.1)
}

fn mean_of(c: &WorkloadShare) -> f64 {
    c.goodput.map_or(0.0, |g| g.mean)
}

fn unit_of(metric: &str) -> crate::dimension::Dimension {
    metrics().find(|m| m.name == metric).map(|m| m.unit).unwrap_or_default()
}

/// Comparisons. All subjects are compared if each network has one group, or in a single network. Otherwise equal groups of all networks are
/// compared: by position if all networks have the same number of groups, because names follow the congestion control, else by name.
fn comparisons(data: &Data) -> Vec<Comparison> {
    let all: Vec<usize> = (0..data.subjects.len()).collect();
    if !data.shared() || data.networks.len() == 1 {
        return vec![Comparison { prefix: String::new(), members: all }];
    }
    let alike = data.networks.iter().all(|n| n.groups == data.networks[0].groups);
    let key = |s: usize| if alike { (s - data.network_of(s).first).to_string() } else { data.subjects[s].group.clone() };
    let mut out: Vec<(String, Vec<usize>)> = Vec::new();
    for s in all {
        match out.iter_mut().find(|(k, _)| *k == key(s)) {
            Some((_, members)) => members.push(s),
            None => out.push((key(s), vec![s])),
        }
    }
    let comparison = |members: Vec<usize>| {
        let group = &data.subjects[members[0]].group;
        let named = members.iter().all(|m| data.subjects[*m].group == *group);
        Comparison { prefix: if named { format!("For {}: ", bold(group)) } else { String::new() }, members }
    };
    out.into_iter().map(|c| c.1).filter(|m| m.len() > 1).take(2).map(comparison).collect()
}

/// True for a group of datagrams.
fn is_datagrams(data: &Data, subject: usize) -> bool {
    !data.values(subject, "datagrams_lost").is_empty()
}

/// Shares of the groups of a network, by their long flows.
fn share(data: &Data, network: usize) -> Option<String> {
    let n = &data.networks[network];
    let all = n.first..n.first + n.groups;
    // Datagrams have a rate of their own and no share.
    let members: Vec<usize> = all.clone().filter(|s| !is_datagrams(data, *s)).collect();
    let cells = cells(data, SHARE.metric);
    let s = compare(&cells, &members, Better::More)?;
    let name = |i: &usize| data.subjects[*i].group.clone();
    let value = |i: &usize| cells[*i].map_or(f64::NAN, |c: Cell| c.mean);
    let text = |i: &usize| quantity(value(i), unit_of(SHARE.metric));
    let place = if n.name.is_empty() { "A".to_owned() } else { format!("{}: a", n.name) };
    let mut out = match (s.worse.as_slice(), value(s.worse.last().unwrap_or(&s.best))) {
        ([], _) => {
            let all = || std::iter::once(&s.best).chain(&s.tied);
            let difference = Difference::widest(data, &s, SHARE.metric);
            if let Some(d) = difference.filter(|d| !d.is_narrow() && s.has_intervals) {
                // No difference is shown, and none is excluded.
                let each: Vec<String> = all().map(|i| format!("{} in {}", text(i), name(i))).collect();
                return Some(format!(
                    "{place} long flow gets {}: too few runs to rank the groups; {}.",
                    list(&each),
                    d.words(data.seeds())
                ));
            }
            let names: Vec<String> = all().map(name).collect();
            let (low, high) = (text(s.tied.last().unwrap_or(&s.best)), text(&s.best));
            format!(
                "{place} long flow gets the same goodput in {} within the accuracy of {} seeds: {low} to {high}",
                list(&names),
                data.seeds()
            )
        }
        (behind, least) if value(&s.best) <= NEARLY_EQUAL * least => {
            let names: Vec<String> = std::iter::once(&s.best).chain(&s.tied).chain(behind).map(name).collect();
            let (low, high) = (text(behind.last().unwrap_or(&s.best)), text(&s.best));
            let range = if low == high { low } else { format!("{low} to {high}") };
            format!("{place} long flow gets nearly the same goodput in {}: {range}", list(&names))
        }
        (behind, least) if least > 0.0 => {
            let one =
                |b: &usize| format!("{} that of one of {} ({})", comparison::times(value(&s.best), value(b)), name(b), text(b));
            let each: Vec<String> = behind.iter().take(3).map(one).collect();
            format!("{place} long flow of {} gets {}, {}", bold(&name(&s.best)), bold(&text(&s.best)), list(&each))
        }
        (behind, _) => {
            let names: Vec<String> = behind.iter().map(|b| format!("{} {}", name(b), text(b))).collect();
            format!("{place} long flow of {} gets {}, one of {}", bold(&name(&s.best)), bold(&text(&s.best)), list(&names))
        }
    };
    out += &totals(data, &members).unwrap_or_default();
    if let Some(jain) = crate::cells::cell(data.values(n.first, "fairness_all")).filter(|_| members.len() == all.len()) {
        out += &format!("; Jain's fairness index over all long flows is {}", crate::format::number(jain.mean));
    }
    Some(out + ".")
}

/// `; 2 of gold have 7.06 Gbit/s in total, 6 of bronze 2.35 Gbit/s`, for groups with different numbers of long flows and nothing else: queues with
/// weights divide a link among groups and not among flows.
fn totals(data: &Data, members: &[usize]) -> Option<String> {
    let mean = |s: &usize, metric: &str| cells(data, metric)[*s].map(|c| c.mean);
    let flows: Vec<f64> = members.iter().map(|s| mean(s, "long_flows")).collect::<Option<_>>()?;
    let others = data.flows.iter().any(|f| f.size > 0 && members.contains(&f.subject));
    if others || flows.iter().all(|n| *n == flows[0]) || members.len() > MAX_LIMITED {
        return None;
    }
    let one = |(i, (s, n)): (usize, (&usize, &f64))| {
        let have = match (i, *n == 1.0) {
            (0, true) => " has",
            (0, false) => " have",
            _ => "",
        };
        let total = quantity(mean(s, GOODPUT.metric)?, unit_of(GOODPUT.metric));
        let in_total = if i == 0 { " in total" } else { "" };
        Some(format!("{} of {}{have} {total}{in_total}", crate::format::number(*n), data.subjects[*s].group))
    };
    let each: Option<Vec<String>> = members.iter().zip(&flows).enumerate().map(one).collect();
    Some(format!("; {}", each?.join(", ")))
}

/// The transport with the shortest queue.
fn queue(data: &Data) -> Option<String> {
    let firsts: Vec<usize> = data.networks.iter().map(|n| n.first).collect();
    // Queues of idle time are not comparable with those of traffic.
    if !measurement_gaps::silent(data).is_empty() {
        return None;
    }
    let cells = cells(data, QUEUE.metric);
    let s = compare(&cells, &firsts, QUEUE.better).filter(|s| comparison::matters(s, &cells))?;
    let value = |i: usize| cells[i].map_or(f64::NAN, |c: Cell| c.mean);
    if !s.worse.iter().any(|&b| value(b) > FEW_PACKETS) {
        return None;
    }
    let name = |i: usize| data.network_label(data.subjects[i].network);
    let port = &data.network_of(s.best).port;
    let at = if port.is_empty() || data.networks.iter().any(|n| n.port != *port) { String::new() } else { format!(" at {port}") };
    let others: Vec<String> =
        s.worse.iter().take(3).map(|&b| format!("{} with {}", crate::format::number(value(b)), name(b))).collect();
    Some(format!(
        "The queue{at} is shortest with {}: {} at the 99th percentile, against {}.",
        bold(&name(s.best)),
        bold(&quantity(value(s.best), unit_of(QUEUE.metric))),
        list(&others)
    ))
}

fn charts(data: &Data, judged: &[HeadlineMetric]) -> Vec<HeadlineChart> {
    let any = |t: &HeadlineMetric| cells(data, t.metric).iter().flatten().any(|c| c.mean > 0.0);
    let mut chosen: Vec<HeadlineMetric> = Vec::new();
    for t in judged {
        // In the order of the sentences.
        chosen.extend(named_median(data, t));
        chosen.push(*t);
        if BY_TRAFFIC[0].iter().any(|q| q.metric == t.metric) {
            chosen.push(TIMEOUTS);
        }
        if t.metric == "fct_small_p99_s" {
            chosen.push(SMALL_MEAN);
        }
    }
    if data.shared() {
        chosen.push(SHARE);
    } else {
        chosen.extend(if long_flows(data) { vec![GOODPUT, FAIRNESS] } else { vec![] });
    }
    if data.networks.len() > 1 || data.subjects.len() == 1 {
        chosen.push(QUEUE);
    }
    chosen.push(GOODPUT);
    chosen.retain(any);
    let mut out: Vec<HeadlineChart> = Vec::new();
    for t in chosen {
        let Some(m) = metrics().find(|m| m.name == t.metric) else { continue };
        let port = &data.networks.first().map_or("", |n| n.port.as_str());
        let title = if m.shared && !port.is_empty() { format!("{}, {port}", m.label) } else { m.label.to_owned() };
        let better = match t.better {
            // A larger share of one group is a smaller share of the others.
            Better::More if data.shared() => "",
            Better::More => "more is better",
            Better::Less => "less is better",
            Better::Neither => "",
        };
        if out.iter().all(|c| c.title != title) {
            out.push(HeadlineChart { title, unit: m.unit, better: better.into(), values: cells(data, t.metric) });
        }
    }
    out.truncate(MAX_CHARTS);
    out
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
