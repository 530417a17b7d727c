//! Figures over time: queues, senders, timeouts. All drafts are made first, because they share a budget of points.

use super::draft::{Draft, DraftPanel, MAX_PANELS, MAX_VIEWS, finish, repetitions};
use super::goodput;
use super::overlay::{self, Overlay};
use super::owner::colour;
use super::reduce::{self, Series, events};
use crate::page::{Dimension, EventKind, Events, Figure, Threshold};
use forebay_analysis::{Data, Port, QueueSeries, Run, SenderSeries};
use forebay_analysis::{count, quantity};
use std::collections::BTreeSet;

/// Maximum number of lines of a view.
const MAX_LINES: usize = 6;
/// Maximum number of intervals in which timeouts are counted.
const INTERVALS: i64 = 100;

/// All figures over time with data, with at most about `budget` points together, and notes on overlays that are not drawn.
pub(super) fn figures(data: &Data, overlays: &[Overlay], budget: usize) -> (Vec<Figure>, Vec<String>) {
    let drafts = [goodput::draft(data), queues(data), senders(data), timeouts(data)];
    let mut drafts: Vec<Draft> = drafts.into_iter().flatten().collect();
    let notes = overlay::draw(&mut drafts, overlays);
    (finish(drafts, budget), notes)
}

/// Timeouts of a run, per subject; of all connections or of one.
fn timeout_events(data: &Data, run: usize, conn: Option<i64>) -> Vec<Events> {
    let network = &data.networks[data.runs[run].network];
    let subjects = network.first..network.first + network.groups;
    let of = |subject| {
        let own = data.timeouts.iter().filter(|t| t.run == run && t.subject == subject && conn.is_none_or(|c| c == t.conn));
        let own: Vec<(i64, u64)> = own.map(|t| (t.time_ns, 1)).collect();
        events(
            (Some(subject), format!("{} timeouts", data.subjects[subject].name)),
            EventKind::Timeout,
            &own,
            data.runs[run].end_ns,
        )
    };
    subjects.filter_map(of).collect()
}

/// Queues of the observed ports.
fn queues(data: &Data) -> Option<Draft> {
    let mut ports: Vec<&str> = Vec::new();
    data.queues.iter().for_each(|q| {
        if !ports.contains(&q.port.as_str()) {
            ports.push(&q.port)
        }
    });
    let all = repetitions(data);
    // All seeds if the list of views stays short, else the first.
    let shown = if ports.len() * all.len() <= MAX_VIEWS / 2 { &all[..] } else { &all[..all.len().min(1)] };
    let mut views = Vec::new();
    for port in ports.iter().take(MAX_VIEWS) {
        for (number, seed) in shown {
            let of = |q: &&QueueSeries| q.port == *port && data.runs[q.run].number == *number;
            let found: Vec<&QueueSeries> = data.queues.iter().filter(of).collect();
            let panels = if found.len() <= MAX_PANELS {
                found.iter().map(|q| queue_panel(data, data.network_label(data.runs[q.run].network), &[q])).collect()
            } else {
                vec![queue_panel(data, format!("queue at {port}"), &found)]
            };
            let name = match (ports.len(), shown.len()) {
                (1, _) => seed.clone(),
                (_, 1) => (*port).to_owned(),
                _ => format!("{port}, {seed}"),
            };
            views.push((name, panels));
        }
    }
    let first = all.first().map_or("", |a| a.1.as_str());
    let which = if shown.len() < all.len() { format!(" Only {first} is shown.") } else { String::new() };
    let left = ports.len().saturating_sub(MAX_VIEWS);
    let more = if left > 0 { format!(" {} more are in the table `queue`.", count(left, "port")) } else { String::new() };
    let one = if ports.len() == 1 { format!(" at {}", ports[0]) } else { String::new() };
    let partial = data.ports.iter().any(|p| ports.contains(&p.name.as_str()) && !p.thresholds.is_empty());
    let thresholds = if partial { " Threshold lines may apply to a single queue or to the average queue only." } else { "" };
    let draft = Draft {
        id: "queue-over-time",
        title: "Queue over time",
        text: format!(
            "Packets waiting and in service{one}, with marks and drops of the port and timeouts of all senders.{thresholds}{which}{more}"
        ),
        choice: match (ports.len(), shown.len()) {
            (1, _) => "seed",
            (_, 1) => "port",
            _ => "port and seed",
        },
        views,
    };
    (!draft.views.is_empty()).then_some(draft)
}

