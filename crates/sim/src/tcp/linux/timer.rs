//! The timer of Linux: tcp_set_xmit_timer, tcp_rearm_rto, tcp_schedule_loss_probe, tcp_rack_reo_timeout, and slots of the timer wheel.

use crate::net::packet::Wire;
use crate::tcp::common::timer_wheel;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender, Timer};
use forebay_experiment::transport::Recovery;
use forebay_types::{Time, TimeOrNever};

impl Sender {
    /// Time after which a probe is sent (tcp_schedule_loss_probe), in whole ticks of whole microseconds (usecs_to_jiffies). A segment that is `alone`
    /// may meet a delayed ACK: it waits for the minimum RTO more, others wait for two ticks more.
    pub(in crate::tcp) fn linux_probe_timeout(c: &TcpConfig, srtt: Time, alone: bool) -> Time {
        let more = if alone { c.rto_min } else { c.rto_granularity * 2 };
        (Time::from_us((srtt * 2).as_us()) + more).round_up(c.rto_granularity)
    }

    /// Returns true if the timers follow Linux with RACK.
    #[inline(always)]
    pub(in crate::tcp) fn uses_linux_timers(&self, c: &TcpConfig) -> bool {
        c.is_linux() && c.recovery == Recovery::Rack && self.loss.sack.is_some()
    }

    /// Restarts the timer after an ACK with new information, if the reordering timer was not set for it (tcp_set_xmit_timer).
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

    /// Sets the timer after new data was sent (tcp_event_new_data_sent, and then the end of tcp_write_xmit).
    pub(in crate::tcp) fn after_new_data(&mut self, c: &TcpConfig, now: Time) {
        if self.may_probe() {
            // It replaces any other timer.
            let (probe, wait) = (self.probe_timeout(c), self.head_wait(c, now));
            // A wait longer than that of the probe need not be rounded.
            let wait = if wait < probe { wait.round_up(c.rto_granularity) } else { wait };
            if wait < probe && self.expires_anyway(c, now, wait) {
                self.timers.turn_into_probe();
                return;
            }
            let again = self.pass_rto_slot(c, now, (probe, wait));
            self.schedule_probe(c, now, probe, wait);
            if again {
                self.timers.place.enter_again();
            }
        } else if self.timers.kind() == Timer::Probe {
            self.rearm_rto(c, now);
        }
    }

    /// Returns true if the running timer expires `wait` from now, in whole ticks: it stays in its slot (__mod_timer).
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

    /// Starts the retransmission timer: with the full timeout, or in place of another timer with the rest of the timeout of the oldest segment
    /// (tcp_rearm_rto).
    pub(in crate::tcp) fn rearm_rto(&mut self, c: &TcpConfig, now: Time) {
        let delay = match self.timers.kind() {
            Timer::Idle | Timer::Rto => self.rtt.rto(c),
            Timer::Probe | Timer::Reorder => self.head_wait(c, now).round_up(c.rto_granularity).max(c.rto_granularity),
        };
        self.set_timer(c, Timer::Rto, now, delay + self.pacing_delay(c, now));
    }

    /// Starts the probe timer, or a timeout if that is due before (tcp_schedule_loss_probe); one that is overdue does not count.
    fn schedule_probe(&mut self, c: &TcpConfig, now: Time, probe: Time, rto: Time) {
        let delay = if rto > Time::ZERO { probe.min(rto) } else { probe };
        // By tcp_reset_xmit_timer: the probed segment may still wait for its departure.
        self.set_timer(c, Timer::Probe, now, delay + self.pacing_delay(c, now));
    }

    /// Returns true in the states that allow a probe (tcp_schedule_loss_probe).
    fn may_probe(&self) -> bool {
        matches!(self.loss.ca_state(), CaState::Open | CaState::Cwr)
    }

    /// Time left until the oldest outstanding segment times out, not in whole ticks; zero if it is over (tcp_rto_delta_us).
    fn head_wait(&self, c: &TcpConfig, now: Time) -> Time {
        let stamp = self.stamp(c, now);
        let sent = self.loss.sack.as_ref().and_then(|s| s.board.first()).map_or(stamp, |head| head.sent());
        sent.saturating_add(self.rtt.rto(c)).saturating_sub(stamp)
    }

