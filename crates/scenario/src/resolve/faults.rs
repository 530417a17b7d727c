//! Keys of `[topology]` for every kind: load balancing, hashes, ties, the queue of hosts, link failures, bit errors and loss.

use crate::resolve::observe::Ports;
use crate::resolve::topology::BuiltNetwork;
use crate::schema::choice::choice;
use crate::schema::context::{Cx, DEFAULTS};
use crate::schema::fields::{Fields, word};
use crate::schema::limits::{MAX_DURATION, MAX_TIME};
use crate::schema::link;
use crate::schema::loss;
use crate::schema::quantity;
use crate::text::doc::{Item, Node, Raw, TomlTable};
use crate::text::source::At;
use forebay_experiment::balance::{self, Balance};
use forebay_experiment::faults::{BIT_ERRORS, Batching, Change, Corruption, Failure, LinkLoss, MIN_LOSS, Reordering};
use forebay_experiment::network::{HashFunction, Hashing, Network, PortConfig, Ties};
use forebay_experiment::registry::Place;
use forebay_experiment::topology::{TwoTier, reverse};
use forebay_experiment::transport::{Chosen, Group, HostProfile};
use forebay_queues::QueueConfig;
use forebay_types::param::Entry;
use forebay_types::{GroupId, IndexVec, PortId, Time, TimeOrNever};
use serde_json::Value as Json;

/// Maximum number of failures. Our choice: a link that flaps every millisecond for a minute and a half.
const MAX_FAILURES: usize = 100_000;

/// Reads these keys into the network and its echo.
pub(crate) fn faults(cx: &mut Cx, table: &TomlTable, built: &mut BuiltNetwork, duration: Option<Time>) -> Option<()> {
    let ports = Ports::new(&built.network);
    let mut ok = true;
    let mut faults = built.network.faults.clone();
    let mut balance_echo = None;
    if let Some(item) = table.get("balance") {
        match balance(cx, &item.node, &built.network) {
            Some((kind, json)) => (faults.balance, balance_echo) = (kind, Some(json)),
            None => ok = false,
        }
    }
    let (function, ties) = (named(cx, table, "hash", HashFunction::NAMES), named(cx, table, "ties", Ties::NAMES));
    ok &= function.is_some() && ties.is_some();
    let mut hashing = Hashing { function: function.unwrap_or_default(), ..Hashing::default() };
    if let Some(item) = table.get("hash-seed") {
        match quantity::int(cx, "`hash-seed`", &item.node, 0, i64::MAX) {
            Some(seed) => hashing.seed = Some(seed.cast_unsigned()),
            None => ok = false,
        }
    }
    if let Some(item) = table.get("failure") {
        match list(cx, item, MAX_FAILURES, |cx, node| failure(cx, node, &ports, duration)) {
            Some(list) => {
                ok &= check_overlap(cx, &ports, &list);
                faults.failures = list.into_iter().map(|(f, _)| f).collect();
            }
            None => ok = false,
        }
    }
    if let Some(item) = table.get("corruption") {
        match list(cx, item, MAX_FAILURES, |cx, node| corruption(cx, node, &ports)) {
            Some(list) => {
                for (i, (c, node)) in list.iter().enumerate() {
                    if list[..i].iter().any(|(d, _)| d.port == c.port) {
                        cx.sink.error(node.at, "`corruption` names a port more than once", "one rate per port", None);
                        ok = false;
                    }
                }
                faults.corruption = list.into_iter().map(|(c, _)| c).collect();
            }
            None => ok = false,
        }
    }
    if let Some(item) = table.get("loss") {
        match list(cx, item, MAX_FAILURES, |cx, node| link_loss(cx, node, &ports)) {
            Some(list) => {
                for (l, node) in list {
                    // Links can have a loss of their own.
                    if faults.loss.iter().any(|known| known.port == l.port) {
                        let label = "one loss per port; the key `loss` of a link is that of both directions";
                        cx.sink.error(node.at, "this port has a loss already", label, None);
                        ok = false;
                    }
                    faults.loss.push(l);
                }
            }
            None => ok = false,
        }
    }
    if let Some(item) = table.get("change") {
        match list(cx, item, MAX_FAILURES, |cx, node| change(cx, node, &ports, duration)) {
            Some(list) => faults.changes = list.into_iter().map(|(c, _)| c).collect(),
            None => ok = false,
        }
    }
    for key in ["reorder", "batch"] {
        let Some(item) = table.get(key) else { continue };
        let read = list(cx, item, MAX_FAILURES, |cx, node| holding(cx, node, &ports, key));
        ok &= read.is_some();
        for (i, (hold, node)) in read.iter().flatten().enumerate() {
            if read.iter().flatten().take(i).any(|(other, _)| other.port == hold.port) {
                cx.sink.error(node.at, format!("`{key}` names a port more than once"), "one entry per port", None);
                ok = false;
            }
            match hold.p {
                Some(p) => faults.reordering.push(Reordering { port: hold.port, p, by: hold.time }),
                None => faults.batching.push(Batching { port: hold.port, every: hold.time }),
            }
        }
    }
    let queue = match table.get("host-queue") {
        None => None,
        Some(item) => {
            let queue = link::queue(cx, &item.node, None);
            ok &= queue.is_some();
            queue.map(|(value, json)| (QueueConfig::new(Some(&value)), json))
        }
    };
    (built.network.faults, built.network.hashing, built.network.ties) = (faults, hashing, ties.unwrap_or_default());
    if let Json::Object(echo) = &mut built.echo {
        echo.extend(balance_echo.map(|json| ("balance".to_owned(), json)));
        for key in ["hash", "hash-seed", "ties", "failure", "corruption", "loss", "change", "reorder", "batch"] {
            if let Some(item) = table.get(key) {
                echo.insert(key.to_owned(), item.node.json());
            }
        }
        if let Some((_, json)) = &queue {
            echo.insert("host-queue".to_owned(), json.clone());
        }
    }
    if let Some((config, _)) = queue {
        built.host_queue_named = true;
        set_host_queue(&mut built.network, &config);
    }
    ok.then_some(())
}

