//! The network: ports, links, and forwarding by switches.
//!
//! A node takes packets in order of arrival, and at the same instant in the order of `TieBreaker`. Nodes do not affect each other within a window, so
//! that any order of nodes, on any number of threads, gives the same trajectory.

mod balance;
mod conga;
mod congestion;
mod flowlets;
mod forward;
mod late_delivery;

use self::balance::{Balancer, Leaves};
use self::late_delivery::Hold;
use super::arrival_order::{GatheredPacket, PORT_BITS, TieBreaker};
use super::partition_state::PartitionState;
use crate::net::arena::{Arena, Sharing};
use crate::net::capture::{CaptureLog, CapturedConnection, LinkTap, SharedLog};
use crate::net::huge_pages;
use crate::net::link_errors::LinkErrors;
use crate::net::packet::{Extra, Packet};
use crate::net::port::{Port, Refusal};
use forebay_experiment::capture::{Capture, CapturedPacket};
use forebay_experiment::faults::{Change, Faults};
use forebay_experiment::link_errors::LinkErrors as Draws;
use forebay_experiment::network::{Network, PortConfig};
use forebay_experiment::series::Series;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::Fib;
use forebay_queues::{Queue, SharedBuffer};
use forebay_types::{ConnSlot, IndexVec, NodeId, PortId, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Ports per 64-bit word of the bitmap of busy inputs.
pub(super) const WORD: u32 = 64;

/// A node as seen by forwarding.
#[derive(Debug, Clone, Default)]
pub(super) struct NodePorts {
    /// First input slot.
    in_first: u32,
    /// First word of the bitmap of busy inputs.
    busy_first: u32,
    busy_words: u32,
    /// Egress ports of a switch with shared memory; empty otherwise.
    shared_ports: Vec<PortId>,
    shared: Option<SharedBuffer>,
    /// Upper bound of the bytes that those ports hold.
    shared_bound: u64,
    /// Egress ports with buffered disciplines.
    buffered: Vec<PortId>,
    /// First word of the bitmap of those with a backlog.
    waiting_first: u32,
    /// Ingress ports whose links damage or lose packets, or are captured.
    inspected_inputs: Vec<PortId>,
    /// Links to the switch that deliver packets later than their delay.
    holds: Vec<Hold>,
    /// Choice of ports by the state of the switch.
    balancer: Option<Box<Balancer>>,
    /// True if the switch has shared memory, buffered disciplines, inspected inputs, links that hold packets, or chooses ports by its state.
    special: bool,
}

/// All ports and links. The output of a thread that works on them is in its [`PartitionState`].
pub(crate) struct Fabric {
    /// Egress ports.
    pub(crate) ports: Arena<PortId, Port>,
    nodes: Arena<NodeId, NodePorts>,
    /// The ingress port of each input slot.
    feeder: Arena<u32, PortId>,
    /// Busy inputs of all nodes.
    busy: Arena<u32, u64>,
    /// Ports of switches with buffered disciplines that may have a backlog.
    waiting: Arena<u32, u64>,
    /// The port of each bit of `waiting`.
    waiting_ports: Arena<u32, PortId>,
    fib: Arc<Fib>,
    leaves: Leaves,
    ties: TieBreaker,
    /// Captured packets, if any port is captured.
    capture: Option<SharedLog>,
}

impl Fabric {
    /// Creates the idle network; `seed` is for the queue disciplines and for ties.
    pub(crate) fn new(network: &Network, fib: Fib, seed: u64) -> Fabric {
        let count = network.nodes.len();
        let mut nodes: IndexVec<NodeId, NodePorts> = IndexVec::repeat(NodePorts::default(), count);
        let mut inputs: IndexVec<NodeId, Vec<PortId>> = IndexVec::repeat(Vec::new(), count);
        for (id, port) in network.ports.enumerate() {
            inputs[port.to].push(id);
            if network.nodes[port.from].shared_buffer.is_some() {
                nodes[port.from].shared_ports.push(id);
            }
            if matches!(port.queue, Queue::Buffered(_)) {
                nodes[port.from].buffered.push(id);
            }
        }
        for port in network.faults.lossy_ports() {
            nodes[network.ports[port].to].inspected_inputs.push(port);
        }
        let holds = Hold::of(&network.faults, network.ports.len());
        for hold in &holds {
            let (link, input) = hold.ports();
            let node = network.ports[link].to;
            inputs[node].push(input);
            nodes[node].holds.push(*hold);
        }
        let leaves = Leaves::of(network);
        let choices = Balancer::choices(network);
        let (mut feeder, mut words) = (Vec::new(), 0);
        let mut input_of = vec![0; network.ports.len() + holds.len()];
        let (mut place_of, mut waiting) = (vec![0; network.ports.len()], 0);
        for (n, list) in inputs.enumerate() {
            nodes[n].in_first = feeder.len() as u32;
            nodes[n].busy_first = words;
            // At least one, so that the forwarding loop needs no check.
            nodes[n].busy_words = (list.len() as u32).div_ceil(WORD).max(1);
            nodes[n].shared = network.nodes[n].shared_buffer;
            nodes[n].balancer = choices.as_ref().and_then(|ports| Balancer::of(network, leaves.tiers(), (n, &ports[n]), seed));
            let inspects = !nodes[n].inspected_inputs.is_empty() || !nodes[n].holds.is_empty();
            let chooses = nodes[n].balancer.is_some();
            nodes[n].special = nodes[n].shared.is_some() || !nodes[n].buffered.is_empty() || inspects || chooses;
            for (slot, &port) in list.iter().enumerate() {
                input_of[port.index()] = words * WORD + slot as u32;
            }
            nodes[n].waiting_first = waiting;
            for (place, port) in nodes[n].buffered.iter().enumerate() {
                place_of[port.index()] = waiting * WORD + place as u32;
            }
            waiting += (nodes[n].buffered.len() as u32).div_ceil(WORD);
            feeder.extend(list);
            words += nodes[n].busy_words;
        }
        let mut waiting_ports = vec![PortId::new(0); (waiting * WORD) as usize];
        for &port in nodes.iter().flat_map(|n| &n.buffered) {
            waiting_ports[place_of[port.index()] as usize] = port;
        }
        assert!(network.ports.len() < 1 << PORT_BITS, "keys of packets hold {PORT_BITS} bits of the port");
        let make = |(id, c): (usize, &PortConfig)| {
            Port::new(c, network.nodes[c.from].host, input_of[id], RngStream::Queue.stream(seed, &[id as u64]))
        };
        let mut ports: Vec<Port> = Vec::with_capacity(network.ports.len());
        huge_pages::advise(ports.spare_capacity_mut());
        ports.extend(network.ports.iter().enumerate().map(make));
        for port in network.faults.lossy_ports() {
            if let Some(draws) = Draws::of(&network.faults, port, seed) {
                ports[port.index()].set_errors(LinkErrors::new(draws));
            }
        }
        for hold in &holds {
            let (link, input) = hold.ports();
            let place = input_of[input.index()];
            let end = ports[link.index()].holding_input(place);
            ports.push(end);
        }
        for (port, place) in ports.iter_mut().zip(place_of) {
            port.place = place;
        }
        Fabric {
            ports: Arena::new(ports),
            nodes: Arena::new(nodes.into_vec()),
            feeder: Arena::new(feeder),
            busy: Arena::new(vec![0; words as usize]),
            waiting: Arena::new(vec![0; waiting as usize]),
            waiting_ports: Arena::new(waiting_ports),
            fib: Arc::new(fib),
            leaves,
            ties: TieBreaker::new(network.ties, seed),
            capture: None,
        }
    }

    /// Captures packets of `network`, before the first one is sent.
    pub(crate) fn capture(&mut self, network: &Network, capture: &Capture, seed: u64) {
        if capture.is_off() {
            return;
        }
        let log: SharedLog = Arc::new(Mutex::new(CaptureLog::new(capture, seed)));
        for (id, interfaces) in capture.ports(network) {
            let port = &mut self.ports[id];
            port.set_tap(LinkTap::new(log.clone(), interfaces));
            let node = &mut self.nodes[port.to];
            if !node.inspected_inputs.contains(&id) {
                node.inspected_inputs.push(id);
            }
            node.special = true;
        }
        self.capture = Some(log);
    }

    /// Returns true if packets are captured.
    pub(super) fn is_captured(&self) -> bool {
        self.capture.is_some()
    }

    /// Notes the properties of a connection whose packets may be captured.
    pub(super) fn note_captured(&mut self, key: (ConnSlot, u8), connection: CapturedConnection) {
        if let Some(log) = &self.capture {
            log.lock().unwrap_or_else(PoisonError::into_inner).open(key, connection);
        }
    }

    /// Returns the packets captured by `end`, in order.
    pub(super) fn take_captured(&mut self, end: Time) -> Series<CapturedPacket> {
        let Some(log) = self.capture.take() else { return Series::default() };
        self.ports.iter_mut().for_each(|port| port.flush_tap(end));
        log.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Connection `number` opens, in this slot, from host `src` to host `dst`.
    pub(super) fn note_connection(
        &mut self,
        faults: &Faults,
        number: u64,
        (slot, generation): (ConnSlot, u8),
        (src, dst): (NodeId, NodeId),
    ) {
        self.leaves.open((slot, generation), (src, dst));
        for l in &faults.loss {
            if let Some(errors) = self.ports[l.port].errors_mut() {
                errors.open(number, slot, generation);
            }
        }
    }

    /// Shares the network with one partition of a run.
    pub(super) fn share(&mut self, sharing: &Sharing) -> Fabric {
        Fabric {
            ports: self.ports.share(sharing),
            nodes: self.nodes.share(sharing),
            feeder: self.feeder.share(sharing),
            busy: self.busy.share(sharing),
            waiting: self.waiting.share(sharing),
            waiting_ports: self.waiting_ports.share(sharing),
            fib: self.fib.clone(),
            leaves: self.leaves.share(sharing),
            ties: self.ties,
            capture: None,
        }
    }

    /// Splits the link behind `port`. From now on its packets wait at the port until [`Fabric::drain_ports`] takes them; packets that
    /// [`Fabric::deliver_to_half`] gives to the returned port reach the node at the far end. `collector` represents the far end here, with `input` as
    /// the place of the port among its inputs.
    pub(super) fn split(&mut self, port: PortId, collector: NodeId, input: u32) -> PortId {
        let far = self.ports.next_id();
        let p = &mut self.ports[port];
        let end = p.split(collector, input);
        let (to, at) = (end.to, end.input);
        self.ports.push(end);
        let n = &self.nodes[to];
        self.feeder[n.in_first + (at - n.busy_first * WORD)] = far;
        far
    }

    /// Reserves memory for this many half links, and adds this many words to the bitmap of busy inputs. Returns the first of them.
    pub(super) fn make_room(&mut self, halves: usize, words: u32) -> u32 {
        self.ports.reserve_exact(halves);
        let first = self.busy.next_id();
        (0..words).for_each(|_| self.busy.push(0));
        first
    }

    /// Removes all packets from the ports of word `word` of the bitmap of busy inputs; `take` gets the number of the bit, and a packet.
    #[inline]
    pub(super) fn drain_ports(
        &mut self,
        word: u32,
        port: impl Fn(u32) -> PortId,
        mut take: impl FnMut(u32, &Packet, Option<&Extra>),
    ) {
        let mut bits = std::mem::take(&mut self.busy[word]);
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            let ring = &mut self.ports[port(bit)].ring;
            let mut position = ring.head();
            while position != ring.tail() {
                take(bit, ring.packet(position), ring.extra(position));
                position = ring.next(position);
            }
            ring.advance(position);
        }
    }

    /// Delivers a packet to the far half of a link.
    #[inline]
    pub(super) fn deliver_to_half(
        &mut self,
        partition: &mut PartitionState,
        port: PortId,
        packet: &Packet,
        extra: Option<&Extra>,
    ) {
        let p = &mut self.ports[port];
        if p.deliver_to_half(packet, extra) {
            let (node, input) = (p.to, p.input);
            self.set_busy(input);
            // Possibly in the current window: the packet was sent in the previous one.
            partition.calendar.mark(node, packet.arrival);
        }
    }

    /// Replaces the forwarding tables.
    pub(super) fn reroute(&mut self, fib: Fib) {
        self.fib = Arc::new(fib);
    }

    /// Takes the link behind `port` down at `at`, in this direction.
    pub(super) fn cut(&mut self, partition: &mut PartitionState, port: PortId, at: Time) {
        let p = &mut self.ports[port];
        p.cut(at, |lost| partition.drop_packet(lost));
        p.take_departures(&mut partition.departures);
        if p.ring.is_empty() {
            self.busy[p.input / WORD] &= !(1 << (p.input % WORD));
        }
    }

    /// Changes one direction of a link.
    pub(super) fn change(&mut self, partition: &mut PartitionState, change: &Change) {
        let p = &mut self.ports[change.port];
        if let (Some(loss), Some(errors)) = (change.loss, p.errors_mut()) {
            errors.set_loss(loss);
        }
        if change.rate.is_none() && change.delay.is_none() {
            return;
        }
        if let Some(rate) = change.rate {
            self.nodes.iter_mut().filter_map(|n| n.balancer.as_deref_mut()).for_each(|b| b.set_rate(change.port, rate));
        }
        if let Some(arrival) = p.change(change.at, change.rate, change.delay) {
            self.announce(partition, change.port, arrival);
        }
    }

    /// As [`Fabric::send`], for a complete packet that leaves `late` after its turn, at an intercepted port or one with a buffered discipline.
    #[cold]
    #[inline(never)]
    pub(super) fn send_slow(
        &mut self,
        partition: &mut PartitionState,
        port: PortId,
        (now, late): (Time, Time),
        packet: &Packet,
        extra: Option<&Extra>,
    ) {
        let p = &mut self.ports[port];
        if p.has_transmit_ring() {
            let arrival = p.offer((now, late), packet, extra, |lost| partition.drop_packet(lost));
            p.take_departures(&mut partition.departures);
            if let Some(arrival) = arrival {
                self.announce(partition, port, arrival);
            }
            return;
        }
        if p.backlog().is_some() {
            return self.admit(partition, port, now, packet, extra, None);
        }
        self.ports[port].release();
        if self.enqueue::<true>(partition, port, (now, Some(late)), packet, extra, |_| {}).is_err() {
            self.ports[port].capture_refused(now, packet, extra);
            partition.drop_packet(packet);
        }
        self.ports[port].intercept();
    }

    /// Notes at a host's port that the sender of `packet` holds a burst until its departure time.
    #[cold]
    pub(super) fn hold(&mut self, partition: &mut PartitionState, port: PortId, now: Time, packet: &Packet) {
        let p = &mut self.ports[port];
        let arrival = p.hold(now, packet, |lost| partition.drop_packet(lost));
        p.take_departures(&mut partition.departures);
        if let Some(arrival) = arrival {
            self.announce(partition, port, arrival);
        }
    }

    /// The forwarding tables.
    pub(crate) fn fib(&self) -> &Fib {
        &self.fib
    }

    /// Packet transmissions so far.
    pub(crate) fn hops(&self) -> u64 {
        self.ports.iter().map(Port::total_sent).sum()
    }

    /// Sends a packet, completed by `fill`, through a host's port at `now`, or returns the reason why it was not queued.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        partition: &mut PartitionState,
        port: PortId,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        fill: impl FnOnce(&mut Packet),
    ) -> Result<(), Refusal> {
        self.enqueue::<true>(partition, port, (now, None), packet, extra, fill)
    }

    #[inline(always)]
    fn enqueue<const HOST: bool>(
        &mut self,
        partition: &mut PartitionState,
        port: PortId,
        (now, late): (Time, Option<Time>),
        packet: &Packet,
        extra: Option<&Extra>,
        fill: impl FnOnce(&mut Packet),
    ) -> Result<(), Refusal> {
        let p = &mut self.ports[port];
        let idle = p.ring.is_empty();
        let arrival = p.enqueue::<HOST>(now, late, packet, fill)?;
        if let Some(extra) = extra {
            p.ring.push_extra(extra);
        }
        if idle {
            self.announce(partition, port, arrival);
        }
        Ok(())
    }

    /// Handles a packet that the egress port did not queue as a FIFO.
    #[cold]
    #[inline(never)]
    fn refused(&mut self, partition: &mut PartitionState, m: &GatheredPacket, why: Refusal) {
        match why {
            Refusal::Dropped => {
                let (packet, extra) = (m.packet(), m.extra());
                let now = partition.calendar.start + m.offset();
                self.ports[m.to()].capture_refused(now, packet, extra);
                partition.drop_packet(packet);
            }
            Refusal::SlowPath => unreachable!("only ports of hosts are intercepted, and backlogs are handled first"),
        }
    }

    /// Passes a gathered packet to a port with a buffered discipline. Returns false if [`Fabric::hop`] must queue it, after the transmissions that
    /// start earlier.
    #[inline(always)]
    fn enqueue_slow(&mut self, partition: &mut PartitionState, m: &GatheredPacket) -> bool {
        let (to, now) = (m.to(), partition.calendar.start + m.offset());
        if self.ports[to].backlog().is_none() {
            return false;
        }
        if self.ports[to].starts_before(now) {
            self.serve(partition, to, now);
        }
        let p = &mut self.ports[to];
        let busy = p.is_busy(now);
        let (packet, extra) = (m.packet(), || m.extra());
        if !busy && p.allows_bypass(now) {
            if p.counts() {
                return false;
            }
            let idle = p.ring.is_empty();
            let arrival = p.enqueue_idle(now, packet, extra);
            if idle {
                self.announce(partition, to, arrival);
            }
        } else if busy {
            p.enqueue_busy(now, packet, extra(), |lost| partition.drop_packet(lost));
            self.note_waiting(to);
        } else if let Some(arrival) = p.enqueue_idle_slow(now, packet, extra(), |lost| partition.drop_packet(lost)) {
            self.announce(partition, to, arrival);
        }
        true
    }

    /// Notes that a port of a switch may have a backlog.
    #[inline(always)]
    fn note_waiting(&mut self, port: PortId) {
        let place = self.ports[port].place;
        self.waiting[place / WORD] |= 1 << (place % WORD);
    }

    /// Performs the transmissions of a buffered port that start before `until`.
    #[inline(never)]
    fn serve(&mut self, partition: &mut PartitionState, port: PortId, until: Time) {
        self.serve_here(partition, port, until);
    }

    /// Performs the transmissions of a host that start before `until`.
    pub(super) fn serve_host(&mut self, partition: &mut PartitionState, port: PortId, until: Time) {
        let p = &mut self.ports[port];
        let arrival = p.serve_host(until, |lost| partition.drop_packet(lost));
        p.take_departures(&mut partition.departures);
        if let Some(arrival) = arrival {
            self.announce(partition, port, arrival);
        }
    }

    /// As [`Fabric::serve`].
    #[inline(always)]
    fn serve_here(&mut self, partition: &mut PartitionState, port: PortId, until: Time) {
        let p = &mut self.ports[port];
        if let Some(arrival) = p.serve(until, |lost| partition.drop_packet(lost)) {
            self.announce(partition, port, arrival);
        }
    }

    /// Passes a packet to a port with a buffered discipline.
    #[inline(never)]
    fn admit(
        &mut self,
        partition: &mut PartitionState,
        port: PortId,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        memory: Option<u64>,
    ) {
        let p = &mut self.ports[port];
        if let Some(arrival) = p.admit(now, packet, extra, memory, |lost| partition.drop_packet(lost)) {
            self.announce(partition, port, arrival);
        }
    }

    /// Schedules the receiving node: the link behind `port`, idle so far, will deliver a packet at `arrival`, behind the window.
    #[inline(always)]
    fn announce(&mut self, partition: &mut PartitionState, port: PortId, arrival: Time) {
        let (node, input) = (self.ports[port].to, self.ports[port].input);
        self.set_busy(input);
        partition.calendar.mark_ahead(node, arrival);
    }

    #[inline(always)]
    fn set_busy(&mut self, input: u32) {
        self.busy[input / WORD] |= 1 << (input % WORD);
    }
}
