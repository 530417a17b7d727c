//! What a sender knows of losses, their repair and other things that most connections never meet. It is made when it is first needed.

use crate::shim::tag_shims::Tagger;
use crate::tcp::booking::Behind;
use crate::tcp::lazy::{Fresh, Lazy};
use crate::tcp::pacer::Pacer;
use crate::tcp::usage::Usage;
use forebay_units::TimeOrNever;

/// State that most connections do without.
#[derive(Debug, Clone)]
pub(crate) struct Seldom {
    /// Recovery ends here; 0 when there was none yet.
    pub(in crate::tcp) recover: u64,
    /// Bytes sent by limited transmit that the flight size must not count.
    pub(super) limited: u64,
    /// `una` at the last timeout, `u64::MAX` before the first.
    pub(super) timed_out: u64,
    /// Deadline that partial acknowledgements after the first must not move (RFC 6582 section 4).
    pub(super) held_due: TimeOrNever,
    /// When the running timer expires, where that has been put off to the slot of a timer wheel.
    pub(super) put_off: TimeOrNever,
    /// Retransmissions of the connection.
    pub(crate) retransmitted: u64,
    /// Round trip that the host remembers of the path, if any, and if it is asked for.
    pub(in crate::tcp) remembered: TimeOrNever,
    /// First byte of the message now being acknowledged, where a law or shim looks at that.
    pub(super) begin: u64,
    /// No partial acknowledgement has come in this recovery.
    pub(super) first_partial: bool,
    /// The SYN was sent again.
    pub(super) syn_retx: bool,
    /// When it was sent first, if it was sent again.
    pub(super) first_syn: TimeOrNever,
    /// Departure times, for laws that give a rate.
    pub(super) pacer: Option<Box<Pacer>>,
    /// Tags the packets of transports with such a shim.
    pub(super) tag: Option<Box<Tagger>>,
    /// How the window has been used, of senders without scoreboard.
    pub(super) usage: Usage,
    /// The messages behind the oldest unacknowledged one, with their statistics.
    pub(super) behind: Behind,
}

impl Seldom {
    const NONE: Seldom = Seldom {
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
        usage: Usage::NONE,
        behind: Behind::NONE,
    };
}

impl Default for Seldom {
    fn default() -> Seldom {
        Seldom::NONE
    }
}

impl Fresh for Seldom {
    const FRESH: &'static Seldom = &Seldom::NONE;
}

impl Lazy<Seldom> {
    /// What tags the packets, if anything does.
    pub(super) fn tag_mut(&mut self) -> Option<&mut Tagger> {
        self.made()?.tag.as_deref_mut()
    }

    /// What gives the segments their departure times, if anything does.
    pub(super) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.made()?.pacer.as_deref_mut()
    }
}
