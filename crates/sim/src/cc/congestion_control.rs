//! The hooks of a congestion control, named and timed as in Linux's `tcp_congestion_ops`.
//!
//! Order on an ACK:
//!
//! * `snd_una` advances, the RTT filter takes its sample, and the scoreboard, if there is one, counts delivered segments.
//! * [`in_ack_event`](CongestionControl::in_ack_event), on every ACK, duplicates included.
//! * Loss recovery decides. If the ACK starts a reduction, the connection's state changes before [`ssthresh`](CongestionControl::ssthresh) is called.
//! * Otherwise, when the ACK advanced, [`pkts_acked`](CongestionControl::pkts_acked) and, if growth is allowed,
//!   [`cong_avoid`](CongestionControl::cong_avoid).
//! * For congestion controls that own their window, [`CONTROL`](CongestionControl::CONTROL).
//! * For those with a [`GATE`](CongestionControl::GATE), its `may_send`, and its `sent` if new data left.

use super::threshold::Threshold;
use forebay_experiment::cc_state::CcState;
use forebay_types::{Rate, Rng, Time, TimeOrNever};
use std::fmt::Debug;

/// Congestion window and slow start threshold, in segments, with fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold.
    pub ssthresh: Threshold,
}

impl Window {
    /// Converts `bytes` to a window in segments that is not a byte short when multiplied by `mss`.
    pub(crate) fn of_bytes(bytes: u64, mss: u32) -> f64 {
        let window = bytes as f64 / f64::from(mss);
        if ((window * f64::from(mss)) as u64) < bytes { window.next_up() } else { window }
    }

    /// Returns true if the window is below the slow start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh.or_infinite()
    }

    /// Slow start by `grow` segments; returns the rest for congestion avoidance after reaching the threshold.
    #[inline]
    pub fn slow_start(&mut self, grow: f64) -> f64 {
        let target = self.cwnd + grow;
        let threshold = self.ssthresh.or_infinite();
        if target <= threshold {
            self.cwnd = target;
            return 0.0;
        }
        self.cwnd = threshold;
        target - threshold
    }

    /// Pacing rate (Linux `tcp_update_pacing_rate`): the window, or the bytes outstanding (`flight`, segments) if that is more, per smoothed RTT;
    /// twice that in slow start, 1.2 times that from half the threshold on, in whole segments. Without an RTT practically unlimited.
    pub fn pacing_rate(&self, flight: f64, mss: u32, srtt: Option<Time>) -> Rate {
        let ratio = if self.cwnd < (self.ssthresh.or_infinite() / 2.0).floor() { 2.0 } else { 1.2 };
        let srtt = srtt.map_or(1.0, |srtt| srtt.0.max(1) as f64);
        Rate((8.0 * ratio * self.cwnd.max(flight) * f64::from(mss) * 1e12 / srtt) as u64)
    }

    /// Sets the window to the threshold, if there is one, at the end of a reduction.
    #[inline]
    pub fn fall(&mut self) {
        if let Some(threshold) = self.ssthresh.get() {
            self.cwnd = threshold;
        }
    }

    /// Standard growth: slow start below the threshold, one segment per window above (RFC 5681 section 3.1).
    #[inline]
    pub fn reno(&mut self, grow: f64) {
        let rest = if self.in_slow_start() { self.slow_start(grow) } else { grow };
        if rest > 0.0 {
            self.cwnd += rest / self.cwnd;
        }
    }
}

