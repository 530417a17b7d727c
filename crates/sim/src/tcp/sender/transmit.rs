//! Transmission of new segments, and of all segments to the wire.

use super::{CaState, Phase, ReductionCause, Sender, Timer};
use crate::net::packet::{CONTINUES, Wire, flag};
use crate::shim::tag::Segment;
use crate::tcp::common::cwnd_validation::CwndUsage;
use crate::tcp::common::send_limit::Limit;
use crate::tcp::common::state::FastPath;
use crate::tcp::common::tsq_backlog::memory;
use crate::tcp::common::write_queue::Push;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Recovery, SsthreshFrom};
use forebay_types::Time;

/// Whole bytes of a window. Windows above 2^62 count as 2^62, so that the conversion needs no checks.
#[inline(always)]
fn whole_bytes(window: f64) -> u64 {
    /// 2^62.
    const WIDEST: f64 = (1u64 << 62) as f64;
    debug_assert!(window >= 0.0);
    // One instruction, unlike `f64::min`.
    let window = if window < WIDEST { window } else { WIDEST };
    // SAFETY: the value is not NaN, because NaN is not below the limit, and not above the limit; windows are never negative (`debug_assert`).
    unsafe { window.to_int_unchecked::<i64>() as u64 }
}

impl Sender {
    /// Sends as much as congestion window, receive window and data allow.
    #[inline(always)]
    pub fn transmit(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.transmit_after(c, now, false, out);
    }

    /// Sends as [`Sender::transmit`] does; `closed`: the data has waited for the receive window.
    pub(in crate::tcp) fn transmit_after(&mut self, c: &TcpConfig, now: Time, closed: bool, out: &mut impl Wire) {
        self.transmit_at(c, now, (closed, false), out);
    }

    /// Sends as [`Sender::transmit`] does. `closed`: the data has waited for the receive window; `writes`: the application calls.
    #[inline(always)]
    pub(in crate::tcp) fn transmit_at(&mut self, c: &TcpConfig, now: Time, (closed, writes): (bool, bool), out: &mut impl Wire) {
        if self.stream.phase() != Phase::Established
            || (self.cc.reduction_cause() == ReductionCause::EcnAtOneSegment && self.still_waits_for_rto(c, now))
        {
            return;
        }
        if self.stream.snd_una() == self.stream.snd_nxt()
            && self.stream.snd_nxt() < self.stream.end()
            && self.loss.ca_state() != CaState::Loss
        {
            self.after_idle(c, now, closed);
        }
        if self.stream.snd_nxt() < self.stream.end() {
            self.loss.ensure_scoreboard(c, self.stream.snd_una());
        }
        if let Some(q) = &mut self.tx.tsq {
            q.settle(now);
        }
        if self.cc.paced_send() {
            self.paced_transmit(c, now, writes, out);
        } else {
            self.transmit_until(c, now, self.end_of_send_buffer(), out);
            if self.tx.tsq.is_some() {
                self.after_tsq(now, out);
            }
        }
        if self.timers.kind() == Timer::Idle && self.stream.snd_wnd_edge() < self.stream.snd_nxt() + u64::from(c.mss) {
            self.arm_window_probe(c, now);
        }
    }

    /// Returns true if nothing new is sent before the timer expires ([`Sender::wait_for_rto`]). The timer keeps running when all is acknowledged. A
    /// recovery that begins meanwhile ends the wait.
    #[cold]
    #[inline(never)]
    fn still_waits_for_rto(&mut self, c: &TcpConfig, now: Time) -> bool {
        if self.loss.ca_state() >= CaState::Recovery {
            self.cc.set_reduction_cause(ReductionCause::Ecn);
            return false;
        }
        if self.timers.kind() == Timer::Idle {
            self.arm_rto(c, now);
        }
        true
    }

    /// End of new data: the end of the stream, or of the data in the send buffer.
    pub(in crate::tcp) fn end_of_send_buffer(&self) -> u64 {
        let end = self.stream.end();
        match &self.tx.send_buffer {
            Some(b) if !self.stream.fin() && b.queue().is_none() => end.min(b.limit()),
            _ => end,
        }
    }

    /// End of the data that is in the send buffer and may leave as a probe. A FIN without data is a buffer of its own, which may wait for the congestion
    /// window.
    pub(in crate::tcp) fn end_of_unsent(&self) -> u64 {
        match self.tx.send_buffer.as_ref().and_then(|b| b.queue()) {
            Some(q) => q.head().unwrap_or(if self.stream.fin() { self.stream.end() } else { self.stream.snd_nxt() }),
            None => self.end_of_send_buffer(),
        }
    }

