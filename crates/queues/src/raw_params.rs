//! A discipline as plain numbers, from which a program in another language can build the same one: the C cores in the kernel's driver, which
//! name the order at each.

use crate::QueueState;

/// Lengths in packets have this bit; a length is one number, as a limit or a threshold counts in one of the two units.
const IN_PACKETS: u64 = 1 << 63;

/// The kind of a discipline and its parameters, without any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawParams {
    /// Name of the C core: that of the registry, but for entries that share a core.
    pub core: &'static str,
    /// The parameters: times in picoseconds, sizes in bytes, whether-or-not as 1 or 0, real numbers as their bits.
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
