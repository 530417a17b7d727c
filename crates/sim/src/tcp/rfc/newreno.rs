//! Recovery without SACK: Reno (RFC 5681 section 3.2) and NewReno (RFC 6582). That of Linux is in `linux/reno_sack.rs`.

use crate::cc::{Ack, Event, Trigger};
use crate::net::packet::Wire;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};
use forebay_experiment::transport::{Growth, Recovery, SsthreshFrom};
use forebay_types::Time;

impl Sender {
    /// Processes an ACK that advanced `snd_una`.
    #[inline(always)]
    pub(in crate::tcp) fn on_new_ack(&mut self, c: &TcpConfig, ack: &Ack, out: &mut impl Wire) {
        match self.loss.ca_state() {
            CaState::Recovery => return self.on_recovery_ack(c, &{ *ack }, out),
            CaState::Loss => {
                if self.stream.snd_una() >= self.cold.recover {
                    self.loss.set_ca_state(CaState::Open);
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => self.loss.set_ca_state(CaState::Open),
        }
        let counted = self.loss.take_dupacks();
        self.cold.cap_limited_transmit(0);
        if self.reduce_on_ece(c, ack) {
            return;
        }
        if counted > 0 && c.growth == (Growth::PerSegment { limit: u32::MAX }) {
            // Linux tcp_remove_reno_sacks: segments that duplicates have announced do not count again; the missing segment does.
            return self.grow(c, &Ack { grow: (ack.grow - f64::from(counted)).max(1.0), ..*ack });
        }
        self.grow(c, ack);
    }

    #[cold]
    #[inline(never)]
    fn on_recovery_ack(&mut self, c: &TcpConfig, ack: &Ack, out: &mut impl Wire) {
        self.pkts_acked(ack);
        if self.stream.snd_una() >= self.cold.recover || c.recovery == Recovery::Reno {
            //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
            //# Set cwnd to either (1) min (ssthresh, max(FlightSize, SMSS) + SMSS) or (2) ssthresh, where ssthresh is the
            //# value set when fast retransmit was entered
            // RFC 6582 section 3.2 step 3, full acknowledgment, option 2 (as ns-2): the window is ssthresh.
            self.loss.set_ca_state(CaState::Open);
            self.loss.clear_dupacks();
            self.cc.window.fall();
            self.cc.cwnd_event(Event::Complete);
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
        //# In this case, retransmit the first unacknowledged segment.
        //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
        //# Deflate the congestion window by the amount of new data acknowledged by the Cumulative Acknowledgment field.
        // Partial acknowledgment: retransmit the next hole, deflate by the acknowledged data, add back one segment.
        let mss = f64::from(c.mss);
        self.cc.window.cwnd -= ack.acked as f64 / mss;
        if ack.acked >= u64::from(c.mss) {
            self.cc.window.cwnd += 1.0;
        }
        self.cc.window.cwnd = self.cc.window.cwnd.max(1.0);
        self.retransmit_first(c, ack.now, out);
        //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
        //# For the first partial ACK that arrives during fast recovery, also reset the retransmit timer.
        // Only the first partial acknowledgment resets the timer ("impatient", section 4); in Linux each does (FLAG_SET_XMIT_TIMER).
        if c.is_linux() {
            return;
        }
        if self.cold.first_partial {
            self.cold.first_partial = false;
            self.cold.held_due = self.timers.due();
        } else {
            self.timers.set_due(self.cold.held_due);
        }
    }

    /// Processes a duplicate ACK.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn on_duplicate(&mut self, c: &TcpConfig, ack: &Ack, out: &mut impl Wire) {
        self.loss.add_dupack();
        match self.loss.ca_state() {
            CaState::Recovery => {
                //= https://www.rfc-editor.org/rfc/rfc5681#section-3.2
                //# For each additional duplicate ACK received (after the third), cwnd MUST be incremented by SMSS.
                // RFC 5681 section 3.2 step 4: a segment has left the network.
                self.cc.window.cwnd += 1.0;
                return;
            }
            CaState::Loss => return,
            CaState::Open | CaState::Disorder | CaState::Cwr => {}
        }
        //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
        //# If not, the TCP does not enter fast retransmit and does not reset ssthresh.
        // RFC 6582 section 3.2 step 2: only if the ACK covers more than `recover`, or duplicates of go-back-N would start it. Reno does the same
        // after a timeout (Floyd, "TCP and Successive Fast Retransmits", 1994; ns-2 `bugFix_`).
        if self.loss.dupacks() == c.dup_thresh && (self.cold.recover == 0 || self.stream.snd_una() > self.cold.recover) {
            if self.cold.tag.is_some() && self.delay_fast_retransmit(c, ack.now) {
                return;
            }
            return self.enter_fast_recovery(c, ack.now, out);
        }
        // The reaction to loss takes precedence over one to marks on the same ACK.
        self.reduce_on_ece(c, ack);
        if self.loss.dupacks() < c.dup_thresh {
            self.loss.set_ca_state(CaState::Disorder);
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc5681#section-3.2
    //# When the third duplicate ACK is received, a TCP MUST set ssthresh to no more than the value given in equation (4).
    pub(in crate::tcp) fn enter_fast_recovery(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let before = self.reduction_base(c);
        self.loss.set_ca_state(CaState::Recovery);
        self.stats.at(self.stream.snd_una(), &mut self.cold).losses.fast_retx += 1;
        self.cc.cwnd_event(Event::Recovery);
        if !self.reduced_by_ecn() {
            self.cc.window.ssthresh = self.ssthresh_after(c, Trigger::Loss, before);
            self.stats.at(self.stream.snd_una(), &mut self.cold).losses.loss_reductions += 1;
        }
        // NewReno stores the highest offset sent, so that duplicates of the same window start nothing (RFC 6582 section 3.2 step 1). Reno does not
        // (RFC 5681 section 3.2): it repairs the next loss of the window by another fast retransmit, with another reduction, unless a timeout lies
        // between. Reno of ns-2 does (`bugFix_`, RenoTcpAgent::dupack_action: any ACK that advances ends the permission of
        // `allow_fast_retransmit`): it repairs the next loss by a timeout.
        let repeats = c.recovery == Recovery::Reno && c.ssthresh_from != SsthreshFrom::Window;
        self.cold.recover = if repeats { self.stream.snd_una() } else { self.stream.snd_max() };
        // One reduction per window, whichever signal came first (RFC 8257 section 3.3, RFC 3168 section 6.1.2).
        self.cc.begin_reduction(self.stream.snd_max());
        self.cold.limited = 0;
        self.cold.first_partial = true;
        self.retransmit_first(c, now, out);
        // The retransmission gets a full timeout (ns-2 `reset_rtx_timer`, BSD, Linux). By RFC 6298 (5.1) the timer would be that of the last ACK that
        // advanced, and a timeout near the RTT would expire before the retransmission could be acknowledged.
        self.arm_rto(c, now);
        self.cc.window.fall();
        self.cc.window.cwnd += f64::from(c.dup_thresh);
    }

    fn retransmit_first(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let len = self.segment_len(c, self.stream.snd_una()).min(self.stream.snd_max() - self.stream.snd_una());
        self.emit_data(c, now, self.stream.snd_una(), len, true, out);
    }
}
