//! BBR's model of the path, updated on every ACK (`bbr_update_model`): bandwidth, minimum RTT, aggregation of ACKs; and the resulting modes.

use super::{BW_UNIT, Bbr, CWND_GAIN, CYCLE, DRAIN_GAIN, HIGH_GAIN, MIN_CWND, Mode, UNIT, scaled};
use crate::cc::rate_sample::RateSample;
use crate::cc::{Ack, Outcome, Window};
use forebay_types::Time;

/// `bbr_bw_rtts`.
const BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// `bbr_min_rtt_win_sec`, ms.
const MIN_RTT_WINDOW: u64 = 10_000;
/// `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_MS: u64 = 200;
/// `bbr_full_bw_thresh`, `bbr_full_bw_cnt`.
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
const FULL_BW_COUNT: u32 = 3;
/// `bbr_cycle_rand`.
const CYCLE_RAND: u64 = 7;
/// `bbr_extra_acked_win_rtts`.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`.
const EPOCH_MOST: u64 = 1 << 20;
/// `bbr_extra_acked_max_us`.
const EXTRA_ACKED_MOST_US: u64 = 100_000;

impl Bbr {
    /// `bbr_update_model`.
    pub(super) fn update_model(&mut self, w: &mut Window, ack: &Ack, o: &Outcome, sample: Option<RateSample>) {
        let app_limited = sample.is_some_and(|s| s.app_limited);
        self.update_bw(ack, sample);
        self.update_aggregation(w, o, sample);
        if self.mode == Mode::ProbeBw && self.is_next_phase(ack, o) {
            self.advance_phase();
        }
        self.check_full_bw(app_limited);
        self.check_drain(w, ack, o);
        self.update_min_rtt(w, ack, o, sample);
        self.update_gains();
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, ack: &Ack, sample: Option<RateSample>) {
        self.round_start = false;
        let Some(RateSample { delivered, interval: Some(interval), prior_delivered, app_limited, .. }) = sample else { return };
        if prior_delivered >= self.round_end {
            self.round_end = self.rate.delivered();
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(ack.lost, app_limited);
        let bw = delivered * BW_UNIT / (interval.as_us()).max(1);
        if !app_limited || bw >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    /// `bbr_update_ack_aggregation`.
    fn update_aggregation(&mut self, w: &Window, o: &Outcome, sample: Option<RateSample>) {
        let acked = u64::from(o.segments);
        if acked == 0 || sample.is_none_or(|s| s.interval.is_none()) {
            return;
        }
        if self.round_start {
            self.extra_acked_rounds += 1;
            if self.extra_acked_rounds >= EXTRA_ACKED_ROUNDS {
                self.extra_acked_rounds = 0;
                self.extra_acked_index ^= 1;
                self.extra_acked[self.extra_acked_index] = 0;
            }
        }
        let now = self.rate.delivered_time();
        let mut expected = scaled(self.bandwidth(), now.saturating_sub(self.epoch).as_us());
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_MOST {
            (self.epoch, self.epoch_acked, expected) = (now, 0, 0);
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_MOST - 1);
        let extra = (self.epoch_acked - expected).min(w.cwnd as u64);
        let most = &mut self.extra_acked[self.extra_acked_index];
        *most = extra.max(*most);
    }

    /// `bbr_ack_aggregation_cwnd`.
    pub(super) fn aggregation_cwnd(&self) -> u64 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = scaled(self.bandwidth(), EXTRA_ACKED_MOST_US);
        self.extra_acked[0].max(self.extra_acked[1]).min(most)
    }

    /// `bbr_packets_in_net_at_edt`: segments in the network when the pacer lets the next one go.
    fn in_network_then(&self, ack: &Ack, o: &Outcome, in_flight: u32) -> u64 {
        let wait = o.next_departure.saturating_sub(ack.now).as_us();
        let delivered = scaled(self.bandwidth(), wait);
        let next = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        (u64::from(in_flight) + next).saturating_sub(delivered)
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_next_phase(&self, ack: &Ack, o: &Outcome) -> bool {
        let elapsed = self.rate.delivered_time().saturating_sub(self.cycle_stamp).as_us();
        let full_length = self.min_rtt_us.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let in_flight = self.in_network_then(ack, o, o.prior_in_flight);
        let bw = self.bw.get();
        if self.pacing_gain > UNIT {
            return full_length && (ack.lost > 0 || in_flight >= self.inflight(bw, self.pacing_gain));
        }
        full_length || in_flight <= self.inflight(bw, UNIT)
    }

    /// `bbr_advance_cycle_phase`.
    fn advance_phase(&mut self) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_stamp = self.rate.delivered_time();
    }

    /// `bbr_reset_probe_bw_mode`: any phase but that of draining.
    pub(super) fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        self.cycle_index = CYCLE.len() - 1 - self.rng.below(CYCLE_RAND) as usize;
        self.advance_phase();
    }

    /// `bbr_check_full_bw_reached`: three rounds in which the bandwidth grew by less than a quarter.
    fn check_full_bw(&mut self, app_limited: bool) {
        if self.full_bw_reached || !self.round_start || app_limited {
            return;
        }
        if self.bw.get() >= (self.full_bw * FULL_BW_THRESH) >> 8 {
            self.full_bw = self.bw.get();
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_COUNT;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, w: &mut Window, ack: &Ack, o: &Outcome) {
        let target = self.inflight(self.bw.get(), UNIT);
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            w.ssthresh = (target as f64).into();
        }
        if self.mode == Mode::Drain && self.in_network_then(ack, o, o.in_flight) <= target {
            self.enter_probe_bw();
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, w: &mut Window, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now.as_ms() <= done) {
            return;
        }
        self.min_rtt_stamp = Some(now);
        w.cwnd = w.cwnd.max(self.prior_cwnd as f64);
        if self.full_bw_reached {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, w: &mut Window, ack: &Ack, o: &Outcome, sample: Option<RateSample>) {
        let now = ack.now.as_ms();
        let expired = self.min_rtt_stamp.is_some_and(|stamp| now > stamp.as_ms() + MIN_RTT_WINDOW);
        if let Some(rtt) = ack.newest_rtt.map(Time::as_us)
            && (self.min_rtt_us.is_none_or(|min| rtt < min) || (expired && !self.maybe_delayed(ack, o, sample)))
        {
            self.min_rtt_us = Some(rtt);
            self.min_rtt_stamp = Some(ack.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(w);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            // Samples with so small a window do not measure the bandwidth.
            let in_flight = u64::from(o.in_flight);
            self.rate.limit(in_flight);
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(w, ack.now);
                }
            } else if in_flight <= MIN_CWND {
                self.probe_rtt_done = Some(now + PROBE_RTT_MS);
                self.probe_rtt_round_done = false;
                self.round_end = self.rate.delivered();
            }
        }
        if sample.is_some_and(|s| s.delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// FLAG_ACK_MAYBE_DELAYED (tcp_clean_rtx_queue): a lone short segment was the whole flight.
    fn maybe_delayed(&self, ack: &Ack, o: &Outcome, sample: Option<RateSample>) -> bool {
        o.segments == 1 && ack.acked < self.mss && sample.is_some_and(|s| s.prior_delivered + 1 == self.rate.delivered())
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}
