//! State of a simulation without its applications: hosts, connections, network, records and exchange.
//!
//! Each field of [`SimState`] has its own type, whose fields are private. The files of this folder hold these types, and the operations that need
//! several of them.

mod audit;
mod connection_table;
mod connections;
mod gather;
mod host_rx;
mod host_table;
mod host_tx;
mod interrupt;
mod measurement;
mod messages;
mod partition;
mod remote;
mod report;
mod run_nodes;
mod shims;
mod stalls;
mod traffic;
mod two_way;
mod window_end;

pub(super) use partition::PartitionResult;
pub(super) use run_nodes::{Apps, lock_app};

use super::accept_queue::AcceptQueues;
use super::calendar::Calendar;
use super::endpoint_shim::EndpointShims;
use super::fabric::Fabric;
use super::failures::Failures;
use super::link_changes::LinkChanges;
use super::metrics_cache::MetricsCache;
use super::partition_state::PartitionState;
use super::recorder::Recorder;
use super::window_shim::WindowShims;
use crate::net::arena::Arena;
use crate::net::port::TransmitRingConfig;
use crate::tcp::config::TcpConfig;
use crate::tcp::gro::Gro;
use connection_table::ConnectionTable;
use forebay_experiment::Experiment;
use forebay_experiment::faults::Balance;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::network::Network;
use forebay_experiment::traffic::End;
use forebay_experiment::writes::Writes;
use forebay_types::{AppId, GroupId, IndexVec, NodeId, PortId, Time, TimeOrNever};
use host_table::HostTable;
use measurement::Measurement;
use remote::Remote;
use std::sync::{Arc, RwLock};

/// State of a simulation without its applications.
pub(crate) struct SimState {
    network: Arc<Network>,
    /// Ports, links and switches.
    fabric: Fabric,
    hosts: HostTable,
    /// Configurations of the transports.
    tcp: Arena<GroupId, TcpConfig>,
    connections: ConnectionTable,
    endpoint_shims: EndpointShims,
    window_shims: WindowShims,
    /// Metrics of the paths of closed connections.
    metrics: Arc<RwLock<MetricsCache>>,
    /// Calendar and output of the current window.
    partition: PartitionState,
    recorder: Recorder,
    measurement: Measurement,
    /// Accept queues of listening sockets.
    accept_queues: AcceptQueues,
    /// Calls with which each application writes a message.
    writes: IndexVec<AppId, Writes>,
    /// Applications whose datagrams the run waits for: their sources end, and the run has no duration.
    awaits_datagrams: IndexVec<AppId, bool>,
    failures: Option<Box<Failures>>,
    link_changes: LinkChanges,
    /// Division of the run among processes.
    remote: Remote,
    seed: u64,
    /// End of the run, if it is earlier than that of its last window.
    end: Option<Time>,
    /// Segments that a host merges at an interrupt.
    gro: Box<Gro>,
    /// Ports of the connection that is being opened; the memory is reused.
    route: Vec<PortId>,
    /// True if connections were added, or the warm-up ended, since the partitions were last shared.
    changed: bool,
}

impl SimState {
    /// Creates idle hosts on an idle network.
    pub(super) fn new(
        mut fabric: Fabric,
        partition: PartitionState,
        config: &Experiment,
        tcp: Vec<TcpConfig>,
        seed: u64,
        recorder: Recorder,
    ) -> SimState {
        let network = &config.network;
        let mut hosts = HostTable::new(network, seed);
        let sprays = network.faults.balance == Balance::Packet;
        let jitter = tcp.iter().any(|c| c.send_jitter > Time::ZERO);
        let timing = HostTiming::of(&config.groups);
        let byte_queue_limits = config.groups.iter().any(|g| g.tcp.byte_queue_limits);
        let framing = config.groups.iter().map(|g| g.tcp.framing() as u16).max().unwrap_or(0);
        // With timestamps those of an ACK are 12 bytes and those of a SYN 20, without them none and 12.
        let syn_options = if config.groups.iter().all(|g| g.tcp.timestamps) { 8 } else { 12 };
        let ring = (byte_queue_limits || jitter || tcp.iter().any(|c| c.tso.is_some() || c.tsq)).then_some(TransmitRingConfig {
            byte_queue_limits,
            framing,
            syn_options,
            clock: timing.clock_step(),
        });
        for (id, port) in network.ports.enumerate().filter(|(_, p)| network.nodes[p.from].host) {
            let host = &mut hosts[port.from];
            (host.nic, host.sprays) = (id, sprays);
            host.loses_hash = sprays || matches!(network.faults.balance, Balance::Conga { .. });
            fabric.ports[id].set_timing(timing.phase(seed, port.from), timing.jitter(seed, port.from));
            fabric.ports[id].set_rate(timing.rate(seed, port.from, port.rate));
            if sprays || jitter {
                fabric.ports[id].intercept();
            }
            if let Some(ring) = ring {
                fabric.ports[id].set_transmit_ring(ring);
            }
        }
        for (id, port) in network.ports.enumerate().filter(|(_, p)| network.nodes[p.to].host) {
            let host = &mut hosts[port.to];
            (host.input, host.network_input) = (id, id);
            host.interrupt_delay = timing.interrupt_delay.unwrap_or(Time::ZERO);
            host.whole_ns = timing.whole_ns;
            host.inspects_packets = recorder.records_packets() || fabric.ports[id].has_hooks();
        }
        SimState {
            failures: Failures::new(network, fabric.fib(), seed),
            link_changes: LinkChanges::new(&network.faults),
            fabric,
            hosts,
            endpoint_shims: EndpointShims::new(network, &tcp, seed),
            window_shims: WindowShims::new(&tcp),
            connections: ConnectionTable::new(seed, tcp.len()),
            measurement: Measurement::new(config, tcp.len(), partition.calendar.length()),
            accept_queues: AcceptQueues::new(config.workloads.iter().map(|w| w.listen), network.nodes.len()),
            writes: config.workloads.iter().map(|w| w.writes).collect(),
            awaits_datagrams: config.workloads.iter().map(|w| config.duration.is_none() && w.kind.end() == End::Finite).collect(),
            tcp: Arena::new(tcp),
            network: Arc::new(network.clone()),
            metrics: Arc::default(),
            partition,
            recorder,
            remote: Remote::default(),
            seed,
            end: None,
            gro: Box::default(),
            route: Vec::new(),
            changed: false,
        }
    }

