//! The parts of a guest kernel that are written in Rust, as functions for its driver in C: queue disciplines and shared memories, which are those of
//! the crate `queues`. The build of `forebay-kernel` compiles this crate for the kernel, with `kernel.rs` around it; tests link it to the driver's
//! network.

#![no_std]

extern crate alloc;

mod queue;
mod shared_buffer;

pub use queue::{Actions, Length, Packet, Port, State};
pub use queue::{fb_queue_arrive, fb_queue_free, fb_queue_holds, fb_queue_new, fb_queue_pop, fb_queue_push};
pub use shared_buffer::fb_shared_admits;
