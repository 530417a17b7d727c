//! Tags of pFabric (Alizadeh et al., SIGCOMM 2013): the rank of a packet is the rest of its message. The congestion control `pfabric` includes it.

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

    /// Alizadeh et al., section 4.1: the remaining size when the packet was sent. Our choice: from this segment to the end of the message, in
    /// segments, so that retransmissions have the rank of the original.
    fn tag(&self, m: &Message, s: &Segment) -> u16 {
        service(0, rank_of((m.end.saturating_sub(s.offset)).div_ceil(s.mss)))
    }
}

pub(crate) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "srpt",
        summary: "tags packets with the rest of their message, ACKs as most urgent (pFabric); for pfabric queues",
        params: &[],
    },
    place: Place::Tag,
    needs_handshake: false,
    wants_marks: false,
    build: |_| Ok(Config),
};
