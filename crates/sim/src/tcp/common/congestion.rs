//! Congestion window, congestion control and ECN of a sender.

use crate::cc::slow_start::{self, SlowStart};
use crate::cc::{Ack, Cc, Event, Hooks, Opportunity, Outcome, Reduction, Threshold, Window};
use crate::tcp::common::accecn::EcnFeedback;
use crate::tcp::common::state::ReductionCause;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// Congestion state of a sender.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct CongestionState {
    /// Congestion window and slow-start threshold.
    pub(in crate::tcp) window: Window,
    /// Congestion control.
    algorithm: Cc,
    /// Slow start, unless it is the standard one.
    slow_start: Option<Box<SlowStart>>,
    /// End of the reduction in progress: ECE is ignored until this offset is acknowledged.
    cwr_end: u64,
    /// Hooks of the congestion control.
    hooks: Hooks,
    /// The congestion control is called for every ACK.
    wants_all_acks: bool,
    /// The congestion control, or its slow start, is called for every ACK that advances.
    wants_new_acks: bool,
    /// The congestion control limits or paces new data, the sender waits for bursts, or its rate is limited.
    paced_send: bool,
    /// Feedback of marks.
    feedback: EcnFeedback,
    /// The next new segment carries CWR.
    cwr_pending: bool,
    /// Cause of the last reduction.
    reduction_cause: ReductionCause,
    /// The window limits sending; `None` in stacks that do not track this.
    cwnd_limited: Option<bool>,
}

impl CongestionState {
    /// State at the start of a connection.
    pub(in crate::tcp) fn new(c: &TcpConfig, window: Window, hooks: Hooks) -> CongestionState {
        let slow_start = slow_start::start(c.slow_start, c.max_pacing_rate);
        CongestionState {
            window,
            algorithm: c.cc.start(),
            wants_all_acks: hooks.in_ack_event(),
            wants_new_acks: hooks.pkts_acked() || slow_start.is_some(),
            slow_start,
            cwr_end: 0,
            hooks,
            paced_send: hooks.gate() || hooks.paces() || c.tso.is_some() || c.max_pacing_rate.is_some(),
            feedback: EcnFeedback::configured(c),
            cwr_pending: false,
            reduction_cause: ReductionCause::Loss,
            cwnd_limited: c.cwnd_validation.then_some(false),
        }
    }

    /// Congestion control.
    #[inline(always)]
    pub(in crate::tcp) fn algorithm(&self) -> &Cc {
        &self.algorithm
    }

    /// Congestion control, to notify it of single segments.
    #[inline(always)]
    pub(in crate::tcp) fn algorithm_mut(&mut self) -> &mut Cc {
        &mut self.algorithm
    }

    /// Hooks of the congestion control.
    #[inline(always)]
    pub(in crate::tcp) fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// Returns true if the congestion control is called for every ACK.
    #[inline(always)]
    pub(in crate::tcp) fn wants_all_acks(&self) -> bool {
        self.wants_all_acks
    }

    /// Returns true if the congestion control, or its slow start, is called for every ACK that advances.
    #[inline(always)]
    pub(in crate::tcp) fn wants_new_acks(&self) -> bool {
        self.wants_new_acks
    }

    /// Returns true if new data is limited or paced, or waits for bursts.
    #[inline(always)]
    pub(in crate::tcp) fn paced_send(&self) -> bool {
        self.paced_send
    }

    /// Returns true if the window limits sending; `None` in stacks that do not track this.
    #[inline(always)]
    pub(in crate::tcp) fn cwnd_limited(&self) -> Option<bool> {
        self.cwnd_limited
    }

    /// Notes whether the window limits sending.
    pub(in crate::tcp) fn set_cwnd_limited(&mut self, limited: Option<bool>) {
        self.cwnd_limited = limited;
    }

    /// Notifies the congestion control of an event.
    #[inline]
    pub(in crate::tcp) fn cwnd_event(&mut self, event: Event) {
        self.algorithm.cwnd_event(&mut self.window, event);
    }

    /// Notifies the congestion control of any ACK.
    #[inline(always)]
    pub(in crate::tcp) fn in_ack_event(&mut self, ack: &Ack) {
        self.algorithm.in_ack_event(&mut self.window, ack);
    }

    /// Notifies the congestion control and its slow start of an ACK that advances and starts no reduction.
    #[inline]
    pub(in crate::tcp) fn pkts_acked(&mut self, ack: &Ack) {
        if let Some(s) = &mut self.slow_start {
            let newest_rtt = ack.newest_rtt.filter(|_| !self.algorithm.ignores_delay(ack));
            s.pkts_acked(&mut self.window, &Ack { newest_rtt, ..*ack });
        }
        self.algorithm.pkts_acked(&mut self.window, ack);
    }

