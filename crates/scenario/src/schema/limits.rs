//! Maximum values in scenarios.

use forebay_types::Time;

/// Maximum simulated time. `u64` picoseconds end at 213 days.
pub(crate) const MAX_DURATION: Time = Time::from_secs(200 * 86_400);
/// Maximum of all other times.
pub(crate) const MAX_TIME: Time = forebay_experiment::check::MAX_TIME;
/// Maximum size, 1 PB.
pub(crate) const MAX_BYTES: u64 = 1_000_000_000_000_000;
/// Maximum queue in packets.
pub(crate) const MAX_PACKETS: u64 = 1_000_000_000;
/// Maximum number of names of a range or list.
pub(crate) const MAX_NAMES: usize = 1_000_000;
