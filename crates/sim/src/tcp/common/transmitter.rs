//! Packets that leave a sender, and its packets that wait in the interface of the host.

use crate::net::packet::{Codepoint, Packet};
use crate::net::tick::Tick;
use crate::tcp::common::send_buffer::SendBuffer;
use crate::tcp::common::seq::Numbers;
use crate::tcp::common::tsq_backlog::TsqBacklog;
use forebay_types::{Time, TimeOrNever};

/// Outgoing packets of one sender.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Transmitter {
    /// Full segment of new data, but for the timestamp. Its sequence number is the initial one; `win` is the class of packets without data, and the
    /// TSecr.
    template: Packet,
    /// Send buffer of Linux, where receivers depend on PSH, while anything is sent.
    pub(in crate::tcp) send_buffer: Option<Box<SendBuffer>>,
    /// Packets in the interface of the host, for stacks that limit them (TCP small queues). Idle connections have no list.
    pub(in crate::tcp) tsq: Option<Box<TsqBacklog>>,
    /// Time at which the last segment or SYN left.
    last_tx: TimeOrNever,
    /// Packets handed to the network, less packets taken from it, modulo 2^64. The engine checks that no packet disappears.
    balance: u64,
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

    /// Full segment of new data.
    #[inline(always)]
    pub(in crate::tcp) fn template(&self) -> &Packet {
        &self.template
    }

    /// Stores the timestamp of an ACK, which the next packets echo (tcp_store_ts_recent).
    #[inline(always)]
    pub(in crate::tcp) fn store_ts_recent(&mut self, tsval: Tick) {
        self.template.win = tsval.replace_in(self.template.win);
    }

    /// Stores the timestamp of an ACK that acknowledges nothing new and may have been overtaken (tcp_replace_ts_recent).
    pub(in crate::tcp) fn replace_ts_recent(&mut self, tsval: Tick) {
        let stored = self.template.tsecr();
        if !stored.is_some() || tsval.since(stored) < 1 << 11 {
            self.store_ts_recent(tsval);
        }
    }

    /// Replaces the template.
    pub(in crate::tcp) fn set_template(&mut self, template: Packet) {
        self.template = template;
    }

    /// Sets the ECMP hash of the packets.
    pub(in crate::tcp) fn set_path_hash(&mut self, hash: u16) {
        self.template.hash = hash;
    }

    /// New data is not ECN-capable.
    pub(in crate::tcp) fn set_ecn(&mut self, ecn: Codepoint) {
        self.template.meta.set_ecn(ecn);
    }

    /// Time at which the last segment or SYN left.
    #[inline(always)]
    pub(in crate::tcp) fn last_tx(&self) -> TimeOrNever {
        self.last_tx
    }

    /// Notes that a segment or SYN leaves now.
    #[inline(always)]
    pub(in crate::tcp) fn set_last_tx(&mut self, now: Time) {
        self.last_tx = now.into();
    }

    /// Packets handed to the network, less packets taken from it, modulo 2^64.
    #[inline(always)]
    pub(in crate::tcp) fn balance(&self) -> u64 {
        self.balance
    }

    /// Counts packets handed to the network.
    #[inline(always)]
    pub(in crate::tcp) fn count_sent(&mut self, packets: u64) {
        self.balance = self.balance.wrapping_add(packets);
    }

    /// Counts a packet taken from the network.
    #[inline(always)]
    pub(in crate::tcp) fn count_received(&mut self) {
        self.balance = self.balance.wrapping_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tcp_replace_ts_recent, tcp_paws_check.
    #[test]
    fn overtaken_ack_leaves_echo() {
        let class = 5 << 13;
        let mut t = Transmitter::new(Packet { win: class, ..Packet::default() });
        t.replace_ts_recent(Tick::new(4_090));
        t.replace_ts_recent(Tick::new(4_089));
        assert_eq!(t.template().tsecr(), Tick::new(4_090));
        t.replace_ts_recent(Tick::new(4_097));
        assert_eq!((t.template().tsecr(), t.template().class()), (Tick::new(1), 5));
    }
}
