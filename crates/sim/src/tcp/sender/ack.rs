//! ACK processing (tcp_ack). `on_packet` tries the fast paths. The slow path updates the receive window, takes the RTT sample and reads the marks.
//!
//! Three kinds of functions then detect losses, recover, and grow the window by `grow`: with SACK `on_ack_sack` (`linux/input.rs`, `rfc/sack.rs`), in
//! Linux without SACK `on_ack_without_sack` (`linux/reno_sack.rs`), else `on_new_ack` and `on_duplicate` (`rfc/newreno.rs`). Data leaves in
//! `transmit_after`.

use super::{CaState, Phase, Sender, Timer};
use crate::cc::Ack;
use crate::net::packet::{Extra, Packet, SackBlocks, Wire, flag};
use crate::tcp::common::clock::microseconds;
use crate::tcp::common::rtt::Sent;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Ecn, Growth, SsthreshFrom};
use forebay_types::Time;

impl Sender {
    /// Processes a packet of the ACK direction.
    #[inline(always)]
    pub fn on_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        match self.fast_path_ack(p) {
            Some(acked) => {
                if self.on_fast_ack(c, now, p, acked, out) {
                    self.transmit(c, now, out);
                }
            }
            None => self.on_packet_unless_plain(c, now, p, extra, out),
        }
    }

    /// Processes a packet that [`Sender::fast_path_ack`] does not take: by the fast path with a scoreboard, or by the slow path.
    #[inline(always)]
    pub(crate) fn on_packet_unless_plain(
        &mut self,
        c: &TcpConfig,
        now: Time,
        p: &Packet,
        extra: Option<&Extra>,
        out: &mut impl Wire,
    ) {
        match self.fast_path_sack_ack(p, extra.is_some()) {
            Some(acked) => self.on_fast_sack_ack(c, now, p, acked, out),
            None => self.ack_slow_path(c, now, p, extra, out),
        }
    }

    #[inline(never)]
    fn ack_slow_path(&mut self, c: &TcpConfig, now: Time, p: &Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        match self.stream.phase() {
            Phase::SynSent if p.has(flag::SYN) => return self.on_syn_ack(c, now, p, out),
            Phase::Established if !p.has(flag::SYN) => {}
            // RFC 9293 section 3.10.7.4: a repeated SYN-ACK is answered, but acknowledges nothing and its window is not scaled.
            Phase::Established => return self.send_ack(c, now, out),
            Phase::FinWait2 if p.has(flag::FIN) => return self.finish(c, now, p, out),
            // TIME-WAIT (tcp_timewait_state_process).
            Phase::Done if p.has(flag::FIN) && c.quickack => return self.send_ack(c, now, out),
            Phase::Closed | Phase::SynSent | Phase::FinWait2 | Phase::Done => return,
        }
        let sack = match extra {
            Some(Extra::Sack(blocks)) => Some(blocks),
            Some(Extra::Carried(_)) | None => None,
        };
        let carried = p.has(flag::CARRIED);
        let offset = self.tx.numbers().offset(p.ack_number(), self.stream.snd_una());
        if offset < 0 {
            return;
        }
        if offset as u64 > self.stream.snd_max() {
            return self.on_ack_of_unsent(c, now, out);
        }
        let ack = offset as u64;
        self.loss.ensure_scoreboard(c, self.stream.snd_una());
        self.check_app_limited_between_writes(c, now);
        if ack < self.stream.snd_una() {
            self.on_old_ack(c, now, ack, sack, out);
            return self.release_scoreboard(c);
        }
        if ack > self.stream.snd_una() {
            self.tx.store_ts_recent(p.tsval());
        } else {
            self.tx.replace_ts_recent(p.tsval());
        }
        let edge = self.stream.window_edge(ack, p.window());
        //= https://www.rfc-editor.org/rfc/rfc5681#section-2
        //# (e) the advertised window in the incoming acknowledgment equals the advertised window in the last incoming
        //# acknowledgment.
        // RFC 5681 section 2 (e): an ACK with a new window is no duplicate. The window of the SYN-ACK is not scaled (RFC 7323 section 2.2), so it is
        // at most 65 535 and cannot be compared with scaled ones.
        let comparable = ack > 0 || !self.stream.scales_window() || self.stream.snd_wnd_edge() > 65_535;
        let window_update = edge != self.stream.snd_wnd_edge() && ack == self.stream.snd_una() && comparable || carried;
        // tcp_may_update_window: a window that closes is new, one that shrinks is not. The first window after the SYN-ACK is new too, because it has
        // another sequence number. Our choice: the window of a pure ACK after data of the peer is not new, although the sequence number differs there
        // too.
        let linux = c.is_linux();
        let first = self.stream.snd_una() == 0 && self.stream.leaves_syn_ack_window();
        // Data that carries the ACK has a newer sequence number, and is no duplicate ACK (RFC 5681 section 2 (b); FLAG_DATA).
        let widens = carried
            || edge > self.stream.snd_wnd_edge()
            || (linux
                && ((p.window() == 0 && c.kernel.closes_window_without_new_ack())
                    || (first && edge != self.stream.snd_wnd_edge())));
        // RFC 9293 section 3.10.7.4: the window is that of the newest ACK, also when its right edge has moved left. Data outstanding beyond it stays
        // outstanding, and nothing new is sent there (section 3.8.6). Applications read at once, but data that waits for a hole can fill the buffer.
        // Linux ignores a smaller window of an ACK that acknowledges nothing, unless it closes.
        if widens || ack > self.stream.snd_una() || !linux {
            self.stream.set_wnd_edge(edge);
        }
        let acked = ack - self.stream.snd_una();
        let rtt = if acked > 0 {
            self.advance(c, now, ack, p.echo())
        } else {
            if c.probe_after > 0 {
                self.end_probing(c, now);
            }
            None
        };
        let (ece, ce) = match self.cc.feedback().is_accurate() {
            true => self.take_marks(c, p, extra, acked),
            false => (self.cc.ecn() && p.has(flag::ECE), 0),
        };
        let facts = Ack { ce, ..self.ack_facts(c, now, acked, ece, rtt) };
        self.count_ece(ece, acked);
        if let Some(s) = &self.loss.sack {
            // Copies for the rare branches keep the facts of the common one in registers.
            if s.reordering == 0 {
                self.on_ack_sack(c, &mut { facts }, sack, (ack, widens), out);
            } else {
                let duplicate = acked == 0 && self.flight() > 0 && !widens;
                self.on_ack_without_sack(c, &mut { facts }, duplicate, out);
            }
        } else {
            if self.cc.wants_all_acks() {
                self.cc.in_ack_event(&facts);
            }
            if acked > 0 {
                self.on_new_ack(c, &facts, out);
            } else if self.flight() > 0 && !window_update {
                self.on_duplicate(c, &{ facts }, out);
            }
        }
        if acked > 0 || self.flight() > 0 {
            self.update_pacing_rate(c);
        }
        self.stats.update_cwnd_max(self.cc.window.cwnd);
        if self.stream.snd_una() > self.stream.written() {
            // The FIN is acknowledged.
            self.finish(c, now, p, out);
        } else {
            let closes = self.refill_buffer(c, now, out);
            let closed = self.stream.snd_una() == self.stream.snd_nxt() && self.timers.kind() == Timer::Rto;
            if closed {
                self.on_ack_in_closed_window(c, now);
            }
            match closes {
                true => self.fill_and_transmit(c, now, out),
                false => self.transmit_after(c, now, closed, out),
            }
            self.release_scoreboard(c);
        }
    }

    /// Drops an ACK of data that was not sent, which an optimistic receiver may send, and answers it (RFC 9293 section 3.10.7.4; RFC 5961 section 5.2).
    /// Linux drops it without an answer (tcp_ack, `SKB_DROP_REASON_TCP_ACK_UNSENT_DATA`).
    #[cold]
    #[inline(never)]
    fn on_ack_of_unsent(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if c.is_linux() {
            return;
        }
        let mut ack = self.packet(c, now);
        ack.seq = self.tx.numbers().wire(self.stream.snd_nxt());
        self.tx.count_sent(1);
        out.emit(ack, None);
    }

    /// Facts about an ACK of `acked` bytes for the congestion control.
    #[inline(always)]
    pub(in crate::tcp) fn ack_facts(&self, c: &TcpConfig, now: Time, acked: u64, ece: bool, rtt: Option<Time>) -> Ack {
        Ack {
            now,
            snd_una: self.stream.snd_una(),
            snd_nxt: self.stream.snd_nxt(),
            acked,
            delivered: acked,
            segments: 0,
            lost: 0,
            absent: 0,
            ce: 0,
            window_limited: self.cc.cwnd_limited(),
            ece,
            grow: match c.growth {
                Growth::PerAck => 1.0,
                // Without limit: as many segments as these bytes need. A scoreboard has the exact number.
                Growth::PerSegment { limit: u32::MAX } => acked.div_ceil(u64::from(c.mss)) as f64,
                Growth::PerSegment { limit } => (acked as f64 / f64::from(c.mss)).min(self.growth_limit(limit)),
            },
            rtt,
            newest_rtt: rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            mss: c.mss,
        }
    }

    /// Number of segments that an ACK may count for, by a rule with a limit. It is one while a timeout is repaired (RFC 3465 section 2.3), because an
    /// ACK then covers much that had arrived before. RFC 3465 limits slow start (section 2.2), and counts all bytes above the threshold (section
    /// 2.1).
    #[inline(always)]
    pub(in crate::tcp) fn growth_limit(&self, limit: u32) -> f64 {
        if self.loss.ca_state() == CaState::Loss {
            return f64::from(limit.min(1));
        }
        if limit > 1 && !self.cc.window.in_slow_start() { f64::INFINITY } else { f64::from(limit) }
    }

    /// Counts bytes that were acknowledged with ECE.
    #[inline(always)]
    pub(in crate::tcp) fn count_ece(&mut self, ece: bool, acked: u64) {
        if ece {
            self.stats.count_marked(acked, self.stream.snd_una(), &mut self.cold);
        }
    }

    /// Processes an ACK that arrives after a later one: it acknowledges nothing and its window is out of date, but its SACK blocks may be new (Linux
    /// tcp_ack, `old_ack`).
    #[cold]
    #[inline(never)]
    fn on_old_ack(&mut self, c: &TcpConfig, now: Time, number: u64, sack: Option<&SackBlocks>, out: &mut impl Wire) {
        if sack.is_none() || self.loss.sack.is_none() {
            return;
        }
        let mut facts = Ack {
            now,
            snd_una: self.stream.snd_una(),
            snd_nxt: self.stream.snd_nxt(),
            acked: 0,
            delivered: 0,
            segments: 0,
            lost: 0,
            absent: 0,
            ce: 0,
            window_limited: self.cc.cwnd_limited(),
            ece: false,
            grow: 0.0,
            rtt: None,
            newest_rtt: None,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            mss: c.mss,
        };
        self.on_ack_sack(c, &mut facts, sack, (number, false), out);
        self.transmit(c, now, out);
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# When an ACK is received that acknowledges new data, restart the retransmission timer so that it will expire after
    //# RTO seconds (for the current value of RTO).
    /// Advances `snd_una`, takes the RTT sample and restarts the timer (RFC 6298 section 5.3).
    #[inline(always)]
    fn advance(&mut self, c: &TcpConfig, now: Time, ack: u64, echo: u32) -> Option<Time> {
        self.stream.advance_una(ack);
        let rtt = if self.loss.sack.is_some() && c.is_linux() {
            // The sample is taken from segments (`sample_ages`).
            self.echoed(c, now, ack, echo).inspect(|rtt| self.stats.current_mut().note_rtt(*rtt))
        } else {
            self.sample_rtt(c, now, ack, echo)
        };
        self.cold.cap_limited_transmit(self.stream.snd_nxt() - ack);
        //= https://www.rfc-editor.org/rfc/rfc6298#section-5
        //# When all outstanding data has been acknowledged, turn off the retransmission timer.
        if self.stream.snd_una() == self.stream.snd_nxt() {
            self.timers.stop();
        } else if !self.uses_linux_timers(c) {
            self.arm_rto(c, now);
        }
        rtt
    }

    /// Age of the data or timestamp that an ACK up to stream offset `ack` answers, if it is known.
    #[inline(always)]
    pub(in crate::tcp) fn echoed(&mut self, c: &TcpConfig, now: Time, ack: u64, echo: u32) -> Option<Time> {
        let rtt = if c.timestamps {
            // Nanosecond clock, 32 bits: wraps after 4.3 s, longer than any RTT in a data center.
            Some(now.since(echo))
        } else {
            self.timers.take_timed(ack).map(|sent| now - sent)
        };
        if c.is_linux() { rtt.map(|rtt| microseconds(now, rtt)) } else { rtt }
    }

    /// RTT sample of an ACK up to stream offset `ack`, if it gives one.
    #[inline(always)]
    pub(in crate::tcp) fn sample_rtt(&mut self, c: &TcpConfig, now: Time, ack: u64, echo: u32) -> Option<Time> {
        let rtt = self.echoed(c, now, ack, echo);
        if let Some(rtt) = rtt {
            self.take_rtt(c, rtt);
        }
        // RFC 6298 section 5 keeps the back-off until a new sample. Senders that count consecutive timeouts end it with any progress. With timestamps
        // every advance is a sample.
        if rtt.is_some() || c.probe_after > 0 {
            self.rtt.reset_backoff();
        }
        rtt
    }

    #[inline(always)]
    pub(in crate::tcp) fn take_rtt(&mut self, c: &TcpConfig, rtt: Time) {
        self.rtt.sample(c, rtt, Sent { snd_una: self.stream.snd_una(), snd_nxt: self.stream.snd_nxt() });
        self.stats.current_mut().note_rtt(rtt);
    }

    /// Lets the window grow for an ACK that advanced and reduced nothing.
    #[inline(always)]
    pub(in crate::tcp) fn grow(&mut self, c: &TcpConfig, ack: &Ack) {
        if self.cc.wants_new_acks() && !(self.loss.sack.is_some() && c.is_linux()) {
            self.pkts_acked(&{ *ack });
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2
        //# The sending TCP SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK
        //# packet.
        // RFC 3168 section 6.1.2: no increase on an ACK with ECE, except with DCTCP, which decides by itself. After a timeout the echo continues
        // until new data can carry CWR, which must not delay the repair (Linux tcp_may_raise_cwnd). Where retransmissions carry CWR, the echo ends by
        // itself.
        let classic = c.ecn != Ecn::Dctcp && self.cc.feedback().sends_cwr();
        let held = ack.ece && classic && (self.loss.ca_state() != CaState::Loss || c.cwr_on_retransmit);
        if !held && (!c.cwnd_validation || self.is_cwnd_limited(c)) {
            self.cc.cong_avoid(ack);
        }
    }

    /// Returns true if the window limits sending.
    #[inline(always)]
    fn is_cwnd_limited(&mut self, c: &TcpConfig) -> bool {
        if self.cc.cwnd_limited() == Some(true) {
            return true;
        }
        if c.ssthresh_from == SsthreshFrom::Flight {
            // RFC 9438 section 5.8: the application limits a flow that sends less than the window allows. While a timeout is repaired, lost segments
            // may wait for the window.
            return self.loss.ca_state() == CaState::Loss
                && self.loss.sack.as_mut().is_some_and(|s| s.board.next_lost().is_some());
        }
        // Linux tcp_is_cwnd_limited: in slow start, a window that is more than half used counts.
        self.cc.window.in_slow_start() && self.cc.window.cwnd < 2.0 * f64::from(self.max_packets_out())
    }

    /// Largest number of segments outstanding in the current flight.
    pub(in crate::tcp) fn max_packets_out(&self) -> u32 {
        self.loss.sack.as_ref().map_or(self.cold.usage.max_packets_out, |s| s.usage.max_packets_out)
    }

    /// Notifies slow start and the congestion control of an ACK that advanced and starts no reduction.
    pub(in crate::tcp) fn pkts_acked(&mut self, ack: &Ack) {
        self.cc.pkts_acked(ack);
    }
}
