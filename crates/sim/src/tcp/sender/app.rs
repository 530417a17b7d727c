//! Calls of the application: open, write and stop. Where receivers depend on PSH, the application fills a send buffer like a process that blocks in
//! `write`.

use super::{Phase, Sender, Timer};
use crate::cc::Event;
use crate::net::packet::{Wire, flag};
use crate::tcp::common::accecn;
use crate::tcp::common::rack::MAX_REORDERING;
use crate::tcp::common::send_buffer::{SendBuffer, SenderView};
use crate::tcp::common::tsq_backlog::memory;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Ecn, Recovery};
use forebay_experiment::writes::Writes;
use forebay_types::Time;

impl Sender {
    /// Opens the connection: sends a SYN, or establishes it at once in a stack without handshake.
    pub fn open(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if !c.handshake {
            self.stream.set_phase(Phase::Established);
            return self.transmit(c, now, out);
        }
        self.stream.set_phase(Phase::SynSent);
        self.send_syn(c, now, out);
    }

    pub(in crate::tcp) fn send_syn(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let mut syn = self.packet(c, now);
        syn.seq = self.tx.numbers().initial();
        // RFC 3168 section 6.1.1: ECE and CWR on the SYN request ECN. Linux requests it only once, because a host that drops such SYNs may have
        // caused the loss (section 6.1.1.1; tcp_ecn_clear_syn, tcp_ecn_fallback = 1).
        // Accurate ECN is requested once more (RFC 9768 section 3.1.4.1).
        let asks = match c.ecn.is_accurate() {
            true => self.rtt.backoff() < 2,
            false => c.ecn != Ecn::Off && !(self.cold.syn_retx && c.is_linux()),
        };
        syn.flags = flag::SYN | if asks { flag::ECE | flag::CWR } else { 0 };
        if asks && c.ecn.is_accurate() {
            syn.set_ace(accecn::REQUEST);
        }
        self.tx.count_sent(1);
        out.emit(syn, None);
        self.tx.set_last_tx(now);
        self.set_timer(c, Timer::Rto, now, self.rto(c));
    }

    /// Takes a message of `bytes` that should arrive by `deadline`, if it has one; `last` closes the stream behind it.
    pub fn write(&mut self, c: &TcpConfig, now: Time, bytes: u64, deadline: Option<Time>, last: bool, out: &mut impl Wire) {
        self.write_by(c, now, (bytes, Writes::ONE), deadline, last, out);
    }

    /// As [`Sender::write`], with several calls for the message. Transports without a send buffer have one call.
    pub fn write_by(
        &mut self,
        c: &TcpConfig,
        now: Time,
        (bytes, writes): (u64, Writes),
        deadline: Option<Time>,
        last: bool,
        out: &mut impl Wire,
    ) {
        let begin = self.stream.written();
        self.check_app_limited(c, now, begin);
        self.stream.write(bytes);
        if begin >= self.stats.message_end() {
            self.cold.pending.add(self.stream.written(), self.cc.window.cwnd);
        }
        if let Some(t) = self.cold.tag_mut() {
            t.write(begin, self.stream.written(), self.stream.snd_una());
        }
        self.cc.cwnd_event(Event::Write { begin, end: self.stream.written(), deadline });
        if c.has_send_buffer() {
            // Our choice: tagged packets and stacks without a scoreboard have buffers of one segment.
            let bursts = c.tso.is_some() && c.is_linux() && self.loss.uses_scoreboard() && self.cold.tag.is_none();
            let buffer = self.tx.send_buffer.get_or_insert_with(|| Box::new(SendBuffer::new(c, begin, bursts)));
            if writes == Writes::ONE {
                buffer.write(self.stream.written());
            } else {
                buffer.write_parts((begin, self.stream.written()), writes.part(bytes));
            }
            self.stream.set_closing(last && c.fin);
            if self.stream.phase() == Phase::Established {
                self.fill_and_transmit(c, now, out);
            }
            return;
        }
        self.stream.close_if(last && c.fin);
        if self.stream.phase() == Phase::Established {
            self.transmit(c, now, out);
        }
    }

    /// Fills the send buffer, sends, and closes if the application has no more data. The FIN travels alone unless the last segment has not left. That
    /// segment stays if the window has no space, or for the interface ([`Sender::send_written`]) or Nagle's algorithm.
    #[cold]
    pub(in crate::tcp) fn fill_and_transmit(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.sends_bursts() {
            if self.cc.hooks().records() {
                // tcp_sendmsg_locked calls tcp_rate_check_app_limited before it sends, which notifies the congestion control of the start.
                self.check_space(c);
                if let Some(b) = self.tx.send_buffer.as_ref().filter(|b| b.may_write()) {
                    let taken = b.taken();
                    self.check_app_limited(c, now, taken);
                }
            }
            return self.transmit_at(c, now, (false, true), out);
        }
        self.fill_buffer(c, now, out);
        if self.stream.closing() && self.is_waiting() {
            // The rest of the data must enter the buffer first.
            return self.transmit(c, now, out);
        }
        if self.send_written(c, now, out) {
            self.stream.close();
            self.transmit(c, now, out);
        }
    }

