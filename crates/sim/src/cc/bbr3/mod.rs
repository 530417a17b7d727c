//! BBR, version 3, as in draft-ietf-ccwg-bbr (revision -06 of the working group's repository). Names of sections are the draft's.
//!
//! `model` holds the model of the path, `cycle` probes for bandwidth, `startup` leaves STARTUP and DRAIN, `min_rtt` probes for the minimum round-trip
//! time, `loss` handles losses. ECN is left out, as in the draft.

mod columns;
mod cycle;
mod loss;
mod min_rtt;
mod model;
mod startup;
#[cfg(test)]
mod tests;

use super::rate_sample::{DeliveryRate, RateSample, Sent};
use super::windowed_max::WindowedMax;
use super::{
    Ack, Arrival, CcConfig, CcEntry, CongestionControl, Departure, Event, Loss, Outcome, Path, RecoveryKind, Reduction,
    Threshold, Trigger, Window,
};
use cycle::Cycle;
use forebay_experiment::cc_state::CcState;
use forebay_experiment::transport::Ecn;
use forebay_experiment::transport::Recovery;
use forebay_types::param::Entry;
use forebay_types::{Rate, Rng, Time};
use loss::{LossRound, Undo};
use min_rtt::MinRtt;
use startup::FullPipe;

/// BBR.PacingMarginPercent.
const MARGIN_PERCENT: u64 = 1;
/// BBR.MinPipeCwnd, segments.
const MIN_PIPE: u64 = 4;
/// Maximum send quantum, bytes.
const MOST_QUANTUM: u64 = 64 << 10;
const SECOND: Time = Time::from_secs(1);

/// No parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

/// BBR.state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    fn probes_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW: whether the sender accelerates.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// BBR.pacing_gain and BBR.cwnd_gain, percent (section "Summary of Control Behavior in the State Machine").
    fn gains(self) -> (u64, u64) {
        match self {
            State::Startup => (277, 200),
            State::Drain => (50, 200),
            State::Down => (90, 200),
            State::Cruise | State::Refill => (100, 200),
            State::Up => (125, 225),
            State::ProbeRtt => (100, 50),
        }
    }
}

/// RS of the draft: delivery of an ACK. Volumes in bytes.
#[derive(Debug, Clone, Copy)]
struct Rs {
    now: Time,
    mss: u64,
    /// The sample, if the ACK delivered anything.
    sample: Option<RateSample>,
    /// RS.delivery_rate, bytes per second; 0: none.
    delivery_rate: u64,
    newly_acked: u64,
    in_flight: u64,
    window_limited: bool,
    repair: RecoveryKind,
    rtt: Option<Time>,
}

impl Rs {
    fn delivered(&self) -> u64 {
        self.sample.map_or(0, |s| s.delivered)
    }

    fn app_limited(&self) -> bool {
        self.sample.is_some_and(|s| s.app_limited)
    }
}

/// State of one connection. Volumes in bytes, bandwidths in bytes per second.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    rate: DeliveryRate,
    rng: Rng,
    state: State,
    mss: u64,
    /// C.cwnd of the last ACK, and C.InitialCwnd in segments.
    cwnd: u64,
    initial_cwnd: u64,
    /// BBR.pacing_rate.
    pacing: u64,
    /// Upper bound of it.
    max_pacing: u64,
    /// The pacing rate comes from an RTT.
    has_seen_rtt: bool,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    idle_restart: bool,
    /// BBR.max_bw_filter: of the previous cycle and of this one.
    max_bw: [u64; 2],
    bw_shortterm: Option<u64>,
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
    extra_acked: WindowedMax,
    extra_acked_start: Time,
    extra_acked_delivered: u64,
    prior_cwnd: u64,
    /// Recovery in progress after the last ACK.
    repair: RecoveryKind,
    pipe: FullPipe,
    cycle: Cycle,
    losses: LossRound,
    undo: Undo,
    min_rtt: MinRtt,
}

impl Bbr3 {
    pub(super) fn new(_: &Config) -> Bbr3 {
        Bbr3 {
            rate: DeliveryRate::default(),
            rng: Rng::stream(0, &[]),
            state: State::Startup,
            mss: 1,
            cwnd: 0,
            initial_cwnd: 10,
            pacing: 0,
            max_pacing: u64::MAX,
            has_seen_rtt: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            max_bw: [0; 2],
            bw_shortterm: None,
            inflight_shortterm: None,
            inflight_longterm: None,
            extra_acked: WindowedMax::default(),
            extra_acked_start: Time::ZERO,
            extra_acked_delivered: 0,
            prior_cwnd: 0,
            repair: RecoveryKind::None,
            pipe: FullPipe::default(),
            cycle: Cycle::default(),
            losses: LossRound::default(),
            undo: Undo::default(),
            min_rtt: MinRtt::default(),
        }
    }