    /// Handles the reordering timer (tcp_rack_reo_timeout): retransmits lost segments as far as the window allows, also while a timeout is repaired,
    /// and sends no new data.
    pub(in crate::tcp) fn on_reorder_timer_linux(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let before = self.loss.sack.as_ref().map_or(0, |s| s.board.in_network());
        let _ = self.detect_losses(c, now);
        self.report_losses(now);
        if self.loss.sack.as_ref().is_some_and(|s| s.board.in_network() != before) {
            if self.loss.ca_state() != CaState::Recovery {
                self.enter_recovery(c, now, false, out);
                if c.prr && !self.cc.hooks().control() {
                    // Without an ACK, one segment counts as delivered.
                    self.proportional_window(c, u64::from(c.mss), 1, false);
                }
            }
            self.retransmit_on_timer(c, now, out);
        }
        if self.timers.kind() != Timer::Rto {
            self.rearm_rto(c, now);
        }
    }

    /// Moves the expiry to a tick of the clock and a slot of the timer wheel. Returns true if the timer expires later than now.
    pub(in crate::tcp) fn wait_for_wheel_slot(&mut self, c: &TcpConfig, now: Time) -> bool {
        if !c.is_linux() || self.waits_for_wheel_slot() {
            return false;
        }
        let expires = self.slot_expiry(c);
        if expires <= now {
            return false;
        }
        self.timers.set_due(expires.into());
        self.cold.wheel_expiry = self.timers.due();
        true
    }

    /// Time at which the running timer was set, and its delay.
    fn timer_setting(&self, c: &TcpConfig) -> (Time, Time) {
        let due = self.timers.due().or_never();
        let set = match &self.loss.sack {
            Some(s) if self.stream.snd_una() < self.stream.snd_nxt() => s.timer_set,
            _ => due.saturating_sub(self.full_timeout(c)),
        };
        (set, due.saturating_sub(set))
    }

    /// Expiry of the slot that holds the running timer.
    fn slot_expiry(&self, c: &TcpConfig) -> Time {
        let tick = c.rto_granularity;
        if timer_wheel::has_slots(tick) && self.timers.place.is_set_for(self.timers.due().or_never(), tick) {
            return self.timers.place.expiry(tick);
        }
        let (set, delay) = self.timer_setting(c);
        match self.cold.wheel_expiry == TimeOrNever::at(set) {
            true => timer_wheel::next_expiry(set, delay, tick),
            false => timer_wheel::expiry(set, delay, tick),
        }
    }

    /// Puts the timer, which is set to `delay` from now, into its slot of the timer wheel.
    #[inline(always)]
    pub(in crate::tcp) fn enter_wheel_slot(&mut self, c: &TcpConfig, now: Time, delay: Time) {
        let tick = c.rto_granularity;
        if c.is_linux() && timer_wheel::has_slots(tick) && !self.timers.place.is_set_for(now.saturating_add(delay), tick) {
            let ahead = self.cold.wheel_expiry == TimeOrNever::at(now);
            self.timers.place.set((now, delay), tick, ahead);
        }
    }

    /// Accounts for the retransmission timer that new data starts in place of a probe timer, or of none, before the probe timer is set again
    /// (tcp_event_new_data_sent). Returns true if it is certainly in another slot than the probe timer.
    #[inline(always)]
    fn pass_rto_slot(&mut self, c: &TcpConfig, now: Time, (probe, wait): (Time, Time)) -> bool {
        let tick = c.rto_granularity;
        if !timer_wheel::has_slots(tick) || !matches!(self.timers.kind(), Timer::Probe | Timer::Idle) {
            return false;
        }
        // Two slots of the level on which the probe timer is at most.
        let distinct = wait > probe + tick * 16 && probe < tick * 500;
        if !distinct {
            self.enter_wheel_slot(c, now, wait.round_up(tick).max(tick));
        }
        distinct
    }

    /// Order of the running timer among those of its host in the same slot: the level of the slot, and the number of timers that entered a slot before.
    pub(crate) fn wheel_order(&self) -> (u32, u64) {
        self.timers.place.order()
    }

    /// Notes the number of the timer among those of its host that have entered a slot.
    pub(crate) fn count_in_wheel(&mut self, count: u64) {
        self.timers.place.set_count(count);
    }

    /// Returns true if the running timer has come due and waits for its slot of the timer wheel.
    pub fn waits_for_wheel_slot(&self) -> bool {
        !self.timers.due().is_never() && self.timers.due() == self.cold.wheel_expiry
    }
}
