//! ACKs that the receiver sends: cumulative, with the ECN echo, SACK blocks and the window of a shim.

use super::Receiver;
use crate::net::accecn_option::AccEcnOption;
use crate::net::packet::{CarriedAck, Extra, Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_types::TimeOrNever;

impl Receiver {
    /// Sends a cumulative ACK of everything in order.
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge(&mut self, out: &mut impl Wire) {
        let fin = self.stream.finished() && self.own_fin.is_on_acks();
        let flags = self.ack_flags() | if fin { flag::FIN } else { 0 };
        self.timer_due = TimeOrNever::NEVER;
        self.count_sent();
        if (self.stream.has_sack() && !self.stream.ofo().is_clear()) || self.window_shim.is_some() || self.ecn.is_accurate() {
            let (seq, ts) = (self.stream.ack_number(), self.ts_recent.value());
            self.emit_slow(Packet { seq, ts, flags, ..self.template }, out);
        } else {
            self.emit_copy(flags, out);
        }
    }

    /// As [`Receiver::acknowledge`], of an ACK that is a copy of the template, while the stream has not ended.
    #[inline(always)]
    pub(super) fn acknowledge_fast(&mut self, out: &mut impl Wire) {
        let flags = self.ack_flags();
        self.timer_due = TimeOrNever::NEVER;
        self.count_sent();
        self.emit_copy(flags, out);
    }

    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn acknowledge_early(&mut self, out: &mut impl Wire) {
        self.acknowledge(out);
    }

    /// Flags of an ACK, with the ECN echo.
    #[inline(always)]
    fn ack_flags(&self) -> u8 {
        self.template.flags | if self.ecn.is_echoing() { flag::ECE } else { 0 }
    }

    #[inline(always)]
    fn emit_copy(&mut self, flags: u8, out: &mut impl Wire) {
        let (seq, ts) = (self.stream.ack_number(), self.ts_recent.value());
        self.window.on_ack_sent(self.stream.rcv_nxt());
        out.emit_from(&self.template, move |p| {
            p.seq = seq;
            p.ts = ts;
            p.flags = flags;
        });
    }

    #[cold]
    #[inline(never)]
    fn emit_slow(&mut self, mut ack: Packet, out: &mut impl Wire) {
        let duplicate = self.window.on_ack_sent(self.stream.rcv_nxt());
        if let Some(shim) = &mut self.window_shim {
            // Rounded up, or the smallest windows would lose a segment.
            let window = shim.advertise(self.stream.rcv_nxt(), duplicate);
            ack.win = window.div_ceil(1 << self.window.wscale()).min(65_535) as u16;
        }
        if !self.stream.has_sack() || self.stream.ofo().is_clear() {
            return self.emit_without_sack(ack, out);
        }
        let Some(blocks) = self.stream.take_sack_blocks(self.linux.is_some()) else { return self.emit_without_sack(ack, out) };
        ack.flags |= flag::EXT;
        // Two bytes of padding, two of option header, eight per block.
        ack.wire += 4 + 8 * blocks.count() as u16;
        out.emit(ack, Some(&Extra::Sack(blocks)));
    }

    /// Sends an ACK without SACK blocks, with Accurate ECN with its option. Our choice: SACK blocks leave no space for the option (RFC 9768 section
    /// 3.2.3.3 lets the receiver omit it).
    fn emit_without_sack(&self, mut ack: Packet, out: &mut impl Wire) {
        let Some(option) = self.accecn_option() else { return out.emit(ack, None) };
        ack.flags |= flag::EXT;
        ack.wire += AccEcnOption::SIZE;
        out.emit(ack, Some(&Extra::Carried(CarriedAck::option(option))));
    }

    /// The AccECN option, with Accurate ECN.
    pub(super) fn accecn_option(&self) -> Option<AccEcnOption> {
        self.byte_counters.as_ref().filter(|_| self.ecn.is_accurate()).map(|counters| counters.option())
    }

    /// Responds to a probe or to an unacceptable segment with an ACK, which also advertises the window.
    pub(super) fn acknowledge_request(&mut self, c: &TcpConfig, out: &mut impl Wire) {
        match self.linux {
            Some(_) => self.send_ack(c, self.ofo_memory(), out),
            None => self.acknowledge(out),
        }
    }
}