fn queue_panel(data: &Data, title: String, series: &[&QueueSeries]) -> DraftPanel {
    let mut panel = DraftPanel { title, unit: Dimension::Packets, thresholds: thresholds(data, series), ..DraftPanel::default() };
    for q in series {
        let (network, end) = (data.runs[q.run].network, data.runs[q.run].end_ns);
        let subject = colour(data, network);
        let values = q.pkts.iter().map(|&p| Some(p)).collect();
        panel.series.push(Series { subject, label: data.network_label(network), times: q.times.clone(), values });
        for (kind, so_far) in [(EventKind::Mark, &q.marks), (EventKind::Drop, &q.drops)] {
            let before = std::iter::once(&0).chain(so_far);
            let happened: Vec<(i64, u64)> = q
                .times
                .iter()
                .zip(so_far.iter().zip(before))
                .map(|(&t, (now, before))| (t, now.saturating_sub(*before)))
                .collect();
            // Events belong to the port, for packets of any subject.
            let what = if kind == EventKind::Mark { "marks" } else { "drops" };
            let label = if series.len() > 1 { format!("{what} with {}", data.network_label(network)) } else { what.to_owned() };
            panel.events.extend(events((subject, label), kind, &happened, end));
        }
        panel.events.extend(timeout_events(data, q.run, None));
    }
    panel
}

/// Common thresholds and limits of the queues of a panel.
fn thresholds(data: &Data, series: &[&QueueSeries]) -> Vec<Threshold> {
    let port = |q: &&QueueSeries| data.ports.iter().find(|p| p.network == data.runs[q.run].network && p.name == q.port);
    let ports: Vec<&Port> = series.iter().filter_map(port).collect();
    type Limit = fn(&Port) -> Option<f64>;
    let names: [(&str, Limit); 3] =
        [("K", |p| p.limits.mark), ("buffer", |p| p.limits.buffer), ("of the shared buffer", |p| p.limits.shared)];
    let level = |(name, get): (&str, Limit)| {
        let first = get(ports.first()?)?;
        // Limits in bytes are converted with the mean packet size.
        let same = ports.iter().all(|p| get(p).is_some_and(|v| (v - first).abs() <= 0.05 * first));
        same.then(|| Threshold { name: name.into(), value: reduce::significant(first, 4) })
    };
    // Thresholds that queues of one discipline share; other queues have none of that name.
    let named = |p: &Port, name: &str| p.thresholds.iter().find(|l| l.0 == name).map(|l| l.1);
    let more = ports
        .first()
        .map_or(&[][..], |p| &p.thresholds)
        .iter()
        .filter(|(name, first)| ports.iter().all(|p| named(p, name).is_some_and(|v| (v - first).abs() <= 0.05 * first)));
    let more = more.map(|(name, value)| Threshold { name: name.clone(), value: reduce::significant(*value, 4) });
    names.into_iter().filter_map(level).chain(more).collect()
}

/// Windows and RTTs of the observed connections.
fn senders(data: &Data) -> Option<Draft> {
    let conns: BTreeSet<i64> = data.senders.iter().map(|s| s.conn).collect();
    let all = repetitions(data);
    let of = |conn: Option<i64>, number: u32| -> Vec<&SenderSeries> {
        let wanted = |s: &&SenderSeries| data.runs[s.run].number == number && conn.is_none_or(|c| c == s.conn);
        data.senders.iter().filter(wanted).collect()
    };
    let first = all.first()?.0;
    let together = of(None, first).len() <= MAX_LINES;
    let mut views = Vec::new();
    if together {
        for (number, name) in all.iter().take(MAX_VIEWS / 2) {
            views.push((name.clone(), sender_panels(data, &of(None, *number))));
        }
    } else {
        for conn in conns.iter().take(MAX_VIEWS) {
            views.push((format!("connection {conn}"), sender_panels(data, &of(Some(*conn), first))));
        }
    }
    views.retain(|v: &(String, Vec<DraftPanel>)| v.1.iter().any(|p| !p.series.is_empty()));
    let which = if together { String::new() } else { format!(" Only {} is shown.", all[0].1) };
    let left = if together { 0 } else { conns.len().saturating_sub(MAX_VIEWS) };
    let more = if left > 0 { format!(" {} more are in the table `tcp`.", count(left, "connection")) } else { String::new() };
    let draft = Draft {
        id: "connections",
        title: "Connections over time",
        text: format!(
            "Congestion window, estimated marked fraction (alpha) where the congestion control has one, and smoothed RTT.{which}{more}"
        ),
        choice: if together { "seed" } else { "connection" },
        views,
    };
    (!draft.views.is_empty()).then_some(draft)
}

