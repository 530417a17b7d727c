//! Parameters of a discipline as numbers, for the implementations in the guest kernel's driver, which document the order of each.

use crate::QueueState;

/// Set in lengths that count packets; others count bytes.
const IN_PACKETS: u64 = 1 << 63;

/// Kind and parameters of a discipline, without state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawParams {
    /// Name of the implementation: that of the registry, except for entries that share one.
    pub core: &'static str,
    /// The parameters: times in picoseconds, sizes in bytes, flags as 1 or 0, real numbers as their bits.
    pub numbers: Vec<u64>,
}

impl RawParams {
    pub(crate) fn new(core: &'static str, numbers: impl Into<Vec<u64>>) -> Option<RawParams> {
        Some(RawParams { core, numbers: numbers.into() })
    }
}

/// A limit or a threshold.
pub(crate) fn length(l: QueueState) -> u64 {
    if l.packets == u32::MAX { l.bytes } else { IN_PACKETS | u64::from(l.packets) }
}
