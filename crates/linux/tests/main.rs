//! Tests of guests in one program, one file a subject: `cargo test -p forebay-linux --test main golden::` runs one of them.

mod captures;
mod failures;
mod flowlets;
mod golden;
mod guest;
mod host_queue;
mod limits;
mod link_changes;
mod loss;
mod max_pacing_rate;
mod misbehaving_receivers;
mod packets;
mod plb;
mod proboscis;
mod queues;
mod receive_offload;
mod rto_min;
mod tags;
mod writes;
