//! Tags of pFabric (Alizadeh et al., SIGCOMM 2013): the rank of a packet is the remaining size of its message. The congestion control `pfabric`
//! includes it.

use super::tag::{Message, Segment, TagShim};
use crate::net::packet::{rank_of, service};
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_types::param::Entry;

/// It has no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config;

/// It has no state: the rank follows from the segment alone.
#[derive(Debug, Clone, Copy)]
pub struct Srpt;

impl TagShim for Srpt {
    type Config = Config;

    const URGENT_CONTROL: bool = true;
    const RANKS: bool = true;

    fn new(_c: &Config, _delayed_acks: bool) -> Srpt {
        Srpt
    }

    /// Alizadeh et al., section 4: the remaining flow size when the packet is sent. That is the part of the message that is not acknowledged, so that
    /// all packets of a window have nearly the same rank. Our choice: a flow is a message, and sizes are in segments.
    fn tag(&self, m: &Message, s: &Segment) -> u16 {
        let unacknowledged = m.end.saturating_sub(s.una.max(m.begin));
        // Only while no other message is in flight are all SACKed bytes those of this one.
        let alone = s.una >= m.begin && s.high <= m.end;
        let rest = unacknowledged.saturating_sub(if alone { s.sacked } else { 0 });
        service(0, rank_of(rest.div_ceil(s.mss)))
    }
}

pub(crate) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "srpt",
        summary: "tags packets with the remaining size of their message, ACKs as most urgent (pFabric); for pfabric queues",
        params: &[],
    },
    place: Place::Tag,
    needs_handshake: false,
    wants_marks: false,
    duplicates_only: &[],
    build: |_| Ok(Config),
};
