//! Data of a sweep's page: axes, points, and the values of the metrics.

use crate::page::{Cell, Dimension};
use forebay_analysis::{Metric, cell_of};
use std::collections::BTreeMap;

/// One value of a swept key.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, in `unit` of its axis.
    Number(f64),
    /// Other values, such as the name of a transport.
    Text(String),
    /// The point leaves the key unchanged.
    Unset,
}

impl Value {
    /// Key of a map, equal for equal values.
    pub(super) fn key(&self) -> (u8, u64, &str) {
        match self {
            // Both zeros are equal.
            Value::Number(v) => (0, (v + 0.0).to_bits(), ""),
            Value::Text(t) => (1, 0, t),
            Value::Unset => (2, 0, ""),
        }
    }

    /// Text in names of lines.
    pub(super) fn text(&self) -> String {
        match self {
            Value::Number(v) => forebay_analysis::number(*v),
            Value::Text(t) => t.clone(),
            Value::Unset => String::new(),
        }
    }
}

/// A swept key.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptAxis {
    /// Its name, such as `topology.senders`.
    pub key: String,
    /// The shortest unique name, such as `senders`; empty where the values alone name it.
    pub short: String,
    /// Unit of its numbers.
    pub unit: Dimension,
}

impl SweptAxis {
    /// Title of an axis: the words of the shortest name, such as `rto min` of `transport.rto-min`.
    pub(super) fn words(&self) -> String {
        let name = if self.short.is_empty() { &self.key } else { &self.short };
        name.replace(['.', '-', '_'], " ")
    }

    /// The key with one of its values: `senders 8`.
    pub(super) fn of(&self, value: &Value) -> String {
        let text = match value {
            Value::Number(n) => forebay_analysis::quantity(*n, self.unit),
            _ => value.text(),
        };
        format!("{} {text}", self.short).trim().to_owned()
    }

    /// True if the key defines the load, which is given: traffic, number of hosts, and what links lose.
    pub(super) fn is_load(&self) -> bool {
        let key = self.key.trim_start_matches("topology.");
        let lost = ["loss", "ber", "p"].iter().any(|name| key.split('.').any(|part| part == *name));
        lost || key.starts_with("workload")
            || ["senders", "left", "right", "leaves", "hosts-per-leaf", "k", "a", "b", "c"].contains(&key)
    }
}

/// A transport group at one point of the sweep, with one seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Values of the axes, as many as there are axes.
    pub at: Vec<Value>,
    /// Name of the variant: groups of one variant share a network.
    pub variant: String,
    /// Name of variant and group, equal at all points; with that of the workload, if the group carries several.
    pub subject: String,
    /// Name of the workload, if the group carries several; empty for a whole group.
    pub class: String,
    /// Values of the metrics of the `summary` table by column name; missing ones have no value.
    pub metrics: Vec<(String, f64)>,
}

/// All points of a sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// Name of the scenario.
    pub title: String,
    /// Swept axes, the one to draw against first.
    pub axes: Vec<SweptAxis>,
    /// A row for each point, subject and seed, in the order of the sweep.
    pub points: Vec<Point>,
}

impl Sweep {
    /// True if some axis has the name of the subject at every point, so that one of them suffices.
    pub(super) fn axes_name_subjects(&self) -> bool {
        self.points.iter().all(|p| p.at.iter().any(|v| *v == Value::Unset || v.text() == p.subject))
    }
}

/// Values of the seeds by metric.
pub(super) type Seeds = BTreeMap<String, Vec<f64>>;

/// A metric over the seeds, marked as a lower bound where unfinished work contributes.
pub(super) fn value(m: &Metric, of: &Seeds) -> Option<Cell> {
    cell_of(m, |name| of.get(name).map_or(&[], Vec::as_slice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_keys() {
        let all = [0.0, -0.0, 1.0].map(Value::Number).into_iter();
        let all: Vec<Value> = all.chain(["", "a"].map(|t| Value::Text(t.into()))).chain([Value::Unset]).collect();
        for a in &all {
            for b in &all {
                assert_eq!(a == b, a.key() == b.key(), "{a:?} {b:?}");
            }
        }
    }
}