/// Facts about one ACK at the time of the hook. (Round trips are counted by [`Round`](super::Round).)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// Time.
    pub now: Time,
    /// Stream offset after the ACK.
    pub snd_una: u64,
    /// Stream offset of the next new byte.
    pub snd_nxt: u64,
    /// Bytes newly acknowledged cumulatively; 0 for a duplicate.
    pub acked: u64,
    /// Bytes newly delivered, including SACKed ones.
    pub delivered: u64,
    /// Segments newly delivered, where there is a scoreboard; 0 elsewhere. See [`Ack::segments_delivered`].
    pub segments: u32,
    /// Segments newly marked lost; none before loss detection of the ACK, and none without a scoreboard.
    pub lost: u32,
    /// Outstanding bytes that are not in the network; see [`Ack::in_flight`].
    pub absent: i64,
    /// Segments newly reported as marked by Accurate ECN; 0 with other feedback, which has no count.
    pub ce: u32,
    /// True if the window, not the application, the receiver or the pacer, limited sending in the last round trip (Linux `is_cwnd_limited`); `None`
    /// where the stack does not track it (`cwnd-validation`).
    pub window_limited: Option<bool>,
    /// True if the ACK carries ECE, or reports marks.
    pub ece: bool,
    /// Segments of growth, by the stack's counting rule.
    pub grow: f64,
    /// RTT sample of this ACK, if any.
    pub rtt: Option<Time>,
    /// RTT of the newest segment that this ACK acknowledges; `None` if one of them had been retransmitted. Delayed ACKs do not increase it, unlike
    /// `rtt`. Senders without a scoreboard have `rtt` only.
    pub newest_rtt: Option<Time>,
    /// Smoothed RTT; never before the first sample.
    pub srtt: TimeOrNever,
    /// Smallest RTT of the connection so far.
    pub min_rtt: TimeOrNever,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

impl Ack {
    /// Segments newly delivered, however short (Linux `tp->delivered`). Without a scoreboard, as many as the bytes need.
    #[inline]
    pub fn segments_delivered(&self) -> u64 {
        if self.segments > 0 { u64::from(self.segments) } else { self.delivered.div_ceil(u64::from(self.mss)) }
    }

    /// Bytes in the network: with a scoreboard the pipe of RFC 6675 section 3, without SACKed and lost segments and with retransmissions; otherwise
    /// the flight size.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        (self.snd_nxt - self.snd_una).wrapping_sub(self.absent as u64)
    }
}

/// Description of a connection's path; packets on the empty path.
#[derive(Debug, Clone)]
pub struct Path {
    /// RTT of a full data packet and its ACK.
    pub idle_rtt: Time,
    /// Difference to the RTT of a SYN and its SYN-ACK: the serialization of the larger packet.
    pub handshake_deficit: Time,
    /// Bytes of a full packet on the wire.
    pub packet: f64,
    /// Rate of the narrowest link in packets of full size per second.
    pub packets_per_s: f64,
    /// Buffer before that link in packets of full size, the smallest where several are as narrow; infinite if unlimited.
    pub buffer: f64,
    /// Random numbers of this connection's congestion control.
    pub rng: Rng,
}

/// State of the sender at an opportunity to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opportunity {
    /// Time.
    pub now: Time,
    /// Departure of the last data segment, new or retransmitted; `None` before the first.
    pub last_tx: Option<Time>,
    /// Bytes sent and not cumulatively acknowledged.
    pub flight: u64,
    /// Bytes in the network, as [`Ack::in_flight`].
    pub in_flight: u64,
    /// Bytes written and never sent, a FIN included.
    pub unsent: u64,
    /// True if fast recovery, or recovery after a timeout, is in progress.
    pub recovering: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// Cause of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// ECE on an ACK, once per window.
    Ecn,
    /// Loss found by duplicate ACKs, SACK, RACK or a tail loss probe.
    Loss,
    /// Retransmission timeout (the first of a series: back-offs do not reduce again, RFC 5681 section 3.1).
    Timeout,
}

/// A reduction that begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reduction {
    /// Its cause.
    pub trigger: Trigger,
    /// Window or flight from which the stack reduces, segments; see [`SsthreshFrom`](forebay_experiment::transport::SsthreshFrom).
    pub from: f64,
    /// Bytes in the network, as [`Ack::in_flight`].
    pub in_flight: u64,
}

