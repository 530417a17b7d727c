//! Packets without data: SYNs, the handshake's ACK, window probes, and datagrams.

use super::Receiver;
use crate::net::packet::{Codepoint, Packet, Wire, flag};
use crate::tcp::common::accecn::handshake_encoding;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

impl Receiver {
    /// Handles a packet without sequence space: the ACK of a handshake, which requires no ACK, or a probe, which does.
    #[cold]
    #[inline(never)]
    pub(super) fn on_empty_segment(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if let Some(a) = &mut self.linux
            && self.stream.establish()
        {
            a.on_established(c, now);
        }
        if self.own_fin.is_sent() && self.stream.is_next(p) {
            // The ACK of the receiver's own FIN; that of the handshake, which may arrive twice, has another number.
            self.end();
        }
        if p.has(flag::PROBE) {
            self.ts_recent.store(now, p.ts);
            self.acknowledge_request(c, out);
        }
    }

    /// Sends the SYN-ACK, also for a retransmitted SYN. Datagrams enter here as well: they carry the flag of a SYN, so that segments need no
    /// further check.
    pub(super) fn on_syn(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if p.has(flag::DATAGRAM) {
            // Datagrams are counted by the caller. The stream counts their payload, in whatever order it arrives.
            return self.stream.extend(p.len);
        }
        // tcp_check_req answers a retransmitted SYN as it did the first (`ts_recent` of the request); RFC 7323 section 4.3 echoes the new timestamp.
        let is_retransmission = self.stream.has_answered_syn();
        let repeats = is_retransmission && c.is_linux();
        if let Some(a) = &mut self.linux {
            a.on_syn(c, now, is_retransmission);
        }
        if self.stream.rcv_nxt() == 0 && !repeats {
            // RFC 7323 section 4.3: the echo beside a first hole.
            self.ts_recent.store(now, p.ts);
        }
        let ts = if repeats { self.ts_recent.value() } else { p.ts };
        let mut answer = Packet { seq: self.stream.ack_number(), ts, ..self.template };
        answer.flags |= flag::SYN;
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.1
        //# If a host has received an ECN-setup SYN packet, then it MAY send an ECN-setup SYN-ACK packet.
        // RFC 3168 section 6.1.1: a SYN with ECE and CWR requests ECN, a SYN-ACK with ECE alone agrees. The first SYN decides: a retransmitted one
        // does not request ECN, but gets the same answer (tcp_check_req).
        let requests = p.has(flag::ECE | flag::CWR) || is_retransmission;
        if self.ecn.is_accurate() && requests && p.ace() == 0 && !is_retransmission {
            // RFC 9768 table 2, third block: the SYN of a peer with classic ECN.
            self.ecn.fall_back();
        }
        // RFC 9768 section 3.1.3: any other combination of the three flags requests Accurate ECN.
        let accurate = self.ecn.is_accurate() && (requests || p.ace() != 0);
        if accurate {
            // The answer has its flags there.
        } else if requests && self.ecn.is_on() {
            answer.flags |= flag::ECE;
        } else {
            self.ecn.disable();
            self.template.meta.set_ecn(Codepoint::NotEct);
            answer.meta.set_ecn(Codepoint::NotEct);
        }
        if !self.ecn.is_accurate() {
            self.template.set_ace(0);
        }
        self.stream.answer_syn();
        // RFC 7323 section 2.2: the window of a SYN is never scaled; the shift travels in an option (here: in `len`).
        let window = self.window_shim.as_mut().map_or(self.window.rcv_wnd().into(), |s| s.advertise(0, false));
        answer.win = window.min(65_535) as u16;
        answer.len = u16::from(self.window.wscale());
        if accurate {
            answer.set_ace(handshake_encoding(p.ecn()));
        }
        self.count_sent();
        out.emit(answer, None);
    }
}
