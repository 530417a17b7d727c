//! Time-based loss detection and tail loss probes (RFC 8985).

use super::rtt::Rtt;
use super::scoreboard::{EVER_RETX, Scoreboard, Seg};
use super::sender::{CaState, Sender, Timer};
use crate::cc::{Event, Trigger};
use crate::net::packet::Wire;
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

/// RACK's and TLP's variables (RFC 8985 sections 5.2 and 7.1). Positions are stream offsets.
#[derive(Debug, Clone, Default)]
pub struct Rack {
    /// Send time of the most recently sent segment that was delivered.
    xmit: Time,
    /// Its end.
    end: u64,
    /// RTT of that delivery.
    pub rtt: Time,
    /// Highest offset delivered.
    fack: u64,
    reordering_seen: bool,
    /// Multiplier of the reordering window, minus one.
    extra: u32,
    persist: u32,
    /// D-SACKs count again when this offset is acknowledged.
    dsack_round: u64,
    /// `nxt` when the outstanding probe was sent.
    pub probe_end: Option<u64>,
    probe_is_retx: bool,
}

impl Rack {
    /// A segment was newly acknowledged or SACKed (sections 6.2 steps 2 and 3).
    pub fn on_delivered(&mut self, seg: &Seg, now: Time, min_rtt: Option<Time>) {
        let rtt = now - seg.sent();
        let retransmitted = seg.is(EVER_RETX);
        if seg.end() >= self.fack {
            self.fack = seg.end();
        } else if !retransmitted {
            self.reordering_seen = true;
        }
        // A retransmission acknowledged faster than any RTT: it was the original that arrived.
        if retransmitted && min_rtt.is_none_or(|least| rtt < least) {
            return;
        }
        // The RTT is that of the newest delivery, also of a segment sent before others that were delivered (RACK.rtt, section 6.2 step 2).
        self.rtt = rtt;
        if (seg.sent(), seg.end()) > (self.xmit, self.end) || self.end == 0 {
            (self.xmit, self.end) = (seg.sent(), seg.end());
        }
    }

    /// A D-SACK widens the reordering window, once per round trip (section 6.2 step 4).
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if una >= self.dsack_round {
            self.dsack_round = nxt;
            self.extra += 1;
            self.persist = 16;
        }
    }

    /// After 16 recoveries without D-SACK the window is back at a quarter of the smallest RTT.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.extra = 0;
        }
    }

    /// How long to wait for reordered segments (section 6.2 step 4).
    pub fn reordering_window(&self, rtt: &Rtt, recovering: bool, sacked_segs: u32, c: &TcpConfig) -> Time {
        if !self.reordering_seen && (recovering || (c.dup_thresh > 0 && sacked_segs >= c.dup_thresh)) {
            return Time::ZERO;
        }
        let srtt = rtt.smoothed().get().unwrap_or(Time::ZERO);
        rtt.min().get().map_or(srtt, |min| ((min / 4) * u64::from(1 + self.extra)).min(srtt))
    }

    /// Whether the oldest outstanding segment is younger than the newest delivered one, so that time tells nothing yet.
    #[inline]
    pub fn nothing_older(&self, board: &Scoreboard) -> bool {
        board.iter().next().is_none_or(|seg| !seg.is(EVER_RETX) && (seg.sent(), seg.end()) >= (self.xmit, self.end))
    }

    /// Marks segments as lost that were sent long enough before one that was delivered (section 6.2 step 5). Returns how long to
    /// wait for those that may still be reordered, if there are any.
    pub fn detect(&self, board: &mut Scoreboard, now: Time, wait: Time) -> Option<Time> {
        board.pass(self.xmit, self.end);
        let patience = self.rtt + wait;
        while let Some(index) = board.oldest_passed()
            && board.get(index).sent() + patience <= now
        {
            board.mark_lost(index);
        }
        board.youngest_passed().map(|index| board.get(index).sent() + patience - now)
    }

    /// Looks whether an ACK settles the outstanding probe (section 7.4.2). True when the probe repaired a loss, to which the
    /// congestion control must react.
    pub fn settle_probe(&mut self, una: u64, plain_duplicate: bool, dsack_end: Option<u64>) -> bool {
        let Some(end) = self.probe_end else { return false };
        if una < end {
            return false;
        }
        let duplicate = dsack_end == Some(end);
        let repaired = self.probe_is_retx && !duplicate && una > end;
        if !self.probe_is_retx || duplicate || una > end || plain_duplicate {
            self.probe_end = None;
        }
        repaired
    }
}

