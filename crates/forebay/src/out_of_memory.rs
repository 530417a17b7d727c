//! Allocator of the program, which ends it with a message where the system has no more memory. The standard library would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;

/// The allocator of the system.
pub(crate) struct OrEnd;

// SAFETY: every call is passed on to the allocator of the system.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's conditions are those of this function.
        found(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        found(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        found(unsafe { System.realloc(place, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

/// The allocated memory, if there is any.
#[inline(always)]
fn found(place: *mut u8, bytes: usize) -> *mut u8 {
    if place.is_null() {
        end(bytes);
    }
    place
}

/// Ends the process. Nothing is allocated, and no lock is taken that the failing code may hold.
#[cold]
fn end(bytes: usize) -> ! {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: the system refuses {bytes} more bytes. Simulate fewer hosts or flows, observe less, use fewer --threads, or raise the \
         limit on memory (ulimit -v, control group)"
    );
    let length = 256 - rest.len();
    // SAFETY: `text` has `length` bytes. `_exit` does not return.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(1)
    }
}
