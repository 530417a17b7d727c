//! The bottleneck that flows share, as models take it: a rate, an empty round trip, a buffer.

use crate::Pipe;
use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::network::PortConfig;
use forebay_experiment::topology::{Fib, port_label};
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::{Ecn, Transport};
use forebay_queues::{BufferedDiscipline, FifoDiscipline, Queue};
use forebay_types::{GroupId, IndexVec, NodeId, PortId, QueueLen, Time, WorkloadId};

/// Round trips that differ by more than this part are not "equal", which all models assume. Our choice.
const EQUAL: f64 = 0.05;

/// A sender and a receiver of data.
pub(crate) type Pair = (NodeId, NodeId);

/// What the models know of the network.
#[derive(Debug, Clone)]
pub(crate) struct Bottleneck {
    /// The port where flows meet.
    pub port: PortId,
    /// Its name.
    pub name: String,
    /// Its rate, a full packet, and the longest of the empty round trips.
    pub pipe: Pipe,
    /// Its buffer in full packets; `None`: unlimited.
    pub buffer: Option<u64>,
}

/// Who sends data to whom; `None` where pairs are drawn as the run goes.
pub(crate) fn pairs(kind: &WorkloadKind) -> Option<Vec<Pair>> {
    match kind {
        WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } => Some(pairs.clone()),
        WorkloadKind::Incast { senders, receiver, .. } => Some(senders.iter().map(|&s| (s, *receiver)).collect()),
        // Responses: the server sends.
        WorkloadKind::Requests { pairs, .. } => Some(pairs.iter().map(|&(client, server)| (server, client)).collect()),
        _ => None,
    }
}

/// The pairs of the endless flows of transport `group`, in all workloads. Where a workload mixes transports, the connections get theirs
/// in order, as in a run.
pub(crate) fn endless(v: &Experiment, group: GroupId) -> Vec<Pair> {
    let mut out = Vec::new();
    for w in &v.workloads {
        let WorkloadKind::Long { pairs, size: None, .. } = &w.kind else { continue };
        let mut assign = w.transport.clone();
        out.extend(pairs.iter().filter(|pair| assign.pick(pair.0) == group));
    }
    out
}

/// What a model of one congestion control is about.
pub(crate) struct Subject {
    /// The first transport that runs the congestion control.
    pub group: GroupId,
    /// Pairs of its endless flows.
    pub long: Vec<Pair>,
    /// Those, or where it has none all of its pairs.
    pub pairs: Vec<Pair>,
}

/// The transport that runs the congestion control `name`; or why there is nothing to model.
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

/// RTT of a full packet and its ACK on the empty path, ps.
pub(crate) fn base_rtt(v: &Experiment, fib: &Fib, (src, dst): Pair, tcp: &Transport) -> u64 {
    let (full, small) = (u64::from(tcp.mss + tcp.header), u64::from(tcp.ack_size));
    fib.path_time(&v.network, (src, dst), 0, full) + fib.path_time(&v.network, (dst, src), 0, small)
}

/// The port that all `pairs` share and where most of them meet in proportion to its rate; or why there is none.
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
        return Err(format!("round trips differ, {} to {}; the models take them to be equal", Time(shortest), Time(longest)));
    }
    let named = |port: PortId| network.named_ports.iter().any(|(n, p)| n == "bottleneck" && *p == port);
    let packet = u64::from(tcp.mss + tcp.header);
    let buffer = |p: &PortConfig| {
        let own = p.buffer.map(|b| match b {
            QueueLen::Packets(n) => n,
            QueueLen::Bytes(b) => b / packet,
        });
        // Of a shared buffer what one port can hold, as the models have one bottleneck.
        let shared = network.nodes[p.from].shared_buffer.map(|s| s.max_port_bytes() / packet);
        own.into_iter().chain(shared).min()
    };
    // Of equally loaded ports the one that the topology calls so, then the smallest buffer, then the first.
    let shared = flows.ids().filter(|&p| !pairs.is_empty() && flows[p] == pairs.len());
    let best = shared.min_by_key(|&p| {
        let port = &network.ports[p];
        (port.rate, !named(p), buffer(port).unwrap_or(u64::MAX), p)
    });
    let Some(port) = best else { return Err("its flows do not share a port".into()) };
    // A port that only some flows share may be the tighter one.
    let load = |p: PortId| flows[p] as f64 / network.ports[p].rate.0 as f64;
    if let Some(tighter) = flows.ids().find(|&p| load(p) > load(port)) {
        return Err(format!("{} is a tighter bottleneck, and only some flows share it", port_label(network, tighter)));
    }
    let p = &network.ports[port];
    let pipe = Pipe::new(p.rate, packet, Time(longest)).map_err(|e| e.to_string())?;
    Ok(Bottleneck { port, name: port_label(network, port), pipe, buffer: buffer(p) })
}

impl Bottleneck {
    /// The rows of inputs that every model has.
    pub(crate) fn inputs(&self) -> Vec<(&'static str, String)> {
        let buffer = self.buffer.map_or("unlimited".to_owned(), |b| format!("{b} packets"));
        vec![
            ("port", self.name.clone()),
            ("C", format!("{} = {:.0} packets of {} B a second", self.pipe.rate(), self.pipe.capacity(), self.pipe.packet())),
            ("D", format!("{} = {:.2} packets", self.pipe.rtt(), self.pipe.bdp())),
            ("B", buffer),
        ]
    }

    /// Whether its queue keeps places for packets of priority; all others find a queue that drops the tail.
    pub(crate) fn has_reserve(&self, v: &Experiment) -> bool {
        match &v.network.ports[self.port].queue {
            Queue::Fifo(FifoDiscipline::Protect(_)) => true,
            Queue::Buffered(BufferedDiscipline::StrictPriority(_) | BufferedDiscipline::Pushout(_)) => true,
            Queue::Fifo(_) | Queue::Buffered(_) => false,
        }
    }

    /// Whether packets of `tcp` find plain drop-tail here: the discipline, or marks that they do not ask for.
    pub(crate) fn is_drop_tail(&self, v: &Experiment, tcp: &Transport) -> bool {
        match &v.network.ports[self.port].queue {
            Queue::Fifo(FifoDiscipline::DropTail(_)) => true,
            Queue::Fifo(FifoDiscipline::DctcpStep(step)) => tcp.ecn == Ecn::Off && !step.drops_non_ect(),
            _ => false,
        }
    }
}

/// Names of the workloads whose traffic is not that of workloads in `models`: it shares the network but is in no model.
pub(crate) fn other_workloads(v: &Experiment, models: impl Fn(WorkloadId) -> bool) -> Vec<String> {
    v.workloads.enumerate().filter(|(id, _)| !models(*id)).map(|(_, w)| format!("`{}`", w.class)).collect()
}
