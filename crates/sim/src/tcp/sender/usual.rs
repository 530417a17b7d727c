//! The usual ACK: of a connection without scoreboard that repairs nothing and need not answer marks, it acknowledges a part of what is
//! outstanding, and lets full segments out. What happens then is what `acks`, `cumulative` and `transmit` do with every ACK, without the questions
//! whose answers are known: 50 instructions less for an ACK and its segment.

use super::{CaState, Phase, Sender};
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

impl Sender {
    /// How many bytes a packet of the ACK direction acknowledges, if it is a usual ACK.
    #[inline(always)]
    pub(super) fn usual_ack(&self, p: &Packet) -> Option<u64> {
        let acked = u64::from(p.seq.wrapping_sub(self.addr.wire(self.una)));
        let usual = self.usual
            && self.phase == Phase::Established
            && self.ca == CaState::Open
            && self.dupacks == 0
            && (1..self.flight()).contains(&acked)
            && !p.has(flag::SYN)
            && !(p.has(flag::ECE) && self.una + acked > self.cwr_end);
        usual.then_some(acked)
    }

    /// A usual ACK for `acked` bytes arrived.
    #[inline(always)]
    pub(super) fn take_usual(&mut self, c: &TcpConfig, now: Time, p: &Packet, acked: u64, out: &mut impl Wire) {
        let ack = self.una + acked;
        self.una = ack;
        self.edge = ack + (u64::from(p.window()) << self.shift);
        let rtt = self.sample_rtt(c, now, ack, p.echo());
        self.limited = 0;
        self.arm_rto(c, now);
        let ece = self.ecn && p.has(flag::ECE);
        self.count_ece(ece, acked);
        let facts = self.facts(c, now, acked, ece, rtt);
        if self.hears.0 {
            self.law.in_ack_event(&mut self.w, &facts);
        }
        self.grow(c, &facts);
        self.note_largest_window();
        let (mss, window) = (u64::from(c.mss), self.window_bytes(c));
        self.send_full(c, now, window.saturating_sub(self.flight()), out);
        let full_waits = self.nxt + mss <= self.written && self.flight() + mss > window;
        if !full_waits && self.nxt < self.stream_end() {
            self.transmit(c, now, out);
        }
    }
}
