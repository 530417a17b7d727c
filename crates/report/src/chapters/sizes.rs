//! Completion times and slowdowns by message size.

use super::reduce::short;
use crate::page::{Axis, BarChart, Bars, Chart, Dimension, Figure, View};
use forebay_analysis::{Data, Flow};
use forebay_store::bins::{Bins, Rule};
use forebay_store::stats::quantile;

/// Population of messages: messages of queries wait for each other and would hide the others.
#[derive(Clone, Copy)]
struct Population {
    id: &'static str,
    what: &'static str,
    in_query: bool,
}

const POPULATIONS: [Population; 2] = [
    Population { id: "flows", what: "messages outside queries", in_query: false },
    Population { id: "queries", what: "messages of queries", in_query: true },
];

/// A quantity of messages.
#[derive(Clone, Copy)]
struct Quantity {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: Dimension,
    get: fn(&Flow) -> Option<f64>,
}

const QUANTITIES: [Quantity; 2] = [
    Quantity { id: "fct", title: "Completion time by size", axis: "completion time", unit: Dimension::Seconds, get: |f| f.fct },
    Quantity { id: "slowdown", title: "Slowdown by size", axis: "slowdown", unit: Dimension::Ratio, get: |f| f.slowdown },
];

/// Bar charts of both quantities, for each population with data; one view per rule.
pub(super) fn figures(data: &Data) -> Vec<Figure> {
    let mut out = Vec::new();
    for p in POPULATIONS {
        let flows: Vec<&Flow> = data.flows.iter().filter(|f| f.size > 0 && f.in_query == p.in_query).collect();
        let mut sizes: Vec<u64> = flows.iter().map(|f| f.size).collect();
        if !flows.iter().any(|f| f.complete()) {
            continue;
        }
        sizes.sort_unstable();
        let cuts: Vec<(Rule, Bins)> = Rule::ALL.into_iter().map(|r| (r, r.cut(&sizes))).collect();
        out.extend(QUANTITIES.iter().map(|q| figure(data, p, *q, &flows, &cuts)));
    }
    out
}

