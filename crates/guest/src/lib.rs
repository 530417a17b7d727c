//! The parts of a guest kernel that are written in Rust, as functions for its driver in C. Queue disciplines and shared memories are those of the crate
//! `queues`, and ProBoSCIS is that of the crate `shims`. The build of `forebay-kernel` compiles this crate for the kernel, with `kernel.rs` around it;
//! tests link it to the driver's network.

#![no_std]

extern crate alloc;

mod proboscis;
mod queue;
mod shared_buffer;

pub use proboscis::{Ends, Host, Out, Row, Seen};
pub use proboscis::{fb_proboscis_ends_new, fb_proboscis_host_new, fb_proboscis_results};
pub use proboscis::{fb_receiver_answers, fb_receiver_egress, fb_receiver_ingress, fb_receiver_tick, fb_receiver_waits};
pub use proboscis::{fb_receiver_handshake_egress, fb_receiver_handshake_ingress};
pub use proboscis::{fb_sender_answers, fb_sender_egress, fb_sender_ingress, fb_sender_tick, fb_sender_waits};
pub use proboscis::{fb_sender_handshake_egress, fb_sender_handshake_ingress};
pub use queue::{Actions, Length, Packet, Port, State};
pub use queue::{fb_queue_arrive, fb_queue_free, fb_queue_holds, fb_queue_new, fb_queue_pop, fb_queue_push};
pub use shared_buffer::fb_shared_admits;
