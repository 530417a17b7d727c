//! Tail loss probes and the reordering timer of RACK (RFC 8985 sections 6.2 and 7); what they look at is in `tcp/rack.rs`.

use super::{CaState, Sender, Timer};
use crate::cc::{Event, Trigger};
use crate::net::packet::Wire;
use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::config::TcpConfig;
use forebay_units::Time;
use std::num::NonZeroU64;

impl Sender {
    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
    //# The sender SHOULD start or restart a loss probe PTO timer after transmitting new data (that was not itself a loss
    //# probe) or upon receiving an ACK that cumulatively acknowledges new data unless it is already in fast recovery, RTO
    //# recovery,
    /// After data was sent or acknowledged: a probe instead of a timeout, where RFC 8985 section 7.2 wants one.
    pub(in crate::tcp) fn arm_probe(&mut self, c: &TcpConfig, now: Time) {
        let Some(s) = &self.loss.sack else { return };
        // Not in fast or RTO recovery, nor with holes to look after, nor twice (section 7.2); reducing after ECE does not matter. Where nothing is
        // outstanding, a timer that runs is about the window.
        let idle = self.timers.kind() == Timer::Idle || self.stream.snd_una() == self.stream.snd_nxt();
        if self.loss.ca_state() >= CaState::Recovery || s.board.sacked_segs > 0 || s.rack.probe_end.is_some() || idle {
            return;
        }
        let timeout = self.probe_timeout(c);
        // Section 7.2: where the retransmission timeout is due first, the probe takes its place.
        let rto_due = match self.timers.kind() {
            Timer::Rto => self.timers.due(),
            _ => self.head_due(c, now).into(),
        };
        self.timers.run(Timer::Probe, rto_due.min(now.saturating_add(timeout).into()));
    }

    /// The time after which a probe is sent (RFC 8985 section 7.2), unless a retransmission timeout is due first.
    pub(in crate::tcp) fn probe_timeout(&self, c: &TcpConfig) -> Time {
        let alone = self.loss.sack.as_ref().is_some_and(|s| s.board.len() == 1);
        let Some(srtt) = self.rtt.smoothed().get() else { return Time::from_secs(1) };
        if c.is_linux() {
            // tcp_schedule_loss_probe: a lone segment, which may meet a delayed ACK, waits for the minimum RTO more; others for two clock ticks.
            // Whole microseconds, in whole ticks (usecs_to_jiffies).
            let more = if alone { c.rto_min } else { c.rto_granularity * 2 };
            return (Time::from_us((srtt * 2).as_us()) + more).round_up(c.rto_granularity);
        }
        //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
        //# Third, when the FlightSize is one segment, the sender MAY inflate the PTO by TLP.max_ack_delay to accommodate a
        //# potentially delayed acknowledgment and reduce the risk of spurious retransmissions.
        // Our choice of what is "implementation specific": the timer of a receiver that delays ACKs.
        let delays = alone && c.ack_every > 1;
        srtt * 2 + if delays { c.ack_delay } else { Time::ZERO }
    }

