//! Rows that a run may produce by millions, with their storage in words of 64 bits (`series.rs`): samples of queues and senders, packets, timeouts.

use crate::cc_state::CcState;
use crate::series::SeriesRow;
use forebay_types::{GroupId, NodeId, PortId, WorkloadId};

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
    /// The congestion control's marked fraction (alpha); `None` for congestion controls without one.
    pub alpha: Option<f64>,
    /// Cumulatively acknowledged bytes.
    pub bytes_acked: u64,
    /// Retransmitted segments so far.
    pub retrans: u64,
    /// Recovery state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss (Linux numbering).
    pub ca_state: u8,
    /// State of the congestion control.
    pub cc: CcState,
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
    const WORDS: usize = 11 + CcState::WORDS;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.conn_id)
    }

    /// Stores absent values as impossible ones: an infinite threshold, an RTT of 0, a NaN alpha.
    fn store(&self, words: &mut [u64]) {
        let (own, cc) = words.split_at_mut(11);
        cc.copy_from_slice(self.cc.words());
        own.copy_from_slice(&[
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
            cc: CcState::of_words(&words[11..]),
        }
    }
}

/// TCP packet that reached its host. Sequence numbers count from the sender's SYN, which is 0, so that they can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// Arrival time of its last bit, ps.
    pub time_ps: u64,
    /// Connection.
    pub conn_id: u64,
    /// True for the direction from receiver to sender.
    pub back: bool,
    /// Sequence number of its first byte; from receiver to sender the acknowledgment number.
    pub number: u32,
    /// Payload bytes.
    pub payload: u32,
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// ECE: a mark is echoed.
    pub ece: bool,
    /// CWR: the sender has reduced its window.
    pub cwr: bool,
    /// CE: the packet was marked.
    pub ce: bool,
    /// Class of service, 0 to 7.
    pub class: u8,
}

/// One retransmission timeout.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeoutRow {
    /// Time when the timer expired, ps.
    pub time_ps: u64,
    /// Connection.
    pub conn_id: u64,
    /// Message that counts it; `None` if the connection has none.
    pub flow_id: Option<u64>,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group.
    pub group: GroupId,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Position in the message.
    pub kind: TimeoutKind,
    /// RTO that was in force, ps.
    pub rto_ps: u64,
    /// Consecutive expiries before this one.
    pub backoff: u32,
}

/// Timer of a sender that expired; for a retransmission timer, its position in the message as in the counters of `FlowRow`.
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
    /// RACK's reordering timer (RFC 8985 section 6.2).
    Reordering,
}

impl TimeoutKind {
    /// All of them, in their order.
    const ALL: [TimeoutKind; 6] =
        [TimeoutKind::Head, TimeoutKind::Tail, TimeoutKind::Other, TimeoutKind::Syn, TimeoutKind::Probe, TimeoutKind::Reordering];

    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            TimeoutKind::Head => "head",
            TimeoutKind::Tail => "tail",
            TimeoutKind::Other => "other",
            TimeoutKind::Syn => "syn",
            TimeoutKind::Probe => "probe",
            TimeoutKind::Reordering => "reordering",
        }
    }

    /// Kind called `name`.
    pub fn of(name: &str) -> Option<TimeoutKind> {
        TimeoutKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// True for a retransmission timeout of data or of a SYN; a tail loss probe and the reordering timer reset neither window nor RTO.
    pub fn is_timeout(self) -> bool {
        !matches!(self, TimeoutKind::Probe | TimeoutKind::Reordering)
    }
}

impl SeriesRow for TimeoutRow {
    const WORDS: usize = 7;

    fn key(&self) -> (u64, u64) {
        (self.time_ps, self.conn_id)
    }

    /// Stores a timeout without message with the number `u64::MAX`.
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
