//! State of a connection and its rules, for both stacks.

pub(in crate::tcp) mod congestion;
pub(in crate::tcp) mod loss;
pub(in crate::tcp) mod send_stream;
pub(in crate::tcp) mod timers;
pub(in crate::tcp) mod transmitter;
