//! Handshake and close at the sender: SYN-ACK, ACK and FIN.

use super::{CaState, Phase, Sender};
use crate::cc::Event;
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::common::accecn::EcnFeedback;
use crate::tcp::common::clock::{microseconds, whole_ticks};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::Ecn;
use forebay_types::Time;

impl Sender {
    pub(in crate::tcp) fn on_syn_ack(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.stream.set_phase(Phase::Established);
        self.timers.stop();
        self.cc.set_feedback(EcnFeedback::negotiated(c, p));
        self.tx.set_ecn(self.cc.feedback().data_codepoint(c));
        self.stream.keep_plain_if(self.cc.ecn() == (c.ecn != Ecn::Off));
        self.stream.set_wscale(p.window_shift());
        //= https://www.rfc-editor.org/rfc/rfc7323#section-2.2
        //# The window field in a segment where the SYN bit is set (i.e., a <SYN> or <SYN,ACK>) MUST NOT be scaled.
        // RFC 7323 section 2.2: the window is not scaled, so it is at most 65 535 until the first ACK of data.
        self.stream.take_syn_ack_window(p.window());
        let linux = c.is_linux();
        // tcp_try_undo_spurious_syn: the first SYN had arrived.
        let first = self.cold.first_syn.get().filter(|first| linux && c.timestamps && p.echo() == first.timestamp());
        let sent = self.tx.last_tx().get().filter(|_| !self.cold.syn_retx);
        let echoed = c.timestamps.then(|| first.map_or_else(|| now.since(p.echo()), |first| now - first));
        let rtt = match (linux, sent) {
            (false, sent) => echoed.or(sent.map(|sent| now - sent)),
            (true, Some(sent)) => Some(microseconds(now, now - sent)),
            // After a retransmitted SYN, the echo counts, in ticks, at least one (tcp_ack_update_rtt, tcp_rtt_tsopt_us).
            (true, None) => echoed.map(|rtt| whole_ticks(c, now, now.saturating_sub(rtt))),
        };
        if let Some(rtt) = rtt {
            self.take_rtt(c, rtt);
        }
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        //# Further, if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly transmitted SYN
        //# MUST be one segment consisting of at most SMSS bytes.
        // RFC 5681 section 3.1: after a lost SYN the initial window is one segment. Linux (tcp_init_transfer) reduces it only after a second loss,
        // because the initial RTO of one second is short, and keeps it when the first SYN is answered after all.
        let forgiven = u32::from(linux);
        if self.rtt.backoff() > forgiven && first.is_none() {
            self.cc.window.cwnd = 1.0;
        }
        if linux && self.cold.syn_retx && c.counts_duplicates() {
            // The timeout of a SYN counts as any other (tcp_enter_loss). Its state is kept until data behind the SYN is acknowledged
            // (tcp_is_non_sack_preventing_reopen).
            self.loss.set_ca_state(CaState::Loss);
            self.cold.recover = self.stream.snd_una();
        }
        self.rto_after_handshake(c);
        self.first_timeout(c);
        self.cc.cwnd_event(Event::Established { rtt: self.rtt.min().get() });
        self.send_ack(c, now, out);
        if out.defer_write(self.tx.template().conn) {
            return;
        }
        if self.tx.send_buffer.is_some() {
            return self.fill_and_transmit(c, now, out);
        }
        self.transmit(c, now, out);
    }

    /// Sends a packet without data that acknowledges the SYN-ACK or the FIN of the peer.
    pub(in crate::tcp) fn send_ack(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let mut ack = self.packet(c, now);
        ack.seq = self.tx.numbers().wire(self.stream.snd_una());
        self.tx.count_sent(1);
        out.emit(ack, None);
    }

    pub(in crate::tcp) fn finish(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.stream.set_phase(if p.has(flag::FIN) { Phase::Done } else { Phase::FinWait2 });
        self.tx.tsq = None;
        self.timers.stop();
        self.release_all_held(out);
        if self.stream.phase() == Phase::Done {
            self.send_ack(c, now, out);
        }
    }
}
