//! `[observe]`: data recorded beyond totals.

use crate::resolve::topology::{port_names, switch_ports};
use crate::schema::context::Cx;
use crate::schema::fields::{Fields, word};
use crate::schema::limits::{MAX_DURATION, MAX_TIME};
use crate::schema::quantity;
use crate::text::doc::{Node, Raw, TomlTable};
use crate::text::message_text::{alternatives, did_you_mean, short};
use crate::text::source::At;
use forebay_experiment::capture::{Capture, CaptureFormat, CapturePlace, CapturePoint, Fate, IpVersion};
use forebay_experiment::network::Network;
use forebay_experiment::observe::Observe;
use forebay_types::{PortId, Time};
use serde_json::{Map, Value as Json};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Maximum number of queue samples of a run. Our choice: about 10 GB of memory.
const MAX_SAMPLES: u64 = 200_000_000;
/// Minimum interval of queue samples in a run of unknown length. Idle time has samples too.
const MIN_INTERVAL: Time = Time::from_us(1);
/// Maximum number of links that are searched for a similar name.
const MAX_NAMES: usize = 20_000;
/// Maximum number of flows with a TCP time series.
const MAX_SERIES: usize = 10_000;

/// Maximum number of interfaces of a capture. Our choice: their headers take about a megabyte.
const MAX_CAPTURES: usize = 10_000;
/// Maximum length of a captured frame: that of the longest IPv4 packet.
const MAX_FRAME_BYTES: u32 = 65_549;

/// Ports of the network by name.
pub(crate) struct Ports<'a> {
    pub(crate) network: &'a Network,
    /// Filled at the first lookup: most scenarios look up none, and a sweep resolves each of its points.
    names: OnceCell<HashMap<String, PortId>>,
}

