//! Receivers of connections with data in both directions: segments of the host's own data carry their ACKs (RFC 9293 section 3.8.6.3, RFC 5681 section
//! 4.2), and one handshake opens both directions.

use super::Receiver;
use super::rcv_rtt;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Codepoint, Packet};
use crate::tcp::common::accecn::EcnFeedback;
use crate::tcp::config::TcpConfig;
use forebay_types::{Time, TimeOrNever};

impl Receiver {
    /// Notes that the connection has data in both directions.
    pub(crate) fn set_generation(&mut self, generation: Generation) {
        self.generation = generation;
    }

    /// The ACK in a segment of the host that leaves now; `data`: the segment has payload. It replaces a delayed ACK (tcp_event_ack_sent,
    /// tcp_event_data_sent).
    pub(crate) fn carry_ack(&mut self, c: &TcpConfig, now: Time, data: bool) -> CarriedAck {
        self.refresh_clock(c, now);
        let used = self.ofo_memory();
        self.prepare_ack(c, used);
        if !c.quickack && self.window.unacked_segments() > 0 {
            self.quickacks.consume();
        }
        self.window.on_ack_sent(self.stream.rcv_nxt());
        self.timer_due = TimeOrNever::NEVER;
        if let Some(a) = self.linux.as_mut().filter(|_| data && c.quickack) {
            a.delack_mut().on_data_sent(c, now);
        }
        CarriedAck {
            number: self.stream.ack_number(),
            echo: self.ts_recent.value(),
            window: self.template.win,
            tsval: self.template.len,
            ece: self.ecn.is_echoing(),
            accecn: self.accecn_option(),
        }
    }

    /// An ACK of this receiver was not sent, because data carried it.
    pub(crate) fn withdraw_ack(&mut self) {
        self.balance = self.balance.wrapping_sub(1);
    }

    /// Takes over RTT and RTO of the host's own sender.
    pub(crate) fn set_rtt(&mut self, srtt: Time, rto: Time) {
        if let Some(a) = &mut self.linux {
            a.delack_mut().set_rtt(srtt, rto);
        }
    }

    /// Notes that an ACK without data arrives, which echoes `ts`.
    pub(crate) fn on_ack_echo(&mut self, c: &TcpConfig, now: Time, ts: u32) {
        if let Some(a) = &mut self.linux {
            a.on_ack_echo(Receiver::tick_of(c, now, ts));
        }
    }

    /// Sequence number of the SYN or SYN-ACK.
    pub(crate) fn initial_number(&self) -> u32 {
        self.stream.numbers().initial()
    }

    /// Timestamp that the next ACK echoes.
    pub(crate) fn echo(&self) -> u32 {
        self.ts_recent.value()
    }

    /// Acknowledgment number of the next ACK.
    pub(crate) fn ack_number(&self) -> u32 {
        self.stream.ack_number()
    }

    /// Returns true if a SYN-ACK has left: what comes then completes the handshake.
    pub(crate) fn has_answered_syn(&self) -> bool {
        self.stream.has_answered_syn()
    }

    /// Returns true if a SYN-ACK has left and nothing has arrived since. Only stacks of Linux distinguish this state from an open connection.
    pub(crate) fn awaits_handshake_ack(&self) -> bool {
        self.stream.is_syn_received()
    }

    /// Feedback of marks that is negotiated.
    pub(crate) fn feedback(&self) -> EcnFeedback {
        match self.ecn {
            e if e.is_accurate() => EcnFeedback::ACCURATE,
            e if e.is_on() => EcnFeedback::ECE,
            _ => EcnFeedback::NONE,
        }
    }

    /// Handles the SYN-ACK `p` at the host that opened the connection with a SYN that left at `sent`.
    pub(crate) fn connect(&mut self, c: &TcpConfig, now: Time, p: &Packet, sent: Time) {
        if self.stream.has_answered_syn() {
            return;
        }
        self.stream.answer_syn();
        self.stream.establish();
        let feedback = EcnFeedback::negotiated(c, p);
        if !feedback.is_on() {
            self.ecn.disable();
            self.template.meta.set_ecn(Codepoint::NotEct);
        } else if self.ecn.is_accurate() && !feedback.is_accurate() {
            self.ecn.fall_back();
        }
        if !self.ecn.is_accurate() {
            self.template.set_ace(0);
        }
        // Our choice: packets have no room for the timestamp of a SYN-ACK, which is echoed until data comes. That of the SYN stands for it.
        self.ts_recent.store(now, p.echo());
        if let Some(a) = &mut self.linux {
            a.on_connected(c, sent, now);
        }
    }

    /// Tick of the timestamp clock at which a packet of this connection with timestamp `ts`, which arrives now, was sent.
    pub(crate) fn tick_of(c: &TcpConfig, now: Time, ts: u32) -> crate::net::tick::Tick {
        rcv_rtt::tick(c, now.saturating_sub(now.since(ts)))
    }
}