    /// Calendar of node activations.
    #[inline(always)]
    pub(super) fn calendar(&mut self) -> &mut Calendar {
        &mut self.partition.calendar
    }

    /// Start of the current window.
    pub(super) fn now(&self) -> Time {
        self.partition.calendar.start
    }

    /// See `Simulation::offer_by_segment`.
    #[cfg(debug_assertions)]
    pub(super) fn offer_by_segment(&mut self) {
        for (id, _) in self.network.ports.enumerate() {
            self.fabric.ports[id].offer_by_segment();
        }
    }

    /// Packet transmissions so far.
    pub(super) fn hops(&self) -> u64 {
        self.fabric.hops()
    }

    /// Finite messages that have been acknowledged.
    pub(super) fn messages_done(&self) -> u64 {
        self.partition.done
    }

    /// Bytes that the rows of messages and queries will take in the report, where they are not packed.
    pub(super) fn bytes_to_report(&self) -> u64 {
        self.recorder.bytes_of_rows()
    }

    /// Returns true if everything that was written has been acknowledged.
    #[inline(always)]
    pub(super) fn all_acknowledged(&self) -> bool {
        self.partition.open == 0
    }

    /// Time at which the last work ended so far.
    pub(super) fn worked(&self) -> Time {
        self.partition.worked()
    }

    /// Ends the run at the time at which its last work ended, which lies in its last window: a datagram that a failing link loses would have arrived
    /// later.
    pub(super) fn end_with_work(&mut self) {
        self.end = Some(self.worked().min(self.partition.calendar.end).max(self.measurement.since));
    }

    /// Time of the next failure, repair, or change of a link or of forwarding tables.
    pub(super) fn next_link_event(&self) -> TimeOrNever {
        self.failures.as_ref().map_or(TimeOrNever::NEVER, |f| f.next()).min(self.link_changes.next())
    }

    /// Applies the failures, repairs and changes at `now`, after all earlier events and before all later ones.
    pub(super) fn change_links(&mut self, now: Time) {
        self.link_changes.advance(&mut self.fabric, &mut self.partition, now);
        let Some(failures) = &mut self.failures else { return };
        if let Some(change) = failures.advance(&self.network, &mut self.fabric, &mut self.partition, now)
            && self.network.faults.balance.keeps_path()
        {
            // With a random path for each packet there are no routes to count.
            let live = self.connections.live().map(|(_, c)| c);
            failures.count_rerouted(&change, live, &self.network, self.fabric.fib());
        }
        // Of the packets that the interfaces of hosts have lost.
        self.note_departures(now);
    }

    /// Sets the host that runs; `None` at the end of the window. Debug builds check that a host touches no state of another host.
    #[inline(always)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        #[cfg(debug_assertions)]
        {
            self.hosts.set_running(node);
            self.connections.set_running(node);
            self.endpoint_shims.set_running(node);
            self.window_shims.set_running(node);
        }
        let _ = node;
    }

    /// Time that an ACK-sized packet takes from host `from` to host `to` on the empty path.
    fn small_packet_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time {
        let path = self.fabric.fib().path(&self.network, from, to, 0);
        let size = u64::from(self.tcp[group].ack_size);
        path.iter().map(|&p| &self.network.ports[p]).map(|p| p.delay + p.rate.tx_time(size)).fold(Time::ZERO, |a, b| a + b)
    }

    /// Passes the ports that data with ECMP hash `hash` takes from host `src` to host `dst` to `visit`.
    fn on_path(&self, src: NodeId, dst: NodeId, hash: u16, mut visit: impl FnMut(PortId)) {
        let (mut node, mut port) = (src, self.hosts[src].nic);
        while node != dst {
            visit(port);
            node = self.network.ports[port].to;
            if node != dst {
                port = self.fabric.fib().next_port(node, dst, u32::from(hash));
            }
        }
    }
}
