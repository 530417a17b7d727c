//! Through all that a receiver knows (`forebay_units::Walk`).

use super::{Echo, Receiver};
use crate::tcp::config::TcpConfig;
use forebay_units::{Time, TimeOrNever, Walk};

impl Receiver {
    /// Goes through it, with its configuration, behind its sender.
    pub(crate) fn walk(&mut self, c: &TcpConfig, v: &mut dyn Walk) {
        #[rustfmt::skip]
        let Receiver {
            template, numbers: _, generation: _, rcv_nxt, fin, ooo, window, shift, echo, sack: _, blocks: _, fast_path: _, elaborate: _, pending, quick,
            last_ack, ts_recent, recent_seen, timer_due, armed, deliver_at, group: _, balance, answered, fins, window_shim, adaptive, gro,
        } = self;
        v.same(u64::from(template.win) << 16 | u64::from(template.flags) << 8 | template.meta.ecn() as u64);
        [rcv_nxt, last_ack].into_iter().for_each(|offset| v.offset(offset));
        v.mark(fin);
        ooo.walk(v);
        v.same(*window);
        v.same(u64::from(*shift));
        v.same(match echo {
            Echo::Off => 0,
            Echo::Classic { latched } => 2 | u64::from(*latched),
            Echo::Exact { ce } => 4 | u64::from(*ce),
        });
        v.same(u64::from(*pending));
        v.same(u64::from(*quick) << 8 | u64::from(*fins));
        v.stamp(ts_recent);
        v.past(recent_seen);
        let waits = !timer_due.is_never();
        v.timer(timer_due);
        // The engine's entry, no later than the timer, is moved with it.
        let _ = armed;
        v.mark(deliver_at);
        v.count(balance);
        v.flag(*answered);
        if window_shim.is_some() {
            v.never("a shim sets receive windows");
        }
        v.flag(adaptive.is_some());
        adaptive.iter_mut().for_each(|a| a.walk(c, waits, v));
        if gro.is_some() {
            v.never("hosts join segments");
        }
    }

    /// Moves the engine's entry for its timer by as much as the timer.
    pub(crate) fn move_entry(&mut self, by: Time) {
        self.armed = self.armed.get().map_or(TimeOrNever::NEVER, |at| (at + by).into());
    }
}
