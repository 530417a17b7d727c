//! BBR's second estimate of the bandwidth, for paths with a token-bucket policer (`bbr_lt_bw_sampling`): two intervals between losses, each
//! of a high loss rate, with about the same delivery rate.

use super::{BW_UNIT, Bbr, Mode, UNIT};
use crate::cc::rate_sample::DeliveryRate;

/// `bbr_lt_intvl_min_rtts`.
const MIN_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: lost segments per 256 delivered ones, 20 %.
const LOSS_THRESH: u64 = 50;
/// `bbr_lt_bw_ratio`: an eighth.
const RATIO: u64 = UNIT / 8;
/// `bbr_lt_bw_diff`: 4 Kbps, bytes per second.
const DIFF: u64 = 4_000 / 8;
/// `bbr_lt_bw_max_rtts`.
const MOST_ROUNDS: u32 = 48;

/// State of the estimate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// Rounds of the interval, or for which the estimate has been used.
    rounds: u32,
    used: bool,
    bw: u64,
    /// Start of the interval: segments delivered and lost, and time in ms.
    delivered: u64,
    lost: u64,
    since_ms: u64,
}

impl Policer {
    /// The policed rate, if the path seems to have one.
    pub(super) fn bandwidth(&self) -> Option<u64> {
        self.used.then_some(self.bw)
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(&mut self, rate: &DeliveryRate) {
        self.since_ms = rate.delivered_time().as_ms();
        (self.delivered, self.lost, self.rounds) = (rate.delivered(), rate.lost(), 0);
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, rate: &DeliveryRate) {
        *self = Policer::default();
        self.begin(rate);
    }
}

impl Bbr {
    /// `bbr_lt_bw_sampling`, on an ACK by which `losses` segments were deemed lost.
    pub(super) fn sample_policer(&mut self, losses: u32, app_limited: bool) {
        let round = u32::from(self.round_start);
        if self.policer.used {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= MOST_ROUNDS {
                    self.policer.reset(&self.rate);
                    self.enter_probe_bw();
                }
            }
            return;
        }
        // The first loss shows that the bucket is empty.
        if !self.policer.sampling {
            if losses == 0 {
                return;
            }
            self.policer.begin(&self.rate);
            self.policer.sampling = true;
        }
        if app_limited {
            return self.policer.reset(&self.rate);
        }
        self.policer.rounds += round;
        if self.policer.rounds < MIN_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * MIN_ROUNDS {
            return self.policer.reset(&self.rate);
        }
        // An interval ends with a loss: the bucket is empty again.
        if losses == 0 {
            return;
        }
        let (lost, delivered) = (self.rate.lost() - self.policer.lost, self.rate.delivered() - self.policer.delivered);
        if delivered == 0 || lost << 8 < LOSS_THRESH * delivered {
            return;
        }
        let ms = self.rate.delivered_time().as_ms() - self.policer.since_ms;
        if ms < 1 {
            return;
        }
        self.end_interval(delivered * BW_UNIT / (ms * 1000));
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, bw: u64) {
        let p = &mut self.policer;
        if p.bw > 0 {
            let diff = bw.abs_diff(p.bw);
            if diff * UNIT <= RATIO * p.bw || Bbr::bytes_per_sec(diff * UNIT, self.mss) <= DIFF {
                p.bw = (bw + p.bw) / 2;
                p.used = true;
                p.rounds = 0;
                self.pacing_gain = UNIT;
                return;
            }
        }
        p.bw = bw;
        p.begin(&self.rate);
    }
}
