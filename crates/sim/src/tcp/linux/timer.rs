//! When a kernel with RACK sets its one timer, and for how long: tcp_set_xmit_timer, tcp_rearm_rto, tcp_schedule_loss_probe.

use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender, Timer};
use forebay_experiment::transport::Recovery;
use forebay_units::Time;

impl Sender {
    /// Whether this is such a stack.
    #[inline(always)]
    pub(in crate::tcp) fn uses_linux_timers(&self, c: &TcpConfig) -> bool {
        c.is_linux() && c.recovery == Recovery::Rack && self.loss.sack.is_some()
    }

    /// An ACK has brought news, and the reordering timer was not set for it (tcp_set_xmit_timer).
    pub(in crate::tcp) fn restart_timer(&mut self, c: &TcpConfig, now: Time) {
        if self.stream.snd_una() == self.stream.snd_nxt() {
            return;
        }
        if self.may_probe() {
            self.schedule_probe(c, now, self.probe_timeout(c), self.rtt.rto(c));
        } else {
            self.rearm_rto(c, now);
        }
    }

    /// New data has left (tcp_event_new_data_sent, and then the end of tcp_write_xmit).
    pub(in crate::tcp) fn after_new_data(&mut self, c: &TcpConfig, now: Time) {
        if self.may_probe() {
            // In the place of any other timer.
            let (probe, wait) = (self.probe_timeout(c), self.head_wait(c, now));
            // What is later than the probe need not be rounded.
            let wait = if wait < probe { wait.round_up(c.rto_granularity) } else { wait };
            if wait < probe && self.expires_anyway(c, now, wait) {
                self.timers.turn_into_probe();
                return;
            }
            self.schedule_probe(c, now, probe, wait);
        } else if self.timers.kind() == Timer::Probe {
            self.rearm_rto(c, now);
        }
    }

    /// Whether a timer that runs already expires `wait` from now, in whole ticks: it stays in its slot (__mod_timer).
    #[cold]
    #[inline(never)]
    fn expires_anyway(&self, c: &TcpConfig, now: Time, wait: Time) -> bool {
        let tick = c.rto_granularity;
        let (Some(due), Some(s)) = (self.timers.due().get().filter(|_| self.timers.kind() != Timer::Idle), &self.loss.sack)
        else {
            return false;
        };
        s.timer_set / tick + due.saturating_sub(s.timer_set) / tick == now / tick + wait / tick
    }

    /// The retransmission timer: all of the timeout, but in the place of another timer what of the oldest segment's is left (tcp_rearm_rto).
    pub(in crate::tcp) fn rearm_rto(&mut self, c: &TcpConfig, now: Time) {
        let delay = match self.timers.kind() {
            Timer::Idle | Timer::Rto => self.rtt.rto(c),
            Timer::Probe | Timer::Reorder => self.head_wait(c, now).round_up(c.rto_granularity).max(c.rto_granularity),
        };
        self.set_timer(Timer::Rto, now, delay + self.pacing_delay(c, now));
    }

    /// A probe, or a timeout if that is due before (tcp_schedule_loss_probe); one that is overdue does not count.
    fn schedule_probe(&mut self, c: &TcpConfig, now: Time, probe: Time, rto: Time) {
        let delay = if rto > Time::ZERO { probe.min(rto) } else { probe };
        // By way of tcp_reset_xmit_timer: what is probed for may still wait for its departure.
        self.set_timer(Timer::Probe, now, delay + self.pacing_delay(c, now));
    }

    /// tcp_schedule_loss_probe: in these states alone.
    fn may_probe(&self) -> bool {
        matches!(self.loss.ca_state(), CaState::Open | CaState::Cwr)
    }

    /// How long from now the oldest outstanding segment has until it times out, not in whole ticks; zero if that is over (tcp_rto_delta_us).
    fn head_wait(&self, c: &TcpConfig, now: Time) -> Time {
        let stamp = self.stamp(c, now);
        let sent = self.loss.sack.as_ref().and_then(|s| s.board.first()).map_or(stamp, |head| head.sent());
        sent.saturating_add(self.rtt.rto(c)).saturating_sub(stamp)
    }
}
