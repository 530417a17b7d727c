//! The bottleneck that flows share, as models describe it: rate, base RTT, buffer.

use crate::Pipe;
use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::network::PortConfig;
use forebay_experiment::topology::{Fib, port_label};
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::{Ecn, Transport};
use forebay_queues::{BufferedDiscipline, FifoDiscipline, Queue};
use forebay_types::{GroupId, IndexVec, NodeId, PortId, QueueLen, Time, WorkloadId};

/// Relative difference up to which RTTs count as equal, as all models assume. Our choice.
const EQUAL: f64 = 0.05;

/// A sender and a receiver of data.
pub(crate) type Pair = (NodeId, NodeId);

/// The bottleneck of the models.
#[derive(Debug, Clone)]
pub(crate) struct Bottleneck {
    /// The port where flows meet.
    pub port: PortId,
    /// Its name.
    pub name: String,
    /// Its rate, the size of a full packet, and the longest base RTT.
    pub pipe: Pipe,
    /// Its buffer in full packets; `None`: unlimited.
    pub buffer: Option<u64>,
}

/// Senders and receivers of data; `None` if pairs are drawn at random during the run.
pub(crate) fn pairs(kind: &WorkloadKind) -> Option<Vec<Pair>> {
    match kind {
        WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } => Some(pairs.to_vec()),
        WorkloadKind::Incast { senders, receiver, .. } => Some(senders.iter().map(|&s| (s, *receiver)).collect()),
        // Responses: the server sends.
        WorkloadKind::Requests { pairs, .. } => Some(pairs.iter().map(|&(client, server)| (server, client)).collect()),
        _ => None,
    }
}

/// Pairs of the endless flows of transport `group`, in all workloads. A workload with several transports assigns them in order, as in a run.
pub(crate) fn endless(v: &Experiment, group: GroupId) -> Vec<Pair> {
    let mut out = Vec::new();
    for w in &v.workloads {
        let WorkloadKind::Long { pairs, size: None, .. } = &w.kind else { continue };
        let mut assign = w.transport.clone();
        out.extend(pairs.iter().filter(|pair| assign.pick(pair.0) == group));
    }
    out
}

/// Flows described by the model of a congestion control.
pub(crate) struct Subject {
    /// The first transport with the congestion control.
    pub group: GroupId,
    /// Pairs of its endless flows.
    pub long: Vec<Pair>,
    /// The same as `long`, or all pairs of the transport if it has no endless flows.
    pub pairs: Vec<Pair>,
}

/// The transport with the congestion control `name`, or the reason why the model does not apply.
pub(crate) fn subject(v: &Experiment, name: &str) -> Result<Subject, String> {
    let Some(group) = v.groups.position(|g| g.tcp.cc.name == name) else {
        return Err(format!("no transport runs {name}"));
    };
    let long = endless(v, group);
    let of_group = v.workloads.iter().filter(|w| w.transport == Assign::One(group));
    let all = if long.is_empty() { of_group.filter_map(|w| pairs(&w.kind)).flatten().collect() } else { long.clone() };
    if all.is_empty() {
        return Err("its workloads draw their pairs of hosts at random".into());
    }
    Ok(Subject { group, long, pairs: all })
}

/// Names of the workloads that are not endless flows of transport `group`.
pub(crate) fn other_than_endless(v: &Experiment, group: GroupId) -> Vec<String> {
    other_workloads(v, |id| {
        let w = &v.workloads[id];
        w.transport == Assign::One(group) && matches!(w.kind, WorkloadKind::Long { size: None, .. })
    })
}

/// RTT of a full packet and its ACK without queueing, ps.
pub(crate) fn base_rtt(v: &Experiment, fib: &Fib, (src, dst): Pair, tcp: &Transport) -> u64 {
    let (full, small) = (u64::from(tcp.mss + tcp.header), u64::from(tcp.ack_size));
    fib.path_time(&v.network, (src, dst), 0, full) + fib.path_time(&v.network, (dst, src), 0, small)
}

