//! State for losses, their repair and rare features. It exists only after its first change.

use crate::shim::tag_shims::Tagger;
use crate::tcp::common::cold_box::{Cold, Initial};
use crate::tcp::common::cwnd_validation::CwndUsage;
use crate::tcp::common::pacer::Pacer;
use crate::tcp::common::rehash::Rehash;
use crate::tcp::common::send_limit::Limit;
use crate::tcp::common::send_stats::PendingMessages;
use forebay_types::{Rate, Time, TimeOrNever};

/// State that most connections do not need.
#[derive(Debug, Clone)]
pub(crate) struct ColdState {
    /// End of the recovery; 0 before the first.
    pub(in crate::tcp) recover: u64,
    /// Bytes sent by limited transmit, which the flight size does not count.
    pub(in crate::tcp) limited: u64,
    /// `snd_una` at the last timeout, `u64::MAX` before the first.
    pub(in crate::tcp) timed_out: u64,
    /// Deadline that partial acknowledgments after the first must not move (RFC 6582 section 4).
    pub(in crate::tcp) held_due: TimeOrNever,
    /// Expiry of the running timer, if it was moved to a slot of the timer wheel.
    pub(in crate::tcp) wheel_expiry: TimeOrNever,
    /// Number of retransmissions of the connection.
    pub(crate) retransmitted: u64,
    /// Round trip of earlier connections on the path, if any, in stacks that use it.
    pub(in crate::tcp) remembered: TimeOrNever,
    /// First byte of the message that is being acknowledged, for congestion controls and shims that use it.
    pub(in crate::tcp) begin: u64,
    /// First stream offset of the last opportunity to send, and the size of its bursts (segmentation offload), 0 without.
    pub(in crate::tcp) bursts: (u64, u64),
    /// Pacing rate since the last ACK that may have changed the window (`sk_pacing_rate`), if the congestion control does not pace (segmentation
    /// offload); 0 before.
    pub(in crate::tcp) pacing_rate: Rate,
    /// Size of the bursts of the first opportunity to send after an idle time, which precedes the change of the pacing rate (segmentation offload), 0
    /// without.
    pub(in crate::tcp) first_bursts: u32,
    /// Stream offset behind the last segment that was sent, for the first time or again (segmentation offload).
    pub(in crate::tcp) sent_end: u64,
    /// True if no partial acknowledgment has come in this recovery.
    pub(in crate::tcp) first_partial: bool,
    /// True if the SYN was retransmitted.
    pub(in crate::tcp) syn_retx: bool,
    /// Time of the first SYN, if it was retransmitted.
    pub(in crate::tcp) first_syn: TimeOrNever,
    /// Departure times, for congestion controls that pace.
    pub(in crate::tcp) pacer: Option<Box<Pacer>>,
    /// Tags for packets of transports with such a shim.
    pub(in crate::tcp) tag: Option<Box<Tagger>>,
    /// State of senders that may change their path.
    pub(in crate::tcp) rehash: Option<Box<Rehash>>,
    /// Use of the window, in senders without a scoreboard.
    pub(in crate::tcp) usage: CwndUsage,
    /// Messages behind the oldest unacknowledged one, with their statistics.
    pub(in crate::tcp) pending: PendingMessages,
    /// Marked bytes that AccECN options have reported (`s.ceb`, RFC 9768 section 3.2).
    pub(in crate::tcp) ce_bytes: u32,
    /// Last opportunity to send that ended at the receive window or the send buffer.
    pub(in crate::tcp) limit: Option<(Time, Limit)>,
}

impl ColdState {
    const NONE: ColdState = ColdState {
        recover: 0,
        limited: 0,
        timed_out: u64::MAX,
        held_due: TimeOrNever::NEVER,
        wheel_expiry: TimeOrNever::NEVER,
        retransmitted: 0,
        remembered: TimeOrNever::NEVER,
        begin: 0,
        bursts: (0, 0),
        pacing_rate: Rate(0),
        first_bursts: 0,
        sent_end: 0,
        first_partial: false,
        syn_retx: false,
        first_syn: TimeOrNever::NEVER,
        pacer: None,
        tag: None,
        rehash: None,
        usage: CwndUsage::NONE,
        pending: PendingMessages::NONE,
        ce_bytes: 0,
        limit: None,
    };
}

impl Default for ColdState {
    fn default() -> ColdState {
        ColdState::NONE
    }
}

impl Initial for ColdState {
    const INITIAL: &'static ColdState = &ColdState::NONE;
}

impl Cold<ColdState> {
    /// Limits the count of outstanding bytes of limited transmit.
    #[inline(always)]
    pub(in crate::tcp) fn cap_limited_transmit(&mut self, most: u64) {
        if let Some(s) = self.made() {
            s.limited = s.limited.min(most);
        }
    }

    /// Tags of the packets, if there are any.
    pub(in crate::tcp) fn tag_mut(&mut self) -> Option<&mut Tagger> {
        self.made()?.tag.as_deref_mut()
    }

    /// Departure times of the segments, if they are paced.
    pub(in crate::tcp) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.made()?.pacer.as_deref_mut()
    }
}