    /// Sets the alarm for segments that the limit on the interface holds back, and drops the queue when everything is acknowledged.
    fn after_tsq(&mut self, now: Time, out: &mut impl Wire) {
        self.release_buffers();
        self.set_alarm(now, out);
    }

    /// Drops the queue of the interface and the send buffer when everything is acknowledged and they hold nothing.
    pub(in crate::tcp) fn release_buffers(&mut self) {
        if self.all_acked() && self.tx.tsq.as_ref().is_some_and(|q| q.is_empty()) {
            self.tx.tsq = None;
            let window = self.stream.snd_wnd_edge() - self.stream.snd_una();
            self.tx.send_buffer.take_if(|b| b.is_initial(window));
        }
    }

    /// Sends lost segments, and new data up to stream offset `end`.
    #[inline(always)]
    pub(in crate::tcp) fn transmit_until(&mut self, c: &TcpConfig, now: Time, end: u64, out: &mut impl Wire) {
        let part = (self.stream.snd_nxt(), end);
        if self.loss.sack.is_some() {
            self.transmit_by_scoreboard(c, now, part, out);
        } else {
            self.send_new(c, now, part, out);
        }
    }

    #[inline(never)]
    fn transmit_by_scoreboard(&mut self, c: &TcpConfig, now: Time, part: (u64, u64), out: &mut impl Wire) {
        let window = self.window_bytes(c);
        if self.loss.ca_state() >= CaState::Recovery && !self.loss.holds_back() {
            self.retransmit_lost(c, now, window, out);
        }
        if self.stream.fast_path() == FastPath::Linux && !self.sends_bursts() {
            self.fast_send_out_of_line(c, now, part.1, out);
        }
        self.send_rest(c, now, part, out);
        let sent = self.stream.snd_nxt() != part.0;
        if self.loss.ca_state() == CaState::Loss && self.frto_falls_back() {
            self.retransmit_lost(c, now, window, out);
        }
        // Linux retransmits only what counts as lost (tcp_xmit_retransmit_queue), without rules 3 and 4 of RFC 6675.
        if self.loss.ca_state() == CaState::Recovery && c.recovery == Recovery::Sack && !c.is_linux() {
            self.fill_holes(c, now, window, out);
        }
        if self.uses_linux_timers(c) {
            if sent {
                self.after_new_data(c, now);
            }
        } else if c.recovery == Recovery::Rack
            && self.timers.kind() != Timer::Reorder
            && (sent || self.timers.kind() == Timer::Rto)
        {
            self.arm_probe(c, now);
        }
    }

    /// Congestion window in bytes. The FIN takes a sequence number but no space: once it is outstanding, `pipe` counts one too many.
    #[inline]
    pub(in crate::tcp) fn window_bytes(&self, c: &TcpConfig) -> u64 {
        whole_bytes(self.cc.window.cwnd * f64::from(c.mss)) + u64::from(self.stream.snd_max() > self.stream.written())
    }

    /// Bytes in the network: RFC 6675's pipe with SACK, the flight size without.
    #[inline]
    pub(in crate::tcp) fn pipe(&self) -> u64 {
        match &self.loss.sack {
            None => self.flight(),
            Some(s) => s.board.pipe(self.flight()),
        }
    }

    /// Bytes of the flight size that are not in the network.
    #[inline]
    pub(in crate::tcp) fn absent(&self) -> i64 {
        self.flight().wrapping_sub(self.pipe()) as i64
    }

    //= https://www.rfc-editor.org/rfc/rfc3042#section-2
    //# When a TCP sender has previously unsent data queued for transmission it SHOULD use the Limited Transmit
    //# algorithm, which calls for a TCP sender to transmit new data upon the arrival of the first two consecutive
    //# duplicate ACKs when the following conditions are satisfied:
    /// Bytes that limited transmit allows beyond the window (RFC 3042): one segment for each of the first two duplicate ACKs. With SACK they make the
    /// pipe smaller instead (RFC 6675 section 5, step 3).
    #[inline(always)]
    pub(in crate::tcp) fn beyond_window(&self, c: &TcpConfig) -> u64 {
        let limited = self.loss.ca_state() == CaState::Disorder && c.limited_transmit && self.loss.sack.is_none();
        if limited { u64::from(self.loss.dupacks().min(2) * c.mss) } else { 0 }
    }

