//! Shims that set receive windows: the hooks they have. They work at the receiving host, whose connections share its link; senders know
//! nothing of them. The list of them is in `shim/windows.rs`.

use forebay_types::{Rate, Time};

/// A shim that sets the receive window of one connection. To add one: implement this in a file of its own, and add a line to the list in `shim/windows.rs`.
pub trait WindowShim: std::fmt::Debug + Clone {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// What a host knows of its link and of all connections that it receives by.
    type Host: std::fmt::Debug + Clone;

    /// Receive window with which a connection begins, bytes; `most` is what the stack would advertise.
    fn first_window(c: &Self::Config, mss: u32, most: u64) -> u64;

    /// The state of a new connection; `most` is the receive window that the stack would have, bytes.
    fn new(c: &Self::Config, mss: u32, most: u64) -> Self;

    /// The state of the host, which has an idle link of `rate` and this connection as its first; `rtt` is that of the empty path.
    fn host(&self, rate: Rate, rtt: Time) -> Self::Host;

    /// The connection begins; its ACKs take `back` to the sender on the empty path.
    fn join(&mut self, host: &mut Self::Host, back: Time);

    /// The connection has ended.
    fn leave(&self, host: &mut Self::Host);

    /// A packet of `wire` bytes reached the host, of any connection.
    fn packet_arrived(host: &mut Self::Host, now: Time, wire: u64);

    /// Data of `len` bytes reached the connection, which took `forward` from the sender; called before the endpoint sees it.
    fn data_arrived(&mut self, host: &mut Self::Host, now: Time, len: u64, forward: Time);

    /// The window that an ACK for everything before stream offset `next` advertises, bytes; `repeated`: it acknowledges nothing new.
    fn advertise(&mut self, next: u64, repeated: bool) -> u64;
}
