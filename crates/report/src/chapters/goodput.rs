//! Goodput of each workload over time: who pays when.

use super::draft::{Draft, DraftPanel, MAX_PANELS, MAX_VIEWS, repetitions};
use super::reduce::Series;
use crate::page::{Dimension, Level};
use forebay_verdict::{Data, GoodputSeries};

/// Most lines of a panel: of more those with the most bytes are drawn.
const MAX_LINES: usize = 16;

/// A panel for each network, where these are few; else one for each workload.
pub(super) fn draft(data: &Data) -> Option<Draft> {
    let by_network = data.networks.len() <= MAX_PANELS;
    let mut views = Vec::new();
    for (number, name) in repetitions(data).into_iter().take(MAX_VIEWS / 2) {
        let of_run = |g: &&GoodputSeries| data.runs[g.run].number == number;
        let all: Vec<&GoodputSeries> = data.goodput.iter().filter(of_run).collect();
        let panels: Vec<DraftPanel> = if by_network {
            let of = |n: usize| all.iter().copied().filter(|g| data.runs[g.run].network == n).collect();
            let title = |n: usize| if data.networks.len() == 1 { String::new() } else { data.networks[n].name.clone() };
            (0..data.networks.len()).map(|n| panel(data, title(n), of(n), true)).collect()
        } else {
            let of = |c: u32| all.iter().copied().filter(|g| g.class == c).collect();
            let title = |c: usize| data.classes[c].clone();
            (0..data.classes.len()).take(MAX_PANELS).map(|c| panel(data, title(c), of(c as u32), false)).collect()
        };
        let panels: Vec<DraftPanel> = panels.into_iter().filter(|p| !p.series.is_empty()).collect();
        if !panels.is_empty() {
            views.push((name, panels));
        }
    }
    let text = "Payload that reached receivers, of each workload, the mean of each interval. All receivers of a workload together: behind several \
                ports they can get more than one link carries. Panels have the same scale.";
    (!views.is_empty()).then(|| Draft {
        id: "goodput-over-time",
        title: "Goodput over time",
        text: text.into(),
        choice: "seed",
        views,
    })
}

/// Lines of one panel, named by workload and, where it is not clear, transport.
fn panel(data: &Data, title: String, mut of: Vec<&GoodputSeries>, classes: bool) -> DraftPanel {
    let bits = |g: &GoodputSeries| g.intervals.iter().zip(&g.bps).map(|(i, bps)| (i.1 - i.0) as f64 * bps).sum::<f64>();
    if of.len() > MAX_LINES {
        of.sort_by(|a, b| bits(b).total_cmp(&bits(a)));
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
        levels: rate(data, &of).into_iter().collect(),
        ..DraftPanel::default()
    }
}

/// The rate of the port that the network is judged by, to compare with; `None` where receivers behind several ports get more together.
fn rate(data: &Data, of: &[&GoodputSeries]) -> Option<Level> {
    let mut rates = of.iter().filter_map(|g| {
        let n = &data.networks[data.runs[g.run].network];
        let port = data.ports.iter().find(|p| p.network == data.runs[g.run].network && p.name == n.port)?;
        Some((port.name.clone(), port.rate_bps))
    });
    let (name, value) = rates.next()?;
    let within = of.iter().flat_map(|g| &g.bps).all(|b| *b <= value);
    (within && rates.all(|r| r == (name.clone(), value))).then(|| Level { name: format!("rate of {name}"), value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_verdict::{Network, Port, Run, Subject};

    /// `networks` of a transport each; storage and tenants.
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
                let series = GoodputSeries { run: n, subject: n, class, intervals, bps: vec![1e9, 2e9] };
                d.goodput.push(series);
            }
        }
        d
    }

    #[test]
    fn a_panel_for_each_network_with_a_line_for_each_workload() {
        let d = draft(&data(2)).unwrap();
        let panels = &d.views[0].1;
        assert_eq!((panels.len(), panels[1].title.as_str(), panels[1].levels[0].value), (2, "v1", 1e10));
        let lines: Vec<(&str, &[i64])> = panels[0].series.iter().map(|s| (s.label.as_str(), &s.times[..])).collect();
        assert_eq!(lines, [("storage", &[2_000, 7_000][..]), ("tenants", &[2_000, 7_000])]);
    }

    #[test]
    fn receivers_behind_several_ports_are_not_held_against_one() {
        let mut d = data(1);
        d.goodput[0].bps[1] = 2e10;
        assert!(draft(&d).unwrap().views[0].1[0].levels.is_empty());
    }

    #[test]
    fn many_networks_are_compared_workload_by_workload() {
        let d = draft(&data(7)).unwrap();
        let panels = &d.views[0].1;
        assert_eq!((panels.len(), panels[0].title.as_str(), panels[0].series.len()), (2, "storage", 7));
        assert_eq!(panels[0].series[6].label, "v6");
        assert!(draft(&Data::default()).is_none());
    }
}
