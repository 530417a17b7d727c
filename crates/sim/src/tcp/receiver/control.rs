//! Packets without data: SYNs, handshakes and probes.

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

impl Receiver {
    /// A packet without sequence space: the ACK of a handshake, which asks for nothing, or a probe, which asks for an ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn on_empty(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if let Some(a) = &mut self.adaptive {
            a.on_established(c, now, p);
        }
        if self.has_closed() && p.seq == self.numbers.wire(self.rcv_nxt) {
            // Not the handshake's, which may come twice.
            self.end();
        }
        if p.has(flag::PROBE) {
            self.note_stamp(now, p.ts);
            self.answer(c, now, out);
        }
    }

    /// Answers a SYN, also a repeated one whose answer was lost. Datagrams come here too: with the flag of a SYN they cost segments no
    /// further question.
    pub(super) fn on_syn(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if p.has(flag::DATAGRAM) {
            return self.on_datagram(p);
        }
        if let Some(a) = &mut self.adaptive {
            a.on_syn(c, now);
        }
        // tcp_check_req answers a repeated SYN as it did the first (`ts_recent` of the request); by RFC 7323 section 4.3 it is echoed itself.
        let again = self.answered && c.is_linux();
        if self.rcv_nxt == 0 && !again {
            // RFC 7323 section 4.3: what is echoed beside a first hole.
            self.note_stamp(now, p.ts);
        }
        let ts = if again { self.ts_recent } else { p.ts };
        let mut answer = Packet { seq: self.numbers.wire(self.rcv_nxt), ts, ..self.template };
        answer.flags |= flag::SYN;
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.1
        //# If a host has received an ECN-setup SYN packet, then it MAY send an ECN-setup SYN-ACK packet.
        // RFC 3168 section 6.1.1: SYN with ECE and CWR asks, SYN-ACK with ECE alone agrees. The first SYN counts: it is not asked for again, but
        // answered again as it was (tcp_check_req).
        if (p.has(flag::ECE | flag::CWR) || self.answered) && self.echo != Echo::Off {
            answer.flags |= flag::ECE;
        } else {
            self.echo = Echo::Off;
            self.template.meta.set_ecn(Codepoint::NotEct);
            answer.meta.set_ecn(Codepoint::NotEct);
        }
        self.answered = true;
        // RFC 7323 section 2.2: the window of a SYN is never scaled; the shift travels in an option (here: in `len`).
        let window = self.window_shim.as_mut().map_or(self.window, |s| s.advertise(0, false));
        answer.win = window.min(65_535) as u16;
        answer.len = u16::from(self.shift);
        self.note_sent();
        out.emit(answer, None);
    }
}
