//! Through all that a sender knows (`forebay_units::Walk`).

use super::cold_state::ColdState;
use super::{CaState, Sender};
use crate::tcp::common::congestion::CongestionState;
use crate::tcp::common::loss::LossState;
use crate::tcp::common::message_stats::{Losses, SendStats};
use crate::tcp::common::send_stream::SendStream;
use crate::tcp::common::transmitter::Transmitter;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::RtoRule;
use forebay_units::{Time, TimeOrNever, Walk};

impl Sender {
    /// Goes through it, with its configuration.
    pub(crate) fn walk(&mut self, c: &TcpConfig, v: &mut dyn Walk) {
        let acked = self.stream.snd_una;
        v.connection(self.tx.template.conn, acked);
        let in_slow_start = self.cc.window.in_slow_start();
        let endless = self.is_endless();
        let Sender { tx, stream, rtt, timers, cc, loss, stats, cold } = self;
        let Transmitter { template, tsq, last_tx, balance, send_buffer: buffer } = tx;
        #[rustfmt::skip]
        let SendStream {
            snd_una, snd_nxt, snd_max, written, snd_wnd_edge, group: _, phase, fin, closing, snd_wscale: shift, plain, fast_path: _,
        } = stream;
        #[rustfmt::skip]
        let CongestionState {
            window, algorithm: law, slow_start, cwr_end, hooks, wants_all_acks: _, wants_new_acks: _, paced_send: _, ecn, cwr_pending,
            reduction_cause, cwnd_limited: window_limited,
        } = cc;
        let LossState { sack, rack_rtt, dupacks, ca_state, uses_scoreboard: _ } = loss;
        v.same(u64::from(template.seq));
        v.same(template.meta.ecn() as u64);
        v.same(*phase as u64);
        v.same(*ca_state as u64);
        [*plain, *fin, *closing, *ecn, *cwr_pending].into_iter().for_each(|f| v.flag(f));
        v.same(*reduction_cause as u64);
        v.same(window_limited.map_or(2, u64::from));
        v.same(u64::from(*shift));
        v.same(u64::from(*dupacks));
        [snd_una, snd_nxt, snd_max, snd_wnd_edge].into_iter().for_each(|offset| v.offset(offset));
        v.mark(written);
        v.real(window.cwnd);
        v.real(window.ssthresh.or_infinite());
        v.mark(cwr_end);
        // What has not been made says what a fresh one says.
        let repeats = sack.as_ref().is_some_and(|s| s.expects_dsacks());
        let mut rare = ColdState::clone(cold);
        rare.walk(repeats, v);
        rtt.walk(c.rto_rule == RtoRule::Linux, v);
        timers.walk(&mut rare.put_off, v);
        v.timer(last_tx);
        // What further partial acknowledgements must not move is of interest from the first one until recovery ends.
        if *ca_state == CaState::Recovery && !rare.first_partial {
            v.timer(&mut rare.held_due);
        }
        law.walk(v);
        if let Some(s) = slow_start {
            s.walk(in_slow_start, v);
        }
        v.flag(tsq.is_some());
        tsq.iter_mut().for_each(|q| q.walk(v));
        v.flag(endless);
        stats.walk(endless, v);
        if hooks.gate() {
            v.mark(&mut rare.begin);
        }
        if let Some(made) = cold.made() {
            *made = rare;
        }
        v.count(balance);
        v.flag(sack.is_some());
        sack.iter_mut().for_each(|s| s.walk(v));
        if sack.is_none() {
            v.duration(*rack_rtt);
        }
        v.flag(buffer.is_some());
        buffer.iter_mut().for_each(|b| b.walk(acked, v));
    }

    /// Whether what is being acknowledged has no end.
    pub(crate) fn is_endless(&self) -> bool {
        self.stats.message_end() == u64::MAX && self.stream.written > self.stream.snd_max.saturating_add(1 << 60)
    }

    /// When a segment left last.
    pub(crate) fn last_sent(&self) -> Option<Time> {
        self.tx.last_tx.get()
    }

    /// Moves the engine's entry for its timer by as much as the timer.
    pub(crate) fn move_entry(&mut self, by: Time) {
        let armed = self.timers.armed().get().map_or(TimeOrNever::NEVER, |at| (at + by).into());
        self.timers.set_armed(armed);
    }
}

impl SendStats {
    /// Goes through it. What is counted of a message without end is told at the end of the run; of another one it is a part of what is told when
    /// it has been acknowledged.
    pub(in crate::tcp) fn walk(&mut self, endless: bool, v: &mut dyn Walk) {
        let SendStats { segs_sent, cwnd_max, rtt_min, rtt_sum, rtt_count, losses } = self;
        // What has not been made says what a fresh one says.
        let mut told = **losses;
        #[rustfmt::skip]
        let Losses {
            segs_retx, rtos, tlps, syn_rtos, rtos_head, rtos_tail, fast_retx, ecn_cuts, loss_cuts, cut_alpha, ce_bytes,
        } = &mut told;
        let wide = [segs_sent, segs_retx, ce_bytes, &mut rtt_sum.0, rtt_count];
        let narrow = [rtos, tlps, syn_rtos, rtos_head, rtos_tail, fast_retx, ecn_cuts, loss_cuts];
        if endless {
            wide.into_iter().for_each(|n| v.count(n));
            narrow.into_iter().for_each(|n| v.count32(n));
            // The largest and the smallest of one period are those of all. Sums of real numbers are added up one by one (`tape.rs`).
            let _ = (cut_alpha, cwnd_max, rtt_min);
        } else {
            wide.into_iter().for_each(|n| v.same(*n));
            narrow.into_iter().for_each(|n| v.same(u64::from(*n)));
            v.flag(cut_alpha.is_some());
            v.real(cut_alpha.unwrap_or(0.0));
            v.real(*cwnd_max);
            v.same(rtt_min.ps().unwrap_or(u64::MAX));
        }
        if let Some(made) = losses.made() {
            *made = told;
        }
    }
}
