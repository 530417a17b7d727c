//! Goodput of each workload over time.

use super::draft::{Draft, DraftPanel, MAX_PANELS, MAX_VIEWS, repetitions};
use super::reduce::Series;
use crate::page::{Dimension, Threshold};
use forebay_analysis::{Data, GoodputSeries};
use std::collections::BTreeMap;

/// Maximum number of lines in a panel: the ones with the most bytes are drawn.
const MAX_LINES: usize = 16;

/// For few networks, one panel per network at its main port, or per port of a single network; else one panel per workload.
pub(super) fn draft(data: &Data) -> Option<Draft> {
    let by_network = data.networks.len() <= MAX_PANELS;
    let mut views = Vec::new();
    let mut left_out = 0;
    for (number, name) in repetitions(data).into_iter().take(MAX_VIEWS / 2) {
        let of_run = |g: &&GoodputSeries| data.runs[g.run].number == number;
        let all: Vec<&GoodputSeries> = data.goodput.iter().filter(of_run).collect();
        let mut panels: Vec<DraftPanel> = Vec::new();
        if by_network {
            let most = MAX_PANELS / data.networks.len().max(1);
            for (n, network) in data.networks.iter().enumerate() {
                let mut ports = by_port(data, &all, n);
                left_out = left_out.max(ports.len().saturating_sub(most));
                ports.truncate(most);
                let title = |port: Option<&str>| {
                    let port = port.unwrap_or("all ports together");
                    if data.networks.len() == 1 { port.to_owned() } else { format!("{}, {port}", network.name) }
                };
                panels.extend(ports.into_iter().map(|(port, of)| panel(data, title(port), of, true)));
            }
        } else {
            let of = |c: u32| most_used(all.iter().copied().filter(|g| g.class == c));
            let title = |c: usize| data.classes[c].clone();
            panels.extend((0..data.classes.len()).take(MAX_PANELS).map(|c| panel(data, title(c), of(c as u32), false)));
        }
        panels.retain(|p| !p.series.is_empty());
        if !panels.is_empty() {
            views.push((name, panels));
        }
    }
    let mut text = "Payload that reached receivers, per workload at its bottleneck port; means over intervals.".to_owned();
    if !by_network {
        text.push_str(" For a workload with several ports, the one that carried most of it.");
    } else if left_out > 0 {
        text.push_str(&format!(" Further ports, at most {left_out} per network, are in the table `goodput`."));
    }
    (!views.is_empty()).then_some(Draft { id: "goodput-over-time", title: "Goodput over time", text, choice: "seed", views })
}

/// The series of network `n` by port: its main port first, then by carried bytes.
fn by_port<'a>(data: &Data, all: &[&'a GoodputSeries], n: usize) -> Vec<(Option<&'a str>, Vec<&'a GoodputSeries>)> {
    let mut ports: BTreeMap<Option<&str>, Vec<&GoodputSeries>> = BTreeMap::new();
    for g in all.iter().filter(|g| data.runs[g.run].network == n) {
        ports.entry(g.port.as_deref()).or_default().push(g);
    }
    let mut ports: Vec<_> = ports.into_iter().collect();
    let bits = |of: &[&GoodputSeries]| of.iter().map(|g| g.bits()).sum::<f64>();
    let judged = |port: Option<&str>| port == Some(data.networks[n].port.as_str());
    ports.sort_by(|a, b| judged(b.0).cmp(&judged(a.0)).then(bits(&b.1).total_cmp(&bits(&a.1))));
    // Workloads that never started have no traffic.
    let any = ports.iter().any(|(_, of)| bits(of) > 0.0);
    ports.retain(|(_, of)| !any || bits(of) > 0.0);
    ports
}

/// The series with the most payload of each transport in each run.
fn most_used<'a>(series: impl Iterator<Item = &'a GoodputSeries>) -> Vec<&'a GoodputSeries> {
    let mut most: BTreeMap<(usize, usize), &GoodputSeries> = BTreeMap::new();
    for g in series {
        let first = most.entry((g.run, g.subject)).or_insert(g);
        if g.bits() > first.bits() {
            *first = g;
        }
    }
    most.into_values().collect()
}

