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
}

/// Mean and interval over seeds; `None` without a value.
pub fn cell(values: &[f64]) -> Option<Cell> {
    estimate(values).map(|e| Cell { mean: e.mean, half_width: e.half_width, at_least: false })
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