/// Events other than ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// First transmission after nothing was outstanding.
    TxStart {
        /// Now.
        now: Time,
        /// Time since the last transmission.
        idle: Time,
    },
    /// The application wrote a message of which nothing has been sent.
    Write {
        /// Stream offset of its first byte.
        begin: u64,
        /// Stream offset behind its last byte.
        end: u64,
        /// Deadline, if it has one.
        deadline: Option<Time>,
    },
    /// The application writes, and until then the sender had run out of data although the window had room, with this data in the network
    /// (tcp_rate_check_app_limited): for congestion controls with records ([`CongestionControl::Sent`]). With
    /// [`CongestionControl::LIMITS_BETWEEN_WRITES`] also before an ACK or a timer is processed.
    AppLimited(InNetwork),
    /// The handshake is complete.
    Established {
        /// RTT of SYN and SYN-ACK, if it could be measured.
        rtt: Option<Time>,
    },
    /// A stack without SACK that counts duplicates (Linux tcp_add_reno_sack) has counted a duplicate ACK as an arrived segment, after its
    /// `in_ack_event`.
    Counted {
        /// True if it carries ECE.
        ece: bool,
    },
    /// Fast recovery begins.
    Recovery,
    /// The window was reduced to the restart window after an idle RTO, or halved at the start of a block (PRIN).
    Restart,
    /// A retransmission timeout; the window is 1 now.
    Timeout {
        /// Stream offset of the highest byte sent so far.
        snd_max: u64,
    },
    /// A recovery or CWR episode ended.
    Complete,
}

/// Data in the network. Short segments and a FIN count as segments (tcp_packets_in_flight).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InNetwork {
    /// As [`Ack::in_flight`].
    pub bytes: u64,
    /// Their number.
    pub segments: u32,
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time.
    pub now: Time,
    /// Its sequence space.
    pub bytes: u32,
    /// Bytes in the network, including it.
    pub in_flight: u64,
    /// True if nothing else is unacknowledged.
    pub alone: bool,
    /// True if it is a retransmission.
    pub again: bool,
}

/// A segment whose arrival has become known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time of the ACK.
    pub now: Time,
    /// Last departure of the segment.
    pub left: Time,
    /// Stream offset behind it.
    pub end: u64,
    /// Its sequence space.
    pub bytes: u32,
    /// True if it was sent more than once.
    pub again: bool,
}

/// A segment that is marked lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Time.
    pub now: Time,
    /// Stream offset of its first byte.
    pub start: u64,
    /// Its sequence space.
    pub bytes: u32,
}

/// Kind of recovery in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Nothing.
    None,
    /// Losses found by duplicate ACKs, SACK, RACK or a tail loss probe (fast recovery).
    Recovery,
    /// Recovery after a retransmission timeout.
    Timeout,
}

/// Result of loss detection on an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Segments newly delivered, with `duplicates`.
    pub segments: u32,
    /// Segments that a D-SACK reports, which were delivered twice (tcp_dsack_seen).
    pub duplicates: u32,
    /// Time of the ACK by the clock of [`Departure::now`] and [`Arrival::now`], which may be coarser.
    pub stamp: Time,
    /// Segments in the network before the ACK (`prior_in_flight`), and after it.
    pub prior_in_flight: u32,
    /// See `prior_in_flight`.
    pub in_flight: u32,
    /// Recovery in progress after the ACK.
    pub repair: RecoveryKind,
    /// Earliest departure of the next segment allowed by the pacer; may have passed.
    pub next_departure: Time,
    /// Upper bound of the pacing rate (`sk_max_pacing_rate`).
    pub max_pacing_rate: Rate,
}

/// Limits the new data that leaves at an opportunity to send. Retransmissions are not limited.
#[derive(Debug)]
pub struct Gate<L> {
    /// Number of new segments that may leave now, within the window, which the hook may change. Called at every opportunity to send: after a write,
    /// an ACK or a timer.
    pub may_send: fn(&mut L, &mut Window, &Opportunity) -> u64,
    /// New data left after the last `may_send`: stream offsets from the first to the second, in segments of `mss` bytes except the last.
    pub sent: fn(&mut L, u64, u64, &Opportunity),
    /// Latest time of the next opportunity to send that the congestion control needs.
    pub due: fn(&L) -> TimeOrNever,
}

/// A congestion control. Every hook may rely on the order in the module's description; the defaults do nothing.
///
/// Rare hooks are constants: a congestion control has the hook by naming its function.
pub trait CongestionControl: Sized {
    /// Record of each outstanding segment: returned when the segment leaves, passed back when it arrives or is marked lost. With `()` these hooks are
    /// not called. Congestion controls with records are listed `in WithSentRecords`, and need a stack with SACK.
    type Sent: Copy + Default + Debug;

