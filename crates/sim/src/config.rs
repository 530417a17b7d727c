//! What the engine runs: plain data, produced by the scenario crate, which has checked it.

pub use crate::assign::Assign;
use crate::cc::{LawConfig, slow_start};
use crate::shim::ShimConfig;
use crate::tcp::datagram::Datagram;
use forebay_queues::{Queue, SharedBuffer};
use forebay_sampling::{SizeDist, TimeDist};
use forebay_units::{NodeId, PortId, QueueLen, Rate, Time};

/// One simulation: network, transports, traffic, observation.
#[derive(Debug, Clone)]
pub struct SimConfig {
    /// Seed of every random stream.
    pub seed: u64,
    /// End of simulated time. `None`: run until all finite work is done (refused by the scenario crate when there is endless work).
    pub duration: Option<Time>,
    /// Nodes and links.
    pub network: Network,
    /// Transports; workloads refer to them by index. At least one.
    pub groups: Vec<Group>,
    /// Traffic.
    pub workloads: Vec<Workload>,
    /// What to record.
    pub observe: Observe,
}

/// Hosts, switches and the directed links between them.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All egress ports, each one direction of a link.
    pub ports: Vec<PortConfig>,
    /// Named groups of hosts that workloads can refer to, such as `senders`. `all` is added by the scenario crate.
    pub host_groups: Vec<(String, Vec<NodeId>)>,
    /// Ports that carry a short name, such as `bottleneck`; reports and `[observe]` use it.
    pub named_ports: Vec<(String, PortId)>,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Unique name, such as `h3` or `leaf0`.
    pub name: String,
    /// Whether it is a host.
    pub host: bool,
    /// Shared packet memory of a switch.
    pub shared_buffer: Option<SharedBuffer>,
}

/// An egress port and the link behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct PortConfig {
    /// Node that transmits.
    pub from: NodeId,
    /// Node that receives.
    pub to: NodeId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Buffer of the queue, waiting and in service; `None`: unlimited.
    pub buffer: Option<QueueLen>,
    /// Discipline of the queue, in its initial state.
    pub queue: Queue,
}

/// A transport: a stack with a law, used by the flows of the workloads that name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name in the results.
    pub name: String,
    /// Stack and law.
    pub tcp: TcpConfig,
}

impl Group {
    /// What sources of datagrams are reported under. `like` is any transport of the scenario, for what is not TCP's alone.
    pub fn datagrams(like: &TcpConfig) -> Group {
        let law = LawConfig::NewReno(Default::default());
        let tcp = TcpConfig { law, recovery: Recovery::NewReno, ecn: Ecn::Off, shims: Vec::new(), ..like.clone() };
        Group { name: Group::DATAGRAMS.into(), tcp }
    }

    /// Name of [`Group::datagrams`].
    pub const DATAGRAMS: &str = "udp";
}

/// How losses are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Cumulative ACKs only, recovery ends with the first new ACK: RFC 5681 section 3.2.
    Reno,
    /// Cumulative ACKs only: RFC 6582.
    NewReno,
    /// SACK scoreboard: RFC 6675.
    Sack,
    /// Time-based with tail loss probes: RFC 8985, on a SACK scoreboard.
    Rack,
}

/// How the sender uses ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: the echo latches until CWR; one halving per window.
    Classic,
    /// RFC 8257: the exact sequence of marks is echoed (but see [`TcpConfig::latched_echo`]).
    Dctcp,
}

/// How the RTO is computed from the filtered RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298: max(minimum, SRTT + max(G, 4 RTTVAR)).
    Rfc6298,
    /// Linux: SRTT + max(minimum, 4 RTTVAR).
    Linux,
    /// Always the minimum, without back-off (pFabric).
    Fixed,
}

/// What a reduction halves (or multiplies by the law's factor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// min(congestion window, receive window), without the inflation of fast recovery: ns-2 (`TcpAgent::slowdown`), BSD.
    Window,
    /// What is outstanding in the network (RFC 5681 equation 4, RFC 6675 section 5 step 4.2): data sent and not acknowledged, without that
    /// of limited transmit, and no more than the window: what recovery sends beyond it takes the place of what has arrived.
    Flight,
    /// The congestion window, once per episode: Linux (`tcp_enter_loss`, `tcp_enter_recovery`).
    Cwnd,
}

