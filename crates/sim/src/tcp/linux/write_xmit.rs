//! Transmission with segmentation offload (Linux tcp_write_xmit, tcp_sendmsg_locked): the application fills buffers of up to 64 KB, and the interface
//! takes them, or parts of them, as bursts. A burst counts as one packet for the pacer and for TCP small queues.

use super::tso::{Candidate, Stop, gso_max_size};
use crate::cc::Event;
use crate::net::packet::{CONTINUES, Wire, flag};
use crate::tcp::common::send_buffer::{SendBuffer, Written};
use crate::tcp::common::send_limit::Limit;
use crate::tcp::common::state::FastPath;
use crate::tcp::common::write_queue::Push;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};
use forebay_types::Time;

/// A buffer that may leave.
struct Burst {
    /// Offset behind its last byte, and that of the buffer that it is a part of.
    end: u64,
    skb: u64,
}

impl Sender {
    /// Returns true if this sender has buffers of several segments.
    #[inline(always)]
    pub(in crate::tcp) fn sends_bursts(&self) -> bool {
        self.tx.send_buffer.as_ref().is_some_and(|b| b.queue().is_some())
    }

    /// Sends new data up to stream offset `end`, buffer by buffer.
    #[inline(never)]
    pub(in crate::tcp) fn write_xmit(&mut self, c: &TcpConfig, now: Time, end: u64, push: Push, out: &mut impl Wire) {
        let (mss, first) = (u64::from(c.mss), self.stream.snd_nxt());
        // tcp_write_xmit computes it before the first packet leaves, which notifies the congestion control of the start (tcp_event_data_sent).
        let first_bursts = self.cold.made().map_or(0, |cold| std::mem::take(&mut cold.first_bursts));
        let max_segs = if first_bursts > 0 { u64::from(first_bursts) } else { self.burst_size(c) } / mss;
        self.clean_rtx_queue();
        // tcp_push_pending_frames: without unsent data, a full window does not count as used (tcp_send_head).
        let pending = first < self.end_of_unsent();
        let mut limited = false;
        loop {
            match self.next_burst(c, now, end, max_segs, push) {
                Ok(burst) => self.send_burst(c, now, &burst, out),
                Err(stop) => {
                    limited = matches!(stop, Stop::CwndLimited);
                    break;
                }
            }
            // tcp_event_new_data_sent ends with tcp_check_space.
            self.check_space(c);
            if matches!(push, Push::One | Push::Probe) {
                break;
            }
        }
        let sent = self.stream.snd_nxt() != first;
        let full = pending && self.window_is_full();
        if c.cwnd_validation && (sent || limited || full) {
            self.validate_cwnd(c, limited || full);
        }
        if sent && push != Push::Probe && self.uses_linux_timers(c) {
            self.after_new_data(c, now);
        }
    }

