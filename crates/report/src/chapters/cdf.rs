//! Cumulative distributions: exact order statistics, thinned where the curve is steady and denser toward the tail.

use super::owner::colour;
use super::reduce::short;
use crate::page::{Axis, Chart, Dimension, Figure, LineChart, View, XyLine};
use forebay_analysis::{Data, Flow};
use forebay_store::stats::SizeBin;

/// Maximum number of points of a line.
const POINTS: usize = 200;
/// Number of points spread evenly over all values; the others lie toward the tail.
const BODY: usize = 110;
/// Values within this factor have a linear axis; on it, those of a wider range would be a stroke at its left end.
const DECADE: f64 = 10.0;
/// Maximum number of ports with a view of their queue's distribution.
const MAX_PORTS: usize = 24;

/// All distributions with data.
pub(super) fn figures(data: &Data) -> Vec<Figure> {
    let flows = |keep: &dyn Fn(&Flow) -> bool, get: fn(&Flow) -> Option<f64>| -> Samples {
        let mut samples = Samples::new(data);
        for f in data.flows.iter().filter(|f| f.size > 0 && keep(f)) {
            match get(f).filter(|_| f.complete()) {
                Some(v) => samples.add(f.subject, v),
                None => samples.add_unfinished(f.subject),
            }
        }
        samples
    };
    let by_class = |get: fn(&Flow) -> Option<f64>, axis: &Axis| -> Vec<Option<View>> {
        let mut views = vec![view("all sizes", flows(&|f| !f.in_query, get), axis, data)];
        for bin in SizeBin::ALL {
            views.push(view(bin.label(), flows(&|f| !f.in_query && SizeBin::of(f.size) == bin, get), axis, data));
        }
        // A single class equals the view of all sizes.
        if views.iter().flatten().count() == 2 {
            views.truncate(1);
        }
        views
    };
    let axis = |title: &str, unit| Axis { title: title.into(), unit, log: false };
    let fct = axis("completion time", Dimension::Seconds);
    let mut out = vec![
        figure("cdf-queries", "Query completion times", "", vec![view("", queries(data), &fct, data)]),
        figure("cdf-fct", "Completion times", "size", by_class(|f| f.fct, &fct)),
        figure("cdf-slowdown", "Slowdowns", "size", by_class(|f| f.slowdown, &axis("slowdown", Dimension::Ratio))),
        figure("cdf-query-messages", "Completion times of messages in queries", "", {
            vec![view("", flows(&|f| f.in_query, |f| f.fct), &fct, data)]
        }),
        figure("cdf-goodput", "Goodput of long flows", "", {
            vec![view("", goodputs(data), &axis("goodput while active", Dimension::BitsPerSecond), data)]
        }),
        figure("cdf-queue", "Queue, all samples", "port", queues(data)),
    ];
    out.retain(|f| !f.views.is_empty());
    out.iter_mut().filter(|f| f.id != "cdf-goodput" && f.id != "cdf-queue").for_each(add_tail);
    out
}

/// Minimum number of points for a view of the tail.
const LEAST_TAIL: usize = 20;

/// Adds the first view again as the fraction larger, on a logarithmic scale: the distance between 0.01 and 0.001 equals that between 0.1 and 0.01.
fn add_tail(figure: &mut Figure) {
    let Some(View { name, chart: Chart::Lines(whole) }) = figure.views.first() else { return };
    if whole.lines.iter().all(|l| l.x.len() < LEAST_TAIL) {
        return;
    }
    let beyond = |l: &XyLine| {
        // The largest value has fraction 0, which does not exist on a logarithmic scale.
        let kept = l.x.iter().zip(&l.y).filter_map(|(x, y)| Some((*x, 1.0 - (*y)?))).filter(|(_, y)| *y > 1e-9);
        let (x, y): (Vec<f64>, Vec<Option<f64>>) = kept.map(|(x, y)| (x, Some(short(y)))).unzip();
        XyLine { x, y, ..l.clone() }
    };
    let y = Axis { title: "fraction larger".into(), unit: Dimension::Fraction, log: true };
    let chart = Chart::Lines(LineChart { y, lines: whole.lines.iter().map(beyond).collect(), ..whole.clone() });
    let of = if name.is_empty() { String::new() } else { format!(", {name}") };
    let view = View { name: format!("tail{of}"), chart };
    if figure.choice.is_empty() {
        figure.choice = "range".into();
        figure.views[0].name = "all".into();
    }
    figure.views.push(view);
}

