//! One struct a table. Names, units and meanings are the schema of the Parquet files (crate `store`).

use crate::series::SeriesRow;
use crate::shim_row::ShimRow;
use crate::waits::Waited;
use forebay_units::{GroupId, NodeId, PortId, QueryId, Time, TimeOrNever, WorkloadId};

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
    /// When the application handed over the first byte (for one-shot flows before the handshake).
    pub start: Time,
    /// When the receiver had the last byte in order; if it ever had.
    pub end: TimeOrNever,
    /// When the sender knew (last byte acknowledged), if ever.
    pub acked: TimeOrNever,
    /// Transfer time of the same bytes as back-to-back segments over the empty path, without handshake or window limits; zero for an endless flow.
    pub ideal: Time,
    /// Bytes cumulatively acknowledged (of an unfinished message: so far).
    pub bytes_acked: u64,
    /// Bytes of it that reached the receiver after the warm-up, in order or not.
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
    pub ecn_cuts: u32,
    /// Window reductions on losses: recoveries, tail loss probes and timeouts for which the law was asked for a new threshold.
    pub loss_cuts: u32,
    /// Mean of the law's alpha at the reductions on ECE; `None` without one and for laws without alpha.
    pub cut_alpha: Option<f64>,
    /// Bytes acknowledged by ACKs that carried ECE.
    pub ce_acked_bytes: u64,
    /// Largest congestion window, in segments.
    pub cwnd_max: f64,
    /// Smallest RTT sample; never without a sample.
    pub rtt_min: TimeOrNever,
    /// Mean RTT sample; never without a sample.
    pub rtt_mean: TimeOrNever,
    /// Barrier round or request the message belongs to.
    pub query_id: Option<QueryId>,
    /// When it should have arrived; never without a deadline.
    pub deadline: TimeOrNever,
    /// ECMP hash of its data, by which switches chose among equal ways.
    pub ecmp: u16,
    /// Its connection was opened for it.
    pub opens: bool,
    /// It fitted into the window when it was written.
    pub fits: bool,
    /// What it waited for longest; `None` for one that lost no time, and for endless flows.
    pub waited: Option<Waited>,
    /// What the shim of its transport says about it; `None` without one that says anything.
    pub shim: Option<Box<ShimRow>>,
}

/// Totals of one egress port over the run (after `warmup`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PortRow {
    /// The port.
    pub port: PortId,
    /// Packets and bytes that asked to be queued.
    pub arrived_pkts: u64,
    /// Bytes of those.
    pub arrived_bytes: u64,
    /// Packets and bytes that were queued and (up to what is still waiting at the end) transmitted.
    pub sent_pkts: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// Dropped: the port's buffer was full.
    pub dropped_overflow: u64,
    /// Dropped: the switch's shared memory refused.
    pub dropped_shared: u64,
    /// Dropped early by the discipline.
    pub dropped_early: u64,
    /// CE marks set here.
    pub marked: u64,
    /// Not sent, because the link was down or went down while they waited.
    pub cut_waiting: u64,
    /// Sent, and lost on the wire when the link went down.
    pub cut_flying: u64,
    /// Sent, and damaged on the link: the other end dropped them.
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

/// One sample of a port's queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueRow {
    /// Sample time, ps.
    pub time_ps: u64,
    /// The port.
    pub port: PortId,
    /// Packets waiting and in service.
    pub pkts: u32,
    /// Their wire bytes.
    pub bytes: u64,
    /// Drops at this port so far.
    pub drops: u64,
    /// Marks at this port so far.
    pub marks: u64,
}

/// One sample of a sender's state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpRow {
    /// Sample time, ps.
    pub time_ps: u64,
    /// Connection.
    pub conn_id: u64,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments; `None` before the first reduction.
    pub ssthresh: Option<f64>,
    /// Bytes sent and not yet cumulatively acknowledged.
    pub unacked_bytes: u64,
    /// Smoothed RTT, ps; `None` before the first sample.
    pub srtt_ps: Option<u64>,
    /// RTO in force, ps.
    pub rto_ps: u64,
    /// The law's marked fraction (alpha); `None` for laws without one.
    pub alpha: Option<f64>,
    /// Cumulatively acknowledged bytes.
    pub bytes_acked: u64,
    /// Retransmitted segments so far.
    pub retrans: u64,
    /// Recovery state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss (Linux numbering).
    pub ca_state: u8,
}

