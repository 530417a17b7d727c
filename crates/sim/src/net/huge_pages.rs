//! Huge pages for the memory of large networks, so that fewer address translations (TLB entries) are needed.

/// Bytes of a huge page.
pub(crate) const PAGE: usize = 2 << 20;

/// Requests huge pages for unwritten memory. Memory that does not fill such a page is left alone.
pub(crate) fn advise<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    let bytes = memory.as_mut_ptr_range();
    let (start, end) = (bytes.start.addr().next_multiple_of(PAGE), bytes.end.addr() / PAGE * PAGE);
    if start < end {
        system(bytes.start.cast::<u8>().with_addr(start), end - start);
    }
}

#[cfg(target_os = "linux")]
fn system(start: *mut u8, bytes: usize) {
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
    }
    /// `MADV_HUGEPAGE` of `asm-generic/mman-common.h`.
    const HUGE_PAGES: std::ffi::c_int = 14;
    // SAFETY: the advice changes no contents. A system without huge pages refuses it, which does no harm.
    let _ = unsafe { madvise(start.cast(), bytes, HUGE_PAGES) };
}

#[cfg(not(target_os = "linux"))]
fn system(_: *mut u8, _: usize) {}
