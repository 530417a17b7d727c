//! Packets as the shim reads and changes them.

use core::fmt::Debug;
use forebay_queues::Codepoint;

/// Number and size of the train of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Number of the train, modulo 256.
    pub batch: u8,
    /// Probes in the train, above zero.
    pub size: u8,
}

/// A packet of one direction of a connection: data and SYNs of the host that sends the data, or SYN-ACKs and ACKs of the host that receives it.
pub trait Segment: Debug + Clone + Copy + Default {
    /// First sequence number of a packet of the data's sender; acknowledgement number of a packet of its receiver.
    fn number(&self) -> u32;

    /// Payload of a packet that is no SYN, bytes.
    fn payload(&self) -> u32;

    /// Flag SYN.
    fn is_syn(&self) -> bool;

    /// Flag FIN.
    fn is_fin(&self) -> bool;

    /// Flag ECE of a SYN-ACK or ACK.
    fn has_ece(&self) -> bool;

    /// Replaces the flag ECE of an ACK.
    fn set_ece(&mut self, ece: bool);

    /// Returns true if a SYN asks for ECN: flags ECE and CWR (RFC 3168 section 6.1.1).
    fn offers_ecn(&self) -> bool;

    /// ECN field of the IP header.
    fn ecn(&self) -> Codepoint;

    /// Replaces the ECN field.
    fn set_ecn(&mut self, ecn: Codepoint);

    /// Window field of a SYN-ACK or ACK.
    fn window(&self) -> u16;

    /// Replaces the window field.
    fn set_window(&mut self, window: u16);

    /// Window scale that a SYN or SYN-ACK announces (RFC 7323 section 2.2).
    fn window_scale(&self) -> u8;

    /// The train of a probe; `None`: the packet is no probe of a shim.
    fn probe(&self) -> Option<Probe>;

    /// A probe of `wire` bytes with the addresses of this packet, so the same path and queue. `isn` is in the field of the sequence number. It has no flags,
    /// which a listening socket without shim discards (3.1).
    fn with_probe(&self, isn: u32, probe: Probe, wire: u16) -> Self;

    /// Returns true if a SYN-ACK announces that its host keeps the result of the train, and removes the announcement.
    fn take_announcement(&mut self) -> bool {
        false
    }

    /// Announces in a SYN-ACK that its host keeps the result of the train.
    fn announce(&mut self) {}
}

/// Receives the packets that a shim creates or has held.
pub trait Output<S> {
    /// Sends a packet to the network.
    fn send(&mut self, packet: S);

    /// A SYN-ACK that was held is not sent: a newer one replaces it.
    fn discard(&mut self, _packet: S) {}
}
