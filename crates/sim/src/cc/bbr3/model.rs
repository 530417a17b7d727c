//! The model of the path (section "Updating Network Path Model Parameters"): rounds, bandwidth, aggregation, and the volume in flight that
//! follows.

use super::{Bbr3, MIN_PIPE, Rs, SECOND, State};

/// BBR.Headroom, percent.
const HEADROOM: u64 = 15;
/// BBR.ExtraAckedFilterLen, rounds.
const EXTRA_ACKED_ROUNDS: u64 = 10;

impl Bbr3 {
    /// BBR.max_bw.
    pub(super) fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// BBR.bw (BoundBWForModel).
    pub(super) fn bw(&self) -> u64 {
        self.bw_shortterm.map_or(self.max_bw(), |bound| bound.min(self.max_bw()))
    }

    /// UpdateRound.
    fn update_round(&mut self, rs: &Rs) {
        self.round_start = rs.sample.is_some_and(|s| s.prior_delivered >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.cycle.rounds_since_probe += 1;
        }
    }

    /// StartRound.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.rate.delivered();
    }

    /// UpdateMaxBw.
    pub(super) fn update_max_bw(&mut self, rs: &Rs) {
        self.update_round(rs);
        if rs.delivery_rate > 0 && (rs.delivery_rate >= self.max_bw() || !rs.app_limited()) {
            self.max_bw[1] = self.max_bw[1].max(rs.delivery_rate);
        }
    }

    /// AdvanceMaxBwFilter: discards the older of two cycles. A cycle without samples does not count.
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
    }

    /// UpdateACKAggregation.
    pub(super) fn update_aggregation(&mut self, rs: &Rs) {
        if rs.newly_acked == 0 {
            return;
        }
        let interval = rs.now - self.extra_acked_start;
        let mut expected = (u128::from(self.bw()) * u128::from(interval.0) / u128::from(SECOND.0)) as u64;
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_start, expected) = (0, rs.now, 0);
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        let window = if self.pipe.reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(window, self.round_count, extra);
    }

    /// BDPMultiple with a gain in percent.
    pub(super) fn bdp_multiple(&self, bw: u64, gain: u64) -> u64 {
        match self.min_rtt.get() {
            None => self.initial_cwnd * self.mss,
            Some(rtt) => (u128::from(bw) * u128::from(rtt.0) * u128::from(gain) / u128::from(100 * SECOND.0)) as u64,
        }
    }

    /// QuantizationBudget.
    pub(super) fn quantized(&self, volume: u64) -> u64 {
        let volume = volume.max(3 * self.send_quantum()).max(MIN_PIPE * self.mss);
        volume + if self.state == State::Up { 2 * self.mss } else { 0 }
    }

    /// Inflight(bw, 1.0).
    pub(super) fn inflight(&self, bw: u64) -> u64 {
        self.quantized(self.bdp_multiple(bw, 100))
    }

    /// InflightWithHeadroom; `None`: no bound.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        let most = self.inflight_longterm?;
        let headroom = self.mss.max(most * HEADROOM / 100);
        Some(most.saturating_sub(headroom).max(MIN_PIPE * self.mss))
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(self.bw(), 100).min(self.cwnd)
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (None, None);
    }
}
