//! What applications and the main loop share: the fabric, the hosts, the connections and their rows.

use super::connections::Slots;
use super::endpoint_shim::{Direct, Endpoint, EndpointShims, Shimmed, Way, rarely};
use super::fabric::Fabric;
use super::hosts::{Host, Wake};
use super::lane::{Handover, Lane};
use super::owned::Owned;
use super::recorder::Recorder;
use super::stream::{Held, Incoming, Message, Outgoing, Stream};
use super::window_shim::WindowShims;
use crate::config::{Network, TcpConfig};
use crate::net::arena::Arena;
use crate::net::generation::Generation;
use crate::net::packet::{Packet, SackBlocks, Wire};
use crate::shim::endpoint::Side;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_units::{NodeId, PortId, QueryId};

/// Something an application may want to know.
#[derive(Debug, Clone, Copy)]
pub enum Notice {
    /// The receiver has a message completely.
    Delivered {
        /// Connection slot.
        conn: u32,
        /// Barrier round or request that the message belongs to.
        query: Option<QueryId>,
    },
    /// The sender knows that a message was delivered.
    Acked {
        /// Connection slot.
        conn: u32,
    },
}

/// Where the next connection goes to and what carries it.
#[derive(Debug, Clone, Copy)]
pub struct OpenSpec {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Index of the transport.
    pub group: usize,
    /// Application that owns it.
    pub app: u32,
    /// The application's own name for it.
    pub tag: u64,
    /// What is written when it opens.
    pub first: First,
}

/// What an application hands over at once: one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Payload; `None`: data without end.
    pub bytes: Option<u64>,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// When it should have arrived, ps since the start of the run; `u64::MAX` for no deadline.
    pub deadline: u64,
}

impl Job {
    /// A message that belongs to nothing and has no deadline.
    pub fn of(bytes: u64) -> Job {
        Job { bytes: Some(bytes), query: None, deadline: u64::MAX }
    }

    /// Data without end.
    pub const ENDLESS: Job = Job { bytes: None, query: None, deadline: u64::MAX };
}

/// A barrier round or a request that an application has begun.
#[derive(Debug, Clone, Copy)]
pub struct QueryStart {
    /// The number its messages carry.
    pub query: QueryId,
    /// When it began, ps.
    pub start: u64,
    /// Application.
    pub app: u32,
    /// Messages that belong to it.
    pub parts: u32,
}

/// What a connection's application writes when it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum First {
    /// Nothing yet.
    #[default]
    Nothing,
    /// One message; the connection closes behind it.
    Only(Job),
    /// Data without end.
    Endless,
}

/// The simulation without its applications: its parts, and what needs several of them.
pub struct Core {
    /// Network in motion.
    pub fabric: Fabric,
    /// Hosts by node number; switches have an unused entry.
    pub(super) hosts: Owned<Host>,
    /// Transports.
    pub tcp: Arena<TcpConfig>,
    /// Connections by slot: who they are,
    pub(super) streams: Arena<Stream>,
    /// what belongs to their sending hosts,
    pub(super) senders: Owned<Sender>,
    pub(super) outgoing: Owned<Outgoing>,
    /// and what to their receiving hosts.
    pub(super) receivers: Owned<Receiver>,
    pub(super) incoming: Owned<Incoming>,
    pub(super) slots: Slots,
    pub(super) lane: Lane,
    pub(super) recorder: Recorder,
    pub(super) seed: u64,
    is_host: Arena<bool>,
    pub(super) network: Network,
    /// Packets sent, received and dropped on connections whose slot has been given back, and packets that came too late for theirs.
    pub closed: PacketBalance,
    /// Payload of connections that have ended, per transport.
    pub(super) closed_arrived: Vec<u64>,
    pub(super) endpoint_shims: EndpointShims,
    /// The warm-up is over.
    pub(super) measuring: bool,
    /// Receivers end with the window, not with their senders.
    #[cfg(debug_assertions)]
    pub(super) ends_late: bool,
    pub(super) window_shims: WindowShims,
}

/// Packet counts for the conservation check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketBalance {
    /// Sent by either endpoint.
    pub sent: u64,
    /// Taken in by either endpoint.
    pub received: u64,
    /// Lost in the network.
    pub dropped: u64,
}

/// What a sender is called for, beside packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// Open the connection.
    Open,
    /// The application writes.
    Write { bytes: u64, deadline: u64, last: bool },
    /// The application of an endless flow stops.
    Stop,
    /// Its timer came due.
    Timer,
    /// The law's timer came due.
    Alarm,
}

