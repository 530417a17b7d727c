//! Points of a sweep.

use crate::text::doc::{Node, TomlTable};
use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;
use crate::text::set;
use crate::text::source::At;
use serde_json::Value as Json;
use std::sync::Arc;

/// Choice of a dimension: its settings.
pub(super) type Choice = Vec<Setting>;

/// Key of the scenario with one value.
#[derive(Debug, Clone)]
pub struct Setting {
    key: Arc<str>,
    key_at: At,
    node: Arc<Node>,
    /// Index of the axis, and of its value.
    pub(super) axis: usize,
    pub(super) value: usize,
}

impl Setting {
    pub(super) fn new(key: &str, key_at: At, node: Node, axis: usize, value: usize) -> Setting {
        Setting { key: key.into(), key_at, node: Arc::new(node), axis, value }
    }

    /// Path of the key, such as `topology.senders`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as written.
    pub fn value(&self) -> Json {
        self.node.json()
    }
}

/// Point of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// Number, from 0.
    pub index: usize,
    /// Changes to the scenario, each as by a `--set`. Short paths come first, so that a key within a table is set after the table.
    pub settings: Vec<Setting>,
    /// Label such as `senders=4 cc=dctcp`, in the order of the axes.
    pub label: String,
    /// Index of the value of each axis; `None`: the point does not set that key.
    pub values: Vec<Option<usize>>,
}

impl Scenario {
    /// Scenario of one point: its settings applied, without `[sweep]`. Resolving it checks the values; errors name the point.
    ///
    /// # Errors
    /// Keys that lead nowhere.
    pub fn at(&self, point: &Point) -> Result<Scenario, Errors> {
        let mut sink = Sink::new(self.sources.clone());
        let mut root = TomlTable { items: self.root.items.iter().filter(|i| i.key != "sweep").cloned().collect() };
        for s in &point.settings {
            let path: Vec<&str> = s.key.split('.').collect();
            set::insert(&mut root, &path, (*s.node).clone(), s.key_at, &mut sink);
        }
        // A sweep without axes has no points to name.
        let name = (!point.values.is_empty()).then(|| match point.label.as_str() {
            "" => format!("in point {} of the sweep", point.index),
            label => format!("in point {} of the sweep: {label}", point.index),
        });
        let scenario = Scenario {
            worlds: self.worlds,
            root,
            sources: self.sources.clone(),
            base: self.base.clone(),
            stem: self.stem.clone(),
            seed: self.seed,
            axes: Vec::new(),
            point: name.clone(),
        };
        sink.finish(Some(scenario)).map_err(|e| match &name {
            Some(name) => e.with_help(name),
            None => e,
        })
    }
}
