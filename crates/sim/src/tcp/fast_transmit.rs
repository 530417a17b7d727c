//! Fast path of transmission at senders of Linux with a scoreboard: full segments of new data, as copies of the template; see `fast_path.rs`.

use crate::net::packet::{Wire, flag};
use crate::tcp::common::tsq_backlog::memory;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender, Timer};
use forebay_types::Time;

impl Sender {
    /// Sends as [`Sender::transmit`] does, after an ACK that has left some data outstanding.
    #[inline(always)]
    pub(in crate::tcp) fn fast_transmit(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.cc.paced_send() {
            self.restart_timer(c, now);
            return self.transmit(c, now, out);
        }
        if let Some(q) = &mut self.tx.tsq {
            q.settle(now);
        }
        let (first, end) = (self.stream.snd_nxt(), self.end_of_send_buffer());
        let (room, held) = self.fast_send(c, now, end, out);
        // Mostly nothing is left: another full segment waits for the window.
        let limited = room == 0 && self.stream.snd_nxt() + u64::from(c.mss) <= self.stream.written();
        if self.stream.snd_nxt() < end && !limited && !held {
            self.send_rest(c, now, (first, end), out);
        } else {
            if room > 0 && !held && self.is_waiting() {
                self.note_send_buffer_limit(c, now);
            }
            if c.cwnd_validation && (self.stream.snd_nxt() != first || limited) {
                self.validate_cwnd(c, room == 0);
            }
        }
        // Both the ACK and the segments that it releases set the timer; the later one counts.
        if self.stream.snd_nxt() == first {
            self.restart_timer(c, now);
        } else {
            self.after_new_data(c, now);
        }
        if self.tx.tsq.as_ref().is_some_and(|q| q.resume() < self.timers.alarm()) {
            self.set_alarm(now, out);
        }
    }

    /// Sends as `fast_send` does, out of line, for callers that mostly have no such sender.
    #[inline(never)]
    pub(in crate::tcp) fn fast_send_out_of_line(&mut self, c: &TcpConfig, now: Time, end: u64, out: &mut impl Wire) {
        self.fast_send(c, now, end, out);
    }

    /// Sends full segments as far as the windows, the interface and the data up to stream offset `end` allow. `send_new` sends the rest, because the
    /// last segment may be short or carry the FIN. Returns the number of segments for which the congestion window still has space, and true if the
    /// interface holds the next one back.
    #[inline(always)]
    fn fast_send(&mut self, c: &TcpConfig, now: Time, end: u64, out: &mut impl Wire) -> (u32, bool) {
        let (mss, first) = (u64::from(c.mss), self.stream.snd_nxt());
        let limit = self.stream.snd_wnd_edge().min(end).min(self.stream.written().saturating_sub(1));
        let Some(s) = &self.loss.sack else { return (0, false) };
        // tcp_cwnd_test.
        let mut room = (self.cc.window.cwnd as u32).saturating_sub(s.board.in_network());
        if room == 0 || first + mss > limit || first != self.stream.snd_max() {
            return (room, false);
        }
        if self.tsq_throttled(c, mss, 1) {
            return (room, true);
        }
        let (stamp, ts, bytes) = (self.stamp(c, now), now.timestamp(), memory(c, c.mss) as u32);
        let reducing = matches!(self.loss.ca_state(), CaState::Recovery | CaState::Cwr);
        // The first segment carries CWR after a reduction (RFC 3168 section 6.1.2).
        let mut flags = if self.cc.take_cwr() { flag::CWR } else { 0 };
        let held = loop {
            let (offset, next) = (self.stream.snd_nxt(), self.stream.snd_nxt() + mss);
            if let Some(s) = &mut self.loss.sack {
                s.board.push(offset, c.mss, stamp);
                if reducing {
                    s.episode.prr.on_send(mss, mss);
                }
            }
            if let Some(b) = &mut self.tx.send_buffer
                && b.pushes(next, self.stream.snd_una())
            {
                flags |= flag::PUSH;
            }
            let seq = self.tx.numbers().wire(offset);
            out.emit_from(self.tx.template(), move |p| {
                p.seq = seq;
                p.ts = ts;
                p.flags = flags;
            });
            flags = 0;
            if c.tsq {
                self.tx.tsq.get_or_insert_default().push(now, out.departure(), bytes, seq);
            }
            self.stream.set_nxt(next);
            room -= 1;
            if room == 0 || next + mss > limit {
                break false;
            }
            if self.tsq_throttled(c, mss, 1) {
                break true;
            }
        };
        self.note_full(c, now, first, (self.stream.snd_nxt() - first) / mss);
        (room, held)
    }

    /// Counts full segments that were sent for the first time, from `first` to the next offset to send.
    #[inline(always)]
    pub(in crate::tcp) fn note_full(&mut self, c: &TcpConfig, now: Time, first: u64, sent: u64) {
        let mss = u64::from(c.mss);
        self.tx.count_sent(sent);
        self.stats.count_sent((first, self.stream.snd_nxt()), sent, mss, &mut self.cold);
        self.stream.sent_new();
        self.tx.set_last_tx(now);
        if !c.timestamps {
            self.timers.time_segment(first + mss, now);
        }
        if self.timers.kind() == Timer::Idle {
            self.arm_rto(c, now);
        }
    }
}
