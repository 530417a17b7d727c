//! Validation of experiments: every identifier exists, and every number is within the range that backends accept.
//!
//! Scenario files with such errors are refused earlier, with their file and line. This check refuses experiments that a program has built, with the
//! field.

use crate::Experiment;
use crate::capture::CapturePlace;
use crate::network::Network;
use crate::observe::Observe;
use crate::topology::{self, MAX_NODES};
use crate::traffic::{Arrival, End, FlowDependency, ResponseSize, Workload, WorkloadKind};
use crate::transport::Stack;
use forebay_types::{NodeId, PortId, Rate, Time, WorkloadId};
use std::fmt;
use std::ops::Deref;

/// An experiment that has passed [`Experiment::check`]. The borrow keeps it unchanged.
#[derive(Debug, Clone, Copy)]
pub struct CheckedExperiment<'a>(&'a Experiment);

impl Deref for CheckedExperiment<'_> {
    type Target = Experiment;
    fn deref(&self) -> &Experiment {
        self.0
    }
}

/// Reason why an experiment is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidExperiment {
    /// Field, as a path from the experiment, such as `observe.occupancy[0]`.
    pub field: String,
    /// Explanation, with the legal values.
    pub reason: String,
}

impl fmt::Display for InvalidExperiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.field, self.reason)
    }
}

impl std::error::Error for InvalidExperiment {}

/// Shims that are built for connections with data in both directions.
const TWO_WAY_SHIMS: [&str; 1] = ["proboscis"];

/// Bits of a port number in the keys by which the simulator sorts packets.
const PORT_BITS: u32 = 24;

impl Experiment {
    /// Checks all identifiers and numbers of the experiment.
    ///
    /// # Errors
    /// The first violation found.
    pub fn check(&self) -> Result<CheckedExperiment<'_>, InvalidExperiment> {
        network(&self.network)?;
        demand(!self.groups.is_empty(), || ("groups".into(), "there is none; connections need a transport".into()))?;
        demand(self.groups.len() < usize::from(u16::MAX), || ("groups".into(), "there are more than 65 534".into()))?;
        for (id, group) in self.groups.enumerate() {
            stack(&group.tcp).map_err(|(key, reason)| InvalidExperiment { field: format!("groups[{id}].tcp.{key}"), reason })?;
        }
        for (id, w) in self.workloads.enumerate() {
            let scope = Scope { network: &self.network, groups: self.groups.len(), workload: id };
            scope.workload(w)?;
        }
        for (id, reason) in self.two_way_conflicts() {
            demand(false, || (format!("workloads[{id}].two_way"), reason))?;
        }
        for (id, w) in self.workloads.enumerate() {
            let conflict = w.listen_conflict(&self.groups);
            conflict.map_or(Ok(()), |reason| demand(false, || (format!("workloads[{id}].listen"), reason)))?;
        }
        observe(&self.observe, &self.network)?;
        ends(self)?;
        Ok(CheckedExperiment(self))
    }
}

impl Experiment {
    /// Workloads whose requests and answers cannot share TCP connections, with the reason.
    pub fn two_way_conflicts(&self) -> impl Iterator<Item = (WorkloadId, String)> {
        self.workloads.enumerate().filter(|(_, w)| w.kind.two_way()).filter_map(|(id, w)| Some((id, self.two_way_conflict(w)?)))
    }

    fn two_way_conflict(&self, w: &Workload) -> Option<String> {
        let of_hosts = |see: &mut dyn FnMut(NodeId)| w.kind.each_sender(see);
        let mut used = self.groups.enumerate().filter(|(id, _)| w.transport.uses(*id, &of_hosts)).map(|(_, group)| group);
        let without = "without it, a request has a connection of its own";
        used.find_map(|group| {
            let name = &group.name;
            if !group.tcp.handshake {
                return Some(format!("`two-way` needs a handshake, and the stack of `{name}` has none; {without}"));
            }
            if group.tcp.txrehash {
                return Some(format!(
                    "`two-way` is not built for connections that change their path (`txrehash`, `tcp-plb-enabled`), as those of `{name}`; {without}"
                ));
            }
            if let Some(shim) = group.tcp.shims.iter().find(|s| !TWO_WAY_SHIMS.contains(&s.name)) {
                let (shim, legal) = (shim.name, TWO_WAY_SHIMS.join("`, `"));
                return Some(format!(
                    "`two-way` is not built for connections with the shim `{shim}`, which `{name}` has; legal with it: `{legal}`; {without}"
                ));
            }
            None
        })
        .or_else(|| {
            let WorkloadKind::Requests { pairs, .. } = &w.kind else { return None };
            let mut transport = w.transport.clone();
            let differ = pairs.iter().any(|&(client, server)| {
                let (there, back) = transport.pick_pair(client, server);
                there != back
            });
            differ.then(|| {
                format!("`two-way` needs one transport for both hosts of a pair, but clients and servers have different ones; {without}")
            })
        })
    }
}