impl Sender {
    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
    //# The sender SHOULD start or restart a loss probe PTO timer after transmitting new data (that was not itself a loss
    //# probe) or upon receiving an ACK that cumulatively acknowledges new data unless it is already in fast recovery, RTO
    //# recovery,
    /// After data was sent or acknowledged: a probe instead of a timeout, where RFC 8985 section 7.2 wants one.
    pub(super) fn arm_probe(&mut self, c: &TcpConfig, now: Time) {
        let Some(s) = &self.sack else { return };
        // Not in fast or RTO recovery, nor with holes to look after, nor twice (section 7.2); reducing after ECE does not matter.
        if self.ca >= CaState::Recovery || s.board.sacked_segs > 0 || s.rack.probe_end.is_some() || self.timer == Timer::Idle {
            return;
        }
        let timeout = self.probe_timeout(c);
        // Section 7.2: where the retransmission timeout is due first, the probe takes its place.
        let rto_due = if self.timer == Timer::Rto { self.timer_due } else { self.head_due(c, now).into() };
        // tcp_schedule_loss_probe by way of tcp_reset_xmit_timer: what is probed for may still wait for its departure.
        let delay = self.pacing_delay(c, now);
        self.timer = Timer::Probe;
        self.timer_due = rto_due.min(now.saturating_add(timeout).saturating_add(delay).into());
    }

    /// The time after which a probe is sent (RFC 8985 section 7.2), unless a retransmission timeout is due first.
    pub(super) fn probe_timeout(&self, c: &TcpConfig) -> Time {
        let alone = self.sack.as_ref().is_some_and(|s| s.board.len() == 1);
        let timeout = self.rtt.smoothed().get().map_or(Time::from_secs(1), |srtt| srtt * 2);
        // As Linux: a lone segment may meet a delayed ACK, so it waits for the minimum RTO more; others for two clock ticks.
        timeout + if alone { c.rto_min } else { c.rto_granularity * 2 }
    }

    /// When the oldest outstanding segment times out, counted from its transmission; not before now (Linux tcp_rto_delta_us).
    fn head_due(&self, c: &TcpConfig, now: Time) -> Time {
        let sent = self.sack.as_ref().and_then(|s| (s.board.len() > 0).then(|| s.board.get(0).sent())).unwrap_or(now);
        sent.saturating_add(self.rtt.rto(c)).max(now)
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.3
    //# If both conditions are met, then the sender SHOULD transmit a previously unsent data segment, if one exists and
    //# the receive window allows, and increment the FlightSize accordingly.
    /// The probe timer expired (section 7.3): new data if there is any, else the last segment again.
    pub(super) fn on_probe_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.ca >= CaState::Recovery || self.sack.as_ref().is_some_and(|s| s.board.sacked_segs > 0) {
            // Holes showed up since; recovery is at work.
            return self.arm_rto(c, now);
        }
        let len = if self.nxt < self.stream_end() { self.segment_len(c, self.nxt) } else { 0 };
        // Our choice: where the law has a say about new data, the probe is a retransmission, about which it has none.
        let fresh = len > 0 && self.nxt + len <= self.edge && !self.hooks.gate;
        if fresh && self.paced(now) {
            // tcp_send_loss_probe: new data leaves by tcp_write_xmit, where the pacer holds it back (tcp_pacing_check), and what could not be
            // probed has its timeout. A segment that is sent again is not held back.
            self.arm_rto(c, now);
            self.extend_timer(c, now);
            return self.set_alarm(out);
        }
        self.stats.tlps += 1;
        self.timer = Timer::Idle;
        if fresh {
            if self.tag.is_some() {
                self.restart_for_message(c);
            }
            let offset = self.nxt;
            self.nxt += len;
            self.send_segment(c, now, offset, len, out);
        } else if let Some(last) = self.sack.as_ref().and_then(|s| s.board.len().checked_sub(1)) {
            self.retransmit_index(c, now, last, out);
        }
        if let Some(s) = &mut self.sack {
            s.rack.probe_end = Some(self.nxt);
            s.rack.probe_is_retx = !fresh;
        }
        self.arm_rto(c, now);
    }

    /// The reordering timer expired: what is still missing is lost.
    pub(super) fn on_reorder_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        // The wait for reordered segments is part of the timeout (Linux tcp_rearm_rto).
        self.timer = Timer::Rto;
        self.timer_due = self.head_due(c, now).into();
        if self.find_losses(c, now) && self.ca < CaState::Recovery {
            self.enter_recovery(c, now, out);
            if c.prr && !self.hooks.control {
                // No ACK brought us here; Linux tcp_rack_reo_timeout counts one segment as delivered.
                self.proportional_window(c, u64::from(c.mss), false);
            }
        }
        self.transmit(c, now, out);
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.4.2
    //# (Invoke congestion control to react to the loss event the probe has repaired)
    /// A probe repaired the loss of the tail: reduce as for any loss (section 7.4.2).
    pub(super) fn react_to_probe(&mut self, c: &TcpConfig) {
        let before = self.reducible(c);
        if let Some(s) = &mut self.sack {
            s.episode.undo.forbid();
        }
        // The reduction is over as soon as it has begun (Linux tcp_process_tlp_ack).
        self.ca = CaState::Recovery;
        self.w.ssthresh = self.new_threshold(c, Trigger::Loss, before);
        self.stats.loss_cuts += 1;
        if !self.hooks.control {
            self.w.cwnd = self.w.ssthresh.cap(self.w.cwnd);
        }
        self.begin_reduction(self.nxt);
        self.ca = CaState::Open;
        self.law.cwnd_event(&mut self.w, Event::Complete);
    }
}
