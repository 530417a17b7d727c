//! Congestion window, congestion control and ECN of a sender.

use crate::cc::slow_start::SlowStart;
use crate::cc::{Hooks, Law, Window};
use crate::tcp::sender::ReductionCause;

/// Congestion state of a sender.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct CongestionState {
    /// Congestion window and slow-start threshold.
    pub(in crate::tcp) window: Window,
    /// Congestion control.
    pub(in crate::tcp) algorithm: Law,
    /// Slow start, unless it is the standard one.
    pub(in crate::tcp) slow_start: Option<Box<SlowStart>>,
    /// End of the reduction in progress: ECE is ignored until this offset is acknowledged.
    pub(in crate::tcp) cwr_end: u64,
    /// Hooks of the congestion control.
    pub(in crate::tcp) hooks: Hooks,
    /// The congestion control is called for every ACK.
    pub(in crate::tcp) wants_all_acks: bool,
    /// The congestion control, or its slow start, is called for every ACK that advances.
    pub(in crate::tcp) wants_new_acks: bool,
    /// The congestion control limits or paces new data, or the sender waits for bursts.
    pub(in crate::tcp) paced_send: bool,
    /// ECN is in use.
    pub(in crate::tcp) ecn: bool,
    /// The next new segment carries CWR.
    pub(in crate::tcp) cwr_pending: bool,
    /// Cause of the last reduction.
    pub(in crate::tcp) reduction_cause: ReductionCause,
    /// The window limits sending; `None` in stacks that do not track this.
    pub(in crate::tcp) cwnd_limited: Option<bool>,
}