fn figure(id: &str, title: &str, choice: &str, views: Vec<Option<View>>) -> Figure {
    let views: Vec<View> = views.into_iter().flatten().collect();
    let choice = if views.len() > 1 { choice.to_owned() } else { String::new() };
    let text = "Fraction of values at most as large, of all that started; all seeds together.".to_owned();
    Figure { id: id.into(), title: title.into(), text, choice, views }
}

/// Values per subject, and the number of unfinished ones, which are larger than all others as far as known.
struct Samples(Vec<Vec<f64>>, Vec<usize>);

impl Samples {
    fn new(data: &Data) -> Samples {
        Samples(vec![Vec::new(); data.subjects.len()], vec![0; data.subjects.len()])
    }

    fn add_unfinished(&mut self, subject: usize) {
        self.1[subject] += 1;
    }

    fn add(&mut self, subject: usize, value: f64) {
        self.0[subject].push(value);
    }
}

fn view(name: &str, samples: Samples, x: &Axis, data: &Data) -> Option<View> {
    lines(name, samples, x, &|subject| (Some(subject), data.subjects[subject].name.clone()))
}

/// `whose` returns the name of a subject's line, and true if the line belongs to this subject alone.
fn lines(name: &str, mut samples: Samples, x: &Axis, whose: &dyn Fn(usize) -> (Option<usize>, String)) -> Option<View> {
    samples.0.iter_mut().for_each(|v| v.sort_unstable_by(f64::total_cmp));
    let lowest = samples.0.iter().filter_map(|v| v.first()).copied().fold(f64::INFINITY, f64::min);
    let highest = samples.0.iter().filter_map(|v| v.last()).copied().fold(0.0, f64::max);
    let lines: Vec<XyLine> = samples
        .0
        .iter()
        .enumerate()
        .filter(|(_, v)| !v.is_empty())
        .map(|(which, v)| {
            let (subject, label) = whose(which);
            let label = match samples.1[which] {
                0 => label,
                open => format!("{label} ({} of {} finished)", v.len(), v.len() + open),
            };
            XyLine { subject, label, ..distribution(v, samples.1[which]) }
        })
        .collect();
    let log = lowest > 0.0 && highest > DECADE * lowest;
    let chart = LineChart {
        x: Axis { log, ..x.clone() },
        y: Axis { title: "cumulative fraction".into(), unit: Dimension::Fraction, log: false },
        points: false,
        lines,
    };
    (!chart.lines.is_empty()).then(|| View { name: name.into(), chart: Chart::Lines(chart) })
}

/// The distribution of `sorted` values: at most about [`POINTS`] of them, each with the fraction of values at most as large. Of all values, `open`
/// are unfinished, so that the line ends below 1.
fn distribution(sorted: &[f64], open: usize) -> XyLine {
    let mut line = XyLine::default();
    for rank in ranks(sorted.len()) {
        let x = short(sorted[rank]);
        // For repeated values the largest rank counts.
        let above = sorted.partition_point(|v| *v <= sorted[rank]);
        let y = short(above as f64 / (sorted.len() + open) as f64);
        if line.x.last() == Some(&x) {
            line.y.pop();
            line.x.pop();
        }
        line.x.push(x);
        line.y.push(Some(y));
    }
    // Complete data, or few distinct values, give a step curve.
    line.step = sorted.len() <= POINTS || line.x.len() < POINTS / 4;
    line
}