    /// Sends the data that `fast_send` has left.
    #[inline(never)]
    pub(in crate::tcp) fn send_rest(&mut self, c: &TcpConfig, now: Time, part: (u64, u64), out: &mut impl Wire) {
        self.send_new(c, now, part, out);
    }

    /// Sends new data up to stream offset `end`. This opportunity began at offset `first`.
    #[inline(always)]
    fn send_new(&mut self, c: &TcpConfig, now: Time, (first, end): (u64, u64), out: &mut impl Wire) {
        if self.sends_bursts() {
            self.write_xmit(c, now, end, Push::Pending, out);
            let nxt = self.stream.snd_nxt();
            if nxt < self.stream.written() || nxt >= end {
                return;
            }
            // A FIN without data is left.
        }
        let (disorder, extra) = (self.loss.ca_state() == CaState::Disorder, self.beyond_window(c));
        let (mut window, mut pipe) = (self.window_bytes(c), self.pipe());
        pipe += self.send_full(c, now, window.saturating_sub(pipe), out);
        // tcp_cwnd_test counts segments, short ones as full ones.
        let (mut full, mut by_segments) = (u64::from(c.mss), false);
        if let Some(s) = &self.loss.sack
            && c.ssthresh_from == SsthreshFrom::Cwnd
        {
            (pipe, window, full, by_segments) = (s.board.in_network().into(), self.cc.window.cwnd as u64, 1, true);
        }
        // Mostly nothing is left: another full segment waits for the window. The next segment of a tagged transport may be shorter.
        let full_waits = self.stream.snd_nxt() + u64::from(c.mss) <= self.stream.written() && pipe + full > window + extra;
        let mut limited = full_waits && self.cold.tag.is_none();
        while self.stream.snd_nxt() < end && !limited {
            let len = self.segment_len(c, self.stream.snd_nxt());
            debug_assert!(len > 0, "every segment makes progress");
            // A full segment with the FIN must fit a window of one segment, or it could never be sent after a timeout.
            let room = len.min(full);
            if pipe + room > window + extra && !self.stream.is_final_fin(c, self.stream.snd_nxt()) {
                limited = true;
                break;
            }
            let mut len = len;
            if self.stream.snd_nxt() + len > self.stream.snd_wnd_edge() {
                // RFC 9293 section 3.8.6.2.1: no part of a segment is sent while anything is outstanding; in Linux, not before the timer expires
                // (tcp_snd_wnd_test). A segment without its FIN may be sent: the FIN follows, as from an application that writes and then closes.
                let data = self.stream.written().saturating_sub(self.stream.snd_nxt()).min(u64::from(c.mss));
                len = self.stream.snd_wnd_edge().saturating_sub(self.stream.snd_nxt());
                if len == 0 || ((self.flight() > 0 || c.is_linux()) && len < data) {
                    self.note_limit(now, Limit::ReceiveWindow);
                    break;
                }
            }
            if self.cold.tag.is_some() && self.restart_for_message(c) {
                // The window has changed.
                window = if by_segments { self.cc.window.cwnd as u64 } else { self.window_bytes(c) };
                continue;
            }
            if disorder && !by_segments && self.flight() + room > window {
                self.cold.limited += len;
            }
            if self.pacing_check(now) || self.nagle_holds(c, len) || self.tsq_throttled(c, len, 1) {
                break;
            }
            let offset = self.stream.snd_nxt();
            self.stream.advance_nxt(len);
            self.send_segment(c, now, offset, len, out);
            pipe += if by_segments { 1 } else { len };
        }
        if self.stream.snd_nxt() >= end && self.is_waiting() && pipe + full <= window {
            self.note_send_buffer_limit(c, now);
        }
        let sent = self.stream.snd_nxt() != first;
        if c.cwnd_validation && (sent || limited) {
            self.validate_cwnd(c, limited || pipe + full > window);
        }
    }

    /// Segments outstanding (`packets_out`), short ones as full ones; an estimate where there is no scoreboard.
    pub(in crate::tcp) fn segments_out(&self, c: &TcpConfig) -> u32 {
        match &self.loss.sack {
            Some(s) => s.board.len() as u32,
            None => self.flight().div_ceil(u64::from(c.mss)) as u32,
        }
    }

