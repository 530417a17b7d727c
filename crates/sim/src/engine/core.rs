//! The parts of a simulation side by side. What needs several of them is in the files that import this one.

use super::ended::Ended;
use super::endpoint_shim::EndpointShims;
use super::fabric::Fabric;
use super::hosts::{Host, Wake};
use super::lane::{Handover, Lane};
use super::paths::Paths;
use super::recorder::Recorder;
use super::slots::Slots;
use super::stream::{Held, Incoming, Outgoing, Stream};
use super::window_shim::WindowShims;
use crate::net::arena::Arena;
use crate::net::generation::Generation;
use crate::net::owned::Owned;
use crate::tcp::config::TcpConfig;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_experiment::network::Network;
use forebay_units::{ConnSlot, GroupId, IndexVec, NodeId, PortId, Time};

/// The simulation without its applications: its parts, and what needs several of them.
pub(crate) struct Core {
    /// Network in motion.
    pub fabric: Fabric,
    /// Hosts by node number; switches have an unused entry.
    pub(super) hosts: Owned<NodeId, Host>,
    /// Transports.
    pub tcp: Arena<GroupId, TcpConfig>,
    /// Connections by slot: which one has it, for all hosts to read; changed between windows only. Those of free slots are retired.
    pub(super) generations: Arena<ConnSlot, Generation>,
    /// Who they are,
    pub(super) streams: IndexVec<ConnSlot, Stream>,
    /// what belongs to their sending hosts,
    pub(super) senders: Owned<ConnSlot, Sender>,
    pub(super) outgoing: Owned<ConnSlot, Outgoing>,
    /// and what to their receiving hosts.
    pub(super) receivers: Owned<ConnSlot, Receiver>,
    pub(super) incoming: Owned<ConnSlot, Incoming>,
    pub(super) slots: Slots,
    pub(super) lane: Lane,
    pub(super) recorder: Recorder,
    pub(super) seed: u64,
    is_host: Arena<NodeId, bool>,
    pub(super) network: Network,
    pub(super) ended: Ended,
    pub(super) endpoint_shims: EndpointShims,
    pub(super) paths: Paths,
    /// The warm-up is over.
    pub(super) measuring: bool,
    pub(super) window_shims: WindowShims,
}

impl Core {
    /// Idle hosts on an idle network.
    pub(super) fn new(fabric: Fabric, lane: Lane, network: &Network, tcp: Vec<TcpConfig>, seed: u64, recorder: Recorder) -> Core {
        let mut hosts = Owned::new();
        for n in network.nodes.ids() {
            hosts.put(n, n, Host::new(n, seed));
        }
        for (id, port) in network.ports.iter().enumerate() {
            if network.nodes[port.from].host {
                hosts[port.from].nic = PortId::new(id as u32);
            }
        }
        for (id, port) in network.ports.iter().enumerate().filter(|(_, p)| network.nodes[p.to].host) {
            hosts[port.to].input = PortId::new(id as u32);
        }
        let groups = tcp.len();
        Core {
            fabric,
            endpoint_shims: EndpointShims::new(network, &tcp, seed),
            window_shims: WindowShims::new(&tcp),
            hosts,
            tcp: Arena::new(tcp),
            generations: Arena::new(Vec::new()),
            streams: IndexVec::new(),
            senders: Owned::new(),
            outgoing: Owned::new(),
            receivers: Owned::new(),
            incoming: Owned::new(),
            slots: Slots::new(seed),
            lane,
            paths: Paths::default(),
            recorder,
            seed,
            is_host: Arena::new(network.nodes.iter().map(|n| n.host).collect()),
            ended: Ended::new(groups),
            measuring: false,
            network: network.clone(),
        }
    }

    /// Whether `node` is a host.
    #[inline]
    pub(crate) fn is_host(&self, node: NodeId) -> bool {
        self.is_host[node]
    }

    /// The static network.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// Sets a timer at `host` for `time`, on behalf of `origin` (the host where the cause lies). If that is another one, it is set at the end
    /// of the window.
    pub(crate) fn set_timer(&mut self, origin: NodeId, host: NodeId, time: Time, wake: Wake) {
        let order = self.hosts[origin].next_order(time);
        if origin != host {
            return self.lane.hand_over(origin, Handover::Timer { host, time, order, wake });
        }
        self.hosts[host].add(time, order, wake);
        self.lane.wheel.mark(host, time);
    }

    /// Whose packets and timers are worked off from now on; `None`: nobody's, the window is over. Debug builds check that a host touches
    /// nothing that belongs to another one.
    #[inline(always)]
    pub(super) fn run_by(&mut self, node: Option<NodeId>) {
        #[cfg(debug_assertions)]
        {
            self.hosts.run_by(node);
            self.senders.run_by(node);
            self.outgoing.run_by(node);
            self.receivers.run_by(node);
            self.incoming.run_by(node);
            self.endpoint_shims.run_by(node);
            self.window_shims.run_by(node);
        }
        let _ = node;
    }

    /// Time that an ACK-sized packet takes from host `from` to host `to` on the empty path.
    pub(crate) fn small_packet_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time {
        let path = self.fabric.fib().path(&self.network, from, to, 0);
        let size = u64::from(self.tcp[group].ack_size);
        path.iter().map(|&p| &self.network.ports[p]).map(|p| p.delay + p.rate.tx_time(size)).fold(Time::ZERO, |a, b| a + b)
    }

    /// Payload that has reached receivers so far, in order or not, per transport.
    pub(crate) fn arrived_by_group(&self) -> Vec<u64> {
        let mut arrived = self.ended.arrived().clone();
        for conn in self.streams.ids().filter(|c| self.streams[*c].live) {
            arrived[self.senders[conn].group()] += self.held(conn).within(0, None);
        }
        arrived.into_vec()
    }

    /// What the receiver of `conn` has of its payload. A FIN that came early is none.
    pub(super) fn held(&self, conn: ConnSlot) -> Held {
        let (receiver, written) = (&self.receivers[conn], self.senders[conn].written);
        let beyond = receiver.beyond().map(|(start, end)| (start, end.min(written)));
        Held { in_order: receiver.delivered, beyond: beyond.filter(|(start, end)| start < end).collect() }
    }

    /// The run is over and everything is known: gives the memory of the endpoints back.
    pub(super) fn forget_endpoints(&mut self) {
        (self.senders, self.receivers) = (Owned::new(), Owned::new());
        (self.outgoing, self.incoming) = (Owned::new(), Owned::new());
    }

    /// The warm-up ends: what arrives from here on is measured.
    pub(crate) fn begin_measuring(&mut self) {
        self.measuring = true;
        for conn in self.streams.ids() {
            self.streams[conn].before = self.held(conn);
        }
    }
}
