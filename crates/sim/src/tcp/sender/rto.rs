//! Retransmission timeout (RFC 6298 section 5), window probes (RFC 9293 section 3.8.6.1), and thresholds after reductions.

use super::{CaState, Phase, ReductionCause, Sender, Timer};
use crate::cc::{Ack, Event, Reduction, Threshold, Trigger, Window};
use crate::net::packet::{Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_experiment::rows::TimeoutKind;
use forebay_experiment::transport::{Recovery, RtoRule, SsthreshFrom};
use forebay_types::Time;

impl Sender {
    /// Starts or restarts the retransmission timer.
    #[inline(always)]
    pub(in crate::tcp) fn arm_rto(&mut self, c: &TcpConfig, now: Time) {
        self.set_timer(c, Timer::Rto, now, self.rtt.rto(c));
    }

    /// Starts or restarts the retransmission timer of a sender without a scoreboard.
    #[inline(always)]
    pub(in crate::tcp) fn arm_plain_rto(&mut self, c: &TcpConfig, now: Time) {
        debug_assert!(self.loss.sack.is_none());
        self.timers.run(Timer::Rto, now.saturating_add(self.rtt.rto(c)).into());
    }

    /// Starts a timer that expires after `delay`.
    #[inline(always)]
    pub(in crate::tcp) fn set_timer(&mut self, c: &TcpConfig, timer: Timer, now: Time, delay: Time) {
        self.timers.run(timer, now.saturating_add(delay).into());
        if let Some(s) = &mut self.loss.sack {
            s.timer_set = now;
        }
        self.enter_wheel_slot(c, now, delay);
    }

    /// Current retransmission timeout with its back-off. Linux (tcp_retransmit_timer) repeats the first SYNs without any.
    pub fn rto(&self, c: &TcpConfig) -> Time {
        if self.stream.phase() == Phase::SynSent && c.is_linux() {
            return self.rtt.doubled(c, self.rtt.backoff().saturating_sub(c.kernel.linear_syns()));
        }
        self.rtt.rto(c)
    }

    /// Time for which the timer that expires now has stalled the sender: the time it ran, but not more than the time since the last segment left.
    /// Statistics only.
    pub fn stall_time(&self, c: &TcpConfig, now: Time) -> Time {
        let silent = self.tx.last_tx().get().map_or(Time::ZERO, |last| now - last);
        let ran = if self.timers.kind() == Timer::Probe { self.probe_timeout(c) } else { self.full_timeout(c) };
        silent.min(ran)
    }

    /// Time since the last segment left, if the window has no space for the next data. Earlier segments have arrived or are lost, so the sender only
    /// waits for an ACK. Statistics only.
    pub fn silence_without_window(&self, now: Time) -> Option<Time> {
        let waits = self.stream.snd_una() < self.stream.snd_nxt() && self.stream.snd_nxt() < self.stream.written();
        self.tx.last_tx().get().filter(|_| waits).map(|last| now.saturating_sub(last))
    }

    /// Time since the last segment left, while a timer runs that would end the silence, and the kind of that timer. Statistics only.
    pub fn silence(&self, now: Time) -> Option<(Time, TimeoutKind)> {
        let kind = match (self.stream.phase(), self.timers.kind()) {
            (Phase::SynSent, _) => TimeoutKind::Syn,
            (Phase::Established, Timer::Rto) if self.stream.snd_una() < self.stream.snd_nxt() => TimeoutKind::Other,
            (Phase::Established, Timer::Probe) if self.stream.snd_una() < self.stream.snd_nxt() => TimeoutKind::Probe,
            (Phase::Established, Timer::Reorder) => TimeoutKind::Reordering,
            _ => return None,
        };
        Some((now.saturating_sub(self.tx.last_tx().get()?), kind))
    }

    /// Returns true while RACK's reordering timer runs, or the delay of a fast retransmission that replaces it without SACK.
    pub fn waits_for_reordering(&self) -> bool {
        self.stream.phase() == Phase::Established && self.timers.kind() == Timer::Reorder
    }

    /// Handles the expiry of the timer.
    pub fn on_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        debug_assert!(self.timers.due().is_due(now));
        if self.wait_for_wheel_slot(c, now) {
            return;
        }
        if self.stream.phase() == Phase::Established {
            self.check_app_limited_between_writes(c, now);
        }
        match (self.stream.phase(), self.timers.kind()) {
            (Phase::SynSent, _) => {
                self.rtt.back_off();
                if !self.cold.syn_retx {
                    (self.cold.syn_retx, self.cold.first_syn) = (true, self.tx.last_tx());
                }
                self.stats.current_mut().losses.syn_rtos += 1;
                if c.txrehash {
                    self.change_path_after_timeout();
                }
                self.send_syn(c, now, out);
            }
            (Phase::Established, Timer::Rto) => self.on_rto(c, now, out),
            (Phase::Established, Timer::Probe) => self.on_probe_timer(c, now, out),
            (Phase::Established, Timer::Reorder) if self.loss.sack.is_some() => self.on_reorder_timer(c, now, out),
            (Phase::Established, Timer::Reorder) => self.on_fast_retransmit_delay(c, now, out),
            (Phase::Established, Timer::Idle) | (Phase::Closed | Phase::FinWait2 | Phase::Done, _) => {
                self.timers.stop();
            }
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# Retransmit the earliest segment that has not been acknowledged by the TCP receiver.
    /// Handles a retransmission timeout (RFC 5681 section 3.1, RFC 6298 sections 5.4 to 5.6).
    fn on_rto(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.stream.snd_una() == self.stream.snd_nxt() {
            return self.probe_window(c, now, out);
        }
        if c.probe_after > 0 && self.rtt.backoff() + 1 >= c.probe_after {
            return self.probe_peer(c, now, out);
        }
        self.end_wait_for_rto();
        self.stats.count_rto(self.stream.snd_una(), c.mss.into());
        let disordered = self.loss.ca_state() <= CaState::Disorder;
        let fresh = self.reduce_for_timeout(c);
        if c.txrehash {
            self.change_path_after_timeout();
            if fresh {
                self.suspend_plb(c, now);
            }
        }
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        //# Furthermore, upon a timeout (as specified in [RFC2988]) cwnd MUST be set to no more than the loss window, LW,
        //# which equals 1 full-sized segment (regardless of the value of IW).
        self.cc.window.cwnd = 1.0;
        self.loss.clear_dupacks();
        self.cold.limited = 0;
        self.cold.recover = self.stream.snd_max();
        self.cc.begin_reduction(self.stream.snd_max());
        self.cc.cwnd_event(Event::Timeout { snd_max: self.stream.snd_max() });
        self.cc.slow_start_timeout(now, self.stream.snd_max());
        self.rtt.back_off();
        self.timers.forget_timed();
        self.timers.set_idle();
        match self.loss.sack {
            // Go-back-N: everything outstanding is sent again as the window opens.
            None => self.stream.go_back(),
            Some(_) => self.mark_losses_after_timeout(c, now, fresh, disordered),
        }
        self.transmit(c, now, out);
        // The retransmission has started the timer with the doubled timeout. The receive window cannot hold the first segment back.
        if self.timers.kind() == Timer::Idle {
            self.arm_rto(c, now);
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
    //# On the other hand, when a TCP sender detects segment loss using the retransmission timer and the given segment
    //# has already been retransmitted by way of the retransmission timer at least once, the value of ssthresh is held
    //# constant.
    /// Sets threshold and state for a timeout. Returns true if it reduced the threshold.
    fn reduce_for_timeout(&mut self, c: &TcpConfig) -> bool {
        // RFC 5681 section 3.1: ssthresh stays when the same data times out again; a timeout of other data is a new loss. The back-off does not
        // distinguish them, because without timestamps it may outlive progress. Linux (tcp_enter_loss) also does not reduce again when a timeout ends
        // a reduction of which not all is acknowledged.
        let repeated = self.loss.ca_state() == CaState::Loss && self.stream.snd_una() == self.cold.timed_out;
        let answered = self.stream.snd_una() < self.cc.cwr_end() && self.reduced_by_ecn();
        let reduced = answered || (c.ssthresh_from == SsthreshFrom::Cwnd && self.reducing());
        let fresh = !repeated && !reduced;
        self.cold.timed_out = self.stream.snd_una();
        if self.loss.ca_state() == CaState::Recovery && self.loss.sack.is_none() {
            // Without SACK, fast recovery inflates the window by the segments that have left the network (RFC 5681 section 3.2 step 4).
            self.cc.window.cwnd = self.cc.window.ssthresh.cap(self.cc.window.cwnd);
        }
        self.start_frto(c, fresh, repeated);
        if fresh {
            let before = self.reduction_base(c);
            self.init_undo(c, false);
            self.loss.set_ca_state(CaState::Loss);
            self.cc.window.ssthresh = self.ssthresh_after(c, Trigger::Timeout, before);
            self.stats.current_mut().losses.loss_reductions += 1;
        } else if repeated && c.ssthresh_from == SsthreshFrom::Window {
            // ns-2 (TcpAgent::timeout) has no repeated timeouts: each halves the window, which is one segment by now, and TcpAgent::slowdown leaves a
            // threshold of two.
            self.cc.window.ssthresh = (self.reduction_base(c) / 2.0).max(2.0).into();
        }
        self.loss.set_ca_state(CaState::Loss);
        fresh
    }

    /// Marks segments as lost after a timeout, and sets the window for the first retransmission. `fresh`: the timeout reduced the threshold;
    /// `disordered`: no recovery or reduction was in progress.
    fn mark_losses_after_timeout(&mut self, c: &TcpConfig, now: Time, fresh: bool, disordered: bool) {
        let stamp = self.stamp(c, now);
        let Some(s) = &mut self.loss.sack else { return };
        let again = s.board.retx_segs;
        if c.recovery == Recovery::Rack {
            let rack = &s.rack;
            // RFC 8985 section 6.3: the first segment is lost, and all that were sent longer ago than RACK would wait. Linux
            // (tcp_timeout_mark_lost) does not wait for reordering here.
            let linux = c.is_linux();
            let wait = if linux { Time::ZERO } else { rack.reordering_window(&self.rtt, false, 0, c) };
            let late = rack.rtt + wait;
            s.board.mark_after_timeout(|i, seg| i == 0 || seg.sent() + late <= stamp);
        } else {
            s.board.mark_after_timeout(|_, _| true);
        }
        if c.is_linux() && s.expects_dsacks() && fresh {
            // tcp_init_undo, after tcp_timeout_mark_lost: lost retransmissions will not be reported.
            let lost = again - s.board.retx_segs;
            s.episode.undo.retransmissions = s.episode.undo.retransmissions.saturating_sub(lost);
        }
        if s.reordering > 0 {
            // tcp_timeout_mark_lost: the segments of the duplicates are unknown.
            s.board.sacked_segs = 0;
        }
        // tcp_enter_loss: a timeout after many duplicates shows that reordering was overestimated.
        if disordered && s.board.sacked_segs >= c.dup_thresh {
            s.rack.far = 0;
        }
        s.rack.probe_end = None;
        s.episode.rescued = false;
        self.report_losses(now);
        let Some(s) = &mut self.loss.sack else { return };
        // The first segment leaves, regardless of the segments that RACK considers outstanding (as Linux tcp_enter_loss; 1 by RFC 6675, which
        // considers everything lost).
        self.cc.window.cwnd = match c.ssthresh_from {
            SsthreshFrom::Cwnd => f64::from(s.board.in_network() + 1),
            SsthreshFrom::Window | SsthreshFrom::Flight => {
                Window::of_bytes(s.board.pipe(self.stream.snd_nxt() - self.stream.snd_una()) + u64::from(c.mss), c.mss)
            }
        };
    }

    /// Handles the last of `probe_after` consecutive timeouts, and all after it: sends a header-only packet (Alizadeh et al., SIGCOMM 2013, section
    /// 4.3). Counts as a timeout once.
    #[cold]
    fn probe_peer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.rtt.backoff() + 1 == c.probe_after {
            self.stats.current_mut().losses.rtos += 1;
        }
        self.send_probe(c, now, out);
        // Partial ACKs of a fast recovery that goes on keep this timer, not the one that has expired.
        self.cold.held_due = self.timers.due();
    }

    /// Sends a packet that only requests an ACK, and again after twice the time.
    fn send_probe(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.rtt.back_off();
        let mut probe = self.packet(c, now);
        probe.seq = self.tx.numbers().wire(self.stream.snd_una());
        probe.flags = flag::PROBE;
        self.tx.count_sent(1);
        out.emit(probe, None);
        self.arm_full_timeout(c, now);
    }

    /// Starts the timer for window probes if nothing is outstanding and the receive window has no space: the packet that opens it may have been lost.
    /// RFC 9293 section 3.8.6.1: the sender probes after a timeout, then after twice that time, and so on (Linux tcp_check_probe_timer, tcp_send_probe0).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn arm_window_probe(&mut self, c: &TcpConfig, now: Time) {
        if self.stream.snd_una() != self.stream.snd_nxt() || self.stream.snd_nxt() >= self.stream.end() {
            return;
        }
        let closed = if c.is_linux() { self.next_exceeds_window(c) } else { self.stream.snd_wnd_edge() <= self.stream.snd_nxt() };
        if closed {
            self.arm_full_timeout(c, now);
        }
    }

    /// Ends the wait for the timeout after ECE at a window of one segment. Returns true if the sender waited.
    fn end_wait_for_rto(&mut self) -> bool {
        let rested = self.cc.reduction_cause() == ReductionCause::EcnAtOneSegment;
        if rested {
            self.cc.set_reduction_cause(ReductionCause::Ecn);
        }
        rested
    }

    #[cold]
    fn probe_window(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.end_wait_for_rto() {
            self.timers.stop();
            return self.transmit(c, now, out);
        }
        if self.stream.snd_nxt() < self.stream.end() {
            if c.is_linux() && self.stream.snd_wnd_edge() > self.stream.snd_nxt() {
                return self.write_wakeup(c, now, out);
            }
            return self.send_probe(c, now, out);
        }
        self.timers.stop();
    }

    /// Handles an ACK that arrives while data waits for the window. An open window ends the probes.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn on_ack_in_closed_window(&mut self, c: &TcpConfig, now: Time) {
        if self.cc.reduction_cause() == ReductionCause::EcnAtOneSegment {
            return;
        }
        if c.is_linux() {
            self.ack_probe(c, now);
        } else if self.stream.snd_wnd_edge() > self.stream.snd_nxt() {
            self.timers.stop();
            self.rtt.reset_backoff();
        }
    }

    /// Handles an ACK that acknowledges nothing new: a sender that was probing starts again with a window of one segment.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn end_probing(&mut self, c: &TcpConfig, now: Time) {
        if self.rtt.backoff() < c.probe_after {
            return;
        }
        self.rtt.reset_backoff();
        self.cc.window.cwnd = 1.0;
        // The state is that of a timeout, so retransmissions do not start a fast recovery.
        self.loss.set_ca_state(CaState::Loss);
        self.loss.clear_dupacks();
        self.cold.recover = self.stream.snd_max();
        self.cc.cwnd_event(Event::Timeout { snd_max: self.stream.snd_max() });
        self.arm_rto(c, now);
        match &mut self.loss.sack {
            None => self.stream.go_back(),
            Some(s) => s.board.mark_after_timeout(|_, _| true),
        }
        self.report_losses(now);
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than 3
    //# seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins (i.e., after the three-way
    //# handshake completes).
    /// Adapts the timeout after the handshake (RFC 6298 section 5.7; Linux tcp_init_metrics): a retransmitted SYN gives no sample, so data starts
    /// with 3 s.
    pub(in crate::tcp) fn rto_after_handshake(&mut self, c: &TcpConfig) {
        self.rtt.reset_backoff();
        if self.rtt.smoothed().is_never() && self.cold.syn_retx && c.rto_rule != RtoRule::Fixed {
            self.rtt.set_base_rto(c, self.rtt.base_rto().max(Time::from_secs(3)));
        }
    }

    /// Window from which a reduction starts, in segments. It is not `snd_nxt - snd_una`: while a hole is repaired every duplicate ACK releases a
    /// segment, so the flight grows by a window a round, of which all but one window has arrived.
    pub(in crate::tcp) fn reduction_base(&self, c: &TcpConfig) -> f64 {
        let mss = f64::from(c.mss);
        let window = self.cc.window.cwnd;
        match c.ssthresh_from {
            SsthreshFrom::Cwnd => window,
            SsthreshFrom::Window => window.min(self.stream.snd_wnd_edge().saturating_sub(self.stream.snd_una()) as f64 / mss),
            SsthreshFrom::Flight => window.min((self.flight() - self.cold.limited.min(self.flight())) as f64 / mss),
        }
    }

    /// The same at the mark or loss that `ack` reports. The flight of that time includes the data that the ACK has removed (RFC 5681 equation 4).
    pub(in crate::tcp) fn reduction_base_before(&self, c: &TcpConfig, ack: &Ack) -> f64 {
        let delivered = if c.ssthresh_from == SsthreshFrom::Flight { ack.delivered as f64 / f64::from(c.mss) } else { 0.0 };
        (self.reduction_base(c) + delivered).min(self.cc.window.cwnd)
    }

    /// Threshold after a reduction from `before` segments, by the congestion control.
    pub(in crate::tcp) fn ssthresh_after(&mut self, c: &TcpConfig, trigger: Trigger, before: f64) -> Threshold {
        if c.ssthresh_from == SsthreshFrom::Window {
            // ns-2 uses the usable window (`window()`), also for congestion controls that reduce the window.
            self.cc.window.cwnd = self.cc.window.cwnd.min(before.max(1.0));
        }
        let reduction = Reduction { trigger, from: before, in_flight: self.pipe() };
        self.cc.ssthresh(reduction)
    }
}
