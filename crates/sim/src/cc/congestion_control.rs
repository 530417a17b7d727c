//! The hooks of a law, named and timed as Linux's `tcp_congestion_ops`.
//!
//! Order on an ACK: (1) `snd_una` advances, the RTT filter takes its sample and the scoreboard, if there is one, what is delivered;
//! (2) [`in_ack_event`](CongestionControl::in_ack_event), on every ACK, duplicates included; (3) loss recovery decides: if the ACK starts a reduction, the trigger is known and the
//! connection's state says so before [`ssthresh`](CongestionControl::ssthresh) is asked; (4) otherwise, when the ACK advanced,
//! [`pkts_acked`](CongestionControl::pkts_acked) and, if growth is allowed, [`cong_avoid`](CongestionControl::cong_avoid); (5) for laws
//! that own their window, [`CONTROL`](CongestionControl::CONTROL); (6) for
//! laws with a [`GATE`](CongestionControl::GATE), its `may_send`, and its `sent` if new data left.

use super::threshold::Threshold;
use forebay_sampling::Rng;
use forebay_units::{Rate, Time, TimeOrNever};
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
    /// `bytes` as a window in segments that does not come out a byte short when it is multiplied by `mss` again.
    pub(crate) fn of_bytes(bytes: u64, mss: u32) -> f64 {
        let window = bytes as f64 / f64::from(mss);
        if ((window * f64::from(mss)) as u64) < bytes { window.next_up() } else { window }
    }

    /// Whether the window is below the slow start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh.or_infinite()
    }

    /// Slow start by `grow` segments; returns what is left for congestion avoidance after reaching the threshold.
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

    /// Linux `tcp_update_pacing_rate`: the window, or what is outstanding (`flight`, segments) if that is more, in one smoothed RTT;
    /// twice that in slow start, 1.2 times that from half the threshold on, in whole segments. Without an RTT it is as good as without limit.
    pub fn pacing_rate(&self, flight: f64, mss: u32, srtt: Option<Time>) -> Rate {
        let ratio = if self.cwnd < (self.ssthresh.or_infinite() / 2.0).floor() { 2.0 } else { 1.2 };
        let srtt = srtt.map_or(1.0, |srtt| srtt.0.max(1) as f64);
        Rate((8.0 * ratio * self.cwnd.max(flight) * f64::from(mss) * 1e12 / srtt) as u64)
    }

    /// The window falls to the threshold, if there is one: a reduction is over.
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

/// Facts about one ACK, each as it is when the hook is called. (How many round trips have passed is a part of its own that a law may have:
/// [`Round`](super::Round).)
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
    /// Bytes newly known to be delivered, SACKed ones included.
    pub delivered: u64,
    /// The same in segments, where a scoreboard tells them apart; 0 elsewhere. See [`Ack::segments_delivered`].
    pub segments: u32,
    /// Segments newly deemed lost; none before loss detection has looked at the ACK. Without a scoreboard none ever: a duplicate says how
    /// many, not which.
    pub lost: u32,
    /// By how much what is in the network is less than what is outstanding, bytes; see [`Ack::in_flight`].
    pub absent: i64,
    /// Whether the window, not the application, the receiver or the pacer, has limited sending in the last round trip (Linux
    /// `is_cwnd_limited`); `None` where the stack does not look (`cwnd-validation`).
    pub window_limited: Option<bool>,
    /// Whether the ACK carries ECE.
    pub ece: bool,
    /// Segments to grow by, by the stack's counting rule.
    pub grow: f64,
    /// RTT sample of this ACK, if it gave one.
    pub rtt: Option<Time>,
    /// RTT of the newest segment that this ACK acknowledges; `None` if one of them had been retransmitted. A delayed ACK adds nothing
    /// to it, unlike to `rtt`. Senders without a scoreboard know no other than `rtt`.
    pub newest_rtt: Option<Time>,
    /// Smoothed RTT; never before the first sample.
    pub srtt: TimeOrNever,
    /// Smallest RTT of the connection so far.
    pub min_rtt: TimeOrNever,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

impl Ack {
    /// Segments newly known to be delivered, a short one as much as a full one (Linux `tp->delivered`). Where nobody tells them apart, as many
    /// as the bytes need.
    #[inline]
    pub fn segments_delivered(&self) -> u64 {
        if self.segments > 0 { u64::from(self.segments) } else { self.delivered.div_ceil(u64::from(self.mss)) }
    }

    /// Bytes in the network: the pipe of RFC 6675 section 3 with a scoreboard, which takes off what is SACKed or lost and adds what was sent
    /// again; the flight size without.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        (self.snd_nxt - self.snd_una).wrapping_sub(self.absent as u64)
    }
}

