//! `[[workload]]`: traffic, read once and built for each variant.

use crate::resolve::members::{Rule, check_membership};
use crate::resolve::topology::build_error;
use crate::resolve::transport::Transports;
use crate::schema::choice;
use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::schema::names;
use crate::schema::value;
use crate::text::doc::{Item, Node, Raw, TomlTable};
use crate::text::message_text::{alternatives, did_you_mean, grouped, short};
use crate::text::source::At;
use forebay_experiment::assign::Assign;
use forebay_experiment::listen::Listen;
use forebay_experiment::network::Network;
use forebay_experiment::traffic::{End, Workload, WorkloadKind};
use forebay_experiment::transport::Group;
use forebay_experiment::workload::{self, Context, WorkloadEntry};
use forebay_experiment::writes::Writes;
use forebay_types::param::{Entry, Kind, Value, Values};
use forebay_types::{GroupId, QueueLen, Time};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Maximum number of `[[workload]]` tables.
const MAX_WORKLOADS: usize = 10_000;
/// Maximum length of an accept queue (the C type of `backlog` is int, `somaxconn` is 4096 by default).
const MAX_BACKLOG: i64 = 65_535;
/// Maximum number of calls for a message.
const MAX_WRITES: i64 = 1000;

/// Kinds with their own names for the ends `from` and `to`; by default these are the groups `senders` and `receiver` of the topology.
const ENDS: &[(&str, &str, &str)] =
    &[("incast", "senders", "receiver"), ("queries", "workers", "aggregators"), ("requests", "clients", "servers")];

/// Workload with checked parameters, not yet bound to a network and a transport.
pub(crate) struct Draft<'a> {
    entry: &'static WorkloadEntry,
    values: Values,
    class: String,
    transport: Option<&'a Item>,
    writes: Option<(Writes, At)>,
    listen: Option<(Listen, At)>,
    table: TomlTable,
    kind_at: At,
    echo: Map<String, Json>,
}

/// Reads all workloads.
pub(crate) fn drafts<'a>(cx: &mut Cx, item: Option<&'a Item>, program: bool) -> Option<Vec<Draft<'a>>> {
    let Some(item) = item else {
        if program {
            return Some(Vec::new());
        }
        let help = Some("add at least one:\n[[workload]]\nkind = \"long\"".to_owned());
        cx.sink.error(At::default(), "the scenario has no [[workload]]", "no traffic", help);
        return None;
    };
    let Raw::Array(nodes) = &item.node.raw else {
        let message = format!("`workload` must be a list of tables, not {}", item.node.describe());
        cx.sink.error(item.node.at, message, "write [[workload]], with two brackets", None);
        return None;
    };
    if (nodes.is_empty() && !program) || nodes.len() > MAX_WORKLOADS {
        cx.sink.error(
            item.node.at,
            format!("the scenario has {} workloads", nodes.len()),
            format!("legal: 1 to {MAX_WORKLOADS}"),
            None,
        );
        return None;
    }
    let mut list: Vec<Draft<'a>> = Vec::new();
    let mut classes: HashMap<String, usize> = HashMap::new();
    for (number, node) in (1..).zip(nodes) {
        let Some(draft) = draft(cx, node, &list) else { continue };
        if let Some(first) = classes.insert(draft.class.clone(), number) {
            let at = draft.table.get("class").map_or(draft.kind_at, |i| i.node.at);
            let message = format!("[[workload]] {first} and [[workload]] {number} both have the class `{}`", draft.class);
            let help = Some("set `class` of one of them to a name that no other workload has".to_owned());
            cx.sink.error(at, message, "the results would not distinguish them", help);
            return None;
        }
        list.push(draft);
    }
    (list.len() == nodes.len()).then_some(list)
}

