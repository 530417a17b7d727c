//! Explanation of a correct scenario for `forebay check`: the runs, and the file with all defaults.

use crate::resolve::hosts;
use crate::resolve::scenario::{Resolved, Variant};
use crate::text::message_text::grouped;
use crate::text::write::toml;
use forebay_experiment::assign::Assign;
use forebay_experiment::faults::Balance;
use forebay_experiment::network::{HashFunction, Network, PortConfig, Ties};
use forebay_experiment::traffic::{Arrival, ResponseSize, Workload, WorkloadKind};
use forebay_queues::{SharedBuffer, SharedPolicy};
use forebay_types::{Bytes, GroupId, LossModel, NodeId, PortId, Time, TimedLoss};
use std::fmt::Write as _;

impl Resolved {
    /// Summary in words, one fact per line.
    pub fn explain(&self) -> String {
        let mut out = String::new();
        let labels: Vec<&str> = self.variants.iter().map(|v| v.label.as_str()).collect();
        let runs = self.repetitions();
        let last = self.run_seed(runs - 1);
        let seeds = if runs == 1 { format!("seed {}", self.seed) } else { format!("seeds {} to {last}", self.seed) };
        let _ = writeln!(out, "{}: {} x {} ({seeds})", self.name, labels.join(", "), count(runs as usize, "run"));
        let Some(v) = self.variants.first() else { return out };
        if !self.is_default_world {
            let _ = writeln!(out, "backend `{}`: {}", self.world.name(), self.world.summary());
        }
        let end = v.config.duration.map_or("until all work is done".to_owned(), |d| format!("for {d}"));
        let _ = writeln!(out, "runs {end}");
        for request in self.stop.iter().flat_map(|stop| &stop.known) {
            let figure = request.figure.as_ref().map_or("the figure of the first line".to_owned(), |f| f.phrase());
            let ratio = self.stop.as_ref().is_some_and(|s| s.ratio);
            let of = if ratio { ", as a ratio to that of the first variant" } else { "" };
            let _ = writeln!(out, "or until known: {figure}{of}, within {} %", (request.within * 1e8).round() / 1e6);
        }
        let network = &v.config.network;
        let hosts = network.nodes.iter().filter(|n| n.host).count();
        let (hosts, switches) = (count(hosts, "host"), count(network.nodes.len() - hosts, "switch"));
        let _ = writeln!(out, "network: {hosts}, {switches}, {}", count(network.ports.len(), "port"));
        for (name, port) in &network.named_ports {
            let Some(p) = network.ports.get(*port) else { continue };
            let node = |id: NodeId| v.node_names.get(id.index()).map_or("?", String::as_str);
            let buffer = buffer(p, network.nodes.get(p.from).and_then(|n| n.shared_buffer));
            let _ = writeln!(out, "  {name} ({} -> {}): {}, {}, buffer {buffer}", node(p.from), node(p.to), p.rate, p.delay);
        }
        for (shared, switches) in shared_buffers(network) {
            let _ = writeln!(out, "  shared buffer of {switches}: {}", shared_buffer(shared));
        }
        for (name, ids) in &network.host_groups {
            let _ = writeln!(out, "  hosts `{name}`: {}", ids.len());
        }
        for line in faults(v) {
            let _ = writeln!(out, "  {line}");
        }
        for w in &v.config.workloads {
            let _ = writeln!(out, "traffic `{}`{}: {}", w.class, over(v, w), traffic(&w.kind));
        }
        for v in &self.variants {
            for line in hosts::explain(v).into_iter().chain(self.world.explain(&v.config)) {
                let _ = writeln!(out, "{line}");
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out
    }
}

/// Maximum number of failures and links with errors that are listed one by one.
const NAMED: usize = 5;

/// Description of failures, errors of links, and packet spraying.
fn faults(v: &Variant) -> Vec<String> {
    let faults = &v.config.network.faults;
    let port = |id: PortId| v.port_names.get(id.index()).map_or("?", String::as_str);
    let mut lines = Vec::new();
    match faults.balance {
        Balance::Flow => {}
        Balance::Packet => lines.push("packets are sprayed over all shortest paths".to_owned()),
        Balance::Flowlet { gap } => {
            lines.push(format!("a flow takes another random path where it has paused for more than {gap} (flowlets, LetFlow)"));
        }
        Balance::Conga { gap } => lines.push(format!(
            "a flow that has paused for more than {gap} takes the spine with the least congestion (flowlets, CONGA)"
        )),
    }
    let hashing = v.config.network.hashing;
    if hashing.function == HashFunction::SameEverywhere {
        lines.push("all switches have the same hash function: flows use a part of the paths only (polarization)".to_owned());
    }
    if let Some(seed) = hashing.seed {
        lines.push(format!("connections have the same paths in every run (`hash-seed` {seed})"));
    }
    if v.config.network.ties == Ties::Index {
        lines.push("packets that reach a switch at the same instant are ordered by the number of their connection".to_owned());
    }
    let failures = faults.failures.iter().map(|f| {
        let up = f.up.get().map_or_else(|| "to the end".to_owned(), |up| format!("to {up}"));
        let known = if f.reroute == Time::ZERO { "at once".to_owned() } else { format!("{} later", f.reroute) };
        format!("the link of {} is down from {} {up}; switches reroute {known}", port(f.port), f.down)
    });
    let errors = faults.corruption.iter().map(|c| format!("{} damages one bit in {}", port(c.port), grouped(1.0 / c.bit_errors)));
    let losses = faults.loss.iter().map(|l| format!("{} loses {}", port(l.port), lost(&l.loss)));
    let all = faults.failures.len() + faults.corruption.len() + faults.loss.len();
    lines.extend(failures.chain(errors).chain(losses).take(NAMED));
    if all > NAMED {
        lines.push(format!("and {} more of these", all - NAMED));
    }
    lines
}

/// Description of the packets that a link loses.
fn lost(loss: &TimedLoss) -> String {
    let packets = match &loss.model {
        LossModel::Random(p) => format!("{} % of its packets", 100.0 * p),
        LossModel::Bursts(g) => format!("{:.3} % of its packets, in bursts", 100.0 * g.mean()),
        LossModel::Listed(list) => {
            let all: usize = list.iter().map(|l| l.packets.len()).sum();
            format!("{all} listed data packets")
        }
    };
    let from = if loss.from == Time::ZERO { String::new() } else { format!(" from {}", loss.from) };
    let until = loss.until.get().map_or_else(String::new, |until| format!(" until {until}"));
    packets + &from + &until
}

/// Buffer of a port: its own, and its limit in the switch's shared buffer.
fn buffer(p: &PortConfig, shared: Option<SharedBuffer>) -> String {
    let own = p.buffer.map(|b| b.to_string());
    let shared = shared.map(|s| format!("at most {} of the shared buffer", Bytes(s.max_port_bytes())));
    match (own, shared) {
        (None, None) => "unlimited".to_owned(),
        (own, shared) => own.into_iter().chain(shared).collect::<Vec<_>>().join(", "),
    }
}

/// Shared buffers, with the switches that have them.
fn shared_buffers(network: &Network) -> Vec<(SharedBuffer, String)> {
    let mut found: Vec<(SharedBuffer, usize)> = Vec::new();
    for shared in network.nodes.iter().filter_map(|n| n.shared_buffer) {
        match found.iter_mut().find(|(known, _)| *known == shared) {
            Some((_, n)) => *n += 1,
            None => found.push((shared, 1)),
        }
    }
    found
        .into_iter()
        .map(|(shared, n)| (shared, if n == 1 { "1 switch".into() } else { format!("each of {n} switches") }))
        .collect()
}

fn shared_buffer(s: SharedBuffer) -> String {
    let how = match s.policy {
        SharedPolicy::Static { per_port } => format!("{} for each port", Bytes(per_port)),
        SharedPolicy::Dynamic { alpha } => format!("dynamic threshold with alpha {alpha}"),
    };
    format!("{}, {how}; a single port can hold {}", Bytes(s.total), Bytes(s.max_port_bytes()))
}

/// Transports of a workload, if there are several.
fn over(v: &Variant, w: &Workload) -> String {
    let names: Vec<String> = (v.transports.iter().enumerate())
        .filter(|(i, _)| w.uses(GroupId::from_index(*i)))
        .map(|(i, name)| match w.transport.share_of(GroupId::from_index(i)) {
            Some(share) => format!("`{name}` ({share})"),
            None => format!("`{name}`"),
        })
        .collect();
    let how = if matches!(w.transport, Assign::ByHost(_)) { " by host" } else { "" };
    if v.transports.len() > 1 { format!(" over {}{how}", names.join(" and ")) } else { String::new() }
}

/// `3 hosts`, `1 switch`.
fn count(n: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}{plural}") }
}

/// `, requests of 100 B`; nothing for requests that are not sent over the network.
fn requests(kind: &WorkloadKind) -> String {
    kind.request_bytes().map_or_else(|| ", requests outside of the network".to_owned(), |n| format!(", requests of {}", Bytes(n)))
}

/// Amount of traffic of a workload.
fn traffic(kind: &WorkloadKind) -> String {
    let times = |n: &Option<u32>, what: &str| n.map_or(format!("{what} until the end"), |n| format!("{n} {what}"));
    match kind {
        WorkloadKind::Long { pairs, size, .. } => size.map_or_else(
            || count(pairs.len(), "endless flow"),
            |size| format!("{} of {} each", count(pairs.len(), "flow"), Bytes(size)),
        ),
        WorkloadKind::Incast { senders, block, rounds, .. } => {
            let from = count(senders.len(), "sender");
            format!("blocks of {} from {from}, {}{}", Bytes(*block), times(rounds, "rounds"), requests(kind))
        }
        WorkloadKind::Poisson { from, to, sizes, flows_per_sec, .. } => {
            let (from, to) = (count(from.len(), "host"), count(to.len(), "host"));
            format!("{flows_per_sec:.1} flows/s of mean {} B from {from} to {to}", grouped(sizes.mean()))
        }
        WorkloadKind::OnOff { pairs, trains, .. } => {
            format!("{}, {}", count(pairs.len(), "connection"), times(trains, "trains each"))
        }
        WorkloadKind::Requests { pairs, count: n, .. } => {
            format!("{}, {}", count(pairs.len(), "client"), times(n, "requests each"))
        }
        WorkloadKind::Queries { aggregators, workers, fan_out, response, arrival, count: n, .. } => {
            let size = match response {
                ResponseSize::Each(sizes) => format!("answers of mean {} B", grouped(sizes.mean())),
                ResponseSize::Shared(total) => format!("answers of {} in all", Bytes(*total)),
            };
            let often = match arrival {
                Arrival::Rate(per_sec) => format!("{per_sec} queries/s of each"),
                Arrival::Gap(_) => "one query at a time".to_owned(),
            };
            let limit = n.map_or(String::new(), |n| format!(", {n} each"));
            let (asking, of) = (count(aggregators.len(), "aggregator"), count(workers.len(), "worker"));
            format!("{asking} to {fan_out} of {of} in parallel, {often}{limit}: {size}{}", requests(kind))
        }
        WorkloadKind::Udp { pairs, datagram, rate, periods, .. } => {
            let when = if periods.is_some() { " on and off" } else { "" };
            format!("{} of {rate} each{when}, in packets of {} B", count(pairs.len(), "source"), datagram.wire)
        }
        WorkloadKind::Replay { flows, .. } => format!("{} of a list", count(flows.len(), "flow")),
    }
}

impl Variant {
    /// Scenario with all defaults, as a file that can be run again.
    pub fn toml(&self) -> String {
        toml(&self.echo)
    }
}