/// What an idle period does to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Nothing: the next train inherits the window.
    Keep,
    /// Back to the restart window, min(initial window, cwnd) (RFC 5681 section 4.1).
    Restart,
    /// Halved for every idle RTO, not below the restart window (Linux, `tcp_slow_start_after_idle=1`; RFC 2861).
    Halve,
}

/// How much the window grows on an ACK for several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// One step per ACK, however much it acknowledges.
    PerAck,
    /// By acknowledged bytes in full segments, at most this many per ACK (RFC 5681 section 3.1 with 1, RFC 3465 with 2); without limit by
    /// acknowledged segments, of whatever size (Linux).
    PerSegment {
        /// Upper bound per ACK.
        limit: u32,
    },
}

/// All properties of a TCP stack. Defaults come from the stack profile; see `tcp/profile.rs`.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    /// Profile the defaults came from: `ns2`, `linux` or `rfc`.
    pub stack: &'static str,
    /// Congestion control law.
    pub law: LawConfig,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes added to the payload on the wire, all layers.
    pub header: u32,
    /// Wire bytes of a pure ACK, and of SYN, SYN-ACK and FIN.
    pub ack_size: u32,
    /// Initial window in segments.
    pub init_cwnd: u32,
    /// Receive window in bytes; with autotuning the largest.
    pub rcv_wnd: u64,
    /// The receive window is tuned as Linux does it.
    pub rcv_autotune: bool,
    /// Receivers acknowledge as Linux: by bytes, at once at the end of a write, in quick mode after pauses, by an adaptive timer.
    pub adaptive_acks: bool,
    /// Acknowledge every n-th full segment; 1 switches delayed ACKs off.
    pub ack_every: u32,
    /// Delayed-ACK timer; with adaptive ACKs its smallest value (TCP_ATO_MIN).
    pub ack_delay: Time,
    /// Acknowledge this many segments at once at the start of a connection, and with adaptive ACKs after pauses (Linux quick-ack mode).
    pub quick_acks: u32,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// What a reduction starts from.
    pub reduce: Reduce,
    /// Proportional rate reduction (RFC 6937) during SACK and RACK recovery.
    pub prr: bool,
    /// Duplicate ACKs that start fast retransmit; 0: none do. RACK goes by time whatever this says.
    pub dup_thresh: u32,
    /// Formula of the RTO.
    pub rto_rule: RtoRule,
    /// Smallest RTO.
    pub rto_min: Time,
    /// Largest RTO, also of the back-off.
    pub rto_max: Time,
    /// RTO before the first sample.
    pub rto_initial: Time,
    /// After this many consecutive timeouts the sender only asks with a header-only packet per RTO whether the peer is there, until an ACK
    /// arrives (pFabric); 0: never.
    pub probe_after: u32,
    /// Clock granularity G; RTOs are rounded up to a multiple of it.
    pub rto_granularity: Time,
    /// Timestamps (RFC 7323): a sample per ACK, retransmitted segments included. Without: one timed segment, Karn's rule.
    pub timestamps: bool,
    /// Tick of the timestamp clock where endpoints compare or measure with echoes; RTT samples of senders are exact.
    pub timestamp_clock: Time,
    /// F-RTO (RFC 5682) of senders with SACK.
    pub frto: bool,
    /// Reductions are taken back when an echoed timestamp shows that the original had arrived (RFC 3522); senders with SACK and timestamps.
    pub eifel: bool,
    /// ECN.
    pub ecn: Ecn,
    /// CWR also travels on retransmissions (ns-2); RFC 3168 section 6.1.2 and Linux know it on new data only.
    pub cwr_on_any: bool,
    /// Retransmissions are ECN-capable like any segment (ns-2's tcp.cc sets ECT on all but the SYN); RFC 3168 section 6.1.5 forbids it. Where
    /// a queue marks, those of RFC 3168 are dropped.
    pub ect_on_any: bool,
    /// The receiver echoes a mark until CWR, whatever [`TcpConfig::ecn`] says: RFC 3168's latch under a DCTCP sender.
    pub latched_echo: bool,
    /// Window growth per ACK.
    pub growth: Growth,
    /// How slow start ends.
    pub slow_start: slow_start::Kind,
    /// What happens to the window after an idle period of at least one RTO.
    pub idle: Idle,
    /// Do not grow the window when the application, not the window, limits sending (RFC 7661 section 4.1, as Linux).
    pub cwnd_validation: bool,
    /// Limit what a connection has waiting in its own host's interface (Linux: TCP small queues).
    pub tsq: bool,
    /// Open with SYN, SYN-ACK and ACK. Off: endpoints start established.
    pub handshake: bool,
    /// Close with FIN when a connection's last byte has been written.
    pub fin: bool,
    /// Random processing time of each packet of a sender at its host, uniform below this; 0 for none.
    pub send_jitter: Time,
    /// Initial sequence number; `None`: drawn per connection.
    pub isn: Option<u32>,
    /// What the transport has beside law and stack; at most one shim in each place.
    pub shims: Vec<ShimConfig>,
}