/// The slowest port that all `pairs` share, or the reason why there is none.
pub(crate) fn bottleneck(v: &Experiment, pairs: &[Pair], tcp: &Transport) -> Result<Bottleneck, String> {
    let network = &v.network;
    let fib = Fib::new(network).map_err(|e| e.to_string())?;
    let mut flows: IndexVec<PortId, usize> = IndexVec::repeat(0, network.ports.len());
    let (mut shortest, mut longest) = (u64::MAX, 0);
    for &(src, dst) in pairs {
        let path = fib.path(network, src, dst, 0);
        for &port in &path {
            let from = network.ports[port].from;
            // The number of equal-cost ports is in the lower 8 bits.
            if !network.nodes[from].host && fib.entry(from, dst) & 0xFF > 1 {
                return Err(format!("ECMP spreads its flows over several paths at {}", network.nodes[from].name));
            }
            flows[port] += 1;
        }
        let rtt = base_rtt(v, &fib, (src, dst), tcp);
        (shortest, longest) = (shortest.min(rtt), longest.max(rtt));
    }
    if longest as f64 > shortest as f64 * (1.0 + EQUAL) {
        return Err(format!("RTTs differ, {} to {}, but the models assume equal ones", Time(shortest), Time(longest)));
    }
    let named = |port: PortId| network.named_ports.iter().any(|(n, p)| n == "bottleneck" && *p == port);
    let packet = u64::from(tcp.mss + tcp.header);
    let buffer = |p: &PortConfig| {
        let own = p.buffer.map(|b| match b {
            QueueLen::Packets(n) => n,
            QueueLen::Bytes(b) => b / packet,
        });
        // The share of a shared buffer that one port can hold, because the models have a single bottleneck.
        let shared = network.nodes[p.from].shared_buffer.map(|s| s.max_port_bytes() / packet);
        own.into_iter().chain(shared).min()
    };
    // Among ports of equal rate the one named `bottleneck`, then the smallest buffer, then the first.
    let shared = flows.ids().filter(|&p| !pairs.is_empty() && flows[p] == pairs.len());
    let best = shared.min_by_key(|&p| {
        let port = &network.ports[p];
        (port.rate, !named(p), buffer(port).unwrap_or(u64::MAX), p)
    });
    let Some(port) = best else { return Err("its flows do not share a port".into()) };
    // A port that only some flows share may have a higher load.
    let load = |p: PortId| flows[p] as f64 / network.ports[p].rate.0 as f64;
    if let Some(tighter) = flows.ids().find(|&p| load(p) > load(port)) {
        return Err(format!("{} has a higher load, but only some flows share it", port_label(network, tighter)));
    }
    let p = &network.ports[port];
    let pipe = Pipe::new(p.rate, packet, Time(longest)).map_err(|e| e.to_string())?;
    Ok(Bottleneck { port, name: port_label(network, port), pipe, buffer: buffer(p) })
}

impl Bottleneck {
    /// Common arguments of all models.
    pub(crate) fn inputs(&self) -> Vec<(&'static str, String)> {
        let buffer = self.buffer.map_or("unlimited".to_owned(), |b| format!("{b} packets"));
        vec![
            ("port", self.name.clone()),
            ("C", format!("{} = {:.0} packets of {} B a second", self.pipe.rate(), self.pipe.capacity(), self.pipe.packet())),
            ("D", format!("{} = {:.2} packets", self.pipe.rtt(), self.pipe.bdp())),
            ("B", buffer),
        ]
    }

    /// Returns true if its queue protects packets of high priority from drops, and is drop-tail for others.
    pub(crate) fn has_reserve(&self, v: &Experiment) -> bool {
        match &v.network.ports[self.port].queue {
            Queue::Fifo(FifoDiscipline::Protect(_)) => true,
            Queue::Buffered(BufferedDiscipline::StrictPriority(_) | BufferedDiscipline::Pushout(_)) => true,
            Queue::Fifo(_) | Queue::Buffered(_) => false,
        }
    }

    /// Returns true if its queue is drop-tail for packets of `tcp`: drop-tail, or marking of packets that are not ECN-capable.
    pub(crate) fn is_drop_tail(&self, v: &Experiment, tcp: &Transport) -> bool {
        match &v.network.ports[self.port].queue {
            Queue::Fifo(FifoDiscipline::DropTail(_)) => true,
            Queue::Fifo(FifoDiscipline::DctcpStep(step)) => tcp.ecn == Ecn::Off && !step.drops_non_ect(),
            _ => false,
        }
    }
}

/// Names of the workloads that are not in `models`: their traffic shares the network, but is not modeled.
pub(crate) fn other_workloads(v: &Experiment, models: impl Fn(WorkloadId) -> bool) -> Vec<String> {
    v.workloads.enumerate().filter(|(id, _)| !models(*id)).map(|(_, w)| format!("`{}`", w.class)).collect()
}