fn sender_panels(data: &Data, senders: &[&SenderSeries]) -> Vec<DraftPanel> {
    let conns: BTreeSet<i64> = senders.iter().map(|s| s.conn).collect();
    let panel = |title: &str, unit, get: fn(&SenderSeries) -> &Vec<Option<f64>>| {
        let line = |s: &&&SenderSeries| {
            let name = &data.subjects[s.subject].name;
            let label = if conns.len() > 1 { format!("{name}, connection {}", s.conn) } else { name.clone() };
            Series { subject: Some(s.subject), label, times: s.times.clone(), values: get(s).clone() }
        };
        let series = senders.iter().filter(|s| get(s).iter().any(Option::is_some)).map(|s| line(&s)).collect();
        DraftPanel { title: title.into(), unit, series, ..DraftPanel::default() }
    };
    let mut panels = vec![
        panel("congestion window", Dimension::Segments, |s| &s.cwnd),
        panel("marked fraction (alpha)", Dimension::Ratio, |s| &s.alpha),
        panel("smoothed round-trip time", Dimension::Seconds, |s| &s.srtt),
    ];
    panels[0].events = senders.iter().flat_map(|s| timeout_events(data, s.run, Some(s.conn))).collect();
    panels.retain(|p| !p.series.is_empty());
    panels
}

/// Timeouts per interval and subject. Their rate shows when senders stalled, which a growing sum hides.
fn timeouts(data: &Data) -> Option<Draft> {
    if data.timeouts.is_empty() {
        return None;
    }
    let end = data.runs.iter().map(|r| r.end_ns).max().unwrap_or(0).max(1);
    let width = interval(end);
    let mut views = Vec::new();
    for (number, name) in repetitions(data).into_iter().take(MAX_VIEWS / 2) {
        let runs = || data.runs.iter().enumerate().filter(|(_, r)| r.number == number);
        let line = |(run, r): (usize, &Run), subject: usize| {
            let own: Vec<i64> =
                data.timeouts.iter().filter(|t| t.run == run && t.subject == subject).map(|t| t.time_ns).collect();
            let mut series = Series { subject: Some(subject), label: data.subjects[subject].name.clone(), ..Series::default() };
            let mut from = 0;
            while from < r.end_ns {
                // A timeout at the end of the run belongs to the last interval.
                let to = (from + width).min(r.end_ns + 1);
                let n = own.partition_point(|t| *t < to) - own.partition_point(|t| *t < from);
                // Both ends of the interval: the line is a step.
                series.times.extend([from, to - 1]);
                series.values.extend([Some(n as f64); 2]);
                from += width;
            }
            series
        };
        let subjects = |n: usize| data.networks[n].first..data.networks[n].first + data.networks[n].groups;
        let series = runs().flat_map(|r| subjects(r.1.network).map(move |s| (r, s))).map(|(r, s)| line(r, s)).collect();
        let title = format!("timeouts per {}", quantity(width as f64 * 1e-9, Dimension::Seconds));
        views.push((name, vec![DraftPanel { title, unit: Dimension::Count, series, ..DraftPanel::default() }]));
    }
    Some(Draft {
        id: "timeouts-over-time",
        title: "Timeouts over time",
        text: "Retransmission timeouts in each interval, including those of SYNs.".into(),
        choice: "seed",
        views,
    })
}