    /// Notes the use of the window (Linux tcp_cwnd_validate). The largest use counts for one flight, also when the application has nothing more to
    /// send.
    pub(in crate::tcp) fn validate_cwnd(&mut self, c: &TcpConfig, limited: bool) {
        let segments = self.segments_out(c);
        let (snd_una, snd_nxt, unlimited) = (self.stream.snd_una(), self.stream.snd_nxt(), self.cc.cwnd_limited() != Some(true));
        let usage = match &mut self.loss.sack {
            Some(s) => &mut s.usage,
            None => &mut self.cold.usage,
        };
        if limited || snd_una >= usage.end || (unlimited && segments > usage.max_packets_out) {
            *usage = CwndUsage { end: snd_nxt, max_packets_out: segments };
            self.cc.set_cwnd_limited(Some(limited));
        }
    }

    /// Sends full segments of new data within the window, in stacks without SACK. Returns the bytes sent. `send_new` sends the rest.
    #[inline(always)]
    pub(in crate::tcp) fn send_full(&mut self, c: &TcpConfig, now: Time, room: u64, out: &mut impl Wire) -> u64 {
        // The last segment may be short or carry the FIN, so it is not sent here.
        self.send_full_until(
            c,
            now,
            self.stream
                .snd_wnd_edge()
                .min(self.stream.written().saturating_sub(1))
                .min(self.stream.snd_nxt().saturating_add(room)),
            out,
        )
    }

    /// Sends full segments of new data up to stream offset `limit`, which is before the last byte written. Returns the bytes sent.
    #[inline(always)]
    pub(in crate::tcp) fn send_full_until(&mut self, c: &TcpConfig, now: Time, limit: u64, out: &mut impl Wire) -> u64 {
        let mss = u64::from(c.mss);
        let first = self.stream.snd_nxt();
        if first + mss > limit || !self.stream.plain() || first != self.stream.snd_max() {
            return 0;
        }
        let ts = now.timestamp();
        let (mut next, mut sent) = (first, 0);
        // The first segment carries CWR after a reduction (RFC 3168 section 6.1.2).
        let mut flags = if self.cc.cwr_pending() { flag::CWR } else { 0 };
        self.cc.clear_cwr();
        while next + mss <= limit {
            let seq = self.tx.numbers().wire(next);
            out.emit_from(self.tx.template(), move |p| {
                p.seq = seq;
                p.ts = ts;
                p.flags = flags;
            });
            flags = 0;
            next += mss;
            sent += 1;
        }
        self.stream.set_nxt(next);
        self.note_full(c, now, first, sent);
        self.stream.snd_nxt() - first
    }

    /// Sequence space of the segment at `offset`: a full payload or the rest, with the FIN on the segment of the last byte.
    #[inline]
    pub(in crate::tcp) fn segment_len(&self, c: &TcpConfig, offset: u64) -> u64 {
        let mut data = self.stream.written().saturating_sub(offset).min(u64::from(c.mss));
        if let Some(t) = &self.cold.tag {
            data = data.min(t.cut(offset, u64::from(c.mss)));
        }
        data + u64::from(self.stream.fin() && offset + data == self.stream.written())
    }

    /// Sends [offset, offset + len) for the first time, or again after a timeout rolled `snd_nxt` back.
    pub(in crate::tcp) fn send_segment(&mut self, c: &TcpConfig, now: Time, offset: u64, len: u64, out: &mut impl Wire) {
        let (again, stamp) = (offset < self.stream.snd_max(), self.stamp(c, self.departure(now)));
        if let (Some(s), false) = (&mut self.loss.sack, again) {
            if len < u64::from(c.mss) {
                // tcp_minshall_update.
                s.snd_sml = offset + len;
            }
            s.board.push(offset, len as u32, stamp);
            if self.cc.hooks().records() {
                let index = s.board.len() - 1;
                self.record(stamp, index, false);
            }
        }
        self.loss.count_in_reduction(len, c.mss.into());
        self.emit_data(c, now, offset, len, again, out);
        self.stream.sent_up_to(offset + len);
    }