impl Call {
    /// Calls it, on the way `out` to the network.
    #[inline(always)]
    pub fn make(self, sender: &mut Sender, c: &TcpConfig, now: u64, out: &mut impl Wire) {
        match self {
            Call::Open => sender.open(c, now, out),
            Call::Write { bytes, deadline, last } => sender.write(c, now, bytes, deadline, last, out),
            Call::Stop => sender.stop(c, now, out),
            Call::Timer => sender.on_timer(c, now, out),
            Call::Alarm => sender.on_alarm(c, now, out),
        }
    }
}

/// The way from an endpoint to the network.
pub(super) struct Nic<'a> {
    fabric: &'a mut Fabric,
    host: &'a mut Host,
    pub now: u64,
    /// Bound of the random processing time, ps; 0 for none.
    jitter: u64,
}

impl<'a> Nic<'a> {
    /// The way of a sender's packets, which its host may take some time for.
    #[inline(always)]
    pub fn of_sender(fabric: &'a mut Fabric, host: &'a mut Host, now: u64, c: &TcpConfig) -> Nic<'a> {
        Nic { fabric, host, now, jitter: c.send_jitter.0 }
    }

    /// The way of packets that are handed over at once: those of receivers and of sources of datagrams.
    #[inline(always)]
    pub fn at_once(fabric: &'a mut Fabric, host: &'a mut Host, now: u64) -> Nic<'a> {
        Nic { fabric, host, now, jitter: 0 }
    }

    /// How much later than its turn the next packet leaves, ps. The delay lies behind the network card's queue: before it, it would
    /// change nothing for a sender that keeps its card busy.
    #[inline(always)]
    fn late(&mut self) -> u64 {
        if self.jitter > 0 { self.host.rng.below(self.jitter) } else { 0 }
    }
}

impl Wire for Nic<'_> {
    #[inline(never)]
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        let late = self.late();
        self.fabric.send(self.host.nic, self.now, late, &packet, sack, |_| {});
    }

    fn alarm(&mut self, conn: u32, generation: Generation, time: u64) {
        let order = self.host.next_order(time);
        self.host.add(time, order, Wake::Law { conn, generation });
        self.fabric.wheel.mark(self.host.node, time);
    }

    fn departure(&self) -> u64 {
        self.fabric.ports[self.host.nic].busy_until()
    }

    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl FnOnce(&mut Packet)) {
        let late = self.late();
        self.fabric.send(self.host.nic, self.now, late, template, None, fill);
    }
}

impl Core {
    /// Idle hosts on an idle network.
    pub(super) fn new(fabric: Fabric, network: &Network, tcp: Vec<TcpConfig>, seed: u64, recorder: Recorder) -> Core {
        let mut hosts = Owned::new();
        for n in 0..network.nodes.len() as u32 {
            hosts.put(n, NodeId::new(n), Host::new(NodeId::new(n), seed));
        }
        for (id, port) in network.ports.iter().enumerate() {
            if network.nodes[port.from].host {
                hosts[port.from.get()].nic = PortId::new(id as u32);
            }
        }
        for (id, port) in network.ports.iter().enumerate().filter(|(_, p)| network.nodes[p.to].host) {
            hosts[port.to.get()].input = PortId::new(id as u32);
        }
        let groups = tcp.len();
        Core {
            fabric,
            endpoint_shims: EndpointShims::new(network, &tcp, seed),
            window_shims: WindowShims::new(&tcp),
            hosts,
            tcp: Arena::new(tcp),
            streams: Arena::new(Vec::new()),
            senders: Owned::new(),
            outgoing: Owned::new(),
            receivers: Owned::new(),
            incoming: Owned::new(),
            slots: Slots::new(seed),
            lane: Lane::default(),
            recorder,
            seed,
            is_host: Arena::new(network.nodes.iter().map(|n| n.host).collect()),
            closed_arrived: vec![0; groups],
            measuring: false,
            #[cfg(debug_assertions)]
            ends_late: false,
            network: network.clone(),
            closed: PacketBalance::default(),
        }
    }

