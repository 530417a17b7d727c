//! Means over seeds.

use crate::data::{Data, Metric, metrics};
use crate::dimension::Dimension;
use crate::format::quantity;
use forebay_store::stats::{ends, estimate};
use serde::Serialize;

/// Below this number of seeds, their range is shown instead of a confidence interval. Our choice.
pub const FEW: usize = 5;

/// Mean over seeds with its confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Mean.
    pub mean: f64,
    /// Ends of its 95 % confidence interval, clipped to the range of the metric; `None` with fewer than two seeds.
    pub ends: Option<(f64, f64)>,
    /// Smallest and largest value, of two to four seeds: too few for an interval that says more.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
    /// True for a lower bound: unfinished work contributes.
    pub at_least: bool,
    /// True for a lower bound that would grow so little if the unfinished work never ended that it can be ranked. It is printed as a bound.
    #[serde(skip)]
    pub tight: bool,
    /// Mean and half width of the natural logarithms, if every value is positive.
    #[serde(skip)]
    pub log: Option<(f64, f64)>,
}

impl Cell {
    /// Returns true if the intervals overlap. For positive values the intervals of the logarithms are compared, because seeds vary times by a factor.
    /// The spread of a long time may exceed a short time, although the long time is longer with every seed.
    pub(crate) fn meets(&self, other: &Cell) -> bool {
        let around = |(mean, half): (f64, f64)| (mean - half, mean + half);
        let (own, other) = match (self.log, other.log) {
            (Some(own), Some(other)) => (around(own), around(other)),
            _ => (self.ends.unwrap_or((self.mean, self.mean)), other.ends.unwrap_or((other.mean, other.mean))),
        };
        own.0 <= other.1 && other.0 <= own.1
    }

    /// Words before a lower bound. The sign of tables has the same condition.
    pub fn at_least(&self) -> &'static str {
        if self.at_least { "at least " } else { "" }
    }

    /// The interval with a unit: `± 3 ms`.
    pub(crate) fn spread_in(&self, unit: Dimension) -> String {
        let show = |v: f64| if v == 0.0 { "0".to_owned() } else { quantity(v, unit) };
        self.spread(show).map_or_else(String::new, |s| format!(" {s}"))
    }

    /// Distance of the interval's ends from the mean, or of the smallest and largest of a few seeds: `± 3`, or `+5 −3` where they differ.
    pub fn spread(&self, show: impl Fn(f64) -> String) -> Option<String> {
        let (low, high) = self.range.or(self.ends)?;
        // The mean of equal values may differ from them in its last bit.
        let (up, down) = (show((high - self.mean).max(0.0)), show((self.mean - low).max(0.0)));
        Some(if up == down { format!("± {up}") } else { format!("+{up} −{down}") })
    }
}

/// Mean and interval over seeds of a nonnegative value; `None` without a value.
pub fn cell(values: &[f64]) -> Option<Cell> {
    within(values, 0.0, f64::INFINITY)
}

/// Mean and interval over the seeds of a metric; `of` gives the values of any metric by its name.
pub fn cell_of<'a>(m: &Metric, of: impl Fn(&str) -> &'a [f64]) -> Option<Cell> {
    let at_least = m.bound.is_some_and(|b| b.holds(of(b.metric()).iter().copied().map(Some)));
    let (least, most) = m.range.limits(|name| of(name).to_vec());
    within(of(m.name), least, most).map(|c| Cell { at_least, ..c })
}

/// Mean and interval over seeds of a value in a range; `None` without a value.
pub(crate) fn within(values: &[f64], least: f64, most: f64) -> Option<Cell> {
    let logs = || values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let log = values.iter().all(|v| *v > 0.0).then(logs).and_then(|l| estimate(&l)).and_then(|e| Some((e.mean, e.half_width?)));
    let least_and_most = || values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (v.min(low), v.max(high)));
    let range = (2..FEW).contains(&values.len()).then(least_and_most);
    estimate(values).map(|e| Cell { mean: e.mean, ends: ends(values, least, most), range, at_least: false, tight: false, log })
}

/// A metric of all subjects.
pub fn cells(data: &Data, metric: &str) -> Vec<Option<Cell>> {
    let known = metrics().find(|m| m.name == metric);
    let of = |s: usize| known.and_then(|m| cell_of(&m, |name| data.values(s, name)));
    (0..data.subjects.len()).map(of).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::data::{Data, Network, Port, Run, Subject, metrics};

    /// Values over seeds by name of the metric.
    pub(crate) type Given<'a> = &'a [(&'a str, &'a [f64])];

    /// Networks with one group each, and metrics by name.
    pub(crate) fn data(subjects: &[(&str, Given)]) -> Data {
        let mut d = Data::default();
        for (i, (name, values)) in subjects.iter().enumerate() {
            d.networks.push(Network {
                name: (*name).into(),
                variant: (*name).into(),
                first: i,
                groups: 1,
                port: "bottleneck".into(),
                ..Network::default()
            });
            d.subjects.push(subject(name, i, values));
        }
        d
    }

    /// One network with hosts `s` and `r` behind switch `x`, and a run of a second. All links have this rate and utilization.
    pub(crate) fn two_links(rate_bps: f64, utilization: f64) -> Data {
        let mut d = data(&[("a", &[])]);
        d.runs.push(Run { end_ns: 1_000_000_000, ..Run::default() });
        d.hosts = vec!["s".into(), "r".into()];
        let link = |from: &str, to: &str| Port {
            name: format!("{from}->{to}"),
            from: from.into(),
            to: to.into(),
            rate_bps,
            utilization,
            ..Port::default()
        };
        d.ports = [("s", "x"), ("x", "s"), ("x", "r"), ("r", "x")].map(|(a, b)| link(a, b)).to_vec();
        d
    }

    pub(crate) fn subject(name: &str, network: usize, given: Given) -> Subject {
        let mut values = vec![Vec::new(); metrics().count()];
        for (metric, of_seeds) in given {
            let index = metrics().position(|m| m.name == *metric).unwrap_or_else(|| panic!("no metric {metric}"));
            values[index] = of_seeds.to_vec();
        }
        Subject {
            name: name.into(),
            group: name.into(),
            network,
            values,
            max_pacing_bps: None,
            dctcp_ecn: false,
            idle_restart_s: None,
            nagle_holds: false,
        }
    }
}
