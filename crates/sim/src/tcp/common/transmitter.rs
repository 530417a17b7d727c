//! Packets that leave a sender, and its packets that wait in the interface of the host.

use crate::net::packet::Packet;
use crate::tcp::common::seq::Numbers;
use crate::tcp::linux::send_buffer::SendBuffer;
use crate::tcp::linux::small_queue::SmallQueue;
use forebay_units::TimeOrNever;

/// Packets of one sender on their way out.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Transmitter {
    /// Full segment of new data, but for the timestamp. Its sequence number is the initial one; `win` is the class of packets without data.
    pub(in crate::tcp) template: Packet,
    /// Send buffer of Linux, where receivers depend on PSH, while anything is sent.
    pub(in crate::tcp) send_buffer: Option<Box<SendBuffer>>,
    /// Packets in the interface of the host, for stacks that limit them (TCP small queues). Idle connections have no list.
    pub(in crate::tcp) tsq: Option<Box<SmallQueue>>,
    /// Time at which the last segment or SYN left.
    pub(in crate::tcp) last_tx: TimeOrNever,
    /// Packets handed to the network, less packets taken from it, modulo 2^64. The engine checks that no packet disappears.
    pub(in crate::tcp) balance: u64,
}

impl Transmitter {
    /// Nothing has left yet.
    pub(in crate::tcp) fn new(template: Packet) -> Transmitter {
        Transmitter { template, send_buffer: None, tsq: None, last_tx: TimeOrNever::NEVER, balance: 0 }
    }

    /// Sequence numbers of the stream.
    #[inline(always)]
    pub(in crate::tcp) fn numbers(&self) -> Numbers {
        Numbers::from_initial(self.template.seq)
    }
}
