//! Tail loss probes and reordering timer by RFC 8985 (sections 6.2 and 7).

use crate::net::packet::Wire;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender, Timer};
use forebay_types::Time;

impl Sender {
    /// Time after which a probe is sent (section 7.2). `alone`: one segment is outstanding.
    pub(in crate::tcp) fn rfc_probe_timeout(c: &TcpConfig, srtt: Time, alone: bool) -> Time {
        //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
        //# Third, when the FlightSize is one segment, the sender MAY inflate the PTO by TLP.max_ack_delay to accommodate a
        //# potentially delayed acknowledgment and reduce the risk of spurious retransmissions.
        // Our choice for "implementation specific": the timer of a receiver that delays ACKs.
        let delays = alone && c.ack_every > 1;
        srtt * 2 + if delays { c.ack_delay } else { Time::ZERO }
    }

    //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
    //# The sender SHOULD start or restart a loss probe PTO timer after transmitting new data (that was not itself a loss
    //# probe) or upon receiving an ACK that cumulatively acknowledges new data unless it is already in fast recovery, RTO
    //# recovery,
    /// Starts the probe timer after data was sent or acknowledged, where RFC 8985 section 7.2 requires a probe.
    pub(in crate::tcp) fn arm_probe(&mut self, c: &TcpConfig, now: Time) {
        let Some(s) = &self.loss.sack else { return };
        // Not in fast or RTO recovery, not with holes, and not twice (section 7.2); a reduction after ECE does not matter. If nothing is outstanding,
        // a running timer is for the window.
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

    /// Time at which the oldest outstanding segment times out, counted from its transmission; not before now (Linux tcp_rto_delta_us).
    fn head_due(&self, c: &TcpConfig, now: Time) -> Time {
        let sent = self.loss.sack.as_ref().and_then(|s| (s.board.len() > 0).then(|| s.board.get(0).sent())).unwrap_or(now);
        sent.saturating_add(self.rtt.rto(c)).max(now)
    }

    /// Handles the reordering timer: missing segments are lost.
    pub(in crate::tcp) fn on_reorder_timer_rfc(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        // The wait for reordered segments is part of the timeout.
        self.timers.run(Timer::Rto, self.head_due(c, now).into());
        let (lost, _) = self.find_losses(c, now);
        if lost && self.loss.ca_state() < CaState::Recovery {
            self.enter_recovery(c, now, false, out);
            if c.prr && !self.cc.hooks().control() {
                // Without an ACK, one segment counts as delivered.
                self.proportional_window(c, u64::from(c.mss), 1, false);
            }
        }
        self.transmit(c, now, out);
    }
}