impl<'a> Ports<'a> {
    pub(crate) fn new(network: &'a Network) -> Ports<'a> {
        Ports { network, names: OnceCell::new() }
    }

    /// Port with this name, if there is one.
    fn find(&self, name: &str) -> Option<PortId> {
        self.names.get_or_init(|| Ports::names(self.network)).get(name).copied()
    }

    fn names(network: &Network) -> HashMap<String, PortId> {
        let mut names: HashMap<String, PortId> = HashMap::new();
        // The plain form `from->to` of a port with a short name; then the names in use.
        for (id, p) in network.ports.enumerate() {
            if let (Some(a), Some(b)) = (network.nodes.get(p.from), network.nodes.get(p.to)) {
                names.entry(format!("{}->{}", a.name, b.name)).or_insert(id);
            }
        }
        names.extend(port_names(network).into_iter().zip(network.ports.ids()));
        names.extend(network.named_ports.iter().cloned());
        names
    }

    /// `"all"`, `"switches"`, a port name, or a list of names.
    fn read(&self, cx: &mut Cx, what: &str, node: &Node) -> Option<Vec<PortId>> {
        match &node.raw {
            Raw::Text(t) if t == "all" => Some(self.network.ports.ids().collect()),
            Raw::Text(t) if t == "switches" => Some(switch_ports(self.network)),
            Raw::Text(t) => self.one(cx, what, node, t, &["all", "switches"]).map(|p| vec![p]),
            Raw::Array(list) => {
                let mut ports = Vec::new();
                let mut ok = true;
                for n in list {
                    match n.text() {
                        Some(t) => match self.one(cx, what, n, t, &[]) {
                            Some(p) if !ports.contains(&p) => ports.push(p),
                            Some(_) => {}
                            None => ok = false,
                        },
                        None => {
                            cx.sink.error(n.at, format!("{what} must name ports, not {}", n.describe()), "expected a name", None);
                            ok = false;
                        }
                    }
                }
                ok.then_some(ports)
            }
            _ => {
                let help = "ports are \"all\", \"switches\", a name such as \"bottleneck\" or \"sw->recv\", or a list of names"
                    .to_owned();
                cx.sink.error(node.at, format!("{what} must name ports, not {}", node.describe()), "expected ports", Some(help));
                None
            }
        }
    }

    /// Port with this name; otherwise an error that also lists `several`, the legal names of sets of ports.
    pub(crate) fn one(&self, cx: &mut Cx, what: &str, node: &Node, name: &str, several: &[&str]) -> Option<PortId> {
        let found = self.find(name);
        if found.is_none() {
            self.refuse(cx, (node, name), format!("{what}: there is no port `{}`", short(name)), several, &[]);
        }
        found
    }

    /// Reports a name that is none of a port. `several` and `hosts` are other legal names.
    fn refuse(&self, cx: &mut Cx, (node, name): (&Node, &str), message: String, several: &[&str], hosts: &[&str]) {
        let short_names = || self.network.named_ports.iter().map(|p| p.0.as_str());
        let links: Vec<String> = self.network.ports.ids().take(MAX_NAMES).map(|id| self.ends(id)).collect();
        let known = short_names().chain(several.iter().chain(hosts).copied()).chain(links.iter().map(String::as_str));
        let unknown = if hosts.is_empty() { "unknown port" } else { "unknown name" };
        let label = did_you_mean(name, known).unwrap_or_else(|| unknown.into());
        let words: Vec<&str> = several.iter().copied().chain(short_names()).collect();
        let words = if words.is_empty() { String::new() } else { format!("{}, or ", alternatives(words)) };
        let host = hosts.first().map_or(String::new(), |host| format!("a host such as `{host}`, or "));
        let help = format!("legal: {words}{host}any link as \"from->to\"{}", self.examples());
        cx.sink.error(node.at, message, label, Some(help));
    }

    /// `from->to`.
    fn ends(&self, port: PortId) -> String {
        let (p, nodes) = (&self.network.ports[port], &self.network.nodes);
        format!("{}->{}", nodes[p.from].name, nodes[p.to].name)
    }

    /// Examples of links: between switches, or of hosts if there are none.
    fn examples(&self) -> String {
        let inner = |id: &PortId| {
            let (p, nodes) = (&self.network.ports[*id], &self.network.nodes);
            !nodes[p.from].host && !nodes[p.to].host
        };
        let mut some: Vec<PortId> = self.network.ports.ids().filter(inner).collect();
        if some.is_empty() {
            some = self.network.ports.ids().collect();
        }
        let shown: Vec<String> = match some.as_slice() {
            [first, .., last] => vec![self.ends(*first), self.ends(*last)],
            all => all.iter().map(|id| self.ends(*id)).collect(),
        };
        if shown.is_empty() { String::new() } else { format!(", such as {}", alternatives(shown.iter().map(String::as_str))) }
    }
}

/// Reads `[observe]`.
pub(crate) fn observe(
    cx: &mut Cx,
    section: Option<(At, &TomlTable)>,
    ports: &Ports<'_>,
    duration: Option<Time>,
) -> Option<(Observe, Json)> {
    let empty = TomlTable::default();
    let (at, table) = section.unwrap_or((At::default(), &empty));
    let mut fields = Fields::new("[observe]", at, table);
    let mut echo = Map::new();
    let queue_series = match fields.get("queue") {
        None => Some(Vec::new()),
        Some(i) => {
            echo.insert("queue".into(), i.node.json());
            queue(cx, &i.node, ports, duration)
        }
    };
    let tcp_series = match fields.get("tcp") {
        None => Some(Vec::new()),
        Some(i) => {
            echo.insert("tcp".into(), i.node.json());
            tcp(cx, &i.node)
        }
    };
    let occupancy = match fields.get("occupancy") {
        None => Some(switch_ports(ports.network)),
        Some(i) if i.node.text() == Some("none") => Some(Vec::new()),
        Some(i) => ports.read(cx, "`occupancy`", &i.node),
    };
    echo.insert("occupancy".into(), table.get("occupancy").map_or("switches".into(), |i| i.node.json()));
    let capture = captured(cx, &mut fields, ports, &mut echo);
    let timeouts = match fields.get("timeouts") {
        None => Some(true),
        Some(i) => quantity::boolean(cx, "`timeouts`", &i.node),
    };
    echo.insert("timeouts".into(), timeouts.unwrap_or(true).into());
    let warmup = match fields.get("warmup") {
        None => Some(Time::ZERO),
        Some(i) => quantity::time(cx, "`warmup`", &i.node, MAX_DURATION).and_then(|t| match duration {
            Some(d) if t >= d => {
                cx.sink.error(
                    i.node.at,
                    format!("`warmup` ({t}) leaves nothing to measure"),
                    format!("legal: below the duration, {d}"),
                    None,
                );
                None
            }
            _ => Some(t),
        }),
    };
    echo.insert("warmup".into(), quantity::time_text(warmup.unwrap_or_default()).into());
    fields.finish(&mut cx.sink);
    let observe = Observe {
        occupancy: occupancy?,
        queue_series: queue_series?,
        tcp_series: tcp_series?,
        timeouts: timeouts?,
        packets: false,
        capture: capture?,
        warmup: warmup?,
    };
    Some((observe, Json::Object(echo)))
}

/// `capture`, and the keys that begin with it.
fn captured(cx: &mut Cx, fields: &mut Fields<'_>, ports: &Ports<'_>, echo: &mut Map<String, Json>) -> Option<Capture> {
    let points = match fields.get("capture") {
        None => Some(Vec::new()),
        Some(i) => {
            echo.insert("capture".into(), i.node.json());
            capture_points(cx, &i.node, ports)
        }
    };
    let ip = match fields.get("capture-ip") {
        None => Some(IpVersion::default()),
        Some(i) => {
            echo.insert("capture-ip".into(), i.node.json());
            named(cx, "`capture-ip`", &i.node, &IpVersion::NAMED)
        }
    };
    let frame_bytes = match fields.get("capture-bytes") {
        None => Some(None),
        Some(i) => {
            echo.insert("capture-bytes".into(), i.node.json());
            frame_bytes(cx, &i.node, ip.unwrap_or_default()).map(Some)
        }
    };
    let fates = match fields.get("capture-events") {
        None => Some(None),
        Some(i) => {
            echo.insert("capture-events".into(), i.node.json());
            fates(cx, &i.node)
        }
    };
    let format = match fields.get("capture-format") {
        None => Some(CaptureFormat::default()),
        Some(i) => {
            echo.insert("capture-format".into(), i.node.json());
            named(cx, "`capture-format`", &i.node, &CaptureFormat::NAMED)
        }
    };
    let (frame_bytes, ip, format) = (frame_bytes?, ip?, format?);
    Some(Capture { points: points?, connections: None, fates: fates?, frame_bytes, ip, format })
}

/// The value of a word.
fn named<T: Copy>(cx: &mut Cx, what: &str, node: &Node, values: &[(&str, T)]) -> Option<T> {
    let legal: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let name = word(node, what, &legal, &mut cx.sink)?;
    values.iter().find(|(legal, _)| *legal == name).map(|(_, value)| *value)
}

/// `"all"`, the fate of packets, or a list of fates.
fn fates(cx: &mut Cx, node: &Node) -> Option<Option<Vec<Fate>>> {
    match &node.raw {
        Raw::Text(t) if t == "all" => Some(None),
        Raw::Array(list) => {
            let all = list.iter().map(|n| named(cx, "an event of `capture-events`", n, &Fate::NAMED));
            Some(Some(all.collect::<Option<Vec<Fate>>>()?))
        }
        _ => Some(Some(vec![named(cx, "`capture-events`", node, &Fate::NAMED)?])),
    }
}

/// A length of at least the headers.
fn frame_bytes(cx: &mut Cx, node: &Node, ip: IpVersion) -> Option<u32> {
    let bytes = quantity::bytes(cx, "`capture-bytes`", node)?.0;
    let least = ip.header_bytes();
    match u32::try_from(bytes).ok().filter(|b| (least..=MAX_FRAME_BYTES).contains(b)) {
        Some(bytes) => Some(bytes),
        None => {
            let label = format!("legal: {least}B, which holds all headers, to {MAX_FRAME_BYTES}B");
            cx.sink.error(node.at, format!("`capture-bytes` is {bytes}B"), label, None);
            None
        }
    }
}

/// `"all"`, `"hosts"`, `"switches"`, the name of a port or a host, or a list of names.
fn capture_points(cx: &mut Cx, node: &Node, ports: &Ports<'_>) -> Option<Vec<CapturePoint>> {
    let network = ports.network;
    let of_port = |id: PortId| CapturePoint { name: ports.ends(id), at: CapturePlace::Port(id) };
    let hosts = || network.nodes.enumerate().filter(|(_, n)| n.host);
    let points = match &node.raw {
        Raw::Text(t) if t == "all" => network.ports.ids().map(of_port).collect(),
        Raw::Text(t) if t == "switches" => switch_ports(network).into_iter().map(of_port).collect(),
        Raw::Text(t) if t == "hosts" => {
            hosts().map(|(id, n)| CapturePoint { name: n.name.clone(), at: CapturePlace::Host(id) }).collect()
        }
        Raw::Text(t) => vec![capture_point(cx, node, t, ports)?],
        Raw::Array(list) => {
            let mut points: Vec<CapturePoint> = Vec::new();
            for n in list {
                let Some(t) = n.text() else {
                    cx.sink.error(
                        n.at,
                        format!("`capture` must name ports or hosts, not {}", n.describe()),
                        "expected a name",
                        None,
                    );
                    return None;
                };
                let point = capture_point(cx, n, t, ports)?;
                if points.iter().all(|p| p.at != point.at) {
                    points.push(point);
                }
            }
            points
        }
        _ => {
            let help = "write capture = [\"bottleneck\", \"sw->recv\"], the name of a host, \"all\", \"hosts\" or \"switches\""
                .to_owned();
            cx.sink.error(
                node.at,
                format!("`capture` must name ports or hosts, not {}", node.describe()),
                "expected names",
                Some(help),
            );
            return None;
        }
    };
    if points.len() > MAX_CAPTURES {
        let message = format!("`capture` names {} interfaces", points.len());
        cx.sink.error(node.at, message, format!("legal: at most {MAX_CAPTURES}; name the ports of interest"), None);
        return None;
    }
    Some(points)
}

/// The port or the host with this name.
fn capture_point(cx: &mut Cx, node: &Node, name: &str, ports: &Ports<'_>) -> Option<CapturePoint> {
    let hosts = || ports.network.nodes.enumerate().filter(|(_, n)| n.host);
    let host = hosts().find(|(_, n)| n.name == name).map(|(id, _)| CapturePlace::Host(id));
    let Some(at) = ports.find(name).map(CapturePlace::Port).or(host) else {
        let known: Vec<&str> = hosts().take(MAX_NAMES).map(|(_, n)| n.name.as_str()).collect();
        let message = format!("`capture`: there is no port and no host `{}`", short(name));
        ports.refuse(cx, (node, name), message, &["all", "hosts", "switches"], &known);
        return None;
    };
    Some(CapturePoint { name: name.to_owned(), at })
}

/// `{ port, every }`, or a list of those.
fn queue(cx: &mut Cx, node: &Node, ports: &Ports<'_>, duration: Option<Time>) -> Option<Vec<(PortId, Time)>> {
    let single = std::slice::from_ref(node);
    let tables = if let Raw::Array(list) = &node.raw { list.as_slice() } else { single };
    let mut series: Vec<(PortId, Time)> = Vec::new();
    let mut ok = true;
    for n in tables {
        let Some(mut fields) = Fields::of_node("`queue`", n, &mut cx.sink) else {
            ok = false;
            continue;
        };
        let (port, every) = (fields.get("port"), fields.get("every"));
        for (item, key, example) in [(port, "port", "bottleneck"), (every, "every", "100us")] {
            if item.is_none() {
                let help = Some(format!("write {key} = \"{example}\""));
                cx.sink.error(n.at, format!("`queue` of [observe] needs the key `{key}`"), format!("`{key}` is missing"), help);
            }
        }
        let list = port.and_then(|i| ports.read(cx, "`port`", &i.node));
        let interval = every.and_then(|i| interval(cx, &i.node));
        fields.finish(&mut cx.sink);
        match (list, interval, every) {
            (Some(list), Some(t), Some(item)) => {
                let samples = duration.map_or(0, |d| d.0 / t.0).saturating_mul(list.len() as u64);
                if samples > MAX_SAMPLES {
                    let message = format!("`every` is {t}: the queue series would have {samples} samples");
                    cx.sink.error(
                        item.node.at,
                        message,
                        format!("legal: at most {MAX_SAMPLES}; sample less often, or fewer ports"),
                        None,
                    );
                }
                if duration.is_none() && t < MIN_INTERVAL {
                    let message =
                        format!("`every` of a queue is {t}, and the run has no `duration` to limit the number of samples");
                    let label = format!("legal without `duration`: at least {MIN_INTERVAL}");
                    cx.sink.error(item.node.at, message, label, None);
                }
                series.extend(list.into_iter().map(|p| (p, t)));
            }
            _ => ok = false,
        }
    }
    let mut seen = std::collections::HashSet::new();
    if !series.iter().all(|s| seen.insert(s.0)) {
        cx.sink.error(node.at, "`queue` names a port more than once", "one series per port", None);
        return None;
    }
    ok.then_some(series)
}

/// `{ flows, every }`; `every` is `"ack"` or a time.
fn tcp(cx: &mut Cx, node: &Node) -> Option<Vec<(u64, Time)>> {
    let mut fields = Fields::of_node("`tcp`", node, &mut cx.sink)?;
    let every = match fields.get("every") {
        None => Some(Time::ZERO),
        Some(i) if i.node.text() == Some("ack") => Some(Time::ZERO),
        Some(i) => interval(cx, &i.node),
    };
    let flows = match fields.get("flows") {
        None => {
            let help = Some("write flows = [0, 4]: connections in the order of their creation".to_owned());
            cx.sink.error(node.at, "`tcp` of [observe] needs the key `flows`", "`flows` is missing", help);
            None
        }
        Some(i) => match &i.node.raw {
            Raw::Array(list) if list.len() <= MAX_SERIES => {
                let numbers: Vec<i64> = list.iter().filter_map(|n| quantity::int(cx, "a flow number", n, 0, i64::MAX)).collect();
                (numbers.len() == list.len()).then_some(numbers)
            }
            _ => {
                let label = format!("write a list of at most {MAX_SERIES} numbers, such as [0, 4]");
                cx.sink.error(
                    i.node.at,
                    format!("`flows` must be a list of flow numbers, not {}", i.node.describe()),
                    label,
                    None,
                );
                None
            }
        },
    };
    fields.finish(&mut cx.sink);
    let (mut flows, every) = (flows?, every?);
    flows.sort_unstable();
    flows.dedup();
    Some(flows.into_iter().map(|f| (f as u64, every)).collect())
}

/// A sampling interval: at least a nanosecond.
fn interval(cx: &mut Cx, node: &Node) -> Option<Time> {
    let t = quantity::time(cx, "`every`", node, MAX_TIME)?;
    if t < Time::from_ns(1) {
        cx.sink.error(node.at, format!("`every` is {t}"), "legal: at least 1ns", None);
        return None;
    }
    Some(t)
}
