//! Senders of connections with data in both directions: the host's other direction opens the connection, and segments carry ACKs.

use super::{Phase, Sender};
use crate::cc::Event;
use crate::net::generation::Generation;
use crate::net::packet::Packet;
use crate::net::tick::Tick;
use crate::tcp::common::accecn::EcnFeedback;
use crate::tcp::common::clock::microseconds;
use crate::tcp::config::TcpConfig;
use crate::tcp::options::offered_shift;
use forebay_experiment::transport::Ecn;
use forebay_types::{Time, TimeOrNever};

impl Sender {
    /// Notes that the connection has data in both directions.
    pub(crate) fn set_generation(&mut self, generation: Generation) {
        self.timers.set_generation(generation);
    }

    /// Time at which the last segment, SYN or SYN-ACK left.
    pub(crate) fn last_sent(&self) -> TimeOrNever {
        self.tx.last_tx()
    }

    /// Smoothed RTT and RTO, once there is a sample.
    pub(crate) fn round_trip(&self, c: &TcpConfig) -> Option<(Time, Time)> {
        Some((self.rtt.smoothed().get()?, self.rto(c)))
    }

    /// Notes that the host answers a SYN with a SYN-ACK now.
    pub(crate) fn on_syn_ack_sent(&mut self, now: Time) {
        if self.stream.phase() == Phase::Closed {
            self.tx.set_last_tx(now);
        }
    }

    /// Handles the first packet after the SYN-ACK (tcp_rcv_state_process in SYN-RECEIVED), which advertises `window`; false for others. `feedback`
    /// is negotiated. The congestion control begins after this packet (tcp_init_transfer).
    pub(crate) fn accept(&mut self, c: &TcpConfig, now: Time, window: u16, feedback: EcnFeedback) -> bool {
        if self.stream.phase() != Phase::Closed {
            return false;
        }
        self.stream.set_phase(Phase::Established);
        self.cc.set_feedback(feedback);
        self.tx.set_ecn(feedback.data_codepoint(c));
        self.stream.keep_plain_if(self.cc.ecn() == (c.ecn != Ecn::Off));
        self.stream.set_wscale(offered_shift(c));
        self.stream.set_wnd_edge(self.stream.window_edge(0, window));
        if let Some(sent) = self.tx.last_tx().get() {
            // tcp_synack_rtt_meas.
            let rtt = if c.is_linux() { microseconds(now, now - sent) } else { now - sent };
            self.take_rtt(c, rtt);
        }
        self.rto_after_handshake(c);
        self.first_timeout(c);
        self.cc.cwnd_event(Event::Established { rtt: self.rtt.min().get() });
        // tcp_rcv_state_process sets `lsndtime`: the first data is no restart after a pause.
        self.tx.set_last_tx(now);
        true
    }

    /// Sequence number of the SYN or SYN-ACK.
    pub(crate) fn initial_number(&self) -> u32 {
        self.tx.numbers().initial()
    }

    /// Stores the timestamp of data that has arrived, which the next segments echo.
    pub(crate) fn echo_data(&mut self, tsval: Tick) {
        self.tx.store_ts_recent(tsval);
    }

    /// Returns true if ACKs without news matter too: to the congestion control, or to data that waits and may leave (tcp_data_snd_check). Data that the
    /// application reads at once never takes the short path of tcp_rcv_established, because the socket has no memory left over for it
    /// (`sk_forward_alloc`), so that tcp_ack sees each carried ACK.
    pub(crate) fn sees_all_acks(&self) -> bool {
        self.cc.wants_all_acks() || self.stream.snd_nxt() < self.stream.written()
    }

    /// Returns true if an ACK that data carried has nothing new: number and window are those of the last one.
    pub(crate) fn repeats_last_ack(&self, p: &Packet) -> bool {
        self.stream.phase() == Phase::Established
            && p.seq == self.tx.numbers().wire(self.stream.snd_una())
            && self.stream.window_edge(self.stream.snd_una(), p.window()) == self.stream.snd_wnd_edge()
            && !self.cc.feedback().reports_mark(p)
    }
}
