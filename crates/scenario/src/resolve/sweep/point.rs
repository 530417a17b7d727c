//! One point of a sweep, and the scenario it stands for.

use crate::text::doc::{Node, TomlTable};
use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;
use crate::text::set;
use crate::text::source::At;
use serde_json::Value as Json;
use std::sync::Arc;

/// One choice of a dimension: what it sets, and which value of which axis that is.
pub(super) type Choice = Vec<Setting>;

/// A key of the scenario with one value.
#[derive(Debug, Clone)]
pub struct Setting {
    key: Arc<str>,
    key_at: At,
    node: Arc<Node>,
    /// Index of the axis, and of the value in it.
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

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// Number, from 0.
    pub index: usize,
    /// What it changes in the scenario, in the order in which it is changed: short paths first, so that a key within a table can be
    /// set after the table. As a `--set` each.
    pub settings: Vec<Setting>,
    /// `senders=4 cc=dctcp`: what it changes, in the order of the axes.
    pub label: String,
    /// Which value of each axis it has; `None`: it does not set that key, which then has the value of the scenario.
    pub values: Vec<Option<usize>>,
}

impl Scenario {
    /// The scenario of one point: its settings applied, without `[sweep]`. Resolving it checks the values; errors name the point.
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
        // Where nothing is varied, there is no point to name.
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