    /// Returns true if the congestion window allows no further segment.
    fn window_is_full(&self) -> bool {
        self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() >= self.cc.window.cwnd as u32)
    }

    /// Notes the use of the window after the interface or the pacer has let the sender continue: then a full window counts as used even if the
    /// application has written nothing more (tcp_tsq_write).
    pub(in crate::tcp) fn after_tsq_write(&mut self, c: &TcpConfig) {
        if c.cwnd_validation && self.sends_bursts() && self.window_is_full() {
            self.validate_cwnd(c, true);
        }
    }

    /// Burst that may leave now, of data up to stream offset `end` and at most `max_segs` segments.
    fn next_burst(&mut self, c: &TcpConfig, now: Time, end: u64, max_segs: u64, push: Push) -> Result<Burst, Stop> {
        let (mss, start) = (u64::from(c.mss), self.stream.snd_nxt());
        // tcp_push_one, forced_push and probes send short segments too (TCP_NAGLE_PUSH, TCP_NAGLE_OFF).
        let nagle = push == Push::Pending && self.nagle_check(c);
        let (Some(b), Some(s)) = (&mut self.tx.send_buffer, &self.loss.sack) else { return Err(Stop::Other) };
        if b.queue().and_then(|q| q.head()).is_none() || start >= end {
            if b.waits_for_space() && u64::from(s.board.in_network()) < self.cc.window.cwnd as u64 {
                self.note_limit(now, Limit::SendBuffer);
            }
            return Err(Stop::Other);
        }
        if self.cold.pacer_mut().is_some_and(|p| p.holds_back(now)) {
            return Err(Stop::Other);
        }
        // tcp_cwnd_test: at least two bursts fit into the window.
        let (cwnd, in_flight) = (self.cc.window.cwnd as u64, u64::from(s.board.in_network()));
        let quota = match cwnd.checked_sub(in_flight).filter(|&free| free > 0) {
            Some(free) => free.min((cwnd / 2).max(1)),
            None if push == Push::Probe || self.stream.is_final_fin(c, start) => 1,
            None => return Err(Stop::CwndLimited),
        };
        let quota = quota.min(max_segs);
        let head = |b: &SendBuffer| b.queue().and_then(|q| q.head()).unwrap_or(start);
        if c.kernel.grows_first_buffer() && head(b) - start < quota * mss {
            b.grow_head(quota * mss - (head(b) - start));
        }
        // Data that the congestion control does not allow yet does not count.
        let (skb, last) = (head(b).min(end), b.queue().is_some_and(|q| q.head_is_tail()) || head(b) > end);
        let (len, window) = (skb - start, self.stream.snd_wnd_edge().saturating_sub(start));
        // tcp_snd_wnd_test.
        if len.min(mss) > window {
            self.note_limit(now, Limit::ReceiveWindow);
            return Err(Stop::Other);
        }
        let mut limit = mss;
        if len > mss {
            if matches!(push, Push::Pending | Push::Forced)
                && let Some(oldest) = self.tx.send_buffer.as_ref().and_then(|b| b.queue()).and_then(|q| q.oldest_sent())
                && let congestion = (cwnd - in_flight.min(cwnd)) * mss
                && let Some(stop) = self.should_defer(c, now, &Candidate { len, last, congestion, most: max_segs * mss, oldest })
            {
                return Err(stop);
            }
            // tcp_mss_split_point.
            let needed = len.min(window);
            limit = quota * mss;
            if limit > needed && (limit > window || last) {
                limit = if nagle { needed / mss * mss } else { needed };
            }
        } else if len < mss && last && nagle && !self.stream.fin() {
            // tcp_nagle_test.
            return Err(Stop::Other);
        }
        let burst = start + len.min(limit);
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut())
            && q.head().is_some_and(|head| burst < head)
        {
            q.split_head(burst);
        }
        if self.small_queue_check(c, c.kernel.sent_head() + burst - start, 1) {
            // tcp_grow_skb takes from one buffer at a time. At the next packet that leaves (tcp_wfree), it takes more, and a larger buffer has a larger
            // limit.
            let grows = c.kernel.grows_first_buffer() && burst - start < quota * mss && burst < end;
            if let Some(q) = self.tx.tsq.as_mut().filter(|_| grows) {
                q.wait_for_first();
            }
            return Err(Stop::Other);
        }
        Ok(Burst { end: burst, skb })
    }

    /// Notifies the congestion control of a transmission while nothing is in the network, though data is outstanding: all of it is SACKed or lost
    /// (tcp_event_data_sent). Without outstanding data see [`Sender::after_idle`].
    fn event_data_sent(&mut self, now: Time) {
        if self.stream.snd_una() < self.stream.snd_nxt()
            && self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() == 0)
            && let Some(last_tx) = self.tx.last_tx().get()
        {
            self.cc.cwnd_event(Event::TxStart { now, idle: now - last_tx });
        }
    }

    /// Sends the first data of the send buffer, up to `end`, as a burst.
    pub(in crate::tcp) fn send_up_to(&mut self, c: &TcpConfig, now: Time, end: u64, out: &mut impl Wire) {
        self.send_burst(c, now, &Burst { end, skb: end }, out);
    }

    /// Sends a burst.
    fn send_burst(&mut self, c: &TcpConfig, now: Time, burst: &Burst, out: &mut impl Wire) {
        let (mss, first) = (u64::from(c.mss), self.stream.snd_nxt());
        self.event_data_sent(now);
        self.cold.bursts = (first, burst.end - first);
        let fin = self.stream.fin() && burst.end == self.stream.written() && burst.end == burst.skb;
        let mut whole = (burst.end - first) / mss;
        if fin && whole * mss == burst.end - first {
            whole -= 1;
        }
        // __tcp_transmit_skb: the last of several segments carries PSH, so that receive offload does not wait for more.
        let forced = (burst.end - first > mss).then_some(burst.end);
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()) {
            q.begin_burst(forced.unwrap_or(u64::MAX));
        }
        if self.stream.fast_path() == FastPath::Linux && self.cold.pacer.is_none() && first == self.stream.snd_max() {
            self.send_copies(c, now, whole, forced, out);
        }
        while self.stream.snd_nxt() < burst.end {
            let offset = self.stream.snd_nxt();
            let data = mss.min(burst.end - offset);
            let len = data + u64::from(fin && offset + data == burst.end);
            self.stream.advance_nxt(len);
            self.send_segment(c, now, offset, len, out);
        }
        let departure = self.departure(now);
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()) {
            q.sent_up_to(burst.end, departure);
        }
        let data = burst.end - first;
        self.note_packet(c, now, (first, data), (data.div_ceil(mss), false), out.departure());
    }

    /// Sends `count` full segments of new data as copies of the template.
    #[inline(always)]
    fn send_copies(&mut self, c: &TcpConfig, now: Time, count: u64, forced: Option<u64>, out: &mut impl Wire) {
        if count == 0 {
            return;
        }
        let (mss, first, stamp, ts) = (u64::from(c.mss), self.stream.snd_nxt(), self.stamp(c, now), now.timestamp());
        let reducing = matches!(self.loss.ca_state(), CaState::Recovery | CaState::Cwr);
        // The first segment carries CWR after a reduction (RFC 3168 section 6.1.2).
        let mut flags = if self.cc.take_cwr() { flag::CWR } else { 0 };
        if std::mem::replace(&mut self.cold.sent_end, first + count * mss) != first {
            flags |= flag::RETX;
        }
        let template = *self.tx.template();
        out.emit_burst(&template, count, |i, p| {
            let offset = first + i * mss;
            if let Some(s) = &mut self.loss.sack {
                s.board.push(offset, c.mss, stamp);
                if reducing {
                    s.episode.prr.on_send(mss, mss);
                }
            }
            if let Some(b) = &mut self.tx.send_buffer
                && b.pushes(offset + mss, self.stream.snd_una())
            {
                flags |= flag::PUSH;
            }
            if forced == Some(offset + mss) {
                flags |= flag::PUSH;
            }
            p.arrival = if i > 0 { CONTINUES } else { Time::ZERO };
            p.seq = self.tx.numbers().wire(offset);
            p.ts = ts;
            p.flags = std::mem::take(&mut flags);
        });
        self.stream.set_nxt(first + count * mss);
        self.note_full(c, now, first, count);
    }

    /// Retransmits lost segments, buffer by buffer, as far as the window allows (tcp_xmit_retransmit_queue). Segments of a buffer that are not SACKed
    /// are a buffer of their own (tcp_match_skb_to_sack), and leave as one burst.
    pub(in crate::tcp) fn retransmit_bursts(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let max_segs = self.burst_size(c) / u64::from(c.mss);
        self.clean_rtx_queue();
        while let (Some(b), Some(s)) = (&self.tx.send_buffer, &mut self.loss.sack) {
            let Some(index) = s.board.next_lost() else { return };
            let quota = (self.cc.window.cwnd as u64).saturating_sub(s.board.in_network().into()).min(max_segs);
            let first = s.board.get(index).start;
            let buffer = b.queue().map_or(first, |q| q.end_of_sent(first)).max(first + 1);
            let (waiting, end) = s.board.waiting_run(index, buffer);
            if quota == 0 || self.pacing_check(now) || self.small_queue_check(c, c.kernel.sent_head() + end - first, 2) {
                return;
            }
            if self.still_in_host_queue(now, first) {
                return self.wait_for_host_queue(index, waiting);
            }
            let count = self.may_retransmit(c, index, waiting.min(quota as usize));
            if count == 0 {
                return;
            }
            self.retransmit_burst(c, now, (index, count), out);
        }
    }

    /// Continues when a packet has left. The attempt to send the `count` segments from that at `first` of the scoreboard on counts as a retransmission
    /// (tcp_retransmit_skb).
    #[cold]
    fn wait_for_host_queue(&mut self, first: usize, count: usize) {
        if let Some(s) = &mut self.loss.sack {
            let sent = s.board.get(first).sent();
            (0..count).for_each(|_| s.episode.undo.retransmitted(sent));
        }
        if let Some(q) = &mut self.tx.tsq {
            q.wait_for_first();
        }
    }

    /// Retransmits `count` segments from that at `first` of the scoreboard on, as one packet (__tcp_retransmit_skb).
    fn retransmit_burst(&mut self, c: &TcpConfig, now: Time, (first, count): (usize, usize), out: &mut impl Wire) {
        if count == 1 {
            self.retrans_try_collapse(c, now, first);
        }
        self.event_data_sent(now);
        let (Some(s), written) = (&self.loss.sack, self.stream.written()) else { return };
        let (start, end) = (s.board.get(first).start, s.board.get(first + count - 1).end());
        // The length of a buffer does not include a FIN.
        let end = if start < written { end.min(written) } else { end };
        self.cold.bursts = (start, end - start);
        let departure = self.departure(now);
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()) {
            q.resend((start, end), departure);
            q.begin_burst(if count > 1 { end } else { u64::MAX });
        }
        for index in first..first + count {
            self.retransmit_index(c, now, index, out);
        }
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()) {
            q.end_burst();
        }
        self.note_packet(c, now, (start, end - start), (count as u64, false), out.departure());
    }

    /// Frees acknowledged buffers (tcp_clean_rtx_queue), which comes before anything is sent.
    fn clean_rtx_queue(&mut self) {
        let snd_una = self.stream.snd_una();
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()) {
            q.acknowledge(snd_una);
        }
    }

    /// Frees acknowledged buffers, and wakes the application if it waits and there is space (tcp_check_space).
    pub(in crate::tcp) fn check_space(&mut self, c: &TcpConfig) {
        let view = self.sender_view(c, 0);
        if let Some(b) = &mut self.tx.send_buffer {
            b.check_space(&view);
        }
    }

    /// Wakes the application if it waits and there is space. Returns true if it writes later.
    pub(in crate::tcp) fn defers_write(&mut self, c: &TcpConfig, out: &mut impl Wire) -> bool {
        self.check_space(c);
        self.tx.send_buffer.as_ref().is_some_and(|b| b.may_write()) && out.defer_write(self.tx.template().conn)
    }

    /// Moves data of the application into buffers, as far as there is space up to stream offset `end`, and sends them (tcp_sendmsg_locked for each
    /// message).
    pub(in crate::tcp) fn write_messages(&mut self, c: &TcpConfig, now: Time, end: u64, out: &mut impl Wire) {
        self.check_space(c);
        let most = gso_max_size(c).unwrap_or(c.mss.into());
        let mut begins = true;
        while self.tx.send_buffer.as_ref().is_some_and(|b| b.may_write()) {
            if begins {
                let taken = self.tx.send_buffer.as_ref().map_or(0, |b| b.taken());
                self.check_app_limited(c, now, taken);
            }
            let view = self.sender_view(c, 0);
            let Some(b) = &mut self.tx.send_buffer else { return };
            let written = b.write_one(&view, most, begins);
            let head_is_tail = b.queue().is_some_and(|q| q.head_is_tail());
            match written {
                Written::Nothing => return,
                // tcp_push of what has been copied.
                Written::Full if !begins => self.push(c, now, end, most, out),
                Written::Full => return,
                Written::Buffer { push: true } => self.write_xmit(c, now, end, Push::Forced, out),
                Written::Buffer { push: false } if head_is_tail => self.write_xmit(c, now, end, Push::One, out),
                Written::Buffer { push: false } => {}
                Written::Message => self.push(c, now, end, most, out),
            }
            begins = matches!(written, Written::Message | Written::Full);
        }
        if self.stream.closing() && !self.is_waiting() {
            // tcp_send_fin, by way of tcp_write_xmit.
            self.stream.close();
            let first = self.stream.snd_nxt();
            self.send_rest(c, now, (first, self.stream.end().min(end.saturating_add(1))), out);
            if self.stream.snd_nxt() != first && self.uses_linux_timers(c) {
                self.after_new_data(c, now);
            }
        }
    }

    /// Sends what the application has written, unless a part of a buffer waits for more while packets are in the interface (tcp_push,
    /// tcp_should_autocork). The first packet that leaves ends that wait.
    fn push(&mut self, c: &TcpConfig, now: Time, end: u64, most: u64, out: &mut impl Wire) {
        let Some(b) = &self.tx.send_buffer else { return };
        let Some(tail) = b.queue().and_then(|q| q.tail_len(self.stream.snd_nxt())) else { return };
        let outstanding = self.stream.snd_una() < self.stream.snd_nxt();
        if tail < b.size_goal(c.mss.into(), most)
            && outstanding
            && let Some(q) = self.tx.tsq.as_mut().filter(|q| q.bytes >= c.kernel.sent_head() + tail)
        {
            return q.wait_for_first();
        }
        self.write_xmit(c, now, end, Push::Pending, out);
    }
}