/// Without a duration an experiment runs until all work is done, so all work must be finite.
fn ends(e: &Experiment) -> Result<(), InvalidExperiment> {
    if e.duration.is_some() {
        return Ok(());
    }
    let never = e.workloads.position(|w| w.kind.end() == End::Never);
    let refuse = |what: String| demand(false, || ("duration".into(), format!("{what}; set a duration, or limit the workload")));
    match never {
        Some(id) => refuse(format!("there is none, and workloads[{id}] (`{}`) never ends", e.workloads[id].class)),
        None if !e.workloads.is_empty() && e.workloads.iter().all(|w| w.kind.end() == End::WithOthers) => {
            refuse("there is none, and all traffic is datagrams without an end".into())
        }
        None => Ok(()),
    }
}

fn demand(holds: bool, otherwise: impl FnOnce() -> (String, String)) -> Result<(), InvalidExperiment> {
    if holds {
        return Ok(());
    }
    let (field, reason) = otherwise();
    Err(InvalidExperiment { field, reason })
}

fn port_exists(network: &Network, port: PortId, field: impl FnOnce() -> String) -> Result<(), InvalidExperiment> {
    demand(network.ports.contains(port), || {
        (field(), format!("there is no port {port}; the network has {}", network.ports.len()))
    })
}

fn node_exists(network: &Network, node: NodeId, field: impl FnOnce() -> String) -> Result<(), InvalidExperiment> {
    demand(network.nodes.contains(node), || {
        (field(), format!("there is no node {node}; the network has {}", network.nodes.len()))
    })
}

fn host_exists(network: &Network, host: NodeId, field: impl Fn() -> String) -> Result<(), InvalidExperiment> {
    node_exists(network, host, &field)?;
    demand(network.nodes[host].host, || (field(), format!("node {host} is a switch, not a host")))
}

fn network(n: &Network) -> Result<(), InvalidExperiment> {
    demand(n.nodes.len() <= MAX_NODES, || ("network.nodes".into(), format!("there are more than {MAX_NODES}")))?;
    demand(n.ports.len() < 1 << PORT_BITS, || ("network.ports".into(), format!("there are 2^{PORT_BITS} or more")))?;
    demand(n.nodes.iter().any(|node| node.host), || ("network.nodes".into(), "there is no host".into()))?;
    let mut links = vec![(0u32, 0u32); n.nodes.len()];
    for (id, p) in n.ports.enumerate() {
        let field = |name: &str| format!("network.ports[{id}].{name}");
        node_exists(n, p.from, || field("from"))?;
        node_exists(n, p.to, || field("to"))?;
        demand(p.from != p.to, || (field("to"), "the link leads back to its own node".into()))?;
        demand((Rate::MIN..=Rate::MAX).contains(&p.rate), || {
            (field("rate"), format!("{} bit/s is outside {} to {}", p.rate.0, Rate::MIN, Rate::MAX))
        })?;
        demand(p.delay <= MAX_TIME, || (field("delay"), format!("above {MAX_TIME}")))?;
        links[p.from.index()].0 += 1;
        links[p.to.index()].1 += 1;
    }
    for (id, node) in n.nodes.enumerate().filter(|(_, node)| node.host) {
        let (out, into) = links[id.index()];
        demand((out, into) == (1, 1), || {
            let reason = format!("host `{}` has {out} outgoing and {into} incoming ports, not one of each", node.name);
            (format!("network.nodes[{id}]"), reason)
        })?;
    }
    for (i, (_, hosts)) in n.host_groups.iter().enumerate() {
        hosts.iter().try_for_each(|&h| node_exists(n, h, || format!("network.host_groups[{i}]")))?;
    }
    for (i, (_, port)) in n.named_ports.iter().enumerate() {
        port_exists(n, *port, || format!("network.named_ports[{i}]"))?;
    }
    topology::check_faults(n).map_err(|(field, reason)| InvalidExperiment { field, reason })
}

