//! The sender's one timer: retransmission timeout (RFC 6298 section 5), tail loss probe and RACK's reordering timer.

use super::{CaState, Cut, Phase, Sender, Timer};
use crate::cc::{Event, Reduction, Threshold, Trigger, Window};
use crate::net::packet::{Wire, flag};
use crate::tcp::config::TcpConfig;
use crate::tcp::rtt::Timed;
use crate::tcp::wheel;
use forebay_experiment::rows::TimeoutKind;
use forebay_experiment::transport::{Recovery, Reduce, RtoRule};
use forebay_units::{Time, TimeOrNever};

/// SYNs that Linux repeats at the distance of the first timeout before it doubles it (`net.ipv4.tcp_syn_linear_timeouts`, since 6.5).
const LINEAR_SYNS: u32 = 4;

impl Sender {
    /// (Re)starts the retransmission timer.
    #[inline(always)]
    pub(super) fn arm_rto(&mut self, c: &TcpConfig, now: Time) {
        self.set_timer(Timer::Rto, now, self.rtt.rto(c));
    }

    /// The same of a sender without a scoreboard.
    #[inline(always)]
    pub(super) fn arm_plain_rto(&mut self, c: &TcpConfig, now: Time) {
        debug_assert!(self.sack.is_none());
        self.timer = Timer::Rto;
        self.timer_due = now.saturating_add(self.rtt.rto(c)).into();
    }

