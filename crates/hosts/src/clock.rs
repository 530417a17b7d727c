//! The clock of BPF programs.

/// CLOCK_MONOTONIC, which programs read as bpf_ktime_get_ns, ns.
pub(crate) fn now() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the value lives through the call, which fills it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