/// Reads the kind of load balancing. CONGA's leaves and spines must be those of the network.
fn balance(cx: &mut Cx, node: &Node, network: &Network) -> Option<(Balance, Json)> {
    let entries: Vec<&'static Entry> = balance::REGISTRY.iter().map(|e| &e.entry).collect();
    let (entry, values, json) = choice(cx, "`balance`", node, &entries)?;
    let built = balance::REGISTRY.iter().find(|e| e.entry.name == entry.name).map(|e| (e.build)(&values))?;
    if let Balance::Flowlet { gap } | Balance::Conga { gap } = built
        && !(Time(1)..=MAX_TIME).contains(&gap)
    {
        let label = format!("legal: above 0, at most {}", quantity::time_text(MAX_TIME));
        cx.sink.error(node.at, format!("`gap` of `balance` is {}", quantity::time_text(gap)), label, None);
        return None;
    }
    if let Balance::Conga { .. } = built
        && let Err(reason) = TwoTier::of(network)
    {
        let help = "CONGA works between leaves and spines, each leaf linked once to each spine: `kind = \"leaf-spine\"`; for other networks write \
                    balance = \"flowlet\"";
        cx.sink.error(node.at, format!("`balance = \"conga\"`: {reason}"), "not a leaf-spine network", Some(help.to_owned()));
        return None;
    }
    Some((built, json))
}

