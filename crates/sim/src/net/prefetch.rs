//! Cache prefetches. They have no other effect, and are no instructions on machines other than x86-64.

/// Prefetches the first cache line of a value.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    line(std::ptr::from_ref(place).cast());
}

/// Prefetches the first `lines` cache lines of a value, as far as it has so many.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(place: &T, lines: usize) {
    for i in 0..lines.min(size_of::<T>().div_ceil(LINE)) {
        line(std::ptr::from_ref(place).cast::<u8>().wrapping_add(i * LINE));
    }
}

/// Prefetches the cache line at an address.
#[inline(always)]
pub(crate) fn line(_address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect beyond the cache, and does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(_address.cast());
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
