//! Probing for bandwidth: the cycle of DOWN, CRUISE, REFILL and UP (section "ProbeBW").

use super::{Bbr3, Rs, SECOND, State};
use forebay_units::Time;

/// Maximum round trips between two probes, as many as Reno needs to grow by the flight (IsRenoCoexistenceProbeTime).
const RENO_ROUNDS: u64 = 63;

/// BBR.ack_phase: result of the last probe so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cycle {
    pub(crate) phase: AckPhase,
    /// BBR.is_bw_probe_sample.
    pub(crate) probe_sample: bool,
    /// BBR.prev_probe_too_high.
    pub(crate) inflight_too_high: bool,
    /// BBR.prev_probe_precautionary.
    precautionary: bool,
    /// BBR.cycle_stamp and BBR.bw_probe_wait.
    stamp: Time,
    wait: Time,
    /// BBR.rounds_since_probe_up.
    pub(crate) rounds_since_probe: u64,
    /// BBR.bw_probe_up_rounds.
    up_rounds: u32,
    /// BBR.bw_probe_up_acked, and BBR.probe_up_acked_per_inc, bytes; `None`: the bound is not raised.
    up_acked: u64,
    acked_per_step: Option<u64>,
}

impl Bbr3 {
    /// StartProbeBW_DOWN, with PickProbeWait.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.cycle.acked_per_step = None;
        self.cycle.rounds_since_probe = self.rng.below(2);
        self.cycle.wait = SECOND * 2 + Time(self.rng.below(SECOND.0));
        self.cycle.stamp = now;
        self.cycle.phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0);
        self.cycle.precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, rs: &Rs) {
        self.cycle.phase = AckPhase::ProbeStarting;
        self.start_round();
        self.pipe.reset(rs.delivery_rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, rs: &Rs) {
        if !self.pipe.reached || rs.newly_acked == 0 || self.adapt_long_term(rs) {
            return;
        }
        match self.state {
            State::Down if self.is_time_to_probe(rs) => self.start_refill(),
            State::Down if self.is_time_to_cruise(rs) => self.start_cruise(),
            State::Cruise if self.is_time_to_probe(rs) => self.start_refill(),
            State::Refill if self.round_start => {
                self.cycle.probe_sample = true;
                self.start_up(rs);
            }
            State::Up => {
                if self.is_time_to_go_down(rs) {
                    self.cycle.inflight_too_high = false;
                    self.start_down(rs.now);
                }
            }
            State::Down | State::Cruise | State::Refill | State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// IsTimeToProbeBW: by the clock, or in the time in which Reno would have grown by the flight.
    fn is_time_to_probe(&self, rs: &Rs) -> bool {
        let rounds = (self.target_inflight() / rs.mss).min(RENO_ROUNDS);
        rs.now > self.cycle.stamp + self.cycle.wait || self.cycle.rounds_since_probe >= rounds
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, rs: &Rs) -> bool {
        self.inflight_with_headroom().is_none_or(|most| rs.in_flight <= most) && rs.in_flight <= self.inflight(self.max_bw())
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, rs: &Rs) -> bool {
        if let Some(most) = self.inflight_longterm {
            if self.cycle.inflight_too_high && rs.in_flight >= most {
                self.cycle.precautionary = true;
                return true;
            }
            if rs.window_limited && self.cwnd >= most {
                self.pipe.reset(rs.delivery_rate);
                return false;
            }
        }
        self.pipe.now
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.acked_per_step = Some((self.cwnd / growth).max(self.mss));
    }

    /// ProbeInflightLongtermUpward.
    fn raise_long_term(&mut self, rs: &Rs, most: u64) {
        if !rs.window_limited || self.cwnd < most {
            return;
        }
        self.cycle.up_acked += rs.newly_acked;
        if let Some(step) = self.cycle.acked_per_step
            && self.cycle.up_acked >= step
        {
            let growth = self.cycle.up_acked / step;
            self.cycle.up_acked -= growth * step;
            self.inflight_longterm = Some(most + growth * self.mss);
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel: true if it has decided on a state.
    fn adapt_long_term(&mut self, rs: &Rs) -> bool {
        if self.cycle.phase == AckPhase::ProbeStarting && self.round_start {
            self.cycle.phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.phase == AckPhase::ProbeStopping && self.round_start {
            self.cycle.probe_sample = false;
            self.cycle.phase = AckPhase::Init;
            if self.state.probes_bw() && !rs.app_limited() {
                self.advance_max_bw();
            }
            if self.state.probes_bw() && self.cycle.precautionary && !self.cycle.inflight_too_high {
                self.start_refill();
                return true;
            }
        }
        let Some(s) = rs.sample else { return false };
        if Bbr3::inflight_too_high(s.lost, s.in_flight) {
            return false;
        }
        if let Some(most) = self.inflight_longterm {
            let most = most.max(s.in_flight);
            self.inflight_longterm = Some(most);
            if self.state == State::Up {
                self.raise_long_term(rs, most);
            }
        }
        false
    }
}
