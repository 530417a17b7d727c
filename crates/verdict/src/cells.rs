//! Means over seeds.

use crate::data::{Data, metrics};
use forebay_store::stats::estimate;
use serde::Serialize;

/// A mean over seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Mean.
    pub mean: f64,
    /// Half width of its 95 % confidence interval; `None` with fewer than two seeds.
    pub half_width: Option<f64>,
    /// The value is at least as large: a part of what it was made of was still running.
    pub at_least: bool,
    /// Mean and half width of the natural logarithms, where every value is above zero.
    #[serde(skip)]
    pub log: Option<(f64, f64)>,
}

impl Cell {
    /// Whether its interval meets another one's. Of values above zero those of their logarithms: what seeds do to a time is to multiply it, so that a
    /// long one differs by more than all of a short one and still is longer with every seed.
    pub(crate) fn meets(&self, other: &Cell) -> bool {
        let ((a, half), (b, other_half)) = match (self.log, other.log) {
            (Some(own), Some(other)) => (own, other),
            _ => ((self.mean, self.half_width.unwrap_or(0.0)), (other.mean, other.half_width.unwrap_or(0.0))),
        };
        (a - b).abs() <= half + other_half
    }
}

/// Mean and interval over seeds; `None` without a value.
pub fn cell(values: &[f64]) -> Option<Cell> {
    let logs = || values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let log = values.iter().all(|v| *v > 0.0).then(logs).and_then(|l| estimate(&l)).and_then(|e| Some((e.mean, e.half_width?)));
    estimate(values).map(|e| Cell { mean: e.mean, half_width: e.half_width, at_least: false, log })
}

/// A metric of all subjects.
pub fn cells(data: &Data, metric: &str) -> Vec<Option<Cell>> {
    let bound = metrics().find(|m| m.name == metric).and_then(|m| m.bound);
    let of = |s: usize| {
        let at_least = bound.is_some_and(|b| b.holds(data.values(s, b.metric()).iter().copied().map(Some)));
        cell(data.values(s, metric)).map(|c| Cell { at_least, ..c })
    };
    (0..data.subjects.len()).map(of).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::data::{Data, Network, Subject, metrics};

    /// Values over seeds by the name of the metric.
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

    pub(crate) fn subject(name: &str, network: usize, given: Given) -> Subject {
        let mut values = vec![Vec::new(); metrics().count()];
        for (metric, of_seeds) in given {
            let index = metrics().position(|m| m.name == *metric).unwrap_or_else(|| panic!("no metric {metric}"));
            values[index] = of_seeds.to_vec();
        }
        Subject { name: name.into(), group: name.into(), network, values }
    }
}