    /// When the oldest outstanding segment times out, counted from its transmission; not before now (Linux tcp_rto_delta_us).
    fn head_due(&self, c: &TcpConfig, now: Time) -> Time {
        let sent = self.loss.sack.as_ref().and_then(|s| (s.board.len() > 0).then(|| s.board.get(0).sent())).unwrap_or(now);
        sent.saturating_add(self.rtt.rto(c)).max(now)
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.3
    //# If both conditions are met, then the sender SHOULD transmit a previously unsent data segment, if one exists and
    //# the receive window allows, and increment the FlightSize accordingly.
    /// The probe timer expired (section 7.3): new data if there is any, else the last segment again.
    pub(in crate::tcp) fn on_probe_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.uses_linux_timers(c) {
            if self.loss.sack.as_ref().is_some_and(|s| s.rack.probe_end.is_some()) {
                // tcp_send_loss_probe: one at a time.
                return self.rearm_rto(c, now);
            }
        } else if self.loss.ca_state() >= CaState::Recovery || self.loss.sack.as_ref().is_some_and(|s| s.board.sacked_segs > 0) {
            // Holes showed up since; recovery is at work.
            return self.arm_rto(c, now);
        }
        let len = if self.stream.snd_nxt() < self.end_of_send_buffer() { self.segment_len(c, self.stream.snd_nxt()) } else { 0 };
        // Our choice: where the law has a say about new data, the probe is a retransmission, about which it has none.
        let fresh = len > 0 && self.stream.snd_nxt() + len <= self.stream.snd_wnd_edge() && !self.cc.hooks().gate();
        if fresh && self.pacing_check(now) {
            // tcp_send_loss_probe: new data leaves by tcp_write_xmit, where the pacer holds it back (tcp_pacing_check), and what could not be
            // probed has its timeout. A segment that is sent again is not held back.
            match self.uses_linux_timers(c) {
                true => self.rearm_rto(c, now),
                false => {
                    self.arm_rto(c, now);
                    self.extend_timer(c, now);
                }
            }
            return self.set_alarm(now, out);
        }
        if !fresh && self.uses_linux_timers(c) && self.is_last_in_host_queue(c, now) {
            return self.rearm_rto(c, now);
        }
        self.stats.current_mut().losses.tlps += 1;
        self.timers.set_idle();
        if fresh {
            if self.cold.tag.is_some() {
                self.restart_for_message(c);
            }
            let offset = self.stream.snd_nxt();
            self.stream.advance_nxt(len);
            self.send_segment(c, now, offset, len, out);
            if c.cwnd_validation && self.uses_linux_timers(c) {
                // tcp_write_xmit, also for a probe: the window is in use that it fills.
                let full = self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() >= self.cc.window.cwnd as u32);
                self.validate_cwnd(c, full);
            }
        } else if let Some(last) = self.loss.sack.as_ref().and_then(|s| s.board.len().checked_sub(1)) {
            self.retransmit_as_probe(c, now, last, out);
        }
        if let Some(s) = &mut self.loss.sack {
            s.rack.probe_end = NonZeroU64::new(self.stream.snd_nxt());
            s.rack.probe_is_retx = !fresh;
        }
        self.arm_rto(c, now);
    }

    /// Whether the last segment still waits in the interface of its host, so that there is no point in sending it again (skb_still_in_host_queue).
    fn is_last_in_host_queue(&self, c: &TcpConfig, now: Time) -> bool {
        let Some(board) = self.loss.sack.as_ref().map(|s| &s.board).filter(|board| board.len() > 0) else { return false };
        let last = board.get(board.len() - 1);
        let newest = !last.is(SACKED) && self.tx.last_tx().get().is_some_and(|time| last.sent() == self.stamp(c, time));
        newest && self.tx.tsq.as_ref().is_some_and(|q| q.holds_last(now))
    }

    /// The reordering timer expired: what is still missing is lost.
    pub(in crate::tcp) fn on_reorder_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.uses_linux_timers(c) {
            return self.on_linux_reorder_timer(c, now, out);
        }
        // The wait for reordered segments is part of the timeout.
        self.timers.run(Timer::Rto, self.head_due(c, now).into());
        let (lost, _) = self.find_losses(c, now);
        if lost && self.loss.ca_state() < CaState::Recovery {
            self.enter_recovery(c, now, false, out);
            if c.prr && !self.cc.hooks().control() {
                // No ACK brought us here: one segment counts as delivered.
                self.proportional_window(c, u64::from(c.mss), 1, false);
            }
        }
        self.transmit(c, now, out);
    }

    /// tcp_rack_reo_timeout: of what is lost as much is sent again as the window has room for, also while a timeout is repaired, and no new
    /// data.
    fn on_linux_reorder_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let before = self.loss.sack.as_ref().map_or(0, |s| s.board.in_network());
        let _ = self.detect_losses(c, now);
        self.report_losses(now);
        if self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() != before) {
            if self.loss.ca_state() != CaState::Recovery {
                self.enter_recovery(c, now, false, out);
                if c.prr && !self.cc.hooks().control() {
                    // No ACK brought us here: one segment counts as delivered.
                    self.proportional_window(c, u64::from(c.mss), 1, false);
                }
            }
            self.retransmit_on_timer(c, now, out);
        }
        if self.timers.kind() != Timer::Rto {
            self.rearm_rto(c, now);
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.4.2
    //# (Invoke congestion control to react to the loss event the probe has repaired)
    /// A probe repaired the loss of the tail: reduce as for any loss (section 7.4.2).
    pub(in crate::tcp) fn on_probe_loss(&mut self, c: &TcpConfig) {
        let before = self.reduction_base(c);
        if let Some(s) = &mut self.loss.sack {
            s.episode.undo.forbid();
        }
        // A kernel's DCTCP hears of a loss when its recovery begins (dctcp_state), of which there is none here: it cuts as for marks.
        let by_marks = c.is_linux() && self.cc.algorithm().alpha().is_some();
        let trigger = if by_marks { Trigger::Ecn } else { Trigger::Loss };
        // The reduction is over as soon as it has begun (Linux tcp_process_tlp_ack).
        self.loss.set_ca_state(CaState::Recovery);
        self.cc.window.ssthresh = self.ssthresh_after(c, trigger, before);
        self.stats.current_mut().losses.loss_cuts += 1;
        if !self.cc.hooks().control() {
            self.cc.window.cwnd = self.cc.window.ssthresh.cap(self.cc.window.cwnd);
        }
        self.begin_reduction(self.stream.snd_nxt());
        self.loss.set_ca_state(CaState::Open);
        self.cc.cwnd_event(Event::Complete);
    }
}