/// Value of the name under `key`, or the default without it; `None` after an error.
fn named<T: Copy + Default>(cx: &mut Cx, table: &TomlTable, key: &str, names: &[(&str, T)]) -> Option<T> {
    let Some(item) = table.get(key) else { return Some(T::default()) };
    let legal: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let text = word(&item.node, &format!("`{key}`"), &legal, &mut cx.sink)?;
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

fn set_host_queue(network: &mut Network, config: &QueueConfig) {
    let Ok(queue) = config.build(None) else { return };
    let nodes = &network.nodes;
    for port in network.ports.iter_mut().filter(|p| nodes[p.from].host) {
        (port.queue, port.queue_config) = (queue.clone(), config.clone());
    }
}

/// Sets the queue that the host profiles of these transports bring, in the network and the echo of a variant, unless the file names one. That of a
/// Linux server is `net.core.default_qdisc` of systemd, or fq if a congestion control sets the pacing rate. Our choice for a shim below TCP that
/// holds packets: a FIFO, because in a kernel it is below the queue discipline, which it would stop.
pub(crate) fn default_host_queue(
    cx: &mut Cx,
    built: &BuiltNetwork,
    groups: &IndexVec<GroupId, Group>,
    (network, echo): (&mut Network, &mut Json),
) -> Option<()> {
    let servers = || groups.iter().filter(|g| g.tcp.host == HostProfile::LinuxServer);
    let is_below_queue = |shim: &Chosen| cx.worlds.shim(shim.name).is_some_and(|entry| entry.place == Place::Endpoint);
    let shimmed = || groups.iter().flat_map(|g| &g.tcp.shims).any(is_below_queue);
    if built.host_queue_named || servers().next().is_none() || shimmed() {
        return Some(());
    }
    let paces = servers().any(|g| cx.worlds.cc(g.tcp.cc.name).is_some_and(|entry| entry.paces));
    let at = At { source: DEFAULTS, ..At::default() };
    let item = |key: &str, text: String| Item { key: key.to_owned(), key_at: at, node: Node { at, raw: Raw::Text(text) } };
    let raw = if paces {
        Raw::Text("fq".to_owned())
    } else {
        // psched_mtu: a full packet, as the kernel counts it.
        let packet = groups.iter().map(|g| g.tcp.mss + g.tcp.header - g.tcp.framing()).max().unwrap_or(1500);
        let items = vec![item("kind", "fq-codel".to_owned()), item("quantum", format!("{packet}B"))];
        Raw::Table(TomlTable { items })
    };
    let (value, json) = link::queue(cx, &Node { at, raw }, None)?;
    set_host_queue(network, &QueueConfig::new(Some(&value)));
    if let Json::Object(echo) = echo {
        echo.insert("host-queue".to_owned(), json);
    }
    Some(())
}

/// Reads a table or a list of tables; returns each with its node.
fn list<'n, T>(
    cx: &mut Cx,
    item: &'n Item,
    most: usize,
    mut read: impl FnMut(&mut Cx, &'n Node) -> Option<T>,
) -> Option<Vec<(T, &'n Node)>> {
    let single = std::slice::from_ref(&item.node);
    let nodes = if let Raw::Array(list) = &item.node.raw { list.as_slice() } else { single };
    if nodes.len() > most {
        cx.sink.error(
            item.node.at,
            format!("`{}` has {} entries", item.key, nodes.len()),
            format!("legal: at most {most}"),
            None,
        );
        return None;
    }
    let found: Vec<_> = nodes.iter().filter_map(|n| Some((read(cx, n)?, n))).collect();
    (found.len() == nodes.len()).then_some(found)
}

/// Port named by the key `key`; otherwise an error with an example.
fn port(cx: &mut Cx, fields: &mut Fields<'_>, key: &str, ports: &Ports<'_>) -> Option<PortId> {
    let item = required(cx, fields, key, "write {} = \"leaf0->spine1\", the name of a port in the results")?;
    match item.node.text() {
        Some(name) => ports.one(cx, &format!("`{key}`"), &item.node, name, &[]),
        None => {
            cx.sink.error(
                item.node.at,
                format!("`{key}` must name a port, not {}", item.node.describe()),
                "expected a name",
                None,
            );
            None
        }
    }
}

fn required<'a>(cx: &mut Cx, fields: &mut Fields<'a>, key: &str, help: &str) -> Option<&'a Item> {
    let item = fields.get(key);
    if item.is_none() {
        let message = format!("{} needs the key `{key}`", fields.what);
        cx.sink.error(fields.at, message, format!("`{key}` is missing"), Some(help.replace("{}", key)));
    }
    item
}

