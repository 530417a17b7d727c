//! BBR, version 1, as in Linux net/ipv4/tcp_bbr.c: pacing rate and window follow from a model of the path, its bandwidth and its minimum RTT. The
//! model is in `model`; a second estimate for policed paths is in `policer`.
//!
//! Bandwidths are integers: segments per microsecond times 2^24 (BW_UNIT). Gains are in 1/256 (BBR_UNIT). The kernel keeps bandwidths in 32 bits,
//! which overflow at 256 segments per microsecond. Here they have 64 bits, and large products 128.

mod model;
mod policer;
#[cfg(test)]
mod tests;

use super::rate_sample::{DeliveryRate, Sent};
use super::windowed_max::WindowedMax;
use super::{
    Ack, Arrival, CcConfig, CcEntry, CongestionControl, Departure, Event, Loss, Outcome, Path, RecoveryKind, Reduction,
    Threshold, Window,
};
use forebay_experiment::cc_state::CcState;
use forebay_experiment::transport::Ecn;
use forebay_experiment::transport::Recovery;
use forebay_types::param::Entry;
use forebay_types::{Rate, Rng, Time};
use policer::Policer;

/// One segment per microsecond.
const BW_SCALE: u32 = 24;
const BW_UNIT: u64 = 1 << BW_SCALE;
/// A gain of one.
const UNIT: u64 = 256;
/// `bbr_high_gain`: 2 / ln 2.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// `bbr_drain_gain`.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_cwnd_gain`.
const CWND_GAIN: u64 = UNIT * 2;
/// `bbr_pacing_gain`: probe, drain, and six phases of cruising.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// `bbr_pacing_margin_percent`.
const MARGIN_PERCENT: u64 = 1;
/// `bbr_cwnd_min_target`, segments.
const MIN_CWND: u64 = 4;
/// TCP_INIT_CWND, segments.
const INIT_CWND: u64 = 10;
/// Maximum of a TSO packet: GSO_MAX_SIZE less a byte and MAX_TCP_HEADER (320), bytes.
const MOST_TSO: u64 = 65_536 - 1 - 320;

/// A bandwidth times a factor, divided by BW_UNIT. The kernel's 64 bits suffice up to 2.9 Tbps (`bbr_rate_bytes_per_sec`) and for pauses of
/// minutes; here the product has 128 bits.
fn scaled(bandwidth: u64, by: u64) -> u64 {
    ((u128::from(bandwidth) * u128::from(by)) >> BW_SCALE) as u64
}

/// No parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

/// Mode of the state machine (`enum bbr_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of one connection. Windows in segments.
#[derive(Debug, Clone)]
pub struct Bbr {
    rate: DeliveryRate,
    rng: Rng,
    mode: Mode,
    mss: u64,
    /// Minimum RTT of the last 10 s, and its time.
    min_rtt_us: Option<u64>,
    min_rtt_stamp: Option<Time>,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    bw: WindowedMax,
    rounds: u64,
    /// The round ends with the delivery of a segment that left when this many had been delivered.
    round_end: u64,
    round_start: bool,
    /// Start of the cycle's phase, and which it is.
    cycle_stamp: Time,
    cycle_index: usize,
    /// Recovery in progress at the last ACK.
    before: RecoveryKind,
    packet_conservation: bool,
    idle_restart: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    full_bw: u64,
    full_bw_count: u32,
    full_bw_reached: bool,
    has_seen_rtt: bool,
    /// Window before recovery or PROBE_RTT.
    prior_cwnd: u64,
    /// Bandwidth times gain of the pacing rate; 0: unpaced.
    pacing: u64,
    /// `sk_max_pacing_rate`, bytes per second.
    max_pacing: u64,
    policer: Policer,
    /// Aggregation of ACKs: start of the epoch, its delivery, and the excess of this and the last five rounds.
    epoch: Time,
    epoch_acked: u64,
    extra_acked: [u64; 2],
    extra_acked_index: usize,
    extra_acked_rounds: u32,
}

impl Bbr {
    pub(super) fn new(_: &Config) -> Bbr {
        Bbr {
            rate: DeliveryRate::default(),
            rng: Rng::stream(0, &[]),
            mode: Mode::Startup,
            mss: 1,
            min_rtt_us: None,
            min_rtt_stamp: None,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            bw: WindowedMax::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            cycle_stamp: Time::ZERO,
            cycle_index: 0,
            before: RecoveryKind::None,
            packet_conservation: false,
            idle_restart: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw: 0,
            full_bw_count: 0,
            full_bw_reached: false,
            has_seen_rtt: false,
            prior_cwnd: 0,
            pacing: 0,
            max_pacing: u64::MAX,
            policer: Policer::default(),
            epoch: Time::ZERO,
            epoch_acked: 0,
            extra_acked: [0; 2],
            extra_acked_index: 0,
            extra_acked_rounds: 0,
        }
    }