fn figure(data: &Data, p: Population, q: Quantity, flows: &[&Flow], cuts: &[(Rule, Bins)]) -> Figure {
    let binned: Vec<Binned> = cuts.iter().map(|(_, bins)| Binned::of(data, q, flows, bins)).collect();
    let mut views = Vec::new();
    for mean in [false, true] {
        for ((rule, bins), binned) in cuts.iter().zip(&binned) {
            let name = if mean { format!("{}: means", rule.name()) } else { rule.name().to_owned() };
            views.push(View { name, chart: Chart::Bars(binned.chart(q, bins, mean)) });
        }
    }
    Figure {
        id: format!("{}-by-size-{}", q.id, p.id),
        title: format!("{}, {}", q.title, p.what),
        text: format!(
            "Messages of all seeds together. A bar is the median and its mark the 99th percentile of all that started, with an arrow \
             where unfinished messages make it a lower bound; or the bar is the mean of those that finished. Automatic bins: {}",
            lower(&cuts[0].1.note)
        ),
        choice: "size bins".into(),
        views,
    }
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// Values per subject and bin, sorted; unfinished messages are infinite.
struct Binned(Vec<Vec<Vec<f64>>>);

/// The values of finished messages among sorted ones.
fn finished(sorted: &[f64]) -> &[f64] {
    &sorted[..sorted.partition_point(|v| v.is_finite())]
}

/// A quantile of all messages, and true if it is a lower bound: the longest time of a finished message, where an unfinished one has that rank.
fn bounded(sorted: &[f64], p: f64) -> Option<(f64, bool)> {
    match quantile(sorted, p) {
        Some(v) if v.is_finite() => Some((v, false)),
        _ => finished(sorted).last().map(|v| (*v, true)),
    }
}

impl Binned {
    fn of(data: &Data, q: Quantity, flows: &[&Flow], bins: &Bins) -> Binned {
        let mut values = vec![vec![Vec::new(); bins.bins.len()]; data.subjects.len()];
        for f in flows {
            let value = if f.complete() { (q.get)(f) } else { Some(f64::INFINITY) };
            if let (Some(bin), Some(v)) = (bins.of(f.size), value) {
                values[f.subject][bin].push(v);
            }
        }
        values.iter_mut().flatten().for_each(|v| v.sort_unstable_by(f64::total_cmp));
        Binned(values)
    }

    fn chart(&self, q: Quantity, bins: &Bins, mean: bool) -> BarChart {
        let bars = |(subject, of): (usize, &Vec<Vec<f64>>)| {
            let average = |v: &[f64]| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
            let part = |p: f64| -> (Vec<Option<f64>>, Vec<bool>) {
                of.iter().map(|v| bounded(v, p).map_or((None, false), |(v, at_least)| (Some(short(v)), at_least))).unzip()
            };
            let ((value, value_at_least), (mark, mark_at_least)) = if mean {
                let means = of.iter().map(|v| average(finished(v)).map(short)).collect();
                ((means, Vec::new()), (Vec::new(), Vec::new()))
            } else {
                (part(0.5), part(0.99))
            };
            Bars {
                subject,
                value,
                mark,
                mark_name: if mean { String::new() } else { "p99".into() },
                value_at_least,
                mark_at_least,
                n: of.iter().map(|v| Some(v.len() as u64)).collect(),
                ends: Vec::new(),
            }
        };
        let tops = self.0.iter().flatten().filter_map(|v| finished(v).last()).copied();
        let bottoms = self.0.iter().flatten().filter_map(|v| finished(v).first()).copied();
        let wide = tops.fold(0.0, f64::max) > 100.0 * bottoms.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
        let statistic = if mean { "mean" } else { "median" };
        BarChart {
            x_title: "message length".into(),
            y: Axis { title: format!("{statistic} {}", q.axis), unit: q.unit, log: wide },
            categories: bins.bins.iter().map(|b| b.label.clone()).collect(),
            series: self.0.iter().enumerate().filter(|(_, of)| of.iter().any(|v| !finished(v).is_empty())).map(bars).collect(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use forebay_analysis::{Network, Run, Subject};

    /// Two transports with `n` messages each: the i-th of i KB takes i ms (the second transport: twice as long).
    pub(crate) fn data(n: u64) -> Data {
        let mut d = Data::default();
        for (i, name) in ["reno", "dctcp"].into_iter().enumerate() {
            d.networks.push(Network { name: name.into(), first: i, groups: 1, ..Network::default() });
            d.subjects.push(Subject { name: name.into(), network: i, ..Subject::default() });
            d.runs.push(Run { network: i, end_ns: 10_000_000_000, ..Run::default() });
            let flow = |k: u64| Flow {
                subject: i,
                run: i,
                size: k * 1_000,
                acked_ns: Some(5),
                fct: Some(k as f64 * 1e-3 * (i + 1) as f64),
                slowdown: Some((i + 1) as f64),
                measured: 0,
                ..Flow::default()
            };
            d.flows.extend((1..=n).map(flow));
        }
        d
    }

    fn bars(view: &View) -> &BarChart {
        let Chart::Bars(c) = &view.chart else { panic!("no bars") };
        c
    }

    #[test]
    fn medians_and_tails_by_four_rules() {
        let mut d = data(200);
        d.flows[0].fct = None;
        let all = figures(&d);
        assert_eq!(all.iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["fct-by-size-flows", "slowdown-by-size-flows"]);
        let names: Vec<&str> = all[0].views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[..4], ["automatic", "small / medium / large", "equal counts", "by message length"]);
        assert_eq!(names[4], "automatic: means");
        // Small: 1 to 100 KB, of which the first of reno did not arrive.
        let c = bars(&all[0].views[1]);
        assert_eq!(c.categories, ["small <= 100 KB", "medium"]);
        assert_eq!((c.series[0].n[0], c.series[1].n[0]), (Some(100), Some(100)));
        assert_eq!((c.series[0].value[0], c.series[1].value[0]), (Some(0.0515), Some(0.101)));
        // The 99th percentile of 100 messages lies between the longest that finished and the one that did not.
        assert_eq!((c.series[0].mark[0], c.series[0].mark_at_least[0]), (Some(0.1), true));
        assert!(!c.series[1].mark_at_least[0] && !c.series[0].value_at_least[0]);
        assert_eq!(c.series[1].mark[0], Some(short(0.198 + 0.01 * 2e-3)));
        let means = bars(&all[0].views[5]);
        assert_eq!((means.series[1].value[0], means.series[1].mark.len()), (Some(0.101), 0));
        assert_eq!(bars(&all[1].views[1]).series[1].value, [Some(2.0), Some(2.0)]);
        assert!(all[0].text.contains("equally many"), "{}", all[0].text);
    }

    #[test]
    fn query_messages_have_own_figures() {
        let mut d = data(4);
        d.flows.iter_mut().take(4).for_each(|f| f.in_query = true);
        let ids: Vec<String> = figures(&d).into_iter().map(|f| f.id).collect();
        assert_eq!(ids.len(), 4);
        assert!(ids.contains(&"fct-by-size-queries".to_owned()), "{ids:?}");
        assert!(figures(&Data::default()).is_empty());
    }
}