    /// Both notifications of an ACK in the fast path, and growth of the window if it `grows`.
    #[inline(always)]
    pub(in crate::tcp) fn fast_ack(&mut self, ack: &Ack, grows: bool) {
        self.algorithm.fast_path_ack(&mut self.window, ack, grows);
    }

    /// Lets the window grow.
    #[inline(always)]
    pub(in crate::tcp) fn cong_avoid(&mut self, ack: &Ack) {
        match &self.slow_start {
            None => self.algorithm.cong_avoid(&mut self.window, ack),
            Some(s) => {
                let grow = s.grow(&self.window, &{ *ack });
                self.algorithm.cong_avoid(&mut self.window, &Ack { grow, ..*ack });
            }
        }
    }

    /// Notes that the queue of the host paces the connection.
    pub(in crate::tcp) fn pace_slow_start(&mut self) {
        if let Some(s) = &mut self.slow_start {
            s.pace();
        }
    }

    /// Slow start begins again after a timeout.
    pub(in crate::tcp) fn slow_start_timeout(&mut self, now: Time, snd_max: u64) {
        if let Some(s) = &mut self.slow_start {
            s.timeout(now, snd_max);
        }
    }

    /// Threshold after `reduction`.
    #[inline]
    pub(in crate::tcp) fn ssthresh(&mut self, reduction: Reduction) -> Threshold {
        self.algorithm.ssthresh(&self.window, reduction)
    }

    /// Restores the window after a reduction from `cwnd` segments that was spurious.
    pub(in crate::tcp) fn undo_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = self.algorithm.undo_cwnd(&self.window, cwnd);
    }

    /// Lets a congestion control that owns its window set it.
    pub(in crate::tcp) fn control(&mut self, ack: &Ack, outcome: &Outcome) {
        self.algorithm.control(&mut self.window, ack, outcome);
    }

    /// Segments of new data that the congestion control allows.
    pub(in crate::tcp) fn may_send(&mut self, at: &Opportunity) -> u64 {
        self.algorithm.may_send(&mut self.window, at)
    }

    /// Returns true if ECN is in use.
    #[inline(always)]
    pub(in crate::tcp) fn ecn(&self) -> bool {
        self.feedback.is_on()
    }

    /// Feedback of marks.
    #[inline(always)]
    pub(in crate::tcp) fn feedback(&self) -> EcnFeedback {
        self.feedback
    }

    /// Feedback of marks, to be updated.
    pub(in crate::tcp) fn feedback_mut(&mut self) -> &mut EcnFeedback {
        &mut self.feedback
    }

    /// Sets the feedback that the peer has agreed to.
    pub(in crate::tcp) fn set_feedback(&mut self, feedback: EcnFeedback) {
        self.feedback = feedback;
    }

    /// Returns true if the next new segment carries CWR.
    #[inline(always)]
    pub(in crate::tcp) fn cwr_pending(&self) -> bool {
        self.cwr_pending
    }

    /// CWR was sent, or is not due any more.
    #[inline(always)]
    pub(in crate::tcp) fn clear_cwr(&mut self) {
        self.cwr_pending = false;
    }

    /// Returns true if the segment that is sent now carries CWR; later ones do not.
    #[inline(always)]
    pub(in crate::tcp) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// End of the reduction in progress.
    #[inline(always)]
    pub(in crate::tcp) fn cwr_end(&self) -> u64 {
        self.cwr_end
    }

    /// Moves the end of the reduction.
    pub(in crate::tcp) fn set_cwr_end(&mut self, end: u64) {
        self.cwr_end = end;
    }

    /// Cause of the last reduction.
    #[inline(always)]
    pub(in crate::tcp) fn reduction_cause(&self) -> ReductionCause {
        self.reduction_cause
    }

    /// Sets the cause of the last reduction.
    #[inline]
    pub(in crate::tcp) fn set_reduction_cause(&mut self, cause: ReductionCause) {
        self.reduction_cause = cause;
    }

    /// Starts a reduction for any cause: ECE is ignored until `end` is acknowledged, and CWR travels on the next new data (RFC 3168 section 6.1.2,
    /// reductions "for any reason").
    #[inline]
    pub(in crate::tcp) fn begin_reduction(&mut self, end: u64) {
        self.cwr_end = end;
        self.cwr_pending = self.feedback.sends_cwr();
        self.reduction_cause = ReductionCause::Loss;
    }
}
