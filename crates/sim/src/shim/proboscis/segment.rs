//! Simulated packets as the shim reads and changes them.

use crate::net::packet::{Codepoint, Packet, Wire, flag};
use forebay_shims::proboscis::{Output, Probe, Segment};

/// Flag in the length of a SYN-ACK, beside the window scale: the accepting end keeps the result of the train.
const KEEPS: u16 = 1 << 8;

impl Segment for Packet {
    fn number(&self) -> u32 {
        self.seq
    }

    fn payload(&self) -> u32 {
        u32::from(self.len)
    }

    fn is_syn(&self) -> bool {
        self.has(flag::SYN)
    }

    fn is_fin(&self) -> bool {
        self.has(flag::FIN)
    }

    fn has_ece(&self) -> bool {
        self.has(flag::ECE)
    }

    fn set_ece(&mut self, ece: bool) {
        self.flags = self.flags & !flag::ECE | if ece { flag::ECE } else { 0 };
    }

    fn offers_ecn(&self) -> bool {
        self.has(flag::ECE | flag::CWR)
    }

    fn ecn(&self) -> Codepoint {
        self.meta.ecn()
    }

    fn set_ecn(&mut self, ecn: Codepoint) {
        self.meta.set_ecn(ecn);
    }

    fn window(&self) -> u16 {
        Packet::window(self)
    }

    fn set_window(&mut self, window: u16) {
        self.win = window;
    }

    fn window_scale(&self) -> u8 {
        self.window_shift()
    }

    fn probe(&self) -> Option<Probe> {
        // The size of the train stands for the magic number (3.1); a sender's own probes have none.
        let [batch, size] = self.len.to_be_bytes();
        (self.has(flag::PROBE) && size != 0).then_some(Probe { batch, size })
    }

    fn with_probe(&self, isn: u32, probe: Probe, wire: u16) -> Packet {
        // Number and size of the train are in the length, where the specification has the window field: here that holds the class of service, which is that
        // of this packet.
        Packet { seq: isn, len: u16::from_be_bytes([probe.batch, probe.size]), wire, flags: flag::PROBE, ..*self }
    }

    fn take_announcement(&mut self) -> bool {
        let announced = self.len & KEEPS != 0;
        self.len &= !KEEPS;
        announced
    }

    fn announce(&mut self) {
        self.len |= KEEPS;
    }
}

/// Sends the packets of a shim to a wire.
pub(super) struct ToWire<'a, W>(pub &'a mut W);

impl<W: Wire> Output<Packet> for ToWire<'_, W> {
    fn send(&mut self, packet: Packet) {
        self.0.emit(packet, None);
    }
}
