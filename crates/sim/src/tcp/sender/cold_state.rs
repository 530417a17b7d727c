//! What a sender knows of losses, their repair and other things that most connections never meet. It is made when it is first needed.

use crate::shim::tag_shims::Tagger;
use crate::tcp::common::cold::{Cold, Initial};
use crate::tcp::common::cwnd_validation::CwndUsage;
use crate::tcp::common::message_stats::PendingMessages;
use crate::tcp::common::pacer::Pacer;
use forebay_units::TimeOrNever;

/// State that most connections do without.
#[derive(Debug, Clone)]
pub(crate) struct ColdState {
    /// Recovery ends here; 0 when there was none yet.
    pub(in crate::tcp) recover: u64,
    /// Bytes sent by limited transmit that the flight size must not count.
    pub(in crate::tcp) limited: u64,
    /// `snd_una` at the last timeout, `u64::MAX` before the first.
    pub(in crate::tcp) timed_out: u64,
    /// Deadline that partial acknowledgements after the first must not move (RFC 6582 section 4).
    pub(in crate::tcp) held_due: TimeOrNever,
    /// When the running timer expires, where that has been put off to the slot of a timer wheel.
    pub(in crate::tcp) put_off: TimeOrNever,
    /// Retransmissions of the connection.
    pub(crate) retransmitted: u64,
    /// Round trip that the host remembers of the path, if any, and if it is asked for.
    pub(in crate::tcp) remembered: TimeOrNever,
    /// First byte of the message now being acknowledged, where a law or shim looks at that.
    pub(in crate::tcp) begin: u64,
    /// No partial acknowledgement has come in this recovery.
    pub(in crate::tcp) first_partial: bool,
    /// The SYN was sent again.
    pub(in crate::tcp) syn_retx: bool,
    /// When it was sent first, if it was sent again.
    pub(in crate::tcp) first_syn: TimeOrNever,
    /// Departure times, for laws that give a rate.
    pub(in crate::tcp) pacer: Option<Box<Pacer>>,
    /// Tags the packets of transports with such a shim.
    pub(in crate::tcp) tag: Option<Box<Tagger>>,
    /// How the window has been used, of senders without scoreboard.
    pub(in crate::tcp) usage: CwndUsage,
    /// The messages behind the oldest unacknowledged one, with their statistics.
    pub(in crate::tcp) pending: PendingMessages,
}

impl ColdState {
    const NONE: ColdState = ColdState {
        recover: 0,
        limited: 0,
        timed_out: u64::MAX,
        held_due: TimeOrNever::NEVER,
        put_off: TimeOrNever::NEVER,
        retransmitted: 0,
        remembered: TimeOrNever::NEVER,
        begin: 0,
        first_partial: false,
        syn_retx: false,
        first_syn: TimeOrNever::NEVER,
        pacer: None,
        tag: None,
        usage: CwndUsage::NONE,
        pending: PendingMessages::NONE,
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
    /// What tags the packets, if anything does.
    pub(in crate::tcp) fn tag_mut(&mut self) -> Option<&mut Tagger> {
        self.made()?.tag.as_deref_mut()
    }

    /// What gives the segments their departure times, if anything does.
    pub(in crate::tcp) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.made()?.pacer.as_deref_mut()
    }
}
