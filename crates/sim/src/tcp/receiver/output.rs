//! The ACKs that a receiver sends: cumulative, with the ECN echo, SACK blocks and the window of a shim.

use super::close::WITH_ACK;
use super::{Echo, Receiver};
use crate::net::packet::{Extra, Packet, SackBlocks, Wire, flag};
use forebay_units::TimeOrNever;

impl Receiver {
    /// Sends a cumulative ACK for everything in order.
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge(&mut self, out: &mut impl Wire) {
        let echo = match self.echo {
            Echo::Off => false,
            Echo::Classic { latched } => latched,
            Echo::Exact { ce } => ce,
        };
        let flags = self.template.flags
            | if echo { flag::ECE } else { 0 }
            | if self.finished() && self.fins == WITH_ACK { flag::FIN } else { 0 };
        let (seq, ts) = (self.numbers.wire(self.rcv_nxt), self.ts_recent);
        self.pending = 0;
        self.timer_due = TimeOrNever::NEVER;
        self.count_sent();
        if self.has_slow_acks && (!self.ooo.is_clear() || self.window_shim.is_some()) {
            self.emit_slow(Packet { seq, ts, flags, ..self.template }, out);
        } else {
            self.last_ack = self.rcv_nxt;
            out.emit_from(&self.template, move |p| {
                p.seq = seq;
                p.ts = ts;
                p.flags = flags;
            });
        }
    }

    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn acknowledge_early(&mut self, out: &mut impl Wire) {
        self.acknowledge(out);
    }

    #[cold]
    #[inline(never)]
    fn emit_slow(&mut self, mut ack: Packet, out: &mut impl Wire) {
        let dsack = self.last_ack == self.rcv_nxt;
        self.last_ack = self.rcv_nxt;
        if let Some(shim) = &mut self.window_shim {
            // Rounded up, or the smallest windows would lose a segment.
            ack.win = shim.advertise(self.rcv_nxt, dsack).div_ceil(1 << self.shift).min(65_535) as u16;
        }
        if !self.sack || self.ooo.is_clear() {
            return out.emit(ack, None);
        }
        let Some(blocks) = self.sack_blocks() else { return out.emit(ack, None) };
        ack.flags |= flag::EXT;
        // Two bytes of padding, two of option header, eight per block.
        ack.wire += 4 + 8 * blocks.count() as u16;
        out.emit(ack, Some(&Extra::Sack(blocks)));
    }

    #[cold]
    fn sack_blocks(&mut self) -> Option<SackBlocks> {
        //= https://www.rfc-editor.org/rfc/rfc2883#section-4
        //# A D-SACK block is only used to report a duplicate contiguous sequence of data received by the receiver in the
        //# most recent packet.
        // RFC 2883 section 4: a duplicate is reported first, once.
        let dsack = self.ooo.take_dsack();
        let most = usize::from(self.blocks);
        match &self.linux {
            Some(_) => SackBlocks::of(dsack.into_iter().chain(self.ooo.sack_list().map(|b| self.wire(b))).take(most)),
            None => SackBlocks::of(dsack.into_iter().chain(self.ooo.intervals().map(|b| self.wire(b))).take(most)),
        }
    }
}
