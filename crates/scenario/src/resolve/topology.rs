//! `[topology]`: from parameters to nodes and ports.

use crate::schema::choice;
use crate::schema::context::{BufferSite, Cx, DEFAULTS};
use crate::schema::fields::Fields;
use crate::schema::parameter;
use crate::text::doc::{Item, Raw, TomlTable};
use crate::text::source::At;
use forebay_experiment::network::{Network, PortConfig};
use forebay_experiment::topology::{self, BuildError};
use forebay_types::param::{Entry, Value, Values};
use forebay_types::{NodeId, PortId, QueueLen};
use serde_json::{Map, Value as Json};

/// Keys of `[topology.shared-buffer]` and the parameters that they set.
const SHARED: &[(&str, &str)] =
    &[("total", "shared-buffer"), ("switch", "shared-switch"), ("alpha", "shared-alpha"), ("per-port", "shared-per-port")];

/// Keys of `[topology]` for every kind, read in `resolve/faults.rs`.
const FAULTS: [&str; 11] =
    ["balance", "hash", "hash-seed", "ties", "host-queue", "failure", "corruption", "loss", "change", "reorder", "batch"];

/// Network of the scenario.
pub(crate) struct BuiltNetwork {
    pub network: Network,
    pub echo: Json,
    /// True if a link of the file names its queue.
    pub queue_named: bool,
    /// True if the file sets `host-queue`.
    pub host_queue_named: bool,
}

impl BuiltNetwork {
    /// Returns true if a switch port can mark.
    pub(crate) fn marks(&self) -> bool {
        self.network.ports.iter().any(|p| !self.network.nodes[p.from].host && p.queue.marks())
    }
}

/// Reads and builds `[topology]`.
pub(crate) fn topology(cx: &mut Cx, at: At, table: &TomlTable) -> Option<BuiltNetwork> {
    let table = flatten_shared_buffer(cx, table)?;
    let mut fields = Fields::new("[topology]", at, &table);
    let entries: Vec<&'static Entry> = topology::REGISTRY.iter().map(|e| &e.entry).collect();
    if let Some(item) = table.get("kind")
        && let Some((word, meant)) = topology::ALSO_CALLED.iter().find(|(word, _)| item.node.text() == Some(word))
    {
        let summary = topology::find(meant).map_or("", |e| e.entry.summary);
        let help = Some(format!("{meant}: {summary}"));
        cx.sink.error(item.node.at, format!("the topology `{word}` is called `{meant}`"), format!("write \"{meant}\""), help);
        return None;
    }
    let (entry, kind_at) = choice::kind(cx, &mut fields, "topology", &entries)?;
    fields.what = format!("the topology `{}`", entry.name);
    let checked =
        choice::params_with(cx, &mut fields, entry.params, parameter::read, &format!("the topology `{}`", entry.name), kind_at);
    // These keys need the ports: `resolve/faults.rs`.
    for key in FAULTS {
        fields.get(key);
    }
    fields.finish(&mut cx.sink);
    let (values, params) = checked?;
    let built = topology::find(entry.name).map(|e| (e.build)(&values));
    let network = match built? {
        Ok(n) => n,
        Err(e) => {
            build_error(cx, &e, &table, kind_at);
            return None;
        }
    };
    shared_sites(cx, &values, &table);
    let mut echo: Map<String, Json> = [("kind".to_owned(), Json::from(entry.name))].into_iter().collect();
    echo.extend(params);
    let queue_named = values.0.iter().any(|(_, v)| match v {
        Value::Link(l) => l.queue.is_some(),
        Value::Links(list) => list.iter().any(|l| l.link.queue.is_some()),
        _ => false,
    });
    Some(BuiltNetwork { network, echo: Json::Object(echo), queue_named, host_queue_named: false })
}

