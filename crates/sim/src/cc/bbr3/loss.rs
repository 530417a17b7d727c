//! Losses: the bounds that they set, and undoing after spurious ones (sections "Updating the Model Upon Packet Loss" and "Updating the Model Upon
//! Detecting a Spurious Loss Recovery").

use super::{Bbr3, Rs, State};
use crate::cc::Loss;
use crate::cc::rate_sample::Sent;
use forebay_types::Time;

/// BBR.LossThresh, percent.
const LOSS_THRESH: u64 = 2;
/// BBR.Beta, percent.
const BETA: u64 = 70;

/// Losses and deliveries of a round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossRound {
    /// BBR.is_loss_in_round.
    lossy: bool,
    /// BBR.loss_round_delivered and BBR.loss_round_start.
    delivered: u64,
    pub(crate) round_start: bool,
    /// BBR.bw_latest, bytes per second, and BBR.inflight_latest, bytes.
    bw_latest: u64,
    pub(crate) inflight_latest: u64,
    /// Discontiguous ranges lost in the round, and the stream offset behind the last.
    pub(crate) ranges: u32,
    end: u64,
}

/// State before a loss that may be spurious.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Undo {
    /// The state that a loss has ended.
    pub(crate) state: Option<State>,
    /// A lost packet has saved this since the last loss recovery began.
    pub(crate) noted: bool,
    bw_shortterm: Option<u64>,
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
}

/// The larger of two bounds, where `None` is none at all.
fn larger_bound(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.max(b?))
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery(&mut self, rs: &Rs) {
        let l = &mut self.losses;
        l.round_start = false;
        let Some(s) = rs.sample else { return };
        l.bw_latest = l.bw_latest.max(rs.delivery_rate);
        l.inflight_latest = l.inflight_latest.max(s.delivered);
        if s.prior_delivered >= l.delivered {
            l.delivered = self.rate.delivered();
            l.round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest_delivery(&mut self, rs: &Rs) {
        if self.losses.round_start {
            (self.losses.bw_latest, self.losses.inflight_latest) = (rs.delivery_rate, rs.delivered());
        }
    }

    /// ResetCongestionSignals.
    pub(super) fn reset_congestion_signals(&mut self) {
        let l = &mut self.losses;
        (l.lossy, l.bw_latest, l.inflight_latest) = (false, 0, 0);
    }

    /// UpdateCongestionSignals.
    pub(super) fn update_congestion(&mut self, rs: &Rs) {
        self.update_max_bw(rs);
        if !self.losses.round_start {
            return;
        }
        if self.losses.lossy && !self.state.accelerates() {
            self.lower_bounds();
        }
        self.losses.lossy = false;
    }

    /// InitLowerBounds and LossLowerBounds.
    fn lower_bounds(&mut self) {
        let bw = self.bw_shortterm.unwrap_or(self.max_bw());
        let inflight = self.inflight_shortterm.unwrap_or(self.cwnd);
        self.bw_shortterm = Some(self.losses.bw_latest.max(bw * BETA / 100));
        self.inflight_shortterm = Some(self.losses.inflight_latest.max(inflight * BETA / 100));
    }

    /// IsInflightTooHigh: more than 2 % of the flight is lost.
    pub(super) fn inflight_too_high(lost: u64, in_flight: u64) -> bool {
        lost * 100 > in_flight * LOSS_THRESH
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost(&mut self, sent: Sent, at: &Loss) {
        // NoteLoss
        if !self.losses.lossy {
            self.losses.delivered = self.rate.delivered();
            self.save_state();
            self.undo.noted = true;
        }
        self.losses.lossy = true;
        self.losses.ranges += u32::from(at.start != self.losses.end);
        self.losses.end = at.start + u64::from(at.bytes);
        let lost = self.rate.lost() - sent.lost;
        if self.cycle.probe_sample && Bbr3::inflight_too_high(lost, sent.in_flight) {
            let in_flight = in_flight_at_loss(sent.in_flight, lost, u64::from(at.bytes));
            self.handle_inflight_too_high(in_flight, sent.app_limited(), at.now);
        }
    }

    /// HandleInflightTooHigh.
    fn handle_inflight_too_high(&mut self, in_flight: u64, app_limited: bool, now: Time) {
        self.cycle.inflight_too_high = true;
        self.cycle.probe_sample = false;
        if !app_limited {
            self.inflight_longterm = Some(in_flight.max(self.target_inflight() * BETA / 100));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// SaveStateUponLoss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd(self.cwnd);
        self.undo = Undo {
            state: None,
            noted: false,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn handle_spurious(&mut self) {
        self.restore_cwnd();
        self.losses.lossy = false;
        self.pipe.reset(0);
        self.bw_shortterm = larger_bound(self.bw_shortterm, self.undo.bw_shortterm);
        self.inflight_shortterm = larger_bound(self.inflight_shortterm, self.undo.inflight_shortterm);
        self.inflight_longterm = larger_bound(self.inflight_longterm, self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => self.start_refill(),
            Some(State::Startup | State::Up) | None => {}
            Some(State::Drain | State::Down | State::Cruise | State::Refill | State::ProbeRtt) => {
                debug_assert!(false, "a loss ends STARTUP or UP only");
            }
        }
    }
}

/// InflightAtLoss: flight when losses crossed the threshold, within the lost segment of `bytes`.
pub(super) fn in_flight_at_loss(in_flight: u64, lost: u64, bytes: u64) -> u64 {
    let (before, lost_before) = (in_flight.saturating_sub(bytes), lost.saturating_sub(bytes));
    let prefix = (before * LOSS_THRESH).saturating_sub(lost_before * 100) / (100 - LOSS_THRESH);
    before + prefix
}