/// What a law may be told of the path of its connection when that opens; packets on the empty path.
#[derive(Debug, Clone)]
pub struct Path {
    /// RTT of a full data packet and its ACK.
    pub idle_rtt: Time,
    /// What the RTT of a SYN and its SYN-ACK lacks against that: the serialisation of the larger packet.
    pub handshake_lacks: Time,
    /// Bytes of a full packet on the wire.
    pub packet: f64,
    /// Rate of the narrowest link in packets of full size per second.
    pub packets_per_s: f64,
    /// Buffer before that link in packets of full size, the smallest where several are as narrow; infinite if unlimited.
    pub buffer: f64,
    /// Random numbers of this connection's law.
    pub rng: Rng,
}

/// The sender at a moment when it could send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opportunity {
    /// Time.
    pub now: Time,
    /// When the last data segment, new or retransmitted, left; `None` before the first.
    pub last_tx: Option<Time>,
    /// Bytes sent and not cumulatively acknowledged.
    pub flight: u64,
    /// Bytes in the network, as [`Ack::in_flight`].
    pub in_flight: u64,
    /// Bytes written and never sent, a FIN included.
    pub unsent: u64,
    /// Whether fast recovery or the repair after a timeout is at work.
    pub recovering: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// Why a new threshold is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// ECE on an ACK, once per window.
    Ecn,
    /// Loss found by duplicate ACKs, SACK, RACK or a tail loss probe.
    Loss,
    /// Retransmission timeout (the first of a series: back-offs do not ask again, RFC 5681 section 3.1).
    Timeout,
}

/// A reduction that begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reduction {
    /// What it answers.
    pub trigger: Trigger,
    /// What the stack reduces from, segments; see [`Reduce`](forebay_experiment::transport::Reduce).
    pub from: f64,
    /// Bytes in the network, as [`Ack::in_flight`].
    pub in_flight: u64,
}

/// Things that happen to a window beside ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// First transmission after nothing was outstanding; how long that was.
    TxStart {
        /// Now.
        now: Time,
        /// Time since the last transmission.
        idle: Time,
    },
    /// The application handed over a message, before anything of it is sent.
    Write {
        /// Stream offset of its first byte.
        begin: u64,
        /// Stream offset behind its last byte.
        end: u64,
        /// When it should have arrived, if it has a deadline.
        deadline: Option<Time>,
        /// Bytes in the network, if the application had let the sender run out of data although the window had room: for laws with
        /// records ([`CongestionControl::Sent`]).
        starved: Option<u64>,
    },
    /// The handshake is complete.
    Established {
        /// RTT of SYN and SYN-ACK, if it could be measured.
        rtt: Option<Time>,
    },
    /// A duplicate ACK, with ECE or without, has been counted as a segment that arrived, behind its `in_ack_event`: by a stack without SACK that counts
    /// them (Linux tcp_add_reno_sack).
    Counted {
        /// Whether it carries ECE.
        ece: bool,
    },
    /// Fast recovery begins.
    Recovery,
    /// The window was collapsed to the restart window after an idle RTO, or halved at the start of a block (PRIN).
    Restart,
    /// A retransmission timeout; the window is 1 now. Next new byte and unacknowledged byte as stream offsets.
    Timeout {
        /// Stream offset of the highest byte sent so far.
        snd_max: u64,
    },
    /// A recovery or CWR episode ended.
    Complete,
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time.
    pub now: Time,
    /// Its sequence space.
    pub bytes: u32,
    /// Bytes in the network, with it.
    pub in_flight: u64,
    /// Nothing else is unacknowledged.
    pub alone: bool,
    /// It has left before.
    pub again: bool,
}

/// A segment that the receiver has, as was not known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time of the ACK.
    pub now: Time,
    /// When the segment last left.
    pub left: Time,
    /// Stream offset behind it.
    pub end: u64,
    /// Its sequence space.
    pub bytes: u32,
    /// It had been sent more than once.
    pub again: bool,
}

/// A segment that is deemed lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Time.
    pub now: Time,
    /// Stream offset of its first byte.
    pub start: u64,
    /// Its sequence space.
    pub bytes: u32,
}

/// What the sender repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// Nothing.
    None,
    /// Losses found by duplicate ACKs, SACK, RACK or a tail loss probe (fast recovery).
    Recovery,
    /// What was outstanding at a retransmission timeout.
    Timeout,
}

/// What an ACK has come to once loss detection has looked at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Segments newly known to be delivered.
    pub segments: u32,
    /// Time of the ACK by the clock of [`Departure::now`] and [`Arrival::now`], which may be coarser.
    pub stamp: Time,
    /// Bytes in the network before the ACK.
    pub in_flight_before: u64,
    /// What is being repaired after it.
    pub repair: Repair,
    /// Earliest departure of the next segment that the pacer allows; may have passed.
    pub next_departure: Time,
}

