//! The kernel's monotonic clock, which BPF programs read as bpf_ktime_get_ns.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    // The clock exists on every Linux, and the pointer is nix's own.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or(TimeSpec::new(0, 0));
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