/// Lines of one panel, named by workload and, where ambiguous, transport.
fn panel(data: &Data, title: String, mut of: Vec<&GoodputSeries>, classes: bool) -> DraftPanel {
    if of.len() > MAX_LINES {
        of.sort_by(|a, b| b.bits().total_cmp(&a.bits()));
        of.truncate(MAX_LINES);
    }
    let shared = |g: &GoodputSeries| of.iter().any(|o| o.class == g.class && o.subject != g.subject);
    let label = |g: &GoodputSeries| {
        let class = data.classes.get(g.class as usize).map_or("?", String::as_str);
        let subject = &data.subjects[g.subject];
        match (classes, shared(g)) {
            (true, false) => class.to_owned(),
            (true, true) => format!("{class}, {}", subject.group),
            (false, _) => subject.name.clone(),
        }
    };
    let series = |g: &&GoodputSeries| Series {
        subject: Some(g.subject),
        label: label(g),
        times: g.intervals.iter().map(|(from, to)| from + (to - from) / 2).collect(),
        values: g.bps.iter().map(|b| Some(*b)).collect(),
    };
    DraftPanel {
        title,
        unit: Dimension::BitsPerSecond,
        series: of.iter().map(series).collect(),
        thresholds: rate(data, &of).into_iter().collect(),
        ..DraftPanel::default()
    }
}

/// The rate of the port, if all lines belong to one port or to equal ports.
fn rate(data: &Data, of: &[&GoodputSeries]) -> Option<Threshold> {
    let port = |g: &&GoodputSeries| {
        let network = data.runs[g.run].network;
        let port = data.ports.iter().find(|p| p.network == network && Some(&p.name) == g.port.as_ref())?;
        Some((port.name.clone(), port.rate_bps))
    };
    let mut rates = of.iter().map(port);
    let (name, value) = rates.next()??;
    rates.all(|r| r.as_ref() == Some(&(name.clone(), value))).then(|| Threshold { name: format!("rate of {name}"), value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_analysis::{Network, Port, Run, Subject};

    /// `networks` with one transport each, and the workloads storage and tenants.
    fn data(networks: usize) -> Data {
        let mut d = Data { classes: vec!["storage".into(), "tenants".into()], ..Data::default() };
        for n in 0..networks {
            let name = format!("v{n}");
            d.networks.push(Network { name: name.clone(), first: n, groups: 1, port: "bottleneck".into(), ..Network::default() });
            d.subjects.push(Subject { name, network: n, ..Subject::default() });
            d.runs.push(Run { network: n, end_ns: 10_000, ..Run::default() });
            d.ports.push(Port { network: n, name: "bottleneck".into(), rate_bps: 1e10, ..Port::default() });
            for class in 0..2 {
                let intervals = vec![(0, 4_000), (4_000, 10_000)];
                let port = Some("bottleneck".to_owned());
                let series = GoodputSeries { run: n, subject: n, class, port, intervals, bps: vec![1e9, 2e9] };
                d.goodput.push(series);
            }
        }
        d
    }

    #[test]
    fn one_panel_per_network() {
        let d = draft(&data(2)).unwrap();
        let panels = &d.views[0].1;
        assert_eq!((panels.len(), panels[1].title.as_str(), panels[1].thresholds[0].value), (2, "v1, bottleneck", 1e10));
        let lines: Vec<(&str, &[i64])> = panels[0].series.iter().map(|s| (s.label.as_str(), &s.times[..])).collect();
        assert_eq!(lines, [("storage", &[2_000, 7_000][..]), ("tenants", &[2_000, 7_000])]);
    }

    #[test]
    fn single_network_panels_by_port() {
        let mut d = data(1);
        let back = GoodputSeries { port: Some("back".into()), bps: vec![9e9, 9e9], ..d.goodput[1].clone() };
        let idle = GoodputSeries { port: Some("idle".into()), bps: vec![0.0, 0.0], ..d.goodput[1].clone() };
        let all = GoodputSeries { port: None, bps: vec![2e10, 2e10], class: 0, ..d.goodput[1].clone() };
        d.ports.push(Port { name: "back".into(), rate_bps: 4e10, ..d.ports[0].clone() });
        d.goodput.extend([back, idle, all]);
        let drawn = draft(&d).unwrap();
        let panels = &drawn.views[0].1;
        let titles: Vec<(&str, usize, Option<f64>)> =
            panels.iter().map(|p| (p.title.as_str(), p.series.len(), p.thresholds.first().map(|l| l.value))).collect();
        assert_eq!(titles, [("bottleneck", 2, Some(1e10)), ("all ports together", 1, None), ("back", 1, Some(4e10))]);
    }

    #[test]
    fn many_networks_panels_by_workload() {
        let d = draft(&data(7)).unwrap();
        let panels = &d.views[0].1;
        assert_eq!((panels.len(), panels[0].title.as_str(), panels[0].series.len()), (2, "storage", 7));
        assert_eq!(panels[0].series[6].label, "v6");
        assert!(draft(&Data::default()).is_none());
    }
}
