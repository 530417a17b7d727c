//! The rules of Linux tcp_cubic.c: times in ticks and 1/1024 s, whole windows.

use super::Config;
use crate::cc::fixed_point::{Arithmetic, CwndGrowth, cube_root, segments};
use crate::cc::{Ack, Event, Window};
use forebay_experiment::cc_state::CcState;
use forebay_types::Time;
use forebay_types::math::cbrt;

/// State of one connection. Windows in segments.
#[derive(Debug, Clone)]
pub struct Cubic {
    /// C and beta in 1/1024, as `bic_scale * 10` and `beta` are.
    c: u64,
    beta: u32,
    /// Acknowledged segments, in eighths of a window, after which the friendly window grows by one (`beta_scale`).
    friendly: Option<u32>,
    fast_convergence: bool,
    arithmetic: Arithmetic,
    /// Ticks in a second (HZ).
    hz: u64,
    /// `last_max_cwnd`; 0: not known.
    w_max: u32,
    origin: u32,
    /// Time to the plateau, 1/1024 s.
    k: u64,
    /// Start of the epoch in ticks.
    epoch: Option<u64>,
    /// Window and time of the last update.
    last_update: (u32, u64),
    /// Acknowledged segments that the friendly window has not used yet, and that window (`ack_cnt`, `tcp_cwnd`).
    acks: u32,
    reno: u32,
    /// Acknowledged segments per segment of growth (`cnt`).
    per_step: u32,
    growth: CwndGrowth,
    /// Smallest delay since the last timeout, us; 0 before the first (`delay_min`).
    delay_us: u64,
}

impl Cubic {
    pub(super) fn new(c: &Config) -> Cubic {
        let beta = (c.beta * 1024.0).round() as u32;
        // cubictcp_register, integer divisions.
        let scale = 8 * (1024 + beta) / 3 / (1024 - beta);
        Cubic {
            c: (c.c * 102.4).round() as u64 * 10,
            beta,
            friendly: c.reno_friendly.then_some(scale),
            fast_convergence: c.fast_convergence,
            arithmetic: c.arithmetic,
            hz: u64::from(c.hz),
            w_max: 0,
            origin: 0,
            k: 0,
            epoch: None,
            last_update: (0, 0),
            acks: 0,
            reno: 0,
            per_step: 2,
            growth: CwndGrowth::new(Arithmetic::Linux),
            delay_us: 0,
        }
    }

    /// Ticks of the clock. Whole seconds apart, so that no product needs more than 64 bits.
    #[inline]
    fn ticks(&self, t: Time) -> u64 {
        const SECOND: u64 = Time::from_secs(1).0;
        t.0 / SECOND * self.hz + t.0 % SECOND * self.hz / SECOND
    }

    /// `cubictcp_acked`: no delay counts in the first second of an epoch, where queues may still be full.
    pub(super) fn ignores_delay(&self, ack: &Ack) -> bool {
        let now = self.ticks(ack.now);
        self.epoch.is_some_and(|epoch| now.saturating_sub(epoch) < self.hz)
    }

    /// `cubictcp_acked`: the delay by which the curve runs ahead.
    pub(super) fn pkts_acked(&mut self, ack: &Ack) {
        let Some(rtt) = ack.newest_rtt else { return };
        if self.ignores_delay(ack) {
            return;
        }
        let delay = rtt.as_us().max(1);
        self.delay_us = if self.delay_us == 0 { delay } else { self.delay_us.min(delay) };
    }