/// Largest time except the duration: two days. Sums of several delays and time constants stay representable.
pub const MAX_TIME: Time = Time::from_secs(2 * 86_400);

/// Checks a stack. The error is the key and the reason.
fn stack(s: &Stack) -> Result<(), (&'static str, String)> {
    let legal = |key, holds: bool, range: &str| if holds { Ok(()) } else { Err((key, format!("legal: {range}"))) };
    let positive = |key, t: Time| legal(key, t > Time::ZERO && t <= MAX_TIME, "above zero, at most two days");
    legal("mss", (1..=65_535).contains(&s.mss), "1 to 65535")?;
    legal("header", s.header <= 65_535 - s.mss, "with `mss` at most 65535, the largest packet")?;
    legal("ack_size", (1..=65_535).contains(&s.ack_size), "1 to 65535")?;
    legal("init_cwnd", s.init_cwnd > 0, "at least 1")?;
    legal("ack_every", s.ack_every > 0, "at least 1")?;
    legal("rcv_wnd", s.rcv_wnd >= u64::from(s.mss) && s.rcv_wnd <= 1 << 30, "one segment to 1 GiB (RFC 7323 section 2.3)")?;
    let size = |key, bytes: Option<u64>, least: u64| {
        let range = format!("{least} bytes to 1 GiB");
        legal(key, bytes.is_none_or(|bytes| (least..=1 << 30).contains(&bytes)), &range)
    };
    legal("max_pacing_rate", s.max_pacing_rate.is_none_or(|r| r.0 >= 8), "at least one byte per second")?;
    // SOCK_MIN_SNDBUF and SOCK_MIN_RCVBUF are larger than half of these.
    size("snd_buf", s.snd_buf, 2_048)?;
    size("rcv_buf", s.rcv_buf, 2_048)?;
    // The second number of tcp_wmem and of tcp_rmem, with which a connection begins.
    size("wmem_max", s.wmem_max, 16_384)?;
    size("rmem_max", s.rmem_max, 131_072)?;
    positive("rto_min", s.rto_min)?;
    positive("rto_initial", s.rto_initial)?;
    positive("rto_max", s.rto_max)?;
    positive("rto_granularity", s.rto_granularity)?;
    positive("timestamp_clock", s.timestamp_clock)?;
    legal("rto_min", s.rto_min <= s.rto_max, "at most `rto_max`")?;
    legal("rto_initial", s.rto_initial <= s.rto_max, "at most `rto_max`")
}

fn observe(o: &Observe, n: &Network) -> Result<(), InvalidExperiment> {
    for (i, &port) in o.occupancy.iter().enumerate() {
        port_exists(n, port, || format!("observe.occupancy[{i}]"))?;
    }
    for (i, point) in o.capture.points.iter().enumerate() {
        if let CapturePlace::Port(port) = point.at {
            port_exists(n, port, || format!("observe.capture.points[{i}]"))?;
        }
    }
    for (i, &(port, _)) in o.queue_series.iter().enumerate() {
        port_exists(n, port, || format!("observe.queue_series[{i}]"))?;
    }
    Ok(())
}

/// Network and transports that the identifiers of a workload refer to.
struct Scope<'a> {
    network: &'a Network,
    groups: usize,
    workload: WorkloadId,
}

