//! The largest values that a scenario may name.

use forebay_types::Time;

/// Longest simulated time. `u64` picoseconds end at 213 days.
pub(crate) const MAX_DURATION: Time = Time::from_secs(200 * 86_400);
/// Longest of all other times.
pub(crate) const MAX_TIME: Time = forebay_experiment::check::MAX_TIME;
/// Largest size of anything, 1 PB.
pub(crate) const MAX_BYTES: u64 = 1_000_000_000_000_000;
/// Largest queue in packets.
pub(crate) const MAX_PACKETS: u64 = 1_000_000_000;
/// Most names that one range or list may have.
pub(crate) const MAX_NAMES: usize = 1_000_000;