/// Indices into `n` sorted values: all if there are few; else evenly spread ones, and ones whose distance from the end shrinks geometrically.
fn ranks(n: usize) -> Vec<usize> {
    if n <= POINTS {
        return (0..n).collect();
    }
    let body = (0..BODY).map(|i| i * (n - 1) / (BODY - 1));
    let tail = POINTS - BODY;
    // From a tenth of all values to 1 in 10 000, or to the last one if there are fewer.
    let (from, to) = (n as f64 * 0.1, (n as f64 * 1e-4).max(1.0));
    let tail = (0..tail).map(|i| {
        let left = from * (to / from).powf(i as f64 / (tail - 1) as f64);
        n - (left.round() as usize).clamp(1, n)
    });
    let mut ranks: Vec<usize> = body.chain(tail).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Completion times of queries, for each group with messages in them.
fn queries(data: &Data) -> Samples {
    let mut samples = Samples::new(data);
    for q in &data.queries {
        let network = &data.networks[data.runs[q.run].network];
        for g in (0..network.groups).filter(|g| q.groups >> g.min(&63) & 1 == 1) {
            match q.qct {
                Some(took) => samples.add(network.first + g, took),
                None => samples.add_unfinished(network.first + g),
            }
        }
    }
    samples
}

/// Goodputs of endless flows, each over the part of the measured time in which it was active.
fn goodputs(data: &Data) -> Samples {
    let mut samples = Samples::new(data);
    for f in data.flows.iter().filter(|f| f.size == 0) {
        let run = &data.runs[f.run];
        let (from, to) = (f.start_ns.max(run.measured_from_ns), f.acked_ns.map_or(run.end_ns, |acked| acked.min(run.end_ns)));
        if from < to {
            samples.add(f.subject, f.measured as f64 * 8e9 / (to - from) as f64);
        }
    }
    samples
}

/// Distributions of the sampled queues, one view per port.
fn queues(data: &Data) -> Vec<Option<View>> {
    let mut ports: Vec<&str> = Vec::new();
    data.queues.iter().for_each(|q| {
        if !ports.contains(&q.port.as_str()) {
            ports.push(&q.port)
        }
    });
    let axis = Axis { title: "packets waiting and in service".into(), unit: Dimension::Packets, log: false };
    let of = |port: &str| {
        // The queue belongs to all groups of a network and is assigned to the first.
        let mut samples = Samples::new(data);
        for q in data.queues.iter().filter(|q| q.port == port) {
            let run = &data.runs[q.run];
            let warm = q.times.partition_point(|t| *t < run.measured_from_ns);
            samples.0[data.networks[run.network].first].extend(&q.pkts[warm..]);
        }
        let whose = |s: usize| {
            let network = data.subjects[s].network;
            (colour(data, network), data.network_label(network))
        };
        lines(port, samples, &axis, &whose)
    };
    ports.iter().take(MAX_PORTS).map(|p| of(p)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sizes::tests::data;
    use super::*;
    use forebay_analysis::{Query, QueueSeries};

    fn chart(figure: &Figure, view: usize) -> &LineChart {
        let Chart::Lines(c) = &figure.views[view].chart else { panic!("no lines") };
        c
    }

    #[test]
    fn few_values_are_all_there() {
        let line = distribution(&[1.0, 2.0, 2.0, 4.0], 0);
        assert_eq!((line.x, line.y, line.step), (vec![1.0, 2.0, 4.0], vec![Some(0.25), Some(0.75), Some(1.0)], true));
    }

    #[test]
    fn unfinished_values_lower_the_end() {
        assert_eq!(distribution(&[1.0, 2.0], 2).y, vec![Some(0.25), Some(0.5)]);
    }

    #[test]
    fn many_values_keep_the_tail() {
        let sorted: Vec<f64> = (1..=100_000).map(f64::from).collect();
        let line = distribution(&sorted, 0);
        assert!(line.x.len() <= POINTS && line.x.len() > 150 && !line.step, "{}", line.x.len());
        assert_eq!((line.x[0], line.x.last()), (1.0, Some(&100_000.0)));
        // Exact order statistics: here the fraction at most as large as x is x itself, to the precision kept.
        for (x, y) in line.x.iter().zip(&line.y) {
            assert!((x / 1e5 - y.unwrap()).abs() < 2e-5, "{x} {y:?}");
        }
        assert!(line.x.windows(2).all(|w| w[0] < w[1]));
        let beyond = line.y.iter().flatten().filter(|y| **y > 0.99).count();
        assert!(beyond > 50, "{beyond} points in the last hundredth");
        assert!(line.y.iter().flatten().any(|y| (0.999_85..0.999_95).contains(y)), "the 99.99th percentile");
    }

    #[test]
    fn repeated_values_merge() {
        let mut sorted = vec![0.0; 900];
        sorted.extend(vec![7.0; 100]);
        let line = distribution(&sorted, 0);
        assert_eq!((line.x, line.y, line.step), (vec![0.0, 7.0], vec![Some(0.9), Some(1.0)], true));
    }

    #[test]
    fn completion_times_by_size_class() {
        let all = figures(&data(150));
        let ids: Vec<&str> = all.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["cdf-fct", "cdf-slowdown"]);
        let names: Vec<&str> = all[0].views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["all sizes", "small <= 100 KB", "medium", "tail, all sizes"]);
        // 150 times each: 149 of 150 are above the smallest, 1 of 150 above the last but one.
        let tail = chart(&all[0], 3);
        let line = &tail.lines[0];
        assert!(tail.y.log && line.x.len() == 149, "{}", line.x.len());
        assert_eq!((line.y[0], line.y[148]), (Some(short(149.0 / 150.0)), Some(short(1.0 - short(149.0 / 150.0)))));
        let c = chart(&all[0], 1);
        assert_eq!((c.lines.len(), c.lines[1].label.as_str(), c.lines[1].x.len()), (2, "dctcp", 100));
        assert!(c.x.log, "1 to 200 ms");
        // A single class has no choice of views.
        let few = figures(&data(5));
        assert_eq!((few[0].views.len(), few[0].choice.as_str()), (1, ""));
    }

    #[test]
    fn queries_goodputs_and_queues() {
        let mut d = data(1);
        d.queries.push(Query {
            run: 1,
            class: Some(0),
            start_ns: 0,
            qct: Some(0.5),
            bytes: 1,
            groups: 1,
            receiver: Some(0),
            ..Query::default()
        });
        d.queries.push(Query {
            run: 1,
            class: Some(0),
            start_ns: 0,
            qct: None,
            bytes: 1,
            groups: 1,
            receiver: Some(0),
            ..Query::default()
        });
        d.runs[0].measured_from_ns = 2_000_000_000;
        // 1 Gbit in the 4 s from 2 s to 6 s.
        d.flows.push(Flow { size: 0, fct: None, acked_ns: Some(6_000_000_000), measured: 125_000_000, ..d.flows[0] });
        let times = vec![0, 2_000_000_000, 3_000_000_000];
        d.queues.push(QueueSeries { run: 0, port: "p".into(), times, pkts: vec![50.0, 1.0, 2.0], ..QueueSeries::default() });
        let all = figures(&d);
        let of = |id: &str| chart(all.iter().find(|f| f.id == id).unwrap(), 0).lines.clone();
        assert_eq!((of("cdf-queries")[0].subject, &of("cdf-queries")[0].x), (Some(1), &vec![0.5]));
        assert_eq!(of("cdf-goodput")[0].x, [2.5e8]);
        assert_eq!(of("cdf-queue")[0].x, [1.0, 2.0], "without what was sampled in the warm-up");
    }
}