fn failure(cx: &mut Cx, node: &Node, ports: &Ports<'_>, duration: Option<Time>) -> Option<Failure> {
    let mut fields = Fields::of_node("[[topology.failure]]", node, &mut cx.sink)?;
    let port = port(cx, &mut fields, "link", ports);
    let down_item = required(cx, &mut fields, "down", "write {} = \"5ms\"");
    let down = down_item.and_then(|i| quantity::time(cx, "`down`", &i.node, MAX_DURATION));
    let up = match fields.get("up") {
        None => Some(TimeOrNever::NEVER),
        Some(i) => quantity::time(cx, "`up`", &i.node, MAX_DURATION).and_then(|up| {
            let legal = down.is_none_or(|down| down < up);
            if !legal {
                let label = format!("legal: after `down`, {}", quantity::time_text(down.unwrap_or_default()));
                let message = format!("`up` is {}: the link comes up before it goes down", quantity::time_text(up));
                cx.sink.error(i.node.at, message, label, None);
            }
            legal.then_some(up.into())
        }),
    };
    let reroute = match fields.get("reroute") {
        None => Some(Time::ZERO),
        Some(i) => quantity::time(cx, "`reroute`", &i.node, MAX_TIME),
    };
    fields.finish(&mut cx.sink);
    if let (Some(down), Some(end)) = (down, duration)
        && down >= end
    {
        cx.note(format!("a link fails at {}, after the end of the run", quantity::time_text(down)));
    }
    Some(Failure { port: port?, down: down?, up: up?, reroute: reroute? })
}

/// Checks that failures of a link do not overlap.
fn check_overlap(cx: &mut Cx, ports: &Ports<'_>, list: &[(Failure, &Node)]) -> bool {
    let link = |f: &Failure| reverse(ports.network, f.port).map_or(f.port, |back| f.port.min(back));
    let mut sorted: Vec<(PortId, Time, TimeOrNever, &Node)> = list.iter().map(|(f, n)| (link(f), f.down, f.up, *n)).collect();
    sorted.sort_by_key(|s| (s.0, s.1));
    let mut ok = true;
    for pair in sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0 && !pair[0].2.is_due(pair[1].1)) {
        let message = format!("the link is down already at {}", quantity::time_text(pair[1].1));
        let help = Some("give the earlier failure an `up` that is not later than that".to_owned());
        cx.sink.error(pair[1].3.at, message, "one failure at a time", help);
        ok = false;
    }
    ok
}

fn corruption(cx: &mut Cx, node: &Node, ports: &Ports<'_>) -> Option<Corruption> {
    let mut fields = Fields::of_node("[[topology.corruption]]", node, &mut cx.sink)?;
    let port = port(cx, &mut fields, "port", ports);
    let rate = required(cx, &mut fields, "bit-errors", "write {} = 1e-8, the probability of each bit")
        .and_then(|i| quantity::float(cx, "`bit-errors`", &i.node, BIT_ERRORS.0, BIT_ERRORS.1));
    fields.finish(&mut cx.sink);
    Some(Corruption { port: port?, bit_errors: rate? })
}

