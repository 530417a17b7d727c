//! Tags of pFabric (Alizadeh et al., SIGCOMM 2013): each packet says how much of its message is left. The law `pfabric` brings it along.

use super::{Place, ShimConfig, ShimEntry};
use forebay_param::Entry;

pub(super) const ENTRY: ShimEntry = ShimEntry {
    entry: Entry {
        name: "srpt",
        summary: "tags packets with what their message has left, ACKs as most urgent (pFabric); for pfabric queues",
        params: &[],
    },
    place: Place::Tag,
    build: |_| Ok(ShimConfig::Srpt),
};