impl SeriesRow for QueueRow {
    const WORDS: usize = 5;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.port.index() as u64)
    }

    fn store(&self, words: &mut [u64]) {
        let place = (self.port.index() as u64) << 32 | u64::from(self.pkts);
        words.copy_from_slice(&[self.time_ps, place, self.bytes, self.drops, self.marks]);
    }

    fn load(words: &[u64]) -> QueueRow {
        let (port, pkts) = (PortId::new((words[1] >> 32) as u32), words[1] as u32);
        QueueRow { time_ps: words[0], port, pkts, bytes: words[2], drops: words[3], marks: words[4] }
    }
}

impl SeriesRow for TcpRow {
    const WORDS: usize = 11;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.conn_id)
    }

    /// What is absent is stored as a value that it never has: an infinite threshold, a round trip of 0, an alpha that is no number.
    fn store(&self, words: &mut [u64]) {
        words.copy_from_slice(&[
            self.time_ps,
            self.conn_id,
            self.cwnd.to_bits(),
            self.ssthresh.unwrap_or(f64::INFINITY).to_bits(),
            self.unacked_bytes,
            self.srtt_ps.unwrap_or(0),
            self.rto_ps,
            self.alpha.unwrap_or(f64::NAN).to_bits(),
            self.bytes_acked,
            self.retrans,
            u64::from(self.ca_state),
        ]);
    }

    fn load(words: &[u64]) -> TcpRow {
        TcpRow {
            time_ps: words[0],
            conn_id: words[1],
            cwnd: f64::from_bits(words[2]),
            ssthresh: Some(f64::from_bits(words[3])).filter(|s| s.is_finite()),
            unacked_bytes: words[4],
            srtt_ps: Some(words[5]).filter(|s| *s > 0),
            rto_ps: words[6],
            alpha: Some(f64::from_bits(words[7])).filter(|a| !a.is_nan()),
            bytes_acked: words[8],
            retrans: words[9],
            ca_state: words[10] as u8,
        }
    }
}

/// A packet of TCP that reached its host. Numbers are counted from the sender's SYN, which has 0, so that they can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// When its last bit did, ps.
    pub time_ps: u64,
    /// Connection.
    pub conn_id: u64,
    /// Whether it went from the receiver to the sender.
    pub back: bool,
    /// Sequence number of its first byte; on the way back the acknowledgement number.
    pub number: u32,
    /// Payload bytes.
    pub payload: u32,
    /// It opens the connection.
    pub syn: bool,
    /// It closes it.
    pub fin: bool,
    /// It echoes a mark (ECE).
    pub ece: bool,
    /// Its sender has reduced its window (CWR).
    pub cwr: bool,
    /// It was marked on its way (CE).
    pub ce: bool,
    /// Class of service, 0 to 7.
    pub class: u8,
}

impl SeriesRow for TimeoutRow {
    const WORDS: usize = 7;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.conn_id)
    }

    /// A timeout of no message has a number that no message has.
    fn store(&self, words: &mut [u64]) {
        let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        words.copy_from_slice(&[
            self.time_ps,
            self.conn_id,
            self.flow_id.unwrap_or(u64::MAX),
            two(self.workload.get(), self.group.get()),
            two(self.src.get(), self.dst.get()),
            self.rto_ps,
            two(self.kind as u32, self.backoff),
        ]);
    }

    fn load(words: &[u64]) -> TimeoutRow {
        let (high, low) = (|word: u64| (word >> 32) as u32, |word: u64| word as u32);
        TimeoutRow {
            time_ps: words[0],
            conn_id: words[1],
            flow_id: Some(words[2]).filter(|&id| id != u64::MAX),
            workload: WorkloadId::new(high(words[3])),
            group: GroupId::new(low(words[3])),
            src: NodeId::new(high(words[4])),
            dst: NodeId::new(low(words[4])),
            rto_ps: words[5],
            kind: TimeoutKind::ALL[high(words[6]) as usize],
            backoff: low(words[6]),
        }
    }
}

