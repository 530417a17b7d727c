//! A sweep as its page sees it: axes, points, and the values of the metrics there.

use crate::page::{Cell, Dimension};
use forebay_analysis::{Metric, cell_of};
use std::collections::BTreeMap;

/// One value of a swept key.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, in `unit` of its axis.
    Number(f64),
    /// Anything else, such as the name of a transport.
    Text(String),
    /// The point leaves the key as it is in the scenario.
    Unset,
}

impl Value {
    /// For names of lines.
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
    /// The shortest name that tells it from the others, such as `senders`; empty where the values name it.
    pub short: String,
    /// Unit of its numbers.
    pub unit: Dimension,
}

impl SweptAxis {
    /// Whether the key says what is asked of the network: traffic, and how many hosts there are.
    pub(super) fn is_load(&self) -> bool {
        let key = self.key.trim_start_matches("topology.");
        key.starts_with("workload") || ["senders", "left", "right", "leaves", "hosts-per-leaf", "k", "a", "b", "c"].contains(&key)
    }
}

/// A transport group at one point of the sweep, with one seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Values of the axes, as many as there are axes.
    pub at: Vec<Value>,
    /// Name of the variant: groups of one share a network.
    pub variant: String,
    /// Name of variant and group; the same at all points.
    pub subject: String,
    /// Values of the metrics of the `summary` table by name of column; those that are missing have no value.
    pub metrics: Vec<(String, f64)>,
}

/// All points of a sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// Name of the scenario.
    pub title: String,
    /// What was swept, the axis to draw against first.
    pub axes: Vec<SweptAxis>,
    /// A row for each point, subject and seed, in the order of the sweep.
    pub points: Vec<Point>,
}

impl Sweep {
    /// Whether some axis has the name of the subject at every point, so that one of both says all.
    pub(super) fn axes_name_subjects(&self) -> bool {
        self.points.iter().all(|p| p.at.iter().any(|v| *v == Value::Unset || v.text() == p.subject))
    }
}

/// Values of the seeds by metric.
pub(super) type Seeds = BTreeMap<String, Vec<f64>>;

/// A metric over the seeds; only known to be at least so large where a part of what it is made of was still running.
pub(super) fn value(m: &Metric, of: &Seeds) -> Option<Cell> {
    cell_of(m, |name| of.get(name).map_or(&[], Vec::as_slice))
}