fn change(cx: &mut Cx, node: &Node, ports: &Ports<'_>, duration: Option<Time>) -> Option<Change> {
    let mut fields = Fields::of_node("[[topology.change]]", node, &mut cx.sink)?;
    let port = port(cx, &mut fields, "port", ports);
    let at_item = required(cx, &mut fields, "at", "write {} = \"10ms\"");
    let at = at_item.and_then(|i| quantity::time(cx, "`at`", &i.node, MAX_DURATION));
    let [rate, delay, loss] = ["rate", "delay", "loss"].map(|key| fields.get(key));
    fields.finish(&mut cx.sink);
    if rate.is_none() && delay.is_none() && loss.is_none() {
        let help =
            Some("write at least one of rate = \"50Mbps\", delay = \"10ms\", loss = \"1%\" (\"0%\": no more losses)".to_owned());
        cx.sink.error(node.at, "[[topology.change]] changes nothing", "no `rate`, `delay` or `loss`", help);
        return None;
    }
    let mut ok = true;
    if let Some(id) = port
        && ports.network.nodes[ports.network.ports[id].from].host
    {
        let help = Some(
            "name the port of a switch, such as the one towards the receiver; the interface of a host keeps its rate".to_owned(),
        );
        cx.sink.error(node.at, "[[topology.change]] names the interface of a host", "not a port of a switch", help);
        ok = false;
    }
    let rate = rate.map(|i| quantity::rate(cx, "`rate`", &i.node));
    let delay = delay.map(|i| {
        let delay = quantity::time(cx, "`delay`", &i.node, PortConfig::MAX_DELAY)?;
        if delay == Time::ZERO {
            cx.sink.error(i.node.at, "`delay` is zero", format!("legal: above 0, at most {}", PortConfig::MAX_DELAY), None);
            return None;
        }
        Some(delay)
    });
    let loss = loss.map(|i| loss::probability(cx, "`loss`", &i.node, 0.0));
    if let (Some(at), Some(end)) = (at, duration)
        && at >= end
    {
        cx.note(format!("a link changes at {}, after the end of the run", quantity::time_text(at)));
    }
    // The outer `Option` is the presence of the key, the inner one that of a legal value.
    let [rate_ok, delay_ok, loss_ok] =
        [rate.is_none_or(|v| v.is_some()), delay.is_none_or(|v| v.is_some()), loss.is_none_or(|v| v.is_some())];
    if !(ok && rate_ok && delay_ok && loss_ok) {
        return None;
    }
    Some(Change { at: at?, port: port?, rate: rate.flatten(), delay: delay.flatten(), loss: loss.flatten() })
}

/// Entry of `[[topology.reorder]]` or `[[topology.batch]]`.
struct Holding {
    port: PortId,
    /// Probability of late packets; `None` for batches.
    p: Option<f64>,
    /// Additional delay of late packets, or time between batches.
    time: Time,
}

fn holding(cx: &mut Cx, node: &Node, ports: &Ports<'_>, key: &str) -> Option<Holding> {
    let table = format!("[[topology.{key}]]");
    let mut fields = Fields::of_node(&table, node, &mut cx.sink)?;
    let port = port(cx, &mut fields, "port", ports);
    let (time_key, example) = if key == "reorder" { ("by", "8ms") } else { ("every", "5ms") };
    let p = match key {
        "reorder" => {
            let item = required(cx, &mut fields, "p", "write {} = 0.1, the probability that a packet is late");
            Some(item.and_then(|i| loss::probability(cx, "`p`", &i.node, MIN_LOSS)))
        }
        _ => None,
    };
    let item = required(cx, &mut fields, time_key, &format!("write {{}} = \"{example}\""));
    let time = item.and_then(|i| {
        let time = quantity::time(cx, &format!("`{time_key}`"), &i.node, PortConfig::MAX_DELAY)?;
        if time == Time::ZERO {
            let legal = format!("legal: above 0, at most {}", PortConfig::MAX_DELAY);
            cx.sink.error(i.node.at, format!("`{time_key}` is zero"), legal, None);
            return None;
        }
        Some(time)
    });
    fields.finish(&mut cx.sink);
    let port = port?;
    if ports.network.nodes[ports.network.ports[port].to].host {
        let help = "name a port whose link leads to a switch, such as the bottleneck of a dumbbell".to_owned();
        cx.sink.error(node.at, format!("{table} names a link that leads to a host"), "not a link to a switch", Some(help));
        return None;
    }
    // The outer `Option` is the presence of the key, the inner one that of a legal value.
    let p = match p {
        Some(p) => Some(p?),
        None => None,
    };
    Some(Holding { port, p, time: time? })
}

fn link_loss(cx: &mut Cx, node: &Node, ports: &Ports<'_>) -> Option<LinkLoss> {
    let mut fields = Fields::of_node("[[topology.loss]]", node, &mut cx.sink)?;
    let port = port(cx, &mut fields, "port", ports);
    let loss = loss::timed(cx, &mut fields);
    fields.finish(&mut cx.sink);
    Some(LinkLoss { port: port?, loss: loss? })
}
