//! Retransmissions by the scoreboard: lost segments, and holes when there is nothing else to send.

use super::{CaState, Sender, Timer};
use crate::net::packet::Wire;
use crate::tcp::common::scoreboard::{LOST, RETX, SACKED, Ties};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::SsthreshFrom;
use forebay_types::Time;

impl Sender {
    /// Retransmits lost segments, as far as the window allows.
    pub(in crate::tcp) fn retransmit_lost(&mut self, c: &TcpConfig, now: Time, window: u64, out: &mut impl Wire) {
        if self.loss.ca_state() < CaState::Recovery {
            return;
        }
        if self.sends_bursts() {
            return self.retransmit_bursts(c, now, out);
        }
        while let Some(s) = &mut self.loss.sack {
            let Some(index) = s.board.next_lost() else { return };
            let len = u64::from(s.board.get(index).len);
            let full = match c.ssthresh_from {
                SsthreshFrom::Cwnd => f64::from(s.board.in_network() + 1) > self.cc.window.cwnd,
                SsthreshFrom::Window | SsthreshFrom::Flight => {
                    s.board.pipe(self.stream.snd_nxt() - self.stream.snd_una()) + len > window
                }
            };
            if full || self.pacing_check(now) || self.tsq_throttled(c, len, 2) || self.may_retransmit(c, index, 1) == 0 {
                return;
            }
            self.retrans_try_collapse(c, now, index);
            self.retransmit_index(c, now, index, out);
        }
    }

    /// Retransmits holes by NextSeg rules 3 and 4 of RFC 6675, when there is nothing lost and nothing new to send.
    pub(in crate::tcp) fn fill_holes(&mut self, c: &TcpConfig, now: Time, window: u64, out: &mut impl Wire) {
        if self.stream.snd_nxt() < self.stream.end()
            && self.stream.snd_nxt() + self.segment_len(c, self.stream.snd_nxt()) <= self.stream.snd_wnd_edge()
        {
            return;
        }
        while let Some(s) = &mut self.loss.sack {
            if s.board.pipe(self.stream.snd_nxt() - self.stream.snd_una()) + u64::from(c.mss) > window
                || s.board.next_lost().is_some()
            {
                return;
            }
            let hole = s.board.next_hole();
            let index = match hole {
                Some(index) => index,
                None if !s.episode.rescued && s.board.len() > 0 => {
                    // Rule 4: once per episode, the highest outstanding segment, in case a whole tail was lost.
                    // Our choice: not if that segment has been retransmitted in this episode.
                    let last = s.board.len() - 1;
                    if s.board.get(last).is(SACKED | LOST | RETX) {
                        return;
                    }
                    s.episode.rescued = true;
                    last
                }
                None => return,
            };
            if self.pacing_check(now) || self.tsq_throttled(c, c.mss.into(), 2) {
                return;
            }
            self.retransmit_index(c, now, index, out);
        }
    }

    /// Retransmits lost segments that a timer has found.
    pub(in crate::tcp) fn retransmit_on_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if let Some(q) = &mut self.tx.tsq {
            q.settle(now);
        }
        if let Some(p) = self.cold.pacer_mut() {
            p.settle();
        }
        let window = self.window_bytes(c);
        self.retransmit_lost(c, now, window, out);
        self.set_alarm(now, out);
    }

    /// Retransmits segment `index` of the scoreboard as a probe. In Linux (tcp_send_loss_probe) it does not count as a retransmission of an episode,
    /// but gives no RTT sample.
    pub(in crate::tcp) fn retransmit_as_probe(&mut self, c: &TcpConfig, now: Time, index: usize, out: &mut impl Wire) {
        if !self.uses_linux_timers(c) {
            return self.retransmit_index(c, now, index, out);
        }
        let stamp = self.stamp(c, self.departure(now));
        let Some(s) = &mut self.loss.sack else { return };
        let seg = *s.board.get(index);
        s.board.probed(index, stamp, Ties::of(c.is_linux()));
        if self.cc.hooks().records() {
            self.record(stamp, index, true);
        }
        self.emit_data(c, now, seg.start, u64::from(seg.len), true, out);
    }

    /// Retransmits segment `index` of the scoreboard.
    pub(in crate::tcp) fn retransmit_index(&mut self, c: &TcpConfig, now: Time, index: usize, out: &mut impl Wire) {
        let stamp = self.stamp(c, self.departure(now));
        let Some(s) = &mut self.loss.sack else { return };
        let seg = *s.board.get(index);
        s.board.retransmitted(index, stamp, Ties::of(c.is_linux()));
        s.episode.undo.retransmitted(now);
        if self.cc.hooks().records() {
            self.record(stamp, index, true);
        }
        self.loss.count_in_reduction(seg.len.into(), c.mss.into());
        self.emit_data(c, now, seg.start, u64::from(seg.len), true, out);
        if index == 0 && self.timers.kind() != Timer::Reorder {
            // The oldest segment gets a full timeout again (Linux tcp_xmit_retransmit_queue, ns-2).
            self.arm_rto(c, now);
        }
    }
}