/// How a law limits the new data that leaves at an opportunity to send. Retransmissions are not limited.
#[derive(Debug)]
pub struct Gate<L> {
    /// How many new segments may leave now, within the window, which the law may change. Called at every opportunity to send: data
    /// written, an ACK or a timer dealt with.
    pub may_send: fn(&mut L, &mut Window, &Opportunity) -> u64,
    /// New data has left at the opportunity of the last `may_send`: stream offsets from the first to the second, in segments of `mss`
    /// bytes but the last.
    pub sent: fn(&mut L, u64, u64, &Opportunity),
    /// When the law wants the next opportunity to send at the latest, although nothing may have happened.
    pub due: fn(&L) -> TimeOrNever,
}

/// A law. Every hook may rely on the order in the module's description; the defaults do nothing.
///
/// Hooks that few laws have are constants: a law has the hook by naming its function, and there is no list beside it to forget.
pub trait CongestionControl: Sized {
    /// What the law wants to remember of each segment under way: returned when the segment leaves, handed back when it arrives or is
    /// deemed lost. `()`: nothing, and these hooks are not called. Other laws are listed `in WithSentRecords`, and need a stack with SACK.
    type Sent: Copy + Default + Debug;

    /// Whether [`in_ack_event`](Self::in_ack_event) does anything. A law without it says so, and then its connections do not call it
    /// on every ACK.
    const IN_ACK_EVENT: bool = true;
    /// The same of [`pkts_acked`](Self::pkts_acked).
    const PKTS_ACKED: bool = true;
    /// Whether slow start is the law's own. If not, there is a choice of [`slow_start`](super::slow_start).
    const OWN_SLOW_START: bool = false;
    /// Limits the new data that leaves.
    const GATE: Option<Gate<Self>> = None;
    /// Called with the path of the connection, once, before anything is sent.
    const PATH: Option<fn(&mut Self, Path)> = None;
    /// Sets the window on every ACK, in recovery, too: the last hook of an ACK. Such a law owns its window: no reduction of the stack
    /// touches it but the collapse at a timeout, and no idle time.
    const CONTROL: Option<fn(&mut Self, &mut Window, &Ack, &Outcome)> = None;
    /// The rate at which data segments leave, of payload, for a given segment size. Such a law has a pacer.
    const PACING_RATE: Option<fn(&Self, u32) -> Rate> = None;

    /// A segment leaves, new or again.
    fn segment_sent(&mut self, _at: &Departure) -> Self::Sent {
        Self::Sent::default()
    }

    /// A segment has arrived; `sent` is what [`segment_sent`](Self::segment_sent) returned when it last left.
    fn segment_arrived(&mut self, _sent: Self::Sent, _at: &Arrival) {}

    /// The same of a segment that is deemed lost. It may arrive all the same.
    fn segment_lost(&mut self, _sent: Self::Sent, _at: &Loss) {}

    /// On every ACK, duplicates included, before recovery looks at it. For counting marks.
    fn in_ack_event(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// On every ACK that advances `snd_una`, in any state, unless it starts a reduction. For delay signals.
    fn pkts_acked(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// Grow: the ACK advanced, nothing is being recovered, and the application filled the window (where the stack asks for that).
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack);

    /// The threshold for a reduction that starts now, segments; at least 2. The caller sets window and threshold.
    fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> Threshold;

    /// The window that marks leave of `from` segments, for which `threshold` was given, by RFC 3168 section 6.1.2. It may be one segment, where
    /// RFC 5681 keeps the threshold at two; the laws of the kernel keep both there.
    fn window_after_marks(&self, _from: f64, threshold: Threshold) -> Threshold {
        threshold
    }

    /// Whether a loss asks for a new threshold although the window it belongs to has been reduced on ECE already. Not for laws that
    /// answer both alike (RFC 3168 section 6.1.2: once per window); for those whose answer to a loss is the stronger one.
    fn reduces_on_loss_after_ecn(&self) -> bool {
        false
    }

    /// Whether the delay of this ACK is to be left alone, also by the slow start beside the law: queues may still be as full as before a
    /// reduction (`cubictcp_acked`).
    fn ignores_delay(&self, _ack: &Ack) -> bool {
        false
    }

    /// Something else happened to the window; called after it was changed.
    fn cwnd_event(&mut self, _w: &mut Window, _event: Event) {}

    /// The window after a reduction proved spurious; `prior` is the window before it.
    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        w.cwnd.max(prior)
    }

    /// The law's estimate of the marked fraction, if it has one.
    fn alpha(&self) -> Option<f64> {
        None
    }
}