/// A round interval, 1, 2 or 5 times a power of ten, that divides a run into at most [`INTERVALS`], ns.
fn interval(end_ns: i64) -> i64 {
    let least = end_ns.div_euclid(INTERVALS) + 1;
    let mut power = 1;
    loop {
        if let Some(width) = [1, 2, 5].map(|f| f * power).into_iter().find(|w| *w >= least) {
            return width;
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Chart, TimeChart, Times};
    use forebay_analysis::{Network, Subject, Timeout};

    /// Two transports, two seeds, one port, 1 ms samples.
    fn data(samples: i64) -> Data {
        let mut d = Data::default();
        for (n, name) in ["reno", "dctcp"].into_iter().enumerate() {
            d.networks.push(Network { name: name.into(), first: n, groups: 1, ..Network::default() });
            d.subjects.push(Subject { name: name.into(), network: n, ..Subject::default() });
            for number in 0..2 {
                let run = d.runs.len();
                let seed = u64::from(number) + 5;
                d.runs.push(Run { network: n, number, seed, end_ns: samples * 1_000_000, ..Run::default() });
                d.queues.push(QueueSeries {
                    run,
                    port: "bottleneck".into(),
                    times: (0..samples).map(|i| i * 1_000_000).collect(),
                    pkts: (0..samples).map(|i| (i % 7) as f64).collect(),
                    drops: (0..samples).map(|i| u64::from(i > 3) * 2).collect(),
                    marks: vec![0; samples as usize],
                });
                d.timeouts.push(Timeout { run, subject: n, time_ns: 2_500_000, rto: 0.2, ..Timeout::default() });
            }
        }
        d
    }

    fn chart(figure: &Figure, view: usize) -> &TimeChart {
        let Chart::Time(c) = &figure.views[view].chart else { panic!("no time chart") };
        c
    }

    #[test]
    fn queue_panels_and_views() {
        let all = figures(&data(10), &[], 10_000).0;
        let ids: Vec<&str> = all.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["queue-over-time", "timeouts-over-time"]);
        let names: Vec<&str> = all[0].views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!((names, all[0].choice.as_str()), (vec!["seed 5", "seed 6"], "seed"));
        let c = chart(&all[0], 0);
        assert_eq!((c.panels.len(), c.panels[1].title.as_str(), c.note.as_str()), (2, "dctcp", ""));
        let p = &c.panels[1];
        assert_eq!((p.lines[0].subject, p.lines[0].y.len(), p.lines[0].y[3]), (Some(1), 10, Some(3.0)));
        let seen: Vec<(EventKind, &[f64], &[u64])> = p.events.iter().map(|e| (e.kind, &e.at[..], &e.n[..])).collect();
        assert_eq!(seen, [(EventKind::Drop, &[0.004][..], &[2][..]), (EventKind::Timeout, &[0.0025][..], &[1][..])]);
    }

    #[test]
    fn point_budget_is_noted() {
        let all = figures(&data(20_000), &[], 8_000).0;
        let numbers: usize = all
            .iter()
            .flat_map(|f| &f.views)
            .flat_map(|v| match &v.chart {
                Chart::Time(c) => &c.panels[..],
                _ => &[],
            })
            .flat_map(|p| &p.lines)
            .map(|l| l.y.len() + l.low.len() + if let Times::List(t) = &l.at { t.len() } else { 0 })
            .sum();
        assert!((6_000..=8_000).contains(&numbers), "{numbers}");
        let note = &chart(&all[0], 0).note;
        assert!(note.contains("minimum and maximum") && note.contains("ms"), "{note}");
        // The short series of the same page stays complete.
        assert_eq!((chart(&all[1], 0).panels[0].lines[0].low.len(), chart(&all[1], 0).note.as_str()), (0, ""));
    }

    #[test]
    fn many_connections_get_a_view_each() {
        let mut d = data(4);
        d.queues.clear();
        for conn in 0..8 {
            let series = |run, subject, alpha| SenderSeries {
                run,
                subject,
                conn,
                times: vec![0, 5, 7],
                cwnd: vec![Some(2.0); 3],
                alpha: vec![alpha; 3],
                srtt: vec![None, Some(1e-4), Some(2e-4)],
            };
            d.senders.extend([series(0, 0, None), series(2, 1, Some(0.5)), series(1, 0, None)]);
        }
        let all = figures(&d, &[], 10_000).0;
        let f = &all[0];
        assert_eq!((f.id.as_str(), f.views.len(), f.choice.as_str()), ("connections", 8, "connection"));
        let c = chart(f, 0);
        let panels: Vec<(&str, usize)> = c.panels.iter().map(|p| (p.title.as_str(), p.lines.len())).collect();
        assert_eq!(panels, [("congestion window", 2), ("marked fraction (alpha)", 1), ("smoothed round-trip time", 2)]);
        assert_eq!(c.panels[0].events.len(), 2, "both transports time out on connection 0");
        assert_eq!(chart(f, 1).panels[0].events.len(), 0);
    }

    #[test]
    fn timeouts_are_counted_by_interval() {
        let all = figures(&data(10), &[], 10_000).0;
        let panel = &chart(&all[1], 1).panels[0];
        assert_eq!(panel.title, "timeouts per 200 µs");
        let line = &panel.lines[1];
        let Times::List(at) = &line.at else { panic!("even") };
        // The only timeout, at 2.5 ms, is in the interval from 2.4 ms.
        let counted: Vec<f64> = at.iter().zip(&line.y).filter(|(_, y)| **y == Some(1.0)).map(|(t, _)| *t).collect();
        assert_eq!((counted.len(), counted[0], line.y.iter().flatten().sum::<f64>()), (2, 0.002_4, 2.0));
    }

    #[test]
    fn intervals_are_round() {
        assert_eq!([20_000_000_000, 10_000_000, 99, 1].map(interval), [500_000_000, 200_000, 1, 1]);
    }
}