    /// True if [`in_ack_event`](Self::in_ack_event) does anything. If not, connections do not call it.
    const IN_ACK_EVENT: bool = true;
    /// True if [`pkts_acked`](Self::pkts_acked) does anything.
    const PKTS_ACKED: bool = true;
    /// True if slow start is part of the congestion control. If not, there is a choice of [`slow_start`](super::slow_start).
    const OWN_SLOW_START: bool = false;
    /// True if the connection looks for a lack of data ([`Event::AppLimited`]) also before an ACK or a timer is processed, and not only on writes as
    /// Linux does. For congestion controls with records.
    const LIMITS_BETWEEN_WRITES: bool = false;
    /// Limits the new data that leaves.
    const GATE: Option<Gate<Self>> = None;
    /// Called with the path of the connection, once, before anything is sent.
    const PATH: Option<fn(&mut Self, Path)> = None;
    /// Sets the window on every ACK, also in recovery: the last hook of an ACK. The congestion control then owns its window: of the stack's
    /// reductions only the one at a timeout changes it, and idle time does not.
    const CONTROL: Option<fn(&mut Self, &mut Window, &Ack, &Outcome)> = None;
    /// Returns the share of marked segments in the round trip that an ACK ends, in 1/256; `None` if it ends none. Called before `in_ack_event` if
    /// protective load balancing is on, which needs this hook.
    const MARKED_IN_ROUND: Option<fn(&Self, &Ack) -> Option<u16>> = None;
    /// Pacing rate of data segments, of payload, for a given segment size. Connections then have a pacer.
    const PACING_RATE: Option<fn(&Self, u32) -> Rate> = None;

    /// A segment leaves, new or retransmitted.
    fn segment_sent(&mut self, _at: &Departure) -> Self::Sent {
        Self::Sent::default()
    }

    /// Called when a segment has arrived; `sent` is the record of its last departure.
    fn segment_arrived(&mut self, _sent: Self::Sent, _at: &Arrival) {}

    /// Called when a segment is marked lost. It may still arrive.
    fn segment_lost(&mut self, _sent: Self::Sent, _at: &Loss) {}

    /// On every ACK, duplicates included, before recovery. For counting marks.
    fn in_ack_event(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// On every ACK that advances `snd_una`, in any state, unless it starts a reduction. For delay signals.
    fn pkts_acked(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// Growth: the ACK advanced, no recovery is in progress, and the application filled the window (where the stack requires that).
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack);

    /// Returns the threshold for a reduction that starts now, segments; at least 2. The caller sets window and threshold.
    fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> Threshold;

    /// Window after a reduction by marks from `from` segments with this `threshold`, by RFC 3168 section 6.1.2. It may be one segment, where RFC 5681
    /// keeps the threshold at two; the kernel's congestion controls keep both at two.
    fn window_after_marks(&self, _from: f64, threshold: Threshold) -> Threshold {
        threshold
    }

    /// Returns true if a loss reduces again in a window that ECE has reduced already: for congestion controls that react more strongly to a loss.
    /// Others reduce once per window (RFC 3168 section 6.1.2).
    fn reduces_on_loss_after_ecn(&self) -> bool {
        false
    }

    /// Returns true if the delay of this ACK is ignored, also by the separate slow start: queues may still be as full as before a reduction
    /// (`cubictcp_acked`).
    fn ignores_delay(&self, _ack: &Ack) -> bool {
        false
    }

    /// Called after another event has changed the window.
    fn cwnd_event(&mut self, _w: &mut Window, _event: Event) {}

    /// Returns the window after a spurious reduction; `prior` is the window before it.
    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        w.cwnd.max(prior)
    }

    /// Longest burst of segmentation offload at the pacing rate (`tso_segs` of `tcp_congestion_ops`); `None`: that of the stack. For congestion
    /// controls that pace.
    fn burst_time(&self) -> Option<Time> {
        None
    }

    /// Estimate of the marked fraction, if there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }

    /// Sets the columns of the table `tcp` that show its state ([`forebay_experiment::cc_state::COLUMNS`]). Called for samples only.
    fn state(&self, _mss: u32, _state: &mut CcState) {}
}