/// Reports an error of a builder at the key that it names.
pub(crate) fn build_error(cx: &mut Cx, e: &BuildError, table: &TomlTable, kind_at: At) {
    let item = table.get(e.key);
    let message =
        if e.message.contains(&format!("`{}`", e.key)) { e.message.clone() } else { format!("`{}`: {}", e.key, e.message) };
    let label = if item.is_some() { "here".to_owned() } else { format!("`{}` is not set", e.key) };
    cx.sink.error(item.map_or(kind_at, |i| i.node.at), message, label, None);
}

/// Converts the table form of the shared memory to the plain keys of topologies.
fn flatten_shared_buffer(cx: &mut Cx, table: &TomlTable) -> Option<TomlTable> {
    let mut out = TomlTable::default();
    for item in &table.items {
        let Raw::Table(shared) = &item.node.raw else {
            out.items.push(item.clone());
            continue;
        };
        if item.key != "shared-buffer" {
            out.items.push(item.clone());
            continue;
        }
        let mut fields = Fields::new("[topology.shared-buffer]", item.node.at, shared);
        let found: Vec<(&str, Option<&Item>)> = SHARED.iter().map(|(short, long)| (*long, fields.get(short))).collect();
        fields.finish(&mut cx.sink);
        if found[..2].iter().all(|f| f.1.is_none()) {
            let help =
                Some("write [topology.shared-buffer] with total = \"4MB\" or a switch of `forebay list switches`, and alpha = 0.2 or per-port = \"500KB\"".to_owned());
            let text = "[topology.shared-buffer] needs the key `total` or `switch`";
            cx.sink.error(item.node.at, text, "`total` is missing", help);
            return None;
        }
        for (long, part) in found {
            out.items.extend(part.map(|i| Item { key: long.to_owned(), ..i.clone() }));
        }
    }
    Some(out)
}

/// Registers shared memory, which must hold a packet too.
fn shared_sites(cx: &mut Cx, values: &Values, table: &TomlTable) {
    for (key, value) in &values.0 {
        if let (Value::Bytes(b), true) = (value, key.starts_with("shared-")) {
            let at = table.get(key).map_or(At { source: DEFAULTS, ..At::default() }, |i| i.node.at);
            cx.buffers.push(BufferSite { key, len: QueueLen::Bytes(b.0), at });
        }
    }
    // A single busy port may hold alpha times the pool.
    let value = |key: &str| values.0.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
    if let (Some(Value::Bytes(total)), Some(Value::Float(alpha)), Some(Value::Unset)) =
        (value("shared-buffer"), value("shared-alpha"), value("shared-per-port"))
    {
        let at = table.get("shared-alpha").map_or(At { source: DEFAULTS, ..At::default() }, |i| i.node.at);
        let len = QueueLen::Bytes((alpha * total.0 as f64) as u64);
        cx.buffers.push(BufferSite { key: "shared-alpha", len, at });
    }
}

/// Name of every port: the topology's own, or `from->to`; parallel links are numbered.
pub(crate) fn port_names(network: &Network) -> Vec<String> {
    let mut seen = std::collections::HashMap::new();
    let mut names: Vec<String> = Vec::with_capacity(network.ports.len());
    for p in &network.ports {
        let node = |id: NodeId| network.nodes.get(id).map_or("?", |n| n.name.as_str());
        let name = format!("{}->{}", node(p.from), node(p.to));
        let n: &mut u32 = seen.entry((p.from, p.to)).or_insert(0);
        *n += 1;
        names.push(if *n == 1 { name } else { format!("{name}#{n}") });
    }
    for (name, port) in &network.named_ports {
        if let Some(slot) = names.get_mut(port.index()) {
            slot.clone_from(name);
        }
    }
    names
}

/// Egress ports of switches.
pub(crate) fn switch_ports(network: &Network) -> Vec<PortId> {
    let of_switch = |p: &PortConfig| network.nodes.get(p.from).is_some_and(|n| !n.host);
    network.ports.enumerate().filter(|(_, p)| of_switch(p)).map(|(id, _)| id).collect()
}