    /// `bbr_bw`.
    fn bandwidth(&self) -> u64 {
        self.policer.bandwidth().unwrap_or(self.bw.get())
    }

    /// `bbr_rate_bytes_per_sec` of a bandwidth times a gain, for segments of `mss` bytes.
    fn bytes_per_sec(product: u64, mss: u64) -> u64 {
        scaled((product * mss) >> 8, 1_000_000 / 100 * (100 - MARGIN_PERCENT))
    }

    /// `bbr_init_pacing_rate_from_rtt`: the window in one RTT, or in 1 ms while that is not known, times the gain of STARTUP.
    fn init_pacing(&mut self, w: &Window, srtt: Option<Time>) {
        self.has_seen_rtt |= srtt.is_some();
        let us = srtt.map_or(1_000, |srtt| srtt.as_us().max(1));
        self.pacing = (w.cwnd as u64 * BW_UNIT / us).saturating_mul(HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`.
    fn set_pacing(&mut self, w: &Window, bw: u64, gain: u64, srtt: Option<Time>) {
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing(w, srtt);
        }
        let product = bw * gain;
        if self.full_bw_reached || product > self.pacing {
            self.pacing = product;
        }
    }

    /// `bbr_tso_segs_goal`: burst of a host with TSO.
    fn burst(&self) -> u64 {
        let rate = Bbr::bytes_per_sec(self.pacing, self.mss).min(self.max_pacing);
        // bbr_min_tso_segs, 1.2 Mbps.
        let least = if rate < 1_200_000 >> 3 { 1 } else { 2 };
        ((rate >> 10).min(MOST_TSO) / self.mss).max(least).min(0x7F)
    }

    /// `bbr_bdp`.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt_us else { return INIT_CWND };
        let volume = (u128::from(bw * gain) * u128::from(min_rtt)) >> 8;
        // 32 bits in the kernel.
        volume.div_ceil(u128::from(BW_UNIT)).min(u128::from(u32::MAX)) as u64
    }

    /// `bbr_quantization_budget`.
    fn quantized(&self, cwnd: u64) -> u64 {
        let even = (cwnd + 3 * self.burst() + 1) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle_index == 0 { 2 } else { 0 }
    }

    /// `bbr_inflight`.
    fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.quantized(self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self, w: &Window) {
        let cwnd = w.cwnd as u64;
        let good = self.before == RecoveryKind::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: the window, and true if it is one of packet conservation.
    fn recover_or_restore(&mut self, cwnd: u64, ack: &Ack, o: &Outcome) -> (u64, bool) {
        let (acked, in_flight) = (u64::from(o.segments), u64::from(o.in_flight));
        let mut cwnd = cwnd.saturating_sub(u64::from(ack.lost)).max(1);
        if o.repair == RecoveryKind::Recovery && self.before != RecoveryKind::Recovery {
            self.packet_conservation = true;
            self.round_end = self.rate.delivered();
            cwnd = in_flight + acked;
        } else if self.before != RecoveryKind::None && o.repair == RecoveryKind::None {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.before = o.repair;
        if self.packet_conservation { (cwnd.max(in_flight + acked), true) } else { (cwnd, false) }
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, w: &mut Window, ack: &Ack, o: &Outcome, bw: u64) {
        let mut cwnd = w.cwnd as u64;
        let acked = u64::from(o.segments);
        if acked > 0 {
            let conserving;
            (cwnd, conserving) = self.recover_or_restore(cwnd, ack, o);
            if !conserving {
                let target = self.quantized(self.bdp(bw, self.cwnd_gain) + self.aggregation_cwnd());
                if self.full_bw_reached {
                    cwnd = (cwnd + acked).min(target);
                } else if cwnd < target || self.rate.delivered() < INIT_CWND {
                    cwnd += acked;
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        w.cwnd = cwnd as f64;
    }

    /// `bbr_main`.
    fn control(&mut self, w: &mut Window, ack: &Ack, o: &Outcome) {
        self.mss = u64::from(ack.mss);
        self.max_pacing = o.max_pacing_rate.0 / 8;
        self.rate.count_duplicates(o.duplicates.into(), o.stamp);
        let sample = self.rate.sample(o.stamp, ack.min_rtt);
        self.update_model(w, ack, o, sample);
        let bw = self.bandwidth();
        self.set_pacing(w, bw, self.pacing_gain, ack.srtt.get());
        self.set_cwnd(w, ack, o, bw);
    }
}

impl CongestionControl for Bbr {
    type Sent = Sent;
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;
    const OWN_SLOW_START: bool = true;
    const PATH: Option<fn(&mut Bbr, Path)> = Some(|cc, path| cc.rng = path.rng);
    const CONTROL: Option<fn(&mut Bbr, &mut Window, &Ack, &Outcome)> = Some(Bbr::control);
    /// sk_pacing_rate, of payload.
    const PACING_RATE: Option<fn(&Bbr, u32) -> Rate> = Some(|cc, mss| Rate(8 * Bbr::bytes_per_sec(cc.pacing, u64::from(mss))));

    fn segment_sent(&mut self, at: &Departure) -> Sent {
        // bbr_init: the window of the smallest RTT begins.
        self.min_rtt_stamp.get_or_insert(at.now);
        self.rate.sent(at, 0)
    }

    fn segment_arrived(&mut self, sent: Sent, at: &Arrival) {
        self.rate.arrived(sent, at, 1);
    }

    fn segment_lost(&mut self, _sent: Sent, _at: &Loss) {
        self.rate.lose(1);
    }

    fn cong_avoid(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// `bbr_ssthresh`.
    fn ssthresh(&mut self, w: &Window, _cut: Reduction) -> Threshold {
        self.save_cwnd(w);
        w.ssthresh
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        match event {
            Event::Established { rtt } => {
                // The SYN is delivered too (tcp_clean_rtx_queue), and the first round ends with the first segment behind it (bbr_init).
                self.rate.count_syn();
                self.round_end = self.rate.delivered();
                self.min_rtt_us = rtt.map(Time::as_us);
                self.init_pacing(w, rtt);
            }
            Event::Write { .. } => {
                if self.pacing == 0 {
                    self.init_pacing(w, None);
                }
            }
            Event::AppLimited(in_flight) => self.rate.limit(in_flight.segments.into()),
            // bbr_cwnd_event
            Event::TxStart { now, .. } if self.rate.is_app_limited() => {
                self.idle_restart = true;
                (self.epoch, self.epoch_acked) = (now, 0);
                match self.mode {
                    Mode::ProbeBw => self.set_pacing(w, self.bandwidth(), UNIT, None),
                    Mode::ProbeRtt => self.check_probe_rtt_done(w, now),
                    Mode::Startup | Mode::Drain => {}
                }
            }
            // bbr_set_state
            Event::Timeout { .. } => {
                self.before = RecoveryKind::Timeout;
                self.full_bw = 0;
                self.round_start = true;
                self.sample_policer(1, false);
            }
            Event::TxStart { .. } | Event::Recovery | Event::Counted { .. } | Event::Restart | Event::Complete => {}
        }
    }

    fn state(&self, mss: u32, s: &mut CcState) {
        // Segments a microsecond in units of 2^-24 (BW_UNIT).
        let bits = |bw: u64| (u128::from(bw) * u128::from(mss) * 8_000_000 / u128::from(BW_UNIT)) as u64;
        s.state(match self.mode {
            Mode::Startup => "Startup",
            Mode::Drain => "Drain",
            Mode::ProbeBw => "ProbeBW",
            Mode::ProbeRtt => "ProbeRTT",
        });
        s.whole("pacing_rate_bps", 8 * Bbr::bytes_per_sec(self.pacing, mss.into()));
        s.whole("max_bw_bps", bits(self.bw.get()));
        s.whole("bw_bps", bits(self.bandwidth()));
        s.whole("extra_acked_bytes", self.extra_acked[0].max(self.extra_acked[1]) * u64::from(mss));
        s.whole("full_bw_bps", bits(self.full_bw));
        s.whole("full_bw_count", self.full_bw_count.into());
        s.whole("full_bw_reached", self.full_bw_reached.into());
        s.whole("round_count", self.rounds);
        s.whole("idle_restart", self.idle_restart.into());
        if let Some(us) = self.min_rtt_us {
            s.whole("min_rtt_ns", us * 1_000);
        }
    }

    /// `bbr_undo_cwnd`.
    fn undo_cwnd(&mut self, w: &Window, _prior: f64) -> f64 {
        (self.full_bw, self.full_bw_count) = (0, 0);
        self.policer.reset(&self.rate);
        w.cwnd
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "bbr",
        summary: "BBR version 1 as Linux tcp_bbr.c: paces at the measured bandwidth, window of two bandwidth-delay products; needs SACK. \
                  Above 256 segments a microsecond (3 Tbps of 1460 bytes), where the kernel's 32 bits overflow, the bandwidth stays correct",
        params: &[],
    },
    needs_marks: false,
    needs_sack: true,
    paces: true,
    plb: false,
    ecn: Ecn::Off,
    recovery: Some(Recovery::Sack),
    adjust: None,
    build: |_| CcConfig::Bbr(Config),
};