    /// The timer runs from now on for so long.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, timer: Timer, now: Time, delay: Time) {
        self.timer = timer;
        self.timer_due = now.saturating_add(delay).into();
        if let Some(s) = &mut self.sack {
            s.timer_set = now;
        }
    }

    /// The retransmission timeout in force, back-off included. Linux (tcp_retransmit_timer) repeats the first SYNs without any.
    pub fn rto(&self, c: &TcpConfig) -> Time {
        if self.phase == Phase::SynSent && c.is_linux() {
            return self.rtt.doubled(c, self.rtt.backoff().saturating_sub(LINEAR_SYNS));
        }
        self.rtt.rto(c)
    }

    /// How long the timer that is due now has held the sender up: as long as it ran, but not longer than nothing was sent. Statistics only.
    pub fn held_up(&self, c: &TcpConfig, now: Time) -> Time {
        let silent = self.last_tx.get().map_or(Time::ZERO, |last| now - last);
        let ran = if self.timer == Timer::Probe { self.probe_timeout(c) } else { self.rto(c) };
        silent.min(ran)
    }

    /// Whether there is more to send than the window has room for, and nothing was sent since `since`: what was sent before has arrived, or
    /// is lost, so that an ACK is all that this sender waits for. Statistics only.
    pub fn lacks_window_since(&self, since: Time) -> bool {
        self.una < self.nxt && self.nxt < self.written && self.last_tx.get().is_some_and(|last| last <= since)
    }

    /// For how long nothing was sent at `now`, while a timer runs that would end that, and which one. Statistics only.
    pub fn silence(&self, now: Time) -> Option<(Time, TimeoutKind)> {
        let kind = match (self.phase, self.timer) {
            (Phase::SynSent, _) => TimeoutKind::Syn,
            (Phase::Established, Timer::Rto) if self.una < self.nxt => TimeoutKind::Other,
            (Phase::Established, Timer::Probe) if self.una < self.nxt => TimeoutKind::Probe,
            _ => return None,
        };
        Some((now.saturating_sub(self.last_tx.get()?), kind))
    }

    /// The timer is due.
    pub fn on_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        debug_assert!(self.timer_due.has_come(now));
        if self.waits_for_its_slot(c, now) {
            return;
        }
        match (self.phase, self.timer) {
            (Phase::SynSent, _) => {
                self.rtt.back_off();
                if !self.seldom.syn_retx {
                    (self.seldom.syn_retx, self.seldom.first_syn) = (true, self.last_tx);
                }
                self.stats.losses.syn_rtos += 1;
                self.send_syn(c, now, out);
            }
            (Phase::Established, Timer::Rto) => self.on_rto(c, now, out),
            (Phase::Established, Timer::Probe) => self.on_probe_timer(c, now, out),
            (Phase::Established, Timer::Reorder) if self.sack.is_some() => self.on_reorder_timer(c, now, out),
            (Phase::Established, Timer::Reorder) => self.on_fast_retransmit_delay(c, now, out),
            (Phase::Established, Timer::Idle) | (Phase::Closed | Phase::Waiting | Phase::Done, _) => {
                self.timer = Timer::Idle;
                self.timer_due = TimeOrNever::NEVER;
            }
        }
    }

    /// Linux: the clock ticks, and the wheel has slots. True if the timer expires later than now; it is armed for then.
    fn waits_for_its_slot(&mut self, c: &TcpConfig, now: Time) -> bool {
        if !c.is_linux() || self.put_off() {
            return false;
        }
        let due = self.timer_due.or_never();
        let set = match &self.sack {
            Some(s) if self.una < self.nxt => s.timer_set,
            // A SYN, or a closed window: for all of the timeout.
            _ => due.saturating_sub(self.rto(c)),
        };
        let delay = due.saturating_sub(set);
        let expires = match self.seldom.put_off == TimeOrNever::at(set) {
            true => wheel::next_expiry(set, delay, c.rto_granularity),
            false => wheel::expiry(set, delay, c.rto_granularity),
        };
        if expires <= now {
            return false;
        }
        self.timer_due = expires.into();
        self.seldom.put_off = self.timer_due;
        true
    }

    /// Whether the running timer has come due and waits for the slot of a timer wheel that it is in.
    pub fn put_off(&self) -> bool {
        !self.timer_due.is_never() && self.timer_due == self.seldom.put_off
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# Retransmit the earliest segment that has not been acknowledged by the TCP receiver.
    /// Retransmission timeout (RFC 5681 section 3.1, RFC 6298 sections 5.4 to 5.6).
    fn on_rto(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.una == self.nxt {
            return self.probe_window(c, now, out);
        }
        if c.probe_after > 0 && self.rtt.backoff + 1 >= c.probe_after {
            return self.probe_peer(c, now, out);
        }
        self.end_rest();
        self.stats.losses.rtos += 1;
        let (first_window, end) = (self.window_end, self.message_end);
        if self.una < first_window {
            self.stats.losses.rtos_head += 1;
        } else if self.una + 3 * u64::from(c.mss) >= end {
            self.stats.losses.rtos_tail += 1;
        }
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        //# On the other hand, when a TCP sender detects segment loss using the retransmission timer and the given segment
        //# has already been retransmitted by way of the retransmission timer at least once, the value of ssthresh is held
        //# constant.
        // RFC 5681 section 3.1: when the same data times out again, ssthresh stays; when other data does, it is a new loss. (The back-off
        // would not tell them apart: without timestamps it may outlive progress.) Linux (tcp_enter_loss) also reduces once only when a
        // timeout ends a reduction that has begun, and of which not all is acknowledged.
        let repeated = self.ca == CaState::Loss && self.una == self.seldom.timed_out;
        let disordered = self.ca <= CaState::Disorder;
        let answered = self.una < self.cwr_end && self.marks_answered();
        let reduced = answered || (c.reduce == Reduce::Cwnd && self.reducing());
        self.seldom.timed_out = self.una;
        if self.ca == CaState::Recovery && self.sack.is_none() {
            // Without SACK, fast recovery inflates the window by what has left the network (RFC 5681 section 3.2 step 4).
            self.w.cwnd = self.w.ssthresh.cap(self.w.cwnd);
        }
        self.watch_timeout(c, !repeated && !reduced, repeated);
        if !repeated && !reduced {
            let before = self.reducible(c);
            self.remember_prior(c, false);
            self.ca = CaState::Loss;
            self.w.ssthresh = self.new_threshold(c, Trigger::Timeout, before);
            self.stats.losses.loss_cuts += 1;
        } else if repeated && c.reduce == Reduce::Window {
            // ns-2 (TcpAgent::timeout) knows no repeated timeouts: every one halves the window, which is one segment by now, and
            // TcpAgent::slowdown leaves a threshold of two.
            self.w.ssthresh = (self.reducible(c) / 2.0).max(2.0).into();
        }
        self.ca = CaState::Loss;
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        //# Furthermore, upon a timeout (as specified in [RFC2988]) cwnd MUST be set to no more than the loss window, LW,
        //# which equals 1 full-sized segment (regardless of the value of IW).
        self.w.cwnd = 1.0;
        self.dupacks = 0;
        self.seldom.limited = 0;
        self.seldom.recover = self.high;
        self.begin_reduction(self.high);
        self.law.cwnd_event(&mut self.w, Event::Timeout { snd_max: self.high });
        if let Some(s) = &mut self.slow_start {
            s.timeout(now, self.high);
        }
        self.rtt.back_off();
        self.timed = Timed::NONE;
        self.timer = Timer::Idle;
        let stamp = self.stamp(c, now);
        match &mut self.sack {
            // Go back: everything outstanding is sent again as the window opens.
            None => self.nxt = self.una,
            Some(s) => {
                let again = s.board.retx_segs;
                if c.recovery == Recovery::Rack {
                    let rack = &s.rack;
                    // RFC 8985 section 6.3: the first segment, and all sent longer ago than RACK would wait; Linux (tcp_timeout_mark_lost)
                    // allows nothing for reordering here.
                    let linux = c.is_linux();
                    let wait = if linux { Time::ZERO } else { rack.reordering_window(&self.rtt, false, 0, c) };
                    let late = rack.rtt + wait;
                    s.board.mark_after_timeout(|i, seg| i == 0 || seg.sent() + late <= stamp);
                } else {
                    s.board.mark_after_timeout(|_, _| true);
                }
                if c.is_linux() && s.awaits_reports() && !repeated && !reduced {
                    // tcp_init_undo, behind tcp_timeout_mark_lost: repetitions that are lost as well will not be reported.
                    let lost = again - s.board.retx_segs;
                    s.episode.undo.retransmissions = s.episode.undo.retransmissions.saturating_sub(lost);
                }
                if s.reordering > 0 {
                    // tcp_timeout_mark_lost: nobody knows which segments the duplicates stood for.
                    s.board.sacked_segs = 0;
                }
                // tcp_enter_loss: with many duplicates before it, a timeout says that reordering was overestimated.
                if disordered && s.board.sacked_segs >= c.dup_thresh {
                    s.rack.far = 0;
                }
                s.rack.probe_end = None;
                s.episode.rescued = false;
                self.report_losses(now);
                let Some(s) = &mut self.sack else { return };
                // The first segment leaves whatever RACK takes to be still under way (as Linux tcp_enter_loss; 1 after RFC 6675, which
                // takes everything to be lost).
                self.w.cwnd = match c.reduce {
                    Reduce::Cwnd => f64::from(s.board.in_network() + 1),
                    Reduce::Window | Reduce::Flight => {
                        Window::of_bytes(s.board.pipe(self.nxt - self.una) + u64::from(c.mss), c.mss)
                    }
                };
            }
        }
        self.transmit(c, now, out);
        // The timer was started by the retransmission, with the doubled timeout; the receive window cannot hold the first segment back.
        if self.timer == Timer::Idle {
            self.arm_rto(c, now);
        }
    }

    /// The last of `probe_after` consecutive timeouts, and all after it: asks with a header-only packet (Alizadeh et al., SIGCOMM 2013,
    /// section 4.3). Counts as a timeout once.
    #[cold]
    fn probe_peer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.rtt.backoff + 1 == c.probe_after {
            self.stats.losses.rtos += 1;
        }
        self.send_probe(c, now, out);
    }

    /// Sends a packet that only asks for an ACK, and will again after twice the time.
    fn send_probe(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.rtt.back_off();
        let mut probe = self.packet(c, now);
        probe.seq = self.numbers.wire(self.una);
        probe.flags = flag::PROBE;
        self.balance = self.balance.wrapping_add(1);
        out.emit(probe, None);
        self.arm_rto(c, now);
    }

    /// The receive window is closed, and nothing is outstanding whose ACK would tell that it is open again; the packet that did may have been
    /// lost. RFC 9293 section 3.8.6.1: the sender asks after a timeout, then after twice that time, and so on, for ever (Linux
    /// tcp_check_probe_timer, tcp_send_probe0).
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_window(&mut self, c: &TcpConfig, now: Time) {
        if self.una == self.nxt && self.nxt < self.stream_end() {
            self.arm_rto(c, now);
        }
    }

    /// The timer has expired that a sender rested for, if it did.
    fn end_rest(&mut self) -> bool {
        let rested = self.cut == Cut::Rest;
        if rested {
            self.cut = Cut::Marks;
        }
        rested
    }

    #[cold]
    fn probe_window(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.end_rest() {
            (self.timer, self.timer_due) = (Timer::Idle, TimeOrNever::NEVER);
            return self.transmit(c, now, out);
        }
        if self.nxt < self.stream_end() {
            return self.send_probe(c, now, out);
        }
        (self.timer, self.timer_due) = (Timer::Idle, TimeOrNever::NEVER);
    }

    /// An ACK has come while data waits for the window. If that is open again nobody asks any more; if not, Linux asks later (tcp_ack_probe).
    #[cold]
    #[inline(never)]
    pub(super) fn end_of_closed_window(&mut self, c: &TcpConfig, now: Time) {
        if self.cut == Cut::Rest {
            return;
        }
        if self.edge > self.nxt {
            (self.timer, self.timer_due) = (Timer::Idle, TimeOrNever::NEVER);
            self.rtt.backoff = 0;
        } else if c.is_linux() {
            self.arm_rto(c, now);
        }
    }

    /// An ACK has come that acknowledges nothing new: if the sender was probing, it starts again with a window of one segment.
    #[cold]
    #[inline(never)]
    pub(super) fn end_probing(&mut self, c: &TcpConfig, now: Time) {
        if self.rtt.backoff < c.probe_after {
            return;
        }
        self.rtt.backoff = 0;
        self.w.cwnd = 1.0;
        // As after the timeouts that it was: what is retransmitted now is not the start of a fast recovery.
        self.ca = CaState::Loss;
        self.dupacks = 0;
        self.seldom.recover = self.high;
        self.law.cwnd_event(&mut self.w, Event::Timeout { snd_max: self.high });
        self.arm_rto(c, now);
        match &mut self.sack {
            None => self.nxt = self.una,
            Some(s) => s.board.mark_after_timeout(|_, _| true),
        }
        self.report_losses(now);
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than 3
    //# seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins (i.e., after the three-way
    //# handshake completes).
    /// After the handshake (RFC 6298 section 5.7; Linux tcp_init_metrics): a SYN that was retransmitted leaves no sample, so data starts
    /// with 3 s.
    pub(super) fn rto_after_handshake(&mut self, c: &TcpConfig) {
        self.rtt.backoff = 0;
        if self.rtt.smoothed().is_never() && self.seldom.syn_retx && c.rto_rule != RtoRule::Fixed {
            self.rtt.base_rto = self.rtt.base_rto.max(Time::from_secs(3)).min(c.rto_max);
        }
    }

    /// What a reduction starts from, in segments. Not `nxt - una`: while a hole is repaired every duplicate ACK lets a segment out, so that
    /// this grows by a window a round, and all of it but one window has arrived.
    pub(super) fn reducible(&self, c: &TcpConfig) -> f64 {
        let mss = f64::from(c.mss);
        let window = self.w.cwnd;
        match c.reduce {
            Reduce::Cwnd => window,
            Reduce::Window => window.min(self.edge.saturating_sub(self.una) as f64 / mss),
            Reduce::Flight => window.min((self.flight() - self.seldom.limited.min(self.flight())) as f64 / mss),
        }
    }

    /// Asks the law for the threshold of a reduction from `before` segments.
    pub(super) fn new_threshold(&mut self, c: &TcpConfig, trigger: Trigger, before: f64) -> Threshold {
        if c.reduce == Reduce::Window {
            // The window of such a sender is what it may use (ns-2 `window()`), for laws that reduce the window as well.
            self.w.cwnd = self.w.cwnd.min(before.max(1.0));
        }
        let reduction = Reduction { trigger, from: before, in_flight: self.pipe() };
        self.law.ssthresh(&self.w, reduction)
    }
}
