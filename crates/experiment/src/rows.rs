//! Rows of the result tables, one struct per table. Names, units and meanings are the schema of the Parquet files (crate `store`).

pub use crate::sample_rows::{PacketRow, QueueRow, TcpRow, TimeoutKind, TimeoutRow};
use crate::shim_row::ShimRow;
use crate::waits::LongestWait;
use forebay_types::{GroupId, NodeId, PortId, QueryId, Time, TimeOrNever, WorkloadId};

/// One message: a whole connection for one-shot flows, one train, block or response on a persistent connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowRow {
    /// Number of the message in order of its start.
    pub flow_id: u64,
    /// Number of the connection it used, in order of creation.
    pub conn_id: u64,
    /// Index of the workload (name in `class`).
    pub workload: WorkloadId,
    /// Index of the transport group of its connection (name in `cc`).
    pub group: GroupId,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Payload bytes; 0 for an endless flow.
    pub size_bytes: u64,
    /// Time when the application handed over the first byte (for one-shot flows before the handshake).
    pub start: Time,
    /// Time when the receiver had all bytes in order, if ever.
    pub end: TimeOrNever,
    /// Time when the last byte was acknowledged, if ever.
    pub acked: TimeOrNever,
    /// Transfer time of the same bytes as back-to-back segments over the empty path, without handshake or window limits; zero for an endless flow.
    pub ideal: Time,
    /// Bytes cumulatively acknowledged (of an unfinished message: so far).
    pub bytes_acked: u64,
    /// Bytes that reached the receiver after the warm-up, in order or not.
    pub bytes_measured: u64,
    /// Data segments sent, retransmissions included.
    pub segs_sent: u64,
    /// Retransmitted segments.
    pub segs_retx: u64,
    /// Retransmission timeouts with data outstanding.
    pub rtos: u32,
    /// Of those, before the first window of the message was acknowledged (block-head timeouts).
    pub rtos_head: u32,
    /// Of those, with at most the last three segments of the message outstanding.
    pub rtos_tail: u32,
    /// Tail loss probes; not among `rtos`.
    pub tlps: u32,
    /// Timeouts of the SYN, before any data; not among `rtos`.
    pub syn_rtos: u32,
    /// Fast retransmits (entries into fast recovery).
    pub fast_retx: u32,
    /// Window reductions on ECE.
    pub ecn_reductions: u32,
    /// Window reductions on losses: recoveries, tail loss probes and timeouts for which the congestion control was asked for a new threshold.
    pub loss_reductions: u32,
    /// Mean of the congestion control's alpha at the reductions on ECE; `None` without one and for congestion controls without alpha.
    pub reduction_alpha: Option<f64>,
    /// Bytes acknowledged by ACKs that carried ECE.
    pub ce_acked_bytes: u64,
    /// Largest congestion window, in segments.
    pub cwnd_max: f64,
    /// Time in which the receive window limited the sender (Linux `tcpi_rwnd_limited`); never where it is unknown.
    pub rwnd_limited: TimeOrNever,
    /// Time in which the send buffer limited the sender (Linux `tcpi_sndbuf_limited`); never where it is unknown.
    pub sndbuf_limited: TimeOrNever,
    /// Smallest RTT sample; never without a sample.
    pub rtt_min: TimeOrNever,
    /// Mean RTT sample; never without a sample.
    pub rtt_mean: TimeOrNever,
    /// Barrier round or request the message belongs to.
    pub query_id: Option<QueryId>,
    /// True for a request of this query, false for a response.
    pub request: bool,
    /// Deadline; never without one.
    pub deadline: TimeOrNever,
    /// ECMP hash of its data packets.
    pub ecmp: u16,
    /// True if its connection was opened for it.
    pub opens: bool,
    /// True if it fitted into the window when it was written.
    pub fits: bool,
    /// Longest wait; `None` for a message without delay, and for endless flows.
    pub waited: Option<LongestWait>,
    /// Values from the shim of its transport, if any.
    pub shim: Option<Box<ShimRow>>,
}

