//! STARTUP and DRAIN, and the estimate that the pipe is full (sections "Startup" and "Drain").

use super::{Bbr3, Rs, State};
use crate::cc::RecoveryKind;

/// Rounds without growth by a quarter.
const FULL_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt.
const LOSS_RANGES: u32 = 6;
/// Rounds after which DRAIN ends in any case.
const DRAIN_ROUNDS: u64 = 3;

/// The estimator of a full pipe.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw_reached: it has been full once.
    pub(crate) reached: bool,
    /// BBR.full_bw_now.
    pub(crate) now: bool,
    /// BBR.full_bw, bytes per second.
    pub(crate) bw: u64,
    /// BBR.full_bw_count.
    pub(crate) rounds: u32,
    /// BBR.drain_start_round.
    drain_start: u64,
    /// BBR.round_count at the start of the current fast recovery.
    recovery_start: Option<u64>,
}

impl FullPipe {
    /// ResetFullBW, with a new baseline.
    pub(super) fn reset(&mut self, bw: u64) {
        (self.now, self.bw, self.rounds) = (false, bw, 0);
    }
}

impl Bbr3 {
    /// CheckFullBWReached.
    pub(super) fn check_full_pipe(&mut self, rs: &Rs) {
        if self.pipe.now || !self.round_start || rs.app_limited() {
            return;
        }
        if u128::from(rs.delivery_rate) * 4 >= u128::from(self.pipe.bw) * 5 {
            return self.pipe.reset(rs.delivery_rate);
        }
        self.pipe.rounds += 1;
        self.pipe.now = self.pipe.rounds >= FULL_ROUNDS;
        self.pipe.reached |= self.pipe.now;
    }

    /// EnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, rs: &Rs) {
        self.check_startup_loss(rs);
        if self.state == State::Startup && self.pipe.reached {
            self.state = State::Drain;
            self.pipe.drain_start = self.round_count;
        }
    }

    /// CheckStartupHighLoss (section "Exiting Startup Based on Packet Loss").
    fn check_startup_loss(&mut self, rs: &Rs) {
        self.pipe.recovery_start = match rs.repair {
            RecoveryKind::Recovery => Some(self.pipe.recovery_start.unwrap_or(self.round_count)),
            RecoveryKind::None | RecoveryKind::Timeout => None,
        };
        let ranges = self.losses.ranges;
        if self.losses.round_start {
            self.losses.ranges = 0;
        }
        let a_round = self.pipe.recovery_start.is_some_and(|start| self.round_count > start);
        let high = self.losses.round_start
            && a_round
            && ranges >= LOSS_RANGES
            && rs.sample.is_some_and(|s| Bbr3::inflight_too_high(s.lost, s.in_flight));
        if self.state != State::Startup || self.pipe.reached || !high {
            return;
        }
        self.undo.state = Some(State::Startup);
        self.pipe.reached = true;
        self.inflight_longterm = Some(self.bdp_multiple(self.bw(), 100).max(self.losses.inflight_latest));
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, rs: &Rs) {
        let late = self.round_count > self.pipe.drain_start + DRAIN_ROUNDS;
        if self.state == State::Drain && (rs.in_flight <= self.inflight(self.bw()) || late) {
            // EnterProbeBW
            self.start_down(rs.now);
        }
    }
}
