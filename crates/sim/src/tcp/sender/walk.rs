//! Through all that a sender knows (`forebay_units::Walk`).

use super::cold_state::ColdState;
use super::{CaState, Sender};
use crate::tcp::common::message_stats::{Losses, SendStats};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::RtoRule;
use forebay_units::{Time, TimeOrNever, Walk};

impl Sender {
    /// Goes through it, with its configuration.
    pub(crate) fn walk(&mut self, c: &TcpConfig, v: &mut dyn Walk) {
        let snd_una = self.stream.snd_una();
        v.connection(self.tx.template().conn, snd_una);
        let endless = self.is_endless();
        let Sender { tx, stream, rtt, timers, cc, loss, stats, cold } = self;
        tx.walk(snd_una, v);
        stream.walk(v);
        cc.walk(v);
        loss.walk(v);
        // Cold state that does not exist yet has its initial values.
        let repeats = loss.sack.as_ref().is_some_and(|s| s.expects_dsacks());
        let mut rare = ColdState::clone(cold);
        rare.walk(repeats, v);
        rtt.walk(c.rto_rule == RtoRule::Linux, v);
        timers.walk(&mut rare.put_off, v);
        // The deadline matters from the first partial acknowledgement until recovery ends.
        if loss.ca_state() == CaState::Recovery && !rare.first_partial {
            v.timer(&mut rare.held_due);
        }
        v.flag(endless);
        stats.walk(endless, v);
        if cc.hooks().gate() {
            v.mark(&mut rare.begin);
        }
        if let Some(made) = cold.made() {
            *made = rare;
        }
    }

    /// Whether what is being acknowledged has no end.
    pub(crate) fn is_endless(&self) -> bool {
        self.stats.message_end() == u64::MAX && self.stream.written() > self.stream.snd_max().saturating_add(1 << 60)
    }

    /// When a segment left last.
    pub(crate) fn last_sent(&self) -> Option<Time> {
        self.tx.last_tx().get()
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
