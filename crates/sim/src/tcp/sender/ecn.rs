//! ECN: reductions of the window for ECE (RFC 3168, RFC 8257).

use super::{CaState, ReductionCause, Sender};
use crate::cc::{Ack, Event, Trigger};
use crate::net::packet::{CarriedAck, Extra, Packet};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Ecn, SsthreshFrom};
use forebay_types::Time;

impl Sender {
    /// Takes the feedback of Accurate ECN from `p`, an ACK that acknowledges `acked` bytes and has not been superseded. Returns true if it reports marks,
    /// and their number (RFC 9768 section 3.2.2.2).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn take_marks(&mut self, c: &TcpConfig, p: &Packet, extra: Option<&Extra>, acked: u64) -> (bool, u32) {
        let mss = u64::from(c.mss);
        // SACKed data has been delivered before; what an ACK SACKs itself is not known yet.
        let sacked = self.loss.sack.as_ref().map_or(0, |s| s.board.sacked);
        let newly_acked = acked.saturating_sub(sacked).div_ceil(mss);
        let option = CarriedAck::of(extra).and_then(|ack| ack.accecn);
        let new = option.map(|o| u64::from(o.new_ce_bytes(self.cold.ce_bytes)));
        if let Some(option) = option {
            self.cold.ce_bytes = option.ceb();
        }
        let marks = self.cc.feedback_mut().take_marks(p, newly_acked, new, mss);
        (marks > 0, marks)
    }

    //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2
    //# TCP should not react to congestion indications more than once every window of data (or more loosely, more than
    //# once every round-trip time).
    /// Reduces the window for ECE, at most once per window of data (RFC 3168 section 6.1.2, RFC 8257 section 3.3). Returns true if this ACK reduced
    /// it.
    #[inline(always)]
    pub(in crate::tcp) fn reduce_on_ece(&mut self, c: &TcpConfig, ack: &Ack) -> bool {
        // tcp_try_to_open: Linux keeps the state until data above its end is acknowledged, so the state alone decides.
        let reduces = ack.ece
            && self.loss.ca_state() < CaState::Cwr
            && (ack.snd_una > self.cc.cwr_end() || (c.ssthresh_from == SsthreshFrom::Cwnd && self.loss.sack.is_some()));
        if reduces {
            self.reduce_for_ecn(c, &{ *ack });
        }
        reduces
    }

    #[inline(never)]
    pub(in crate::tcp) fn reduce_for_ecn(&mut self, c: &TcpConfig, ack: &Ack) {
        let before = self.reduction_base_before(c, ack);
        let one = self.cc.window.cwnd <= 1.0 || self.cc.reduction_cause() == ReductionCause::EcnAtOneSegment;
        self.cc.window.ssthresh = self.ssthresh_after(c, Trigger::Ecn, before);
        self.stats.current_mut().losses.ecn_reductions += 1;
        if let Some(alpha) = self.cc.algorithm().alpha() {
            *self.stats.current_mut().losses.reduction_alpha.get_or_insert(0.0) += alpha;
        }
        self.cc.begin_reduction(self.stream.snd_nxt());
        self.cc.set_reduction_cause(ReductionCause::Ecn);
        if c.prr {
            self.begin_cwr(c);
        } else {
            // RFC 3168 section 6.1.2: down to one segment, as in ns-2 (TcpAgent::slowdown). Linux stops at the threshold.
            let kernel = c.ssthresh_from == SsthreshFrom::Cwnd;
            let window = if kernel {
                self.cc.window.ssthresh
            } else {
                self.cc.algorithm().window_after_marks(before, self.cc.window.ssthresh)
            };
            self.cc.window.cwnd = window.cap(self.cc.window.cwnd);
            self.cc.cwnd_event(Event::Complete);
        }
        if one && c.ssthresh_from == SsthreshFrom::Flight && c.ecn == Ecn::Classic {
            self.wait_for_rto(c, ack.now);
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2
    //# Therefore, the sending TCP MUST reset the retransmit timer on receiving the ECN-Echo packet when the congestion window
    //# is one. The sending TCP will then be able to send a new packet only when the retransmit timer expires.
    /// Waits for the timeout after ECE at a window of one segment (RFC 3168 section 6.1.2). ns-2 continues at one segment a round trip
    /// (TcpAgent::ecn). The window of Linux ends at two (tcp_reno_ssthresh), and tcp_cwnd_reduction sends in any case.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn wait_for_rto(&mut self, c: &TcpConfig, now: Time) {
        self.cc.set_reduction_cause(ReductionCause::EcnAtOneSegment);
        self.arm_rto(c, now);
    }

    /// Returns true if marks have reduced the window of the oldest outstanding byte, or their reduction is still in progress, and the congestion
    /// control does not reduce it again for a loss.
    pub(in crate::tcp) fn reduced_by_ecn(&self) -> bool {
        self.cc.reduction_cause() != ReductionCause::Loss
            && (self.stream.snd_una() < self.cc.cwr_end() || self.loss.ca_state() == CaState::Cwr)
            && !self.cc.algorithm().reduces_on_loss_after_ecn()
    }

    /// Returns true if a reduction is in progress, and not only kept until CWR has arrived (see `leave_episode`).
    pub(in crate::tcp) fn reducing(&self) -> bool {
        matches!(self.loss.ca_state(), CaState::Cwr | CaState::Recovery) && self.stream.snd_una() < self.cc.cwr_end()
    }
}