/// Load definition of an open-loop workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Fraction of the reference rate, above 0.
    pub fraction: f64,
    /// Count wire bytes (headers included) instead of payload.
    pub wire: bool,
    /// Reference rate in bits per second: the sum of host rates, or the bottleneck's rate.
    pub reference_bps: u64,
}

/// One traffic source of the scenario.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name in the results (`class` column).
    pub class: String,
    /// Which of [`SimConfig::groups`] each connection uses.
    pub transport: Assign,
    /// What it does.
    pub kind: WorkloadKind,
}

/// The kinds of traffic the engine can generate.
#[derive(Debug, Clone)]
pub enum WorkloadKind {
    /// One flow per pair.
    Long {
        /// (source, destination) of each flow.
        pairs: Vec<(NodeId, NodeId)>,
        /// Bytes of each flow; `None`: endless.
        size: Option<u64>,
        /// Start of the first flow.
        start: Time,
        /// Each flow starts this much after the one before it.
        stagger: Time,
        /// Plus a random time, uniform in 0..=jitter.
        jitter: Time,
        /// Endless flows stop writing at this time after their own start.
        stop_after: Option<Time>,
    },
    /// Barrier-synchronised blocks: the receiver requests a block from every sender, and the next round when all have arrived.
    Incast {
        /// One persistent connection from each.
        senders: Vec<NodeId>,
        /// The receiver.
        receiver: NodeId,
        /// Bytes of each sender's block.
        block: u64,
        /// Number of rounds; `None`: until the end of simulated time.
        rounds: Option<u32>,
        /// Time of the first request.
        start: Time,
        /// Pause between the completion of a round and the next request.
        gap: Time,
        /// One-way latency of a request; `None`: propagation and serialisation of an ACK-sized packet on the empty path.
        request_latency: Option<Time>,
        /// Random processing time of a request, uniform in 0..=jitter, per sender and round.
        jitter: Time,
        /// When a block should have arrived, counted from the request.
        deadline: Option<Deadline>,
    },
    /// Open loop: flows arrive as a Poisson process, each on a new connection.
    Poisson {
        /// Sources; one is drawn per flow.
        from: Vec<NodeId>,
        /// Destinations; one different from the source is drawn per flow.
        to: Vec<NodeId>,
        /// Flow sizes.
        sizes: SizeDist,
        /// Mean flows per second of the whole workload.
        flows_per_sec: f64,
        /// First possible arrival.
        start: Time,
        /// No arrivals from here on; `None`: the end of simulated time.
        stop: Option<Time>,
        /// At most this many flows; `None`: no limit.
        flows: Option<u64>,
        /// Each source starts at most this many; `None`: no limit.
        per_source: Option<u64>,
        /// The rack of each node, when flows must leave that of their source.
        racks: Option<Vec<NodeId>>,
        /// When a flow should have arrived.
        deadline: Option<Deadline>,
    },
    /// Trains on persistent connections: write a train, pause, write the next.
    OnOff {
        /// (source, destination) of each connection.
        pairs: Vec<(NodeId, NodeId)>,
        /// Train sizes.
        sizes: SizeDist,
        /// Pauses.
        gaps: TimeDist,
        /// Whether the pause runs from the completion of the train (closed loop) or from its start (open loop).
        after_completion: bool,
        /// Trains per connection; `None`: until the end.
        trains: Option<u32>,
        /// Start of the first pause.
        start: Time,
        /// Optional last train, written at this time on every connection; no other follows it.
        last: Option<(Time, LastTrain)>,
        /// The trains of a connection are scaled to add up to this many bytes, none below the second number.
        total: Option<(u64, u64)>,
        /// Each train on a connection of its own instead of one for all.
        fresh: bool,
        /// Each connection starts later by a random time, uniform in 0..=jitter.
        jitter: Time,
        /// When a train should have arrived.
        deadline: Option<Deadline>,
    },
    /// Closed loop: clients send a request over the network, the server answers, the client thinks and repeats.
    Requests {
        /// (client, server) of each persistent connection pair.
        pairs: Vec<(NodeId, NodeId)>,
        /// Request sizes.
        request: SizeDist,
        /// Response sizes.
        response: SizeDist,
        /// Client pause between a response and the next request.
        think: TimeDist,
        /// Requests per pair; `None`: until the end.
        count: Option<u32>,
        /// First request.
        start: Time,
        /// When a response should have arrived, counted from the request.
        deadline: Option<Deadline>,
    },
    /// Partition and aggregate: aggregators ask workers at once and wait for all answers.
    Queries {
        /// Asking hosts.
        aggregators: Vec<NodeId>,
        /// Answering hosts; a persistent connection from each to each aggregator but itself.
        workers: Vec<NodeId>,
        /// Workers asked in a query.
        fan_out: u32,
        /// Sizes of answers.
        response: ResponseSize,
        /// When an aggregator asks.
        arrival: Arrival,
        /// Queries of each aggregator; `None`: no limit.
        count: Option<u32>,
        /// Queries begin here.
        start: Time,
        /// No query begins from here on.
        stop: Option<Time>,
        /// One-way latency of a request; `None`: propagation and serialisation of an ACK-sized packet on the empty path.
        request_latency: Option<Time>,
        /// Random delay of each request, uniform in 0..=jitter.
        jitter: Time,
        /// When an answer should have arrived, counted from the request.
        deadline: Option<Deadline>,
    },
    /// Datagrams at a rate, never answered.
    Udp {
        /// (source, destination).
        pairs: Vec<(NodeId, NodeId)>,
        /// The packets.
        datagram: Datagram,
        /// Rate of each source on the wire.
        rate: Rate,
        /// Each packet is late by a random time, uniform in 0..=packet_jitter.
        packet_jitter: Time,
        /// Lengths of the periods in which a source sends and of the pauses; `None`: it sends all the time.
        periods: Option<(TimeDist, TimeDist)>,
        /// First packet.
        start: Time,
        /// Each source starts later by a random time, uniform in 0..=jitter.
        jitter: Time,
        /// No packet from here on; `None`: the end of simulated time.
        stop: Option<Time>,
    },
    /// A given list of flows, each on a new connection.
    Replay {
        /// Sorted by start.
        flows: Vec<ReplayFlow>,
    },
}