    /// InitPacingRate: the window in one RTT, or in 1 ms while that is unknown, for segments of `mss` bytes. Kept per segment until that is known.
    fn init_pacing(&mut self, w: &Window, rtt: Option<Time>) {
        self.has_seen_rtt |= rtt.is_some();
        let rtt = rtt.unwrap_or(Time::from_ms(1));
        let (gain, _) = State::Startup.gains();
        let rate = u128::from(w.cwnd as u64 * self.mss * gain / 100) * u128::from(SECOND.0) / u128::from(rtt.0.max(1));
        self.pacing = u64::try_from(rate).unwrap_or(u64::MAX);
    }

    /// SetPacingRateWithGain, percent.
    fn set_pacing(&mut self, gain: u64) {
        let rate = (u128::from(self.bw()) * u128::from(gain * (100 - MARGIN_PERCENT)) / 10_000) as u64;
        if self.pipe.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// SetSendQuantum.
    fn send_quantum(&self) -> u64 {
        (self.pacing.min(self.max_pacing) / 1000).min(MOST_QUANTUM).max(2 * self.mss)
    }

    /// SaveCwnd.
    fn save_cwnd(&mut self, cwnd: u64) {
        let good = self.repair == RecoveryKind::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// RestoreCwnd.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SetCwnd, with BoundCwndForProbeRTT and BoundCwndForModel.
    fn set_cwnd(&mut self, rs: &Rs) {
        let (_, gain) = self.state.gains();
        let max_inflight = self.quantized(self.bdp_multiple(self.bw(), gain) + self.extra_acked.get());
        if self.pipe.reached {
            self.cwnd = (self.cwnd + rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.rate.delivered() < self.initial_cwnd * self.mss {
            self.cwnd += rs.newly_acked;
        }
        let least = MIN_PIPE * self.mss;
        self.cwnd = self.cwnd.max(least);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = longterm.unwrap_or(u64::MAX).min(self.inflight_shortterm.unwrap_or(u64::MAX)).max(least);
        self.cwnd = self.cwnd.min(cap);
    }

    /// UpdateOnACK.
    fn control(&mut self, w: &mut Window, ack: &Ack, o: &Outcome) {
        self.take_mss(u64::from(ack.mss));
        self.max_pacing = o.max_pacing_rate.0 / 8;
        self.cwnd = (w.cwnd * f64::from(ack.mss)) as u64;
        if self.repair != RecoveryKind::None && o.repair == RecoveryKind::None {
            // Section "Modulating cwnd in Loss Recovery": recovery has ended.
            self.restore_cwnd();
        }
        let before = self.rate.delivered();
        let sample = self.rate.sample(o.stamp, ack.min_rtt);
        debug_assert_eq!(before, self.rate.delivered());
        let delivery_rate = sample.and_then(|s| {
            let interval = s.interval?;
            Some((u128::from(s.delivered) * u128::from(SECOND.0) / u128::from(interval.0)) as u64)
        });
        let rs = Rs {
            now: ack.now,
            mss: self.mss,
            sample,
            delivery_rate: delivery_rate.unwrap_or(0),
            newly_acked: ack.delivered,
            in_flight: ack.in_flight(),
            window_limited: ack.window_limited == Some(true),
            repair: o.repair,
            rtt: ack.newest_rtt,
        };
        self.update_model(&rs);
        self.repair = o.repair;
        if !self.has_seen_rtt && !ack.srtt.is_never() {
            self.init_pacing(w, ack.srtt.get());
        }
        let (gain, _) = self.state.gains();
        self.set_pacing(gain);
        self.set_cwnd(&rs);
        w.cwnd = Window::of_bytes(self.cwnd, ack.mss);
    }

    /// UpdateModelAndState.
    fn update_model(&mut self, rs: &Rs) {
        self.update_latest_delivery(rs);
        self.update_congestion(rs);
        self.update_aggregation(rs);
        self.check_full_pipe(rs);
        self.check_startup_done(rs);
        self.check_drain_done(rs);
        self.update_cycle(rs);
        self.update_min_rtt(rs);
        self.check_probe_rtt(rs);
        self.advance_latest_delivery(rs);
    }

    /// The payload of a full segment is known from the first ACK on; values computed before are in segments.
    fn take_mss(&mut self, mss: u64) {
        if self.mss == 1 {
            self.pacing = self.pacing.saturating_mul(mss);
            self.mss = mss;
        }
    }
}

impl CongestionControl for Bbr3 {
    type Sent = Sent;
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;
    const OWN_SLOW_START: bool = true;
    const LIMITS_BETWEEN_WRITES: bool = true;
    const PATH: Option<fn(&mut Bbr3, Path)> = Some(|cc, path| cc.rng = path.rng);
    const CONTROL: Option<fn(&mut Bbr3, &mut Window, &Ack, &Outcome)> = Some(Bbr3::control);
    const PACING_RATE: Option<fn(&Bbr3, u32) -> Rate> = Some(|cc, mss| {
        let segment = if cc.mss == 1 { u64::from(mss) } else { 1 };
        Rate(cc.pacing.saturating_mul(8 * segment))
    });

    fn segment_sent(&mut self, at: &Departure) -> Sent {
        self.min_rtt.begin(at.now);
        self.rate.sent(at, at.in_flight)
    }

    fn segment_arrived(&mut self, sent: Sent, at: &Arrival) {
        self.rate.arrived(sent, at, u64::from(at.bytes));
    }

    fn segment_lost(&mut self, sent: Sent, at: &Loss) {
        self.rate.lose(u64::from(at.bytes));
        self.handle_lost(sent, at);
    }

    fn cong_avoid(&mut self, _w: &mut Window, _ack: &Ack) {}

    /// OnEnterRTO, OnEnterFastRecovery.
    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        self.cwnd = (w.cwnd * self.mss as f64) as u64;
        // The losses of this episode have saved the state already, and may have changed it since (HandleInflightTooHigh). Our choice: the draft does not
        // say which of the two events comes first.
        if std::mem::take(&mut self.undo.noted) && cut.trigger == Trigger::Loss {
            self.save_cwnd(self.cwnd);
        } else {
            self.save_state();
        }
        w.ssthresh
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        match event {
            Event::Established { rtt } => {
                self.initial_cwnd = w.cwnd as u64;
                if let Some(rtt) = rtt {
                    self.min_rtt.set(rtt);
                }
                self.init_pacing(w, rtt);
            }
            Event::Write { .. } => {
                if self.pacing == 0 {
                    self.init_pacing(w, None);
                }
            }
            Event::AppLimited(in_flight) => self.rate.limit(in_flight.bytes),
            // HandleRestartFromIdle
            Event::TxStart { now, .. } if self.rate.is_app_limited() => {
                self.idle_restart = true;
                self.extra_acked_start = now;
                if self.state.probes_bw() {
                    self.set_pacing(100);
                } else if self.state == State::ProbeRtt {
                    self.cwnd = (w.cwnd * self.mss as f64) as u64;
                    self.check_probe_rtt_done(now);
                    w.cwnd = w.cwnd.max(self.cwnd as f64 / self.mss as f64);
                }
            }
            Event::Timeout { .. } => self.repair = RecoveryKind::Timeout,
            Event::TxStart { .. } | Event::Recovery | Event::Counted { .. } | Event::Restart | Event::Complete => {}
        }
    }

    fn state(&self, mss: u32, state: &mut CcState) {
        self.columns(mss, state);
    }

    fn undo_cwnd(&mut self, w: &Window, _prior: f64) -> f64 {
        self.cwnd = (w.cwnd * self.mss as f64) as u64;
        self.handle_spurious();
        w.cwnd.max(self.cwnd as f64 / self.mss as f64)
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "bbr3",
        summary: "BBR version 3 as draft-ietf-ccwg-bbr: as bbr, with bounds from losses and slower probing; needs SACK",
        params: &[],
    },
    needs_marks: false,
    needs_sack: true,
    paces: true,
    plb: false,
    ecn: Ecn::Off,
    recovery: Some(Recovery::Sack),
    // C.is_cwnd_limited comes from the stack's validation of its windows.
    adjust: Some(|c| c.cwnd_validation = true),
    build: |_| CcConfig::Bbr3(Config),
};