    /// Growth by acknowledged segments.
    pub(super) fn grow(&mut self, w: &mut Window, ack: &Ack, grow: f64) {
        let acked = CwndGrowth::slow_start(w, grow);
        if acked == 0 {
            return;
        }
        self.update(segments(w.cwnd), acked, ack);
        self.growth.step(w, self.per_step, acked);
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: u32, acked: u32, ack: &Ack) {
        let now = self.ticks(ack.now);
        self.acks = self.acks.saturating_add(acked);
        // Without a change of the window, the next update is after HZ / 32.
        if self.last_update.0 == cwnd && now - self.last_update.1 <= self.hz / 32 {
            return;
        }
        // The curve once a tick, the friendly window with every step.
        if self.epoch.is_none() || self.last_update.1 != now {
            self.last_update = (cwnd, now);
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(cwnd, acked, now),
            };
            let t = ((now - epoch + self.delay_ticks(ack)) << 10) / self.hz;
            let target = self.target(t);
            self.per_step = if target > u64::from(cwnd) {
                (u64::from(cwnd) / (target - u64::from(cwnd))) as u32
            } else {
                cwnd.saturating_mul(100)
            };
            if self.w_max == 0 {
                // Until the path's capacity is known, at least 5 % per round trip.
                self.per_step = self.per_step.min(20);
            }
        }
        if let Some(scale) = self.friendly {
            let step = ((u64::from(cwnd) * u64::from(scale)) >> 3).max(1) as u32;
            // As many whole steps as fit while more than one is left.
            let growth = self.acks.saturating_sub(1) / step;
            self.acks -= growth * step;
            self.reno = self.reno.saturating_add(growth);
            if self.reno > cwnd {
                self.per_step = self.per_step.min(cwnd / (self.reno - cwnd));
            }
        }
        // At most half a window per round trip.
        self.per_step = self.per_step.max(2);
    }

    /// The smallest delay in ticks, rounded up (`usecs_to_jiffies`).
    fn delay_ticks(&self, ack: &Ack) -> u64 {
        let us = match self.arithmetic {
            Arithmetic::Linux => self.delay_us,
            Arithmetic::Paper => {
                let tick = Time(Time::from_secs(1).0 / self.hz);
                return ack.min_rtt.get().map_or(0, |rtt| rtt.round_up(tick) / tick);
            }
        };
        (us * self.hz).div_ceil(1_000_000)
    }

    fn begin(&mut self, cwnd: u32, acked: u32, tick: u64) -> u64 {
        self.epoch = Some(tick);
        (self.acks, self.reno) = (acked, cwnd);
        (self.k, self.origin) = if self.w_max <= cwnd { (0, cwnd) } else { (self.time_to(self.w_max - cwnd), self.w_max) };
        tick
    }

    /// Time that the curve takes for the last `segments` below the plateau, 1/1024 s.
    fn time_to(&self, segments: u32) -> u64 {
        match self.arithmetic {
            // `cube_factor` is 2^40 over the scale, in whole numbers.
            Arithmetic::Linux => u64::from(cube_root((1u64 << 40) / self.c * u64::from(segments))),
            Arithmetic::Paper => (1024.0 * cbrt(f64::from(segments) * 1024.0 / self.c as f64)).floor() as u64,
        }
    }

    /// The curve at `t`, 1/1024 s after the epoch's start.
    fn target(&self, t: u64) -> u64 {
        let off = u128::from(t.abs_diff(self.k));
        // An epoch of days exceeds 64 bits; the kernel's product does so after minutes.
        let delta = u64::try_from((u128::from(self.c) * off * off * off) >> 40).unwrap_or(u64::MAX);
        if t < self.k { u64::from(self.origin).saturating_sub(delta) } else { u64::from(self.origin).saturating_add(delta) }
    }

    /// Sets the columns of the table `tcp`: `last_max_cwnd`, `bic_K` and `tcp_cwnd`.
    pub(super) fn columns(&self, state: &mut CcState) {
        if self.w_max > 0 {
            state.real("w_max", self.w_max.into());
        }
        if self.epoch.is_some() {
            state.real("k_s", self.k as f64 / 1024.0);
            state.real("w_est", self.reno.into());
        }
    }

    /// `cubictcp_recalc_ssthresh`: from the window, regardless of the flight.
    pub(super) fn ssthresh(&mut self, w: &Window) -> f64 {
        let cwnd = segments(w.cwnd);
        self.epoch = None;
        self.growth.reduced();
        let shrinks = cwnd < self.w_max && self.fast_convergence;
        let part = |of: u32| u64::from(cwnd) * u64::from(of);
        self.w_max = if shrinks { (part(1024 + self.beta) / 2048) as u32 } else { cwnd };
        ((part(self.beta) / 1024) as f64).max(2.0)
    }

    pub(super) fn event(&mut self, event: Event) {
        match event {
            // cubictcp_cwnd_event: idle time does not count for the epoch.
            Event::TxStart { now, idle } => {
                let (now, idle) = (self.ticks(now), self.ticks(now) - self.ticks(now.saturating_sub(idle)));
                self.epoch = self.epoch.map(|epoch| (epoch + idle).min(now));
            }
            // bictcp_reset: clears everything.
            Event::Timeout { .. } => {
                (self.w_max, self.epoch, self.last_update, self.delay_us) = (0, None, (0, 0), 0);
                self.growth.reduced();
            }
            Event::Write { .. }
            | Event::Established { .. }
            | Event::Recovery
            | Event::Counted { .. }
            | Event::Restart
            | Event::AppLimited(_)
            | Event::Complete => {}
        }
    }
}
