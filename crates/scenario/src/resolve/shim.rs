//! `shim = ...`: shims of a transport.

use crate::resolve::topology::build_error;
use crate::schema::choice::choice;
use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::text::doc::{Node, Raw};
use forebay_experiment::registry::ShimEntry;
use forebay_experiment::transport::Chosen;
use forebay_experiment::worlds::Worlds;
use forebay_types::param::{Entry, Values};
use serde_json::Value as Json;

/// Configured shim.
#[derive(Clone)]
pub(crate) struct Shim {
    pub entry: &'static ShimEntry<()>,
    pub values: Values,
    pub json: Json,
}

impl Shim {
    /// Converts to the form of an experiment.
    pub(crate) fn chosen(&self) -> Chosen {
        Chosen { name: self.entry.entry.name, values: self.values.clone() }
    }
}

/// Entry of a configured shim.
pub(crate) fn entry(worlds: &'static Worlds, shim: &Chosen) -> Option<&'static ShimEntry<()>> {
    worlds.shim(shim.name)
}

/// Reads the key `shim`: one shim, a list of them, or "none". `Some(None)` if the key is missing.
pub(crate) fn shims(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<Option<Vec<Shim>>> {
    let Some(item) = fields.get("shim") else { return Some(None) };
    if item.node.text() == Some("none") {
        return Some(Some(Vec::new()));
    }
    let Raw::Array(nodes) = &item.node.raw else { return one(cx, &item.node).map(|s| Some(vec![s])) };
    let mut list: Vec<Shim> = Vec::new();
    for node in nodes {
        let shim = one(cx, node)?;
        if let Some(other) = list.iter().find(|o| o.entry.place == shim.entry.place) {
            let (a, b) = (other.entry.entry.name, shim.entry.entry.name);
            let message = format!("`{a}` and `{b}` exclude each other: each of them {}", shim.entry.place.describe());
            cx.sink.error(node.at, message, "a transport has one of this kind", Some(format!("remove `{a}` or `{b}`")));
            return None;
        }
        list.push(shim);
    }
    Some(Some(list))
}

fn one(cx: &mut Cx, node: &Node) -> Option<Shim> {
    let entries: Vec<&'static Entry> = cx.worlds.shims().iter().map(|e| &e.entry).collect();
    let (entry, values, json) = choice(cx, "shim", node, &entries)?;
    let entry = cx.worlds.shim(entry.name)?;
    let shim = Shim { entry, values, json };
    match cx.worlds.with_shim(&shim.chosen()).check_shim(&shim.chosen()) {
        Ok(()) => Some(shim),
        Err(e) => {
            let empty = crate::text::doc::TomlTable::default();
            let table = if let Raw::Table(t) = &node.raw { t } else { &empty };
            build_error(cx, &e, table, node.at);
            None
        }
    }
}

/// Echo of a list of shims.
pub(crate) fn echo(list: &[Shim]) -> Json {
    match list {
        [] => "none".into(),
        [one] => one.json.clone(),
        more => Json::Array(more.iter().map(|s| s.json.clone()).collect()),
    }
}
