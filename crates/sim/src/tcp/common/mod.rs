//! State of a connection and its rules, for both stacks.

pub(in crate::tcp) mod clock;
pub(in crate::tcp) mod cold;
pub(in crate::tcp) mod cold_state;
pub(in crate::tcp) mod congestion;
pub(in crate::tcp) mod cwnd_validation;
pub(in crate::tcp) mod held_packets;
pub(in crate::tcp) mod loss;
pub(in crate::tcp) mod message_stats;
pub(in crate::tcp) mod pacer;
pub(in crate::tcp) mod prr;
pub(in crate::tcp) mod rack;
pub(in crate::tcp) mod rate_sample;
pub mod rtt;
pub(in crate::tcp) mod sack_option;
pub(in crate::tcp) mod sack_state;
pub(in crate::tcp) mod scoreboard;
pub(in crate::tcp) mod send_buffer;
pub(in crate::tcp) mod send_stats;
pub(in crate::tcp) mod send_stream;
pub(in crate::tcp) mod seq;
pub(in crate::tcp) mod small_queue;
pub(in crate::tcp) mod state;
pub(in crate::tcp) mod timer_wheel;
pub(in crate::tcp) mod timers;
pub(in crate::tcp) mod transmitter;
pub(in crate::tcp) mod undo;
pub(in crate::tcp) mod write_queue;
