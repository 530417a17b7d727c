//! The parts of a simulation side by side, known to this folder alone: what needs several of them is in its files, and the main loop asks
//! for it by methods.

mod audit;
mod calls;
mod connections;
mod datagrams;
mod deliver;
mod deliveries;
mod elsewhere;
mod faults;
mod group;
mod messages;
mod part;
mod remains;
mod report;
mod run_host;
mod shims;
mod timeouts;
mod traffic;
mod waits;
mod walk;
mod window_end;

pub(super) use part::PartResult;
pub(super) use run_host::{Apps, called};
pub(super) use walk::Period;

use super::ended::Ended;
use super::endpoint_shim::EndpointShims;
use super::fabric::Fabric;
use super::failures::Failures;
use super::hosts::{Host, Wake};
use super::lane::{Handover, Lane};
use super::paths::Paths;
use super::recorder::Recorder;
use super::slots::Slots;
use super::stream::{Held, Incoming, Outgoing, Stream};
use super::tape::Tape;
use super::wheel::Wheel;
use super::window_shim::WindowShims;
use crate::net::arena::Arena;
use crate::net::generation::Generation;
use crate::net::owned::Owned;
use crate::tcp::config::TcpConfig;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_experiment::Experiment;
use forebay_experiment::deliveries::Deliveries;
use forebay_experiment::faults::Balance;
use forebay_experiment::network::Network;
use forebay_units::{ConnSlot, GroupId, IndexVec, NodeId, PortId, Time};
use std::sync::{Arc, RwLock};

/// The simulation without its applications: its parts, and what needs several of them.
pub(crate) struct Core {
    /// Network in motion.
    fabric: Fabric,
    /// Hosts by node number; switches have an unused entry.
    hosts: Owned<NodeId, Host>,
    /// Transports.
    tcp: Arena<GroupId, TcpConfig>,
    /// Connections by slot: which one has it, for all hosts to read; changed between windows only. Those of free slots are retired.
    generations: Arena<ConnSlot, Generation>,
    /// Who they are,
    streams: Arena<ConnSlot, Stream>,
    /// what belongs to their sending hosts,
    senders: Owned<ConnSlot, Sender>,
    outgoing: Owned<ConnSlot, Outgoing>,
    /// and what to their receiving hosts.
    receivers: Owned<ConnSlot, Receiver>,
    incoming: Owned<ConnSlot, Incoming>,
    slots: Slots,
    lane: Lane,
    recorder: Recorder,
    seed: u64,
    /// Which nodes are hosts, a word for 64 of them.
    host_bits: Arena<u32, u64>,
    network: Arc<Network>,
    ended: Ended,
    deliveries: Deliveries,
    /// Ports of the connection that is being made: memory for many.
    way: Vec<PortId>,
    endpoint_shims: EndpointShims,
    paths: Arc<RwLock<Paths>>,
    /// The warm-up is over.
    measuring: bool,
    /// Statistics count from here.
    measured_from: Time,
    /// Payload that had arrived before that, per transport.
    arrived_before: IndexVec<GroupId, u64>,
    window_shims: WindowShims,
    failures: Option<Box<Failures>>,
    elsewhere: elsewhere::Elsewhere,
    /// Connections, or the end of the warm-up, which parts of the run do not know yet (`part.rs`).
    grown: bool,
    /// Where what happens at hosts is written down, while a period is (`tape.rs`).
    tape: Option<Box<Tape>>,
    /// Timers of senders that ran out.
    fired: u64,
    /// Silences of senders that timers ended or would have.
    held_up: u64,
}

impl Core {
    /// Idle hosts on an idle network.
    pub(super) fn new(
        mut fabric: Fabric,
        lane: Lane,
        config: &Experiment,
        tcp: Vec<TcpConfig>,
        seed: u64,
        recorder: Recorder,
    ) -> Core {
        let network = &config.network;
        let mut hosts = Owned::new();
        hosts.reserve_exact(network.nodes.len());
        for n in network.nodes.ids() {
            hosts.put(n, n, Host::new(n, seed));
        }
        let sprays = network.faults.balance == Balance::Packet;
        let jitter = tcp.iter().any(|c| c.send_jitter > Time::ZERO);
        for (id, port) in network.ports.enumerate().filter(|(_, p)| network.nodes[p.from].host) {
            let host: &mut Host = &mut hosts[port.from];
            (host.nic, host.sprays) = (id, sprays);
            if sprays || jitter {
                fabric.ports[id].watch();
            }
        }
        for (id, port) in network.ports.enumerate().filter(|(_, p)| network.nodes[p.to].host) {
            (hosts[port.to].input, hosts[port.to].fed_by) = (id, id);
            hosts[port.to].looks = recorder.wants_packets() || fabric.ports[id].errors().is_some();
        }
        let groups = tcp.len();
        let deliveries = Deliveries::new(&config.workloads, groups, config.duration, lane.wheel.length());
        Core {
            failures: Failures::new(network, fabric.fib(), seed),
            fabric,
            endpoint_shims: EndpointShims::new(network, &tcp, seed),
            window_shims: WindowShims::new(&tcp),
            hosts,
            tcp: Arena::new(tcp),
            generations: Arena::new(Vec::new()),
            streams: Arena::new(Vec::new()),
            senders: Owned::new(),
            outgoing: Owned::new(),
            receivers: Owned::new(),
            incoming: Owned::new(),
            slots: Slots::new(seed),
            lane,
            paths: Arc::default(),
            recorder,
            seed,
            host_bits: Arena::new(host_bits(network)),
            ended: Ended::new(groups),
            deliveries,
            way: Vec::new(),
            measuring: false,
            measured_from: Time::ZERO,
            arrived_before: IndexVec::repeat(0, groups),
            network: Arc::new(network.clone()),
            elsewhere: elsewhere::Elsewhere::default(),
            grown: false,
            tape: None,
            fired: 0,
            held_up: 0,
        }
    }