    /// Sends what is written, without a FIN. A short last segment waits while data is outstanding and the connection has more memory in the interface
    /// than the segment takes (tcp_should_autocork), until the first packet has left or an ACK comes. Returns false if it waits and no FIN follows.
    fn send_written(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) -> bool {
        let written = self.stream.written();
        let short = written.saturating_sub(self.stream.snd_nxt()) % u64::from(c.mss);
        if short == 0 && !self.stream.closing() {
            return true;
        }
        self.stream.set_written(written - short);
        self.transmit(c, now, out);
        let last = self.stream.snd_nxt() == self.stream.written();
        self.stream.set_written(written);
        let tail = if c.tso.is_some() { 1 } else { memory(c, short as u32) };
        let outstanding = self.stream.snd_una() < self.stream.snd_nxt();
        let corked = self.tx.tsq.as_mut().filter(|q| outstanding && q.bytes >= tail);
        if let Some(q) = corked {
            if last && !self.stream.closing() {
                q.wait_for_first();
                self.set_alarm(now, out);
                return false;
            }
        } else {
            self.transmit(c, now, out);
        }
        true
    }

    /// Fills the send buffer if the application waits for space or has more data. Returns true if the stream closes now;
    /// [`Sender::fill_and_transmit`] does the rest.
    #[inline]
    pub(in crate::tcp) fn refill_buffer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) -> bool {
        let Some(b) = self.tx.send_buffer.as_ref().filter(|b| b.queue().is_none()) else { return false };
        let merged = self.loss.sack.as_ref().is_some_and(|s| s.board.sacked_segs > 0);
        let cwnd = (self.cc.window.cwnd as u32).max(self.reordering_degree() + 1);
        let sleeps = !merged
            && b.sleeps(self.stream.snd_una(), self.stream.snd_nxt(), self.stream.snd_wnd_edge() - self.stream.snd_una(), cwnd);
        if !sleeps && b.wants(self.stream.snd_una()) {
            if out.defer_write(self.tx.template().conn) {
                return false;
            }
            self.fill_buffer(c, now, out);
        }
        self.stream.closing() && !self.is_waiting()
    }

    /// Lets the application continue, whose write [`Wire::defer_write`] has deferred.
    pub fn resume(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.stream.phase() != Phase::Established {
            return;
        }
        // The first write follows the handshake.
        let first = self.stream.snd_nxt() == 0 && self.tx.send_buffer.is_some();
        if first || self.sends_bursts() || self.refill_buffer(c, now, out) {
            self.fill_and_transmit(c, now, out);
        } else {
            self.transmit(c, now, out);
        }
    }

    /// Returns true if the application waits for space for data that has not left.
    pub(in crate::tcp) fn is_waiting(&self) -> bool {
        self.stream.snd_nxt() < self.stream.written() && self.tx.send_buffer.as_ref().is_some_and(|b| b.limit() < u64::MAX)
    }

    /// Degree of reordering seen so far, in segments.
    fn reordering_degree(&self) -> u32 {
        self.loss.sack.as_ref().map_or(0, |s| s.reordering.max(s.rack.far).min(MAX_REORDERING))
    }

    /// Moves data from the application into the send buffer, as far as there is space. The application writes one message after the other: the end of
    /// one may leave before the next is written.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn fill_buffer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.cc.hooks().records()
            && let view = self.sender_view(c, 0)
            && let Some(b) = self.tx.send_buffer.as_ref().filter(|b| b.resumes_writing(&view))
        {
            let taken = b.taken();
            self.check_app_limited(c, now, taken);
        }
        while let Some(end) = self.fill_to_message(c, now) {
            let (written, closing) = (self.stream.written(), self.stream.closing());
            self.stream.set_written(end);
            self.stream.set_closing(false);
            self.send_written(c, now, out);
            self.stream.set_written(written);
            self.stream.set_closing(closing);
        }
    }

    /// Moves data into the send buffer up to the end of a message whose last segment may leave now. Returns that end, if there are more messages.
    fn fill_to_message(&mut self, c: &TcpConfig, now: Time) -> Option<u64> {
        if let Some(q) = &mut self.tx.tsq {
            q.settle(now);
        }
        let window = (self.cc.window.cwnd * f64::from(c.mss)) as u64;
        let reach = self
            .stream
            .snd_nxt()
            .saturating_add(window.saturating_sub(self.pipe()))
            .min(self.stream.snd_wnd_edge())
            .min(self.tsq_reach(c));
        let view = self.sender_view(c, reach);
        self.tx.send_buffer.as_mut()?.fill(&view)
    }

    /// State of the sender for the send buffer; `reach` is the offset up to which data may leave.
    pub(in crate::tcp) fn sender_view(&self, c: &TcpConfig, reach: u64) -> SenderView {
        let in_flight = self.loss.sack.as_ref().map_or(self.flight().div_ceil(u64::from(c.mss)), |s| s.board.in_network().into());
        let packets_out = self.segments_out(c);
        let merged = self.loss.sack.as_ref().filter(|_| c.recovery == Recovery::Rack).map_or(0, |s| s.board.merged().into());
        SenderView {
            mss: c.mss.into(),
            snd_una: self.stream.snd_una(),
            snd_nxt: self.stream.snd_nxt(),
            reach,
            packets_out: packets_out.into(),
            in_flight,
            window: self.stream.snd_wnd_edge() - self.stream.snd_una(),
            cwnd: self.cc.window.cwnd as u64,
            // BBR has three (bbr_sndbuf_expand).
            windows: if self.cc.hooks().paces() { 3 } else { 2 },
            merged,
            reordering: self.reordering_degree().into(),
        }
    }

    /// Ends the stream of an endless flow with the data that has been sent.
    pub fn stop(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.stream.set_written(self.stream.snd_max().max(self.stream.snd_una()));
        if let Some(b) = &mut self.tx.send_buffer {
            b.stop(self.stream.written());
        }
        if let Some(t) = self.cold.tag_mut() {
            t.stop(self.stream.written());
        }
        self.stream.close_if(c.fin);
        self.transmit(c, now, out);
    }
}