/// Totals of one egress port over the run (after `warmup`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PortRow {
    /// The port.
    pub port: PortId,
    /// Packets that arrived at the queue.
    pub arrived_pkts: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that were queued and transmitted (at the end of the run some may still wait).
    pub sent_pkts: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Dropped: the port's buffer was full.
    pub dropped_overflow: u64,
    /// Dropped: the switch's shared memory refused.
    pub dropped_shared: u64,
    /// Dropped early by the discipline.
    pub dropped_early: u64,
    /// CE marks set here.
    pub marked: u64,
    /// Packets not sent because the link was down or failed while they waited.
    pub cut_waiting: u64,
    /// Packets lost on the wire when the link failed.
    pub cut_flying: u64,
    /// Packets damaged on the link and dropped by the other end.
    pub corrupted: u64,
    /// Time average of the queue, waiting and in service, in packets.
    pub queue_mean_pkts: f64,
    /// Largest queue found by an arrival plus that arrival, packets.
    pub queue_max_pkts: u32,
    /// Time-weighted percentiles 50, 95, 99 in packets, where occupancy was observed.
    pub queue_percentiles: Option<[u32; 3]>,
    /// Fraction of the measured time the transmitter was busy.
    pub busy: f64,
}

/// One barrier round or one request/response exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryRow {
    /// Number of the query in order of its start.
    pub query_id: QueryId,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Time when the client wrote the request, or the requests.
    pub start: Time,
    /// Last byte of the last response received; never if unfinished.
    pub end: TimeOrNever,
    /// Number of responses.
    pub fan_in: u32,
    /// Bytes of all responses.
    pub bytes: u64,
    /// Retransmission timeouts of all its messages, requests included, SYNs not counted.
    pub rtos: u32,
    /// Messages that had at least one.
    pub senders_with_rto: u32,
    /// Largest number of timeouts of one message.
    pub rtos_max: u32,
    /// Timeouts of SYNs during the query.
    pub syn_rtos: u32,
    /// Number of the message that ended last, or of the first of those that did not end; that of its request if this was delayed longer. `None`
    /// without a message.
    pub slowest: Option<u64>,
    /// Longest wait of that message.
    pub waited: Option<LongestWait>,
}

/// Payload of a workload and transport delivered over a port in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval.
    pub to: Time,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group.
    pub group: GroupId,
    /// Port with the highest delivered bytes per rate among those that all packets passed. `None`: all ports together.
    pub port: Option<PortId>,
    /// Payload that reached receivers for the first time, in order or not, bytes.
    pub bytes: u64,
}

/// Event of the network, or a property that holds from the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventRow {
    /// Start, ps.
    pub time_ps: u64,
    /// Kind.
    pub kind: EventKind,
    /// Port that names the link; `None` for events of the whole network.
    pub port: Option<PortId>,
    /// End, ps; `None` if it did not end or has no duration.
    pub until_ps: Option<u64>,
    /// Packets lost by it.
    pub packets: Option<u64>,
    /// Connections whose data or ACKs were rerouted.
    pub flows: Option<u64>,
    /// Pairs of sender and receiver that lost connectivity.
    pub pairs: Option<u64>,
}

impl EventRow {
    /// Event from `time` on that reroutes no connection.
    pub fn of(time: Time, kind: EventKind, port: Option<PortId>, packets: Option<u64>) -> EventRow {
        EventRow { time_ps: time.0, kind, port, until_ps: None, packets, flows: None, pairs: None }
    }
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// Packets are sprayed over equal-cost paths.
    Spraying,
    /// A link loses packets at random.
    RandomLoss,
    /// A link damages packets.
    Corruption,
    /// A link loses packets, whatever its queue.
    LinkLoss,
    /// A link went down.
    LinkDown,
    /// It came back.
    LinkUp,
    /// A link delivers some packets late.
    Reordering,
    /// A link delivers packets in batches.
    Batching,
    /// Rate, delay or loss of a link changed.
    LinkChange,
    /// A host dropped packets of handshakes because the accept queue of a listening socket was full.
    ListenOverflow,
}

impl EventKind {
    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Spraying => "spraying",
            EventKind::RandomLoss => "random-loss",
            EventKind::Corruption => "corruption",
            EventKind::LinkLoss => "link-loss",
            EventKind::LinkDown => "link-down",
            EventKind::LinkUp => "link-up",
            EventKind::Reordering => "reordering",
            EventKind::Batching => "batching",
            EventKind::LinkChange => "link-change",
            EventKind::ListenOverflow => "listen-overflow",
        }
    }
}