impl SeriesRow for PacketRow {
    const WORDS: usize = 4;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.conn_id << 1 | u64::from(self.back))
    }

    fn store(&self, words: &mut [u64]) {
        let flags = [self.back, self.syn, self.fin, self.ece, self.cwr, self.ce];
        let flags = flags.iter().fold(0, |all, flag| all << 1 | u64::from(*flag));
        let flags = flags | u64::from(self.class) << 8;
        words.copy_from_slice(&[self.time_ps, self.conn_id, u64::from(self.number) << 32 | u64::from(self.payload), flags]);
    }

    fn load(words: &[u64]) -> PacketRow {
        let flag = |place: u32| words[3] >> place & 1 == 1;
        PacketRow {
            time_ps: words[0],
            conn_id: words[1],
            number: (words[2] >> 32) as u32,
            payload: words[2] as u32,
            back: flag(5),
            syn: flag(4),
            fin: flag(3),
            ece: flag(2),
            cwr: flag(1),
            ce: flag(0),
            class: (words[3] >> 8) as u8,
        }
    }
}

/// One barrier round or one request/response exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryRow {
    /// Number of the query in order of its start.
    pub query_id: QueryId,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Request sent.
    pub start: Time,
    /// Last byte of the last response received; never if unfinished.
    pub end: TimeOrNever,
    /// Number of responses.
    pub fan_in: u32,
    /// Bytes of all responses.
    pub bytes: u64,
    /// Retransmission timeouts of all senders during the query, SYNs not counted.
    pub rtos: u32,
    /// Senders that had at least one.
    pub senders_with_rto: u32,
    /// Largest number of timeouts of one sender.
    pub rtos_max: u32,
    /// Timeouts of SYNs during the query.
    pub syn_rtos: u32,
    /// Number of the message that ended last, or of the first of those that did not end; `None` without a message.
    pub slowest: Option<u64>,
    /// What that one waited for.
    pub waited: Option<Waited>,
}

/// One retransmission timeout.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeoutRow {
    /// When the timer ran out, ps.
    pub time_ps: u64,
    /// Connection.
    pub conn_id: u64,
    /// The message that counts it; `None` if the connection never had one.
    pub flow_id: Option<u64>,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group.
    pub group: GroupId,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Where in its message.
    pub kind: TimeoutKind,
    /// The timeout that had been in force, ps.
    pub rto_ps: u64,
    /// Expiries in a row before this one.
    pub backoff: u32,
}

/// What was delivered of a workload by a transport over a port in an interval of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its start,
    pub from: Time,
    /// and its end.
    pub to: Time,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group.
    pub group: GroupId,
    /// The narrowest port on all the ways that it can have come, of equally narrow ones the last. `None` for all ports together.
    pub port: Option<PortId>,
    /// Payload that reached receivers for the first time, in order or not, bytes.
    pub bytes: u64,
}

/// Something that happened to the network, or that is so from the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventRow {
    /// When it began, ps.
    pub time_ps: u64,
    /// What it is.
    pub kind: EventKind,
    /// The port that names the link; `None` for what concerns all.
    pub port: Option<PortId>,
    /// When it ended, ps; `None` if it did not, or is of no duration.
    pub until_ps: Option<u64>,
    /// Packets that it cost.
    pub packets: Option<u64>,
    /// Connections whose data or acknowledgements take another way since.
    pub flows: Option<u64>,
    /// Pairs of a sending and a receiving host that no way was left between.
    pub pairs: Option<u64>,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// Each packet takes a way of its own.
    Spraying,
    /// A link loses packets at random.
    RandomLoss,
    /// A link damages packets.
    Corruption,
    /// A link went down.
    LinkDown,
    /// It came back.
    LinkUp,
}

impl EventKind {
    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Spraying => "spraying",
            EventKind::RandomLoss => "random-loss",
            EventKind::Corruption => "corruption",
            EventKind::LinkDown => "link-down",
            EventKind::LinkUp => "link-up",
        }
    }
}

/// Where in a message a retransmission timer ran out: the counters of [`FlowRow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeoutKind {
    /// Before the first window of the message was acknowledged.
    Head,
    /// With at most the last three segments of the message outstanding.
    Tail,
    /// In between.
    #[default]
    Other,
    /// Of the SYN.
    Syn,
    /// A tail loss probe instead of a timeout (RFC 8985 section 7).
    Probe,
}

impl TimeoutKind {
    /// All of them, in their order.
    const ALL: [TimeoutKind; 5] =
        [TimeoutKind::Head, TimeoutKind::Tail, TimeoutKind::Other, TimeoutKind::Syn, TimeoutKind::Probe];

    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            TimeoutKind::Head => "head",
            TimeoutKind::Tail => "tail",
            TimeoutKind::Other => "other",
            TimeoutKind::Syn => "syn",
            TimeoutKind::Probe => "probe",
        }
    }
}
