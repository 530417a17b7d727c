//! Tail loss probes and the reordering timer (RFC 8985 sections 6.2 and 7), as far as both stacks agree. Their state is in `common/rack.rs`.

use super::{CaState, Sender};
use crate::cc::{Ack, Event, Trigger};
use crate::net::packet::Wire;
use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::common::write_queue::Push;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;
use std::num::NonZeroU64;

impl Sender {
    /// Time after which a probe is sent (RFC 8985 section 7.2), unless a retransmission timeout is due first.
    pub(in crate::tcp) fn probe_timeout(&self, c: &TcpConfig) -> Time {
        let alone = self.loss.sack.as_ref().is_some_and(|s| s.board.len() == 1);
        match self.rtt.smoothed().get() {
            None => Time::from_secs(1),
            Some(srtt) if c.is_linux() => Sender::linux_probe_timeout(c, srtt, alone),
            Some(srtt) => Sender::rfc_probe_timeout(c, srtt, alone),
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.3
    //# Second, the sender has obtained an RTT measurement since the last loss probe transmission or the start of the
    //# connection, whichever was later.
    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.3
    //# If both conditions are met, then the sender SHOULD transmit a previously unsent data segment, if one exists and
    //# the receive window allows, and increment the FlightSize accordingly.
    /// Handles the probe timer (section 7.3): sends new data if there is any, else the last segment again.
    pub(in crate::tcp) fn on_probe_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.uses_linux_timers(c) {
            if self.loss.sack.as_ref().is_some_and(|s| s.rack.probe_end.is_some()) {
                // tcp_send_loss_probe: one at a time.
                return self.rearm_rto(c, now);
            }
        } else if self.loss.ca_state() >= CaState::Recovery
            || self.loss.sack.as_ref().is_some_and(|s| s.board.sacked_segs > 0)
            || !self.rtt.is_sampled_since_probe()
        {
            // There are holes now, and recovery repairs them; or there was no sample since the last probe (section 7.3).
            return self.arm_rto(c, now);
        }
        if let Some(q) = &mut self.tx.tsq {
            // tcp_small_queue_check counts what is in the interface now (`sk_wmem_alloc`).
            q.remove_departed(now);
        }
        let len = if self.stream.snd_nxt() < self.end_of_unsent() { self.segment_len(c, self.stream.snd_nxt()) } else { 0 };
        // Our choice: where the congestion control limits new data, the probe is a retransmission.
        let fresh = len > 0 && self.stream.snd_nxt() + len <= self.stream.snd_wnd_edge() && !self.cc.hooks().gate();
        if fresh && self.pacing_check(now) {
            // tcp_send_loss_probe: new data leaves by tcp_write_xmit, where the pacer delays it (tcp_pacing_check). Without a probe the timeout runs.
            // Retransmissions are not delayed.
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
        let last = if fresh { None } else { self.last_in_window(c) };
        if !fresh && last.is_none() && self.uses_linux_timers(c) {
            return self.rearm_rto(c, now);
        }
        self.stats.current_mut().losses.tlps += 1;
        self.timers.set_idle();
        // Without data only the FIN is left.
        let buffered = self.tx.send_buffer.as_ref().and_then(|b| b.queue()).is_some_and(|q| q.head().is_some());
        if fresh && buffered {
            self.write_xmit(c, now, self.end_of_send_buffer(), Push::Probe, out);
        } else if fresh {
            if self.cold.tag.is_some() {
                self.restart_for_message(c);
            }
            let offset = self.stream.snd_nxt();
            self.stream.advance_nxt(len);
            self.send_segment(c, now, offset, len, out);
            if c.cwnd_validation && self.uses_linux_timers(c) {
                // tcp_write_xmit, also for a probe: a window that it fills counts as used.
                let full = self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() >= self.cc.window.cwnd as u32);
                self.validate_cwnd(c, full);
            }
        } else if let Some(last) = last {
            let departure = self.departure(now);
            if let (Some(s), Some(q)) = (&self.loss.sack, self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut())) {
                // tcp_send_loss_probe cuts off the last segment.
                let segment = s.board.get(last);
                q.resend((segment.start, segment.end()), departure);
            }
            self.retransmit_as_probe(c, now, last, out);
        }
        if let Some(s) = &mut self.loss.sack {
            s.rack.probe_end = NonZeroU64::new(self.stream.snd_nxt());
            s.rack.probe_is_retx = !fresh;
        }
        self.rtt.on_probe();
        self.arm_rto(c, now);
    }

    /// Returns true if the last segment is still in the interface of its host, so that a retransmission is pointless (skb_still_in_host_queue).
    fn is_last_in_host_queue(&self, c: &TcpConfig, now: Time) -> bool {
        let Some(board) = self.loss.sack.as_ref().map(|s| &s.board).filter(|board| board.len() > 0) else { return false };
        let last = board.get(board.len() - 1);
        if self.cold.pacer.as_ref().is_some_and(|p| p.holds_packets()) {
            return !last.is(SACKED);
        }
        let newest = !last.is(SACKED) && self.tx.last_tx().get().is_some_and(|time| last.sent() == self.stamp(c, time));
        newest && self.tx.tsq.as_ref().is_some_and(|q| q.holds_last(now))
    }

    /// Handles the reordering timer: missing segments are lost.
    pub(in crate::tcp) fn on_reorder_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        match self.uses_linux_timers(c) {
            true => self.on_reorder_timer_linux(c, now, out),
            false => self.on_reorder_timer_rfc(c, now, out),
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.4.2
    //# (Invoke congestion control to react to the loss event the probe has repaired)
    /// Reduces the window as for any loss, after a probe repaired the loss of the tail (section 7.4.2).
    pub(in crate::tcp) fn on_probe_loss(&mut self, c: &TcpConfig, ack: &Ack) {
        let before = self.reduction_base_before(c, ack);
        if let Some(s) = &mut self.loss.sack {
            s.episode.undo.forbid();
        }
        // DCTCP of Linux is notified of a loss when its recovery begins (dctcp_state). Here none begins: it reduces as for marks.
        let by_marks = c.is_linux() && self.cc.algorithm().alpha().is_some();
        let trigger = if by_marks { Trigger::Ecn } else { Trigger::Loss };
        // The reduction ends at once (Linux tcp_process_tlp_ack).
        self.loss.set_ca_state(CaState::Recovery);
        self.cc.window.ssthresh = self.ssthresh_after(c, trigger, before);
        self.stats.current_mut().losses.loss_reductions += 1;
        if !self.cc.hooks().control() {
            self.cc.window.cwnd = self.cc.window.ssthresh.cap(self.cc.window.cwnd);
        }
        self.cc.begin_reduction(self.stream.snd_nxt());
        self.loss.set_ca_state(CaState::Open);
        self.cc.cwnd_event(Event::Complete);
    }
}