fn draft<'a>(cx: &mut Cx, node: &'a Node, before: &[Draft<'_>]) -> Option<Draft<'a>> {
    let Raw::Table(written) = &node.raw else {
        return Fields::of_node("[[workload]]", node, &mut cx.sink).and(None);
    };
    let table = with_ends(cx, written)?;
    let mut fields = Fields::new("[[workload]]", node.at, &table);
    let entries: Vec<&'static Entry> = workload::REGISTRY.iter().map(|e| &e.entry).collect();
    let (entry, kind_at) = choice::kind(cx, &mut fields, "workload", &entries)?;
    fields.what = format!("the workload `{}`", entry.name);
    let class = match fields.get("class") {
        Some(i) => names::label(cx, "`class`", &i.node),
        // Two workloads of a kind have different names in the results by default.
        None => Some(match before.iter().filter(|d| d.entry.entry.name == entry.name).count() {
            0 => entry.name.to_owned(),
            n => format!("{}-{}", entry.name, n + 1),
        }),
    };
    fields.get("transport");
    let writes = match fields.get("writes") {
        Some(i) => Some(writes(cx, &i.node)?),
        None => None,
    };
    let listen = listen(cx, &mut fields)?;
    let transport = written.get("transport");
    let checked = choice::params(cx, &mut fields, entry.params, &format!("the workload `{}`", entry.name), kind_at);
    fields.finish(&mut cx.sink);
    let (class, (values, params)) = (class?, checked?);
    let mut echo = Map::new();
    echo.insert("kind".into(), entry.name.into());
    echo.insert("class".into(), class.as_str().into());
    if let Some(i) = transport {
        echo.insert("transport".into(), i.node.json());
    }
    if let Some((writes, _)) = writes {
        echo.insert("writes".into(), writes.get().into());
    }
    if let Some((listen, _)) = listen {
        echo.insert("listen-backlog".into(), listen.backlog().into());
        echo.insert("accept-time".into(), listen.accept_time().to_string().into());
    }
    echo.extend(params);
    Some(Draft {
        entry: workload::find(entry.name)?,
        values,
        class,
        transport,
        writes,
        listen,
        table: table.clone(),
        kind_at,
        echo,
    })
}

/// Reads `writes`.
fn writes(cx: &mut Cx, node: &Node) -> Option<(Writes, At)> {
    let (value, _) = value::read(cx, Kind::Int(1, MAX_WRITES), "`writes`", node)?;
    let Value::Int(calls) = value else { return None };
    Some((Writes::new(u32::try_from(calls).ok()?), node.at))
}

/// Reads `listen-backlog` and `accept-time`, which belong together. The outer option is `None` for an error.
fn listen(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<Option<(Listen, At)>> {
    let (backlog, accept) = (fields.get("listen-backlog"), fields.get("accept-time"));
    let (backlog, accept) = match (backlog, accept) {
        (None, None) => return Some(None),
        (Some(backlog), Some(accept)) => (backlog, accept),
        (Some(one), None) | (None, Some(one)) => {
            let message = "`listen-backlog` and `accept-time` belong together";
            let help = "set both, such as listen-backlog = 128 and accept-time = \"50us\"".to_owned();
            cx.sink.error(one.key_at, message, "the other key is missing", Some(help));
            return None;
        }
    };
    let (connections, _) = value::read(cx, Kind::Int(1, MAX_BACKLOG), "`listen-backlog`", &backlog.node)?;
    let (time, _) = value::read(cx, Kind::Time, "`accept-time`", &accept.node)?;
    let (Value::Int(connections), Value::Time(time)) = (connections, time) else { return None };
    if time == Time::ZERO {
        cx.sink.error(accept.node.at, "`accept-time` is 0", "legal: above 0, such as \"50us\"", None);
        return None;
    }
    Some(Some((Listen::new(u32::try_from(connections).ok()?, time), backlog.node.at)))
}

/// The table with the kind's own names for the keys `from` and `to`, which every workload accepts.
fn with_ends(cx: &mut Cx, table: &TomlTable) -> Option<TomlTable> {
    let kind = table.get("kind").and_then(|i| i.node.text());
    let own = ENDS.iter().find(|e| Some(e.0) == kind).map(|e| [("from", e.1), ("to", e.2)]);
    let mut table = table.clone();
    for (key, own) in own.into_iter().flatten() {
        let both = table.get(own).is_some();
        if let Some(item) = table.items.iter_mut().find(|i| i.key == key) {
            if both {
                cx.sink.error(item.key_at, format!("`{key}` and `{own}` name the same hosts"), "keep one of the keys", None);
                return None;
            }
            own.clone_into(&mut item.key);
        }
    }
    Some(table)
}

/// Checks that a scenario without `duration` has finite work, not only background traffic.
pub(crate) fn something_ends(cx: &mut Cx, drafts: &[Draft<'_>], traffic: &[Workload], duration: Option<Time>) -> Option<()> {
    if duration.is_some() || !traffic.iter().all(|w| w.kind.end() == End::WithOthers) {
        return Some(());
    }
    let at = drafts.first().map_or(At::default(), |d| d.kind_at);
    let help = Some("set `duration` at the top of the file, or `stop`".to_owned());
    cx.sink.error(at, "all traffic is `udp` without `stop`, and the scenario has no `duration`", "never ends", help);
    None
}

impl Draft<'_> {
    /// Name in the results.
    pub(crate) fn class(&self) -> &str {
        &self.class
    }

    /// Returns true if its flows use a transport.
    pub(crate) fn uses_transport(&self) -> bool {
        self.entry.transport
    }

    /// Echo of the workload.
    pub(crate) fn echo(&self) -> Json {
        Json::Object(self.echo.clone())
    }

    /// Builds the traffic on `network` with the transports of a variant.
    pub(crate) fn build(
        &self,
        cx: &mut Cx,
        network: &Network,
        (duration, seed): (Option<Time>, u64),
        transports: &Transports,
    ) -> Option<Workload> {
        let (group, transport) = self.transport(cx, network, transports)?;
        // Our choice: if connections have different header sizes, loads are computed with that of the first transport.
        let context = Context { network, tcp: &transports.groups.get(group)?.tcp, duration, seed };
        match (self.entry.build)(&self.values, &context) {
            Ok(kind) => {
                self.check(cx, &kind, duration)?;
                let names: Vec<&str> = transports.groups.iter().map(|g| g.name.as_str()).collect();
                check_membership(cx, &self.class, self.kind_at, &kind, &transport, &names)?;
                let writes = self.writes.map_or(Writes::ONE, |(writes, _)| writes);
                let listen = self.listen.map(|(listen, _)| listen);
                let workload = Workload { class: self.class.clone(), transport, writes, listen, kind };
                self.check_writes(cx, &workload, transports)?;
                if let (Some((_, at)), Some(reason)) = (self.listen, workload.listen_conflict(&transports.groups)) {
                    let message = format!("the workload `{}` cannot have a `listen-backlog`: {reason}", self.class);
                    cx.sink.error(at, message, "not possible here", None);
                    return None;
                }
                Some(workload)
            }
            Err(e) => {
                build_error(cx, &e, &self.table, self.kind_at);
                None
            }
        }
    }

    /// Checks that messages of the workload can be written by several calls.
    fn check_writes(&self, cx: &mut Cx, workload: &Workload, transports: &Transports) -> Option<()> {
        let Some((_, at)) = self.writes.filter(|(writes, _)| *writes != Writes::ONE) else { return Some(()) };
        if matches!(workload.kind, WorkloadKind::Long { size: None, .. } | WorkloadKind::Udp { .. }) {
            let message =
                format!("the workload `{}` writes no messages of a size, so that `writes` cannot divide them", self.class);
            cx.sink.error(at, message, "has no meaning", Some("remove `writes`, or give the flows a `size`".to_owned()));
            return None;
        }
        let mut groups = transports.groups.enumerate();
        let Some((_, group)) = groups.find(|(id, g)| workload.uses(*id) && !g.tcp.has_send_buffer()) else { return Some(()) };
        let message = format!("`writes` needs a send buffer, which the transport `{}` does not model", group.name);
        let help = Some("set `stack = \"linux\"`, or `snd-buf`, for that transport".to_owned());
        cx.sink.error(at, message, "one call for each message only", help);
        None
    }

    /// First transport of the workload, and its assignment rule.
    fn transport(&self, cx: &mut Cx, network: &Network, transports: &Transports) -> Option<(GroupId, Assign)> {
        if !self.entry.transport {
            return self.no_transport(cx, transports);
        }
        let names = || transports.groups.iter().map(|g| g.name.as_str());
        let group = match self.transport {
            None if !matches!(transports.rule, Rule::ByName) => {
                return Some((transports.rule.first(), transports.rule.assign(network)?));
            }
            None if transports.groups.len() == 1 => Some(GroupId::new(0)),
            None => {
                let message = format!("the workload `{}` needs the key `transport`: there are several groups", self.class);
                let help = format!("legal: {}; or give the groups `hosts` or a `share`", alternatives(names()));
                cx.sink.error(self.kind_at, message, "`transport` is missing", Some(help));
                None
            }
            Some(item) if !transports.named => {
                let help = Some("name transports with [[transport.group]], or remove this key".to_owned());
                cx.sink.error(item.node.at, "the scenario has no [[transport.group]] to choose from", "has no meaning", help);
                None
            }
            Some(item) => {
                let Some(name) = item.node.text() else {
                    let message = "`transport` is the name of one transport group, in quotes";
                    let help =
                        format!("legal: {}; to mix groups, give each a `share` and leave this key out", alternatives(names()));
                    cx.sink.error(item.node.at, message, "no name", Some(help));
                    return None;
                };
                let found = transports.groups.position(|g| g.name == name);
                if found.is_none() {
                    let label = did_you_mean(name, names()).unwrap_or_else(|| "unknown group".into());
                    let help = Some(format!("legal: {}", alternatives(names())));
                    cx.sink.error(item.node.at, format!("there is no transport group `{}`", short(name)), label, help);
                }
                found
            }
        }?;
        Some((group, Assign::One(group)))
    }

    /// Group of traffic without transport, which comes after those of the scenario. The first group supplies the properties of a transport that a
    /// workload may need.
    fn no_transport(&self, cx: &mut Cx, transports: &Transports) -> Option<(GroupId, Assign)> {
        let (kind, name) = (self.entry.entry.name, Group::DATAGRAMS);
        if let Some(item) = self.transport {
            cx.sink.error(item.key_at, format!("the workload `{kind}` uses no transport"), "has no meaning", None);
            return None;
        }
        if transports.groups.iter().any(|g| g.name == name) {
            let help = Some("give that group another name".to_owned());
            let message =
                format!("a transport group is called `{name}`, which is the name of the traffic of `{kind}` in the results");
            cx.sink.error(self.kind_at, message, "the results would not distinguish them", help);
            return None;
        }
        Some((GroupId::new(0), Assign::One(transports.groups.next_id())))
    }

    /// Checks for traffic of every kind.
    fn check(&self, cx: &mut Cx, kind: &WorkloadKind, duration: Option<Time>) -> Option<()> {
        let to_itself = match kind {
            WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } | WorkloadKind::Requests { pairs, .. } => {
                pairs.iter().any(|p| p.0 == p.1)
            }
            WorkloadKind::Incast { senders, receiver, .. } => senders.contains(receiver),
            WorkloadKind::Poisson { from, to, .. } => to.len() == 1 && from.contains(&to[0]),
            WorkloadKind::Udp { pairs, datagram, .. } => {
                let wire = u64::from(datagram.wire);
                if cx.buffers.iter().any(|site| matches!(site.len, QueueLen::Bytes(n) if n < wire)) {
                    let message =
                        format!("a packet of the workload `{}` has {wire} B, more than a buffer of [topology]", self.class);
                    cx.sink.error(self.kind_at, message, "does not fit", None);
                    return None;
                }
                pairs.iter().any(|p| p.0 == p.1)
            }
            WorkloadKind::Queries { .. } => false,
            WorkloadKind::Replay { flows, .. } => {
                let mean = flows.iter().map(|f| f.bytes as f64).sum::<f64>() / (flows.len() as f64).max(1.0);
                cx.note(format!("{}: {} flows, mean {} B", self.class, flows.len(), grouped(mean)));
                flows.iter().any(|f| f.src == f.dst)
            }
        };
        if duration.is_none() && kind.end() == End::Never {
            let help = Some("set `duration` at the top of the file, or limit the workload".to_owned());
            cx.sink.error(
                self.kind_at,
                format!("the workload `{}` never ends, and the scenario has no `duration`", self.class),
                "endless",
                help,
            );
            return None;
        }
        if to_itself {
            cx.sink.error(
                self.kind_at,
                format!("the workload `{}` sends from a host to itself", self.class),
                "source and destination must differ",
                None,
            );
            return None;
        }
        Some(())
    }
}