    /// Notes that a packet left the stack, with `data` bytes of payload from stream offset `offset` on, in `segments`; its last one leaves the interface at
    /// `departure`. `continues`: it is a further segment of a burst.
    #[inline]
    pub(in crate::tcp) fn note_packet(
        &mut self,
        c: &TcpConfig,
        now: Time,
        (offset, data): (u64, u64),
        (segments, continues): (u64, bool),
        departure: Time,
    ) {
        let bytes = if self.sends_bursts() { c.kernel.sent_head() + data } else { memory(c, data as u32) } as u32;
        let leaves = self.departure(now);
        let held = self.cold.pacer_mut().and_then(|p| p.held_mut()).is_some_and(|h| h.end_burst(leaves, bytes));
        if c.tsq {
            let seq = self.tx.numbers().wire(offset);
            let q = self.tx.tsq.get_or_insert_default();
            if held {
                q.hold(bytes);
            } else if !(continues && q.extend(departure, bytes)) {
                q.push(now, departure, bytes, seq);
            }
        }
        self.note_departure(c, now, data, segments);
    }

    /// Sends a data segment, and starts the timer if none runs.
    pub(in crate::tcp) fn emit_data(
        &mut self,
        c: &TcpConfig,
        now: Time,
        offset: u64,
        len: u64,
        again: bool,
        out: &mut impl Wire,
    ) {
        let fin = self.stream.fin() && offset + len > self.stream.written();
        let data = len - u64::from(fin);
        let mut p = self.packet(c, self.departure(now));
        p.seq = self.tx.numbers().wire(offset);
        if let Some(t) = self.cold.tag_mut() {
            p.win = p.tsecr().bits()
                | t.data(&Segment {
                    offset,
                    una: self.stream.snd_una(),
                    sacked: self.loss.sack.as_ref().map_or(0, |s| s.board.sacked),
                    high: self.stream.snd_max(),
                    mss: u64::from(c.mss),
                    again,
                });
        }
        p.len = data as u16;
        p.wire = if data == 0 { c.ack_size as u16 } else { (data as u32 + c.header) as u16 };
        let apart = if c.tso.is_some() {
            // Identifications of IP packets count all that this connection sends (ip_select_ident_segs).
            std::mem::replace(&mut self.cold.sent_end, offset + data) != offset
        } else {
            again
        };
        p.flags = if fin { flag::FIN } else { 0 } | if apart { flag::RETX } else { 0 };
        let burst = self.tx.send_buffer.as_ref().and_then(|b| b.queue()).and_then(|q| q.burst());
        if burst == Some(offset + data) {
            p.flags |= flag::PUSH;
        }
        if let Some(b) = &mut self.tx.send_buffer
            && if again { b.pushed(offset + data) } else { b.pushes(offset + data, self.stream.snd_una()) }
        {
            p.flags |= flag::PUSH;
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.5
        //# This document specifies ECN-capable TCP implementations MUST NOT set either ECT codepoint (ECT(0) or ECT(1))
        //# in the IP header for retransmitted data packets
        // RFC 3168 section 6.1.5: retransmissions of a classic ECN sender are not ECN-capable; DCTCP's are, as in Linux.
        // With Accurate ECN Linux sends them ECN-capable too (tcp_ecn_send, since 6.17).
        if self.cc.ecn() && data > 0 && (!again || c.ect_on_retransmit || self.cc.feedback().is_accurate()) {
            p.meta.set_ecn(self.tx.template().ecn());
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2
        //# the TCP sender sets the CWR flag in the TCP header of the first new data packet sent after the window reduction.
        // A FIN alone does not count (tcp_ecn_send).
        if self.cc.cwr_pending() && data > 0 && (!again || c.cwr_on_retransmit) {
            p.flags |= flag::CWR;
            self.cc.clear_cwr();
        }
        if c.tso.is_some() && (!again || burst.is_some()) && self.continues_burst(offset) {
            p.arrival = CONTINUES;
        }
        let stats = self.stats.at(offset, &mut self.cold);
        stats.count_sent(1);
        if again {
            stats.losses.segs_retx += 1;
            self.cold.retransmitted += 1;
        }
        self.tx.set_last_tx(now);
        if again {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-3
            //# TCP MUST use Karn's algorithm [KP87] for taking RTT samples.
            // Karn: a retransmission invalidates the timing of everything outstanding.
            self.timers.forget_timed();
        } else if !c.timestamps {
            self.timers.time_segment(offset + len, now);
        }
        let continues = p.arrival == CONTINUES;
        self.emit_or_hold(now, p, out);
        if burst.is_none() {
            self.note_packet(c, now, (offset, data), (1, continues), out.departure());
        }
        if self.timers.kind() == Timer::Idle {
            self.arm_rto(c, now);
        }
    }
}