/// Sizes of the answers to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseSize {
    /// Each drawn from this distribution.
    Each(SizeDist),
    /// This many bytes divided equally, rounded up.
    Shared(u64),
}

/// When queries of an aggregator begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// As a Poisson process of this many per second.
    Rate(f64),
    /// This long after the completion of the one before.
    Gap(TimeDist),
}

/// Size of the last train on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastTrain {
    /// This many bytes.
    Bytes(u64),
    /// What the trains before it leave of this many bytes; they cannot reach it.
    RestOf(u64),
}

/// When messages should have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// This long after their start.
    pub after: Time,
    /// Only messages of at most this many bytes have one.
    pub up_to: u64,
}

impl Deadline {
    /// The deadline of a message of `bytes` whose time began to count at `start`, both in ps; `u64::MAX` for none.
    pub fn due(deadline: Option<Deadline>, start: u64, bytes: u64) -> u64 {
        deadline.filter(|d| bytes <= d.up_to).map_or(u64::MAX, |d| start.saturating_add(d.after.0))
    }
}

/// One flow of a replayed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayFlow {
    /// Start of the flow.
    pub start: Time,
    /// Source host.
    pub src: NodeId,
    /// Destination host.
    pub dst: NodeId,
    /// Bytes, at least 1.
    pub bytes: u64,
    /// When it should have arrived, since the start of the run; `Time::NEVER` for no deadline.
    pub deadline: Time,
}

/// What to record beyond the flow and port totals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observe {
    /// Ports whose occupancy distribution (percentiles) is kept.
    pub occupancy: Vec<PortId>,
    /// Occupancy time series of these ports, sampled at this interval.
    pub queue_series: Vec<(PortId, Time)>,
    /// TCP time series: flow indices in order of creation, and the interval (`Time::ZERO`: every ACK).
    pub tcp_series: Vec<(u64, Time)>,
    /// Whether each retransmission timeout is recorded.
    pub timeouts: bool,
    /// Statistics (port means, percentiles, goodput) start here.
    pub warmup: Time,
}
