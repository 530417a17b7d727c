//! Memory and panics of Rust in a kernel. The build of `forebay-kernel` compiles this file around the crate.

#![no_std]

extern crate forebay_guest;

use core::alloc::{GlobalAlloc, Layout};
use core::fmt::{self, Write};
use core::panic::PanicInfo;

unsafe extern "C" {
    safe fn fb_rust_memory(size: usize, align: usize) -> *mut u8;
    fn fb_rust_free(memory: *mut u8);
    fn fb_rust_panic(text: *const u8, length: i32) -> !;
}

/// The kernel's memory (`driver/network_kernel.c`).
struct Memory;

// SAFETY: the kernel's functions return memory of this size and alignment, or null.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        fb_rust_memory(layout.size(), layout.align())
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the memory is from `alloc`.
        unsafe { fb_rust_free(memory) }
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

/// A text of limited length; the rest is cut off.
struct Text {
    bytes: [u8; 400],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (to, from) in self.bytes[self.length..].iter_mut().zip(text.bytes()) {
            *to = from;
            self.length += 1;
        }
        Ok(())
    }
}

#[panic_handler]
fn stop(info: &PanicInfo<'_>) -> ! {
    let mut text = Text { bytes: [0; 400], length: 0 };
    let _ = write!(text, "{info}");
    // SAFETY: the text lives during the call, which does not return.
    unsafe { fb_rust_panic(text.bytes.as_ptr(), text.length as i32) }
}