    /// Whether `node` is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        self.is_host[node]
    }

    /// The static network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Sets a timer at `host` for `time`, on behalf of `origin` (the host where the cause lies). If that is another one, it is set at the end
    /// of the window.
    pub fn wake(&mut self, origin: NodeId, host: NodeId, time: u64, wake: Wake) {
        let order = self.hosts[origin.get()].next_order(time);
        if origin != host {
            return self.lane.hand_over(origin, Handover::Timer { host, time, order, wake });
        }
        self.hosts[host.get()].add(time, order, wake);
        self.fabric.wheel.mark(host, time);
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
        }
        let _ = node;
    }

    /// An application has begun a query.
    pub fn begin_query(&mut self, start: QueryStart) {
        self.recorder.query(start);
    }

    /// Time that an ACK-sized packet takes from host `from` to host `to` on the empty path, ps.
    pub fn small_packet_latency(&self, from: NodeId, to: NodeId, group: usize) -> u64 {
        let path = self.fabric.fib().path(&self.network, from, to, 0);
        let size = u64::from(self.tcp[group as u32].ack_size);
        path.iter().map(|&p| &self.network.ports[p]).map(|p| p.delay.0 + p.rate.tx_time(size).0).sum()
    }

    /// Payload that has reached receivers so far, in order or not, per transport.
    pub fn arrived_by_group(&self) -> Vec<u64> {
        let mut arrived = self.closed_arrived.clone();
        for conn in (0..self.streams.len() as u32).filter(|c| self.streams[*c].live) {
            arrived[usize::from(self.senders[conn].group)] += self.held(conn).within(0, u64::MAX);
        }
        arrived
    }

    /// What the receiver of `conn` has of its payload. A FIN that came early is none.
    pub(super) fn held(&self, conn: u32) -> Held {
        let (receiver, written) = (&self.receivers[conn], self.senders[conn].written);
        let beyond = receiver.beyond().map(|(start, end)| (start, end.min(written)));
        Held { in_order: receiver.delivered, beyond: beyond.filter(|(start, end)| start < end).collect() }
    }

    /// The warm-up ends: what arrives from here on is measured.
    pub fn begin_measuring(&mut self) {
        self.measuring = true;
        for conn in 0..self.streams.len() as u32 {
            self.streams[conn].before = self.held(conn);
        }
    }

    /// The application hands a message to connection `conn` at `now`. Call it at the sending host.
    pub fn write(&mut self, conn: u32, now: u64, job: Job) {
        let Job { bytes, query, deadline } = job;
        let (out, sender) = (&mut self.outgoing[conn], &mut self.senders[conn]);
        let begin = sender.written;
        let length = bytes.unwrap_or(u64::MAX / 4);
        let end = bytes.map_or(u64::MAX, |b| begin + b);
        let first_window = (sender.w.cwnd * f64::from(self.tcp[u32::from(sender.group)].mss)) as u64;
        out.messages.push_back(Message { begin, end, start: now, delivered: u64::MAX, query, deadline, first_window });
        if out.messages.len() == 1 {
            sender.message = (begin, begin.saturating_add(first_window), end);
        }
        let s = &self.streams[conn];
        if bytes.is_some() {
            self.lane.open += 1;
            // No byte of it arrives in this window.
            self.lane.hand_over(s.src, Handover::Expect { conn, end, query });
        }
        let last = matches!(s.first, First::Only(_));
        self.with_sender(conn, now, Call::Write { bytes: length, deadline, last });
    }

    /// The application of an endless flow stops writing.
    pub fn stop(&mut self, conn: u32, now: u64) {
        self.with_sender(conn, now, Call::Stop);
        // Its row is due when what it has written is acknowledged, which may be now.
        let sender = &mut self.senders[conn];
        sender.message.2 = sender.written;
        self.lane.open += 1;
        if sender.una >= sender.written {
            self.message_acked(conn, now);
        }
    }

    /// Calls the sender with its configuration and its way to the network, then sees to its timer.
    #[inline]
    pub(super) fn with_sender(&mut self, conn: u32, now: u64, call: Call) {
        if self.senders[conn].generation().has_shim() {
            return rarely(|| self.call_sender::<Shimmed>(conn, now, call));
        }
        self.call_sender::<Direct>(conn, now, call);
    }

    #[inline(always)]
    fn call_sender<W: Way>(&mut self, conn: u32, now: u64, call: Call) {
        let node = self.streams[conn].src;
        let sender = &mut self.senders[conn];
        let group = u32::from(sender.group);
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let c = &self.tcp[group];
        let nic = Nic::of_sender(&mut self.fabric, &mut self.hosts[node.get()], now, c);
        call.make(sender, c, now, &mut W::wire(&mut self.endpoint_shims, at, nic));
        W::settle(self, at, now);
        self.arm_sender(conn, node);
    }

    /// Makes sure a timer entry exists no later than the sender's deadline.
    #[inline]
    pub(super) fn arm_sender(&mut self, conn: u32, host: NodeId) {
        let sender = &mut self.senders[conn];
        if sender.deadline < sender.armed {
            sender.armed = sender.deadline;
            let (deadline, generation) = (sender.deadline, sender.generation());
            self.wake(host, host, deadline, Wake::Sender { conn, generation });
        }
    }
}