    /// Whether `node` is a host.
    #[inline]
    pub(super) fn is_host(&self, node: NodeId) -> bool {
        self.host_bits[node.get() >> 6] >> (node.get() & 63) & 1 == 1
    }

    /// When which node has to be looked at.
    #[inline(always)]
    pub(super) fn calendar(&mut self) -> &mut Wheel {
        &mut self.lane.wheel
    }

    /// Start of the current window.
    pub(super) fn now(&self) -> Time {
        self.lane.wheel.start
    }

    /// Packet transmissions so far.
    pub(super) fn hops(&self) -> u64 {
        self.fabric.hops()
    }

    /// Finite messages that have been acknowledged.
    pub(super) fn messages_done(&self) -> u64 {
        self.lane.done
    }

    /// What the rows of messages, which are packed until then, take in the report, bytes.
    pub(super) fn bytes_to_report(&self) -> u64 {
        self.recorder.bytes_of_rows()
    }

    /// Whether nothing that was written lacks its acknowledgement.
    #[inline(always)]
    pub(super) fn all_acknowledged(&self) -> bool {
        self.lane.open == 0
    }

    /// Sets a timer at `host` for `time`, on behalf of `origin` (the host where the cause lies). If that is another one, it is set at the end
    /// of the window.
    fn set_timer(&mut self, origin: NodeId, host: NodeId, time: Time, wake: Wake) {
        let order = self.hosts[origin].next_order(time);
        if origin != host {
            return self.lane.hand_over(origin, Handover::Timer { host, time, order, wake });
        }
        self.hosts[host].add(time, order, wake);
        self.lane.wheel.mark(host, time);
    }

    /// Sets one of `host` for itself. `slots`: in a wheel whose slots are emptied from the newest on.
    fn set_own_timer(&mut self, host: NodeId, time: Time, wake: Wake, slots: bool) {
        let h = &mut self.hosts[host];
        let order = if slots { h.order_in_slot(time) } else { h.next_order(time) };
        h.add(time, order, wake);
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
    fn small_packet_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time {
        let path = self.fabric.fib().path(&self.network, from, to, 0);
        let size = u64::from(self.tcp[group].ack_size);
        path.iter().map(|&p| &self.network.ports[p]).map(|p| p.delay + p.rate.tx_time(size)).fold(Time::ZERO, |a, b| a + b)
    }

    /// Payload that has reached receivers so far, in order or not, per transport. Of the hosts of this process.
    fn arrived_by_group(&self) -> IndexVec<GroupId, u64> {
        let mut arrived = self.ended.arrived_by_group().clone();
        for (conn, _) in self.streams.enumerate().filter(|(_, s)| s.live && self.holds(s.dst)) {
            arrived[self.senders[conn].group()] += self.held(conn).within(0, None);
        }
        arrived
    }

    /// What the receiver of `conn` has of its payload. A FIN that came early is none.
    fn held(&self, conn: ConnSlot) -> Held {
        if !self.holds(self.streams[conn].dst) {
            return self.told(conn).held;
        }
        let (receiver, written) = (&self.receivers[conn], self.senders[conn].written());
        let beyond = receiver.beyond().map(|(start, end)| (start, end.min(written)));
        Held { in_order: receiver.delivered(), beyond: beyond.filter(|(start, end)| start < end).collect() }
    }

    /// The run is over and everything is known: gives the memory of the endpoints back.
    fn forget_endpoints(&mut self) {
        (self.senders, self.receivers) = (Owned::new(), Owned::new());
        (self.outgoing, self.incoming) = (Owned::new(), Owned::new());
    }

    /// Ends the warm-up at `start`, after all earlier events and before all later ones: later arrivals are measured.
    pub(super) fn begin_measuring(&mut self, start: Time) {
        (self.measuring, self.measured_from, self.grown) = (true, start, true);
        self.fabric.ports.iter_mut().for_each(|p| p.restart_stats(start));
        self.arrived_before = self.arrived_by_group();
        for conn in self.streams.ids() {
            let held = self.held(conn);
            self.streams[conn].before = (held != Held::default()).then(|| Box::new(held));
        }
    }
}

/// Which nodes are hosts, as the calendar's bitmaps have nodes.
fn host_bits(network: &Network) -> Vec<u64> {
    let mut words = vec![0; network.nodes.len().div_ceil(64).max(1)];
    for (id, _) in network.nodes.enumerate().filter(|(_, n)| n.host) {
        words[id.index() / 64] |= 1 << (id.index() % 64);
    }
    words
}