impl Scope<'_> {
    fn demand(&self, key: &str, holds: bool, reason: &str) -> Result<(), InvalidExperiment> {
        demand(holds, || (format!("workloads[{}].{key}", self.workload), reason.to_owned()))
    }

    fn hosts<'h>(&self, key: &str, hosts: impl IntoIterator<Item = &'h NodeId>) -> Result<(), InvalidExperiment> {
        let mut hosts = hosts.into_iter().enumerate().peekable();
        self.demand(key, hosts.peek().is_some(), "names no hosts")?;
        hosts.try_for_each(|(i, &h)| host_exists(self.network, h, || format!("workloads[{}].{key}[{i}]", self.workload)))
    }

    fn pairs(&self, pairs: &[(NodeId, NodeId)]) -> Result<(), InvalidExperiment> {
        self.hosts("pairs", pairs.iter().flat_map(|(from, to)| [from, to]))?;
        self.demand("pairs", pairs.iter().all(|(from, to)| from != to), "a host sends to itself")
    }

    fn workload(&self, w: &Workload) -> Result<(), InvalidExperiment> {
        let later = w.kind.request_latency().is_none_or(|latency| latency > Time::ZERO);
        self.demand("request_latency", later, "legal: above zero, since a request takes time to reach another host")?;
        self.demand("request", w.kind.request_bytes() != Some(0), "a request over the network has at least one byte")?;
        match &w.kind {
            WorkloadKind::Long { pairs, size, .. } => {
                self.pairs(pairs)?;
                self.demand("size", *size != Some(0), "a flow has at least one byte")?;
            }
            WorkloadKind::OnOff { pairs, .. } | WorkloadKind::Requests { pairs, .. } => self.pairs(pairs)?,
            WorkloadKind::Incast { senders, receiver, block, .. } => {
                self.hosts("senders", senders)?;
                self.hosts("receiver", [receiver])?;
                self.demand("senders", !senders.contains(receiver), "the receiver sends to itself")?;
                self.demand("block", *block > 0, "a block has at least one byte")?;
            }
            WorkloadKind::Poisson { from, to, flows_per_sec, racks, sigma, matrix, .. } => {
                self.hosts("from", from)?;
                self.hosts("to", to)?;
                self.demand("flows_per_sec", flows_per_sec.is_finite() && *flows_per_sec > 0.0, "must be above zero and finite")?;
                let all = racks.as_ref().is_none_or(|racks| racks.len() == self.network.nodes.len());
                self.demand("racks", all, "must have one entry for each node")?;
                self.demand("sigma", sigma.is_none_or(|s| s > 0.0 && s <= 5.0), "must be above 0 and at most 5")?;
                if let Some(matrix) = matrix {
                    self.hosts("matrix", matrix.hosts())?;
                    self.demand("matrix", matrix.is_complete(), "needs pairs of racks with different hosts")?;
                }
            }
            WorkloadKind::Queries { aggregators, workers, fan_out, response, arrival, .. } => {
                self.hosts("aggregators", aggregators)?;
                self.hosts("workers", workers)?;
                let fewest = aggregators.iter().map(|a| workers.iter().filter(|w| *w != a).count()).min().unwrap_or(0);
                let enough = *fan_out > 0 && *fan_out as usize <= fewest;
                self.demand("fan_out", enough, "legal: 1 to the number of workers beside the aggregator")?;
                self.demand("response", *response != ResponseSize::Shared(0), "an answer has at least one byte")?;
                let begins = !matches!(arrival, Arrival::Rate(r) if !(r.is_finite() && *r > 0.0));
                self.demand("arrival", begins, "the rate must be above zero and finite")?;
            }
            WorkloadKind::Udp { pairs, datagram, rate, .. } => {
                self.pairs(pairs)?;
                let sizes = datagram.wire > 0 && datagram.payload <= datagram.wire;
                self.demand("datagram", sizes, "must have at least one byte on the wire, and no more payload than that")?;
                self.demand("datagram.class", datagram.class < 8, "legal: 0 to 7")?;
                self.demand("rate", (Rate::MIN..=Rate::MAX).contains(rate), "outside the legal range of rates")?;
            }
            WorkloadKind::Replay { flows, after } => {
                // The list of a program is empty: it sends its messages while the run continues.
                if !flows.is_empty() {
                    self.hosts("flows", flows.iter().flat_map(|f| [&f.src, &f.dst]))?;
                }
                self.demand("flows", flows.iter().all(|f| f.src != f.dst), "a host sends to itself")?;
                self.demand("flows", flows.iter().all(|f| f.bytes > 0), "a flow has at least one byte")?;
                self.demand("flows", flows.is_sorted_by_key(|f| f.start), "must be sorted by start")?;
                let known = |d: &FlowDependency| {
                    let flow = |i: u32| flows.get(i as usize);
                    let Some(first) = d.first else { return flow(d.waiting).is_some() };
                    flow(first)
                        .zip(flow(d.waiting))
                        .is_some_and(|(a, b)| first != d.waiting && (a.dst == b.src || a.src == b.src))
                };
                self.demand("after", after.iter().all(known), "a flow waits for one that its source receives or sends")?;
            }
        }
        let assigned = w.check_transport(self.network.nodes.len(), self.groups);
        assigned.map_err(|reason| InvalidExperiment { field: format!("workloads[{}].transport", self.workload), reason })
    }
}
