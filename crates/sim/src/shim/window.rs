//! Hooks of shims that set receive windows at the receiving host, whose connections share its link; senders need no change. The list of them is in
//! `shim/window_shims.rs`.

use forebay_units::{Rate, Time};

/// A shim that sets the receive window of one connection. To add one: implement this trait in a file of its own, and add a line to the list in
/// `shim/window_shims.rs`.
pub trait WindowShim: std::fmt::Debug + Clone {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// State of a host's link and of all connections that it receives on it.
    type Host: std::fmt::Debug + Clone;

    /// Receive window of a new connection, bytes; `most` is the window of the stack.
    fn first_window(c: &Self::Config, mss: u32, most: u64) -> u64;

    /// The state of a new connection; `most` is the receive window of the stack, bytes.
    fn new(c: &Self::Config, mss: u32, most: u64) -> Self;

    /// Creates the state of a host with an idle link of `rate` and this connection as its first; `rtt` is that of the empty path.
    fn host(&self, rate: Rate, rtt: Time) -> Self::Host;

    /// Adds the connection; its ACKs take `back` to the sender on the empty path.
    fn join(&mut self, host: &mut Self::Host, back: Time);

    /// Removes the connection.
    fn leave(&self, host: &mut Self::Host);

    /// Counts a packet of `wire` bytes that reached the host, of any connection.
    fn packet_arrived(host: &mut Self::Host, now: Time, wire: u64);

    /// Counts data of `len` bytes that took `forward` from the sender; called before the endpoint receives it.
    fn data_arrived(&mut self, host: &mut Self::Host, now: Time, len: u64, forward: Time);

    /// The window that an ACK for everything before stream offset `next` advertises, bytes; `repeated`: it acknowledges nothing new.
    fn advertise(&mut self, next: u64, repeated: bool) -> u64;
}
