//! The rules of Linux tcp_cubic.c: times in ticks of 1 ms (HZ = 1000) and 1/1024 s, whole windows.

use super::Config;
use crate::cc::{Ack, Event, Window};
use forebay_sampling::math::cbrt;
use forebay_units::Time;

/// ps in a tick.
const TICK: Time = Time::from_ms(1);
/// Without a change of the window, the growth is looked at again after this many ticks (HZ / 32).
const LOOK_AGAIN: u64 = 31;

/// State of one connection. Windows in segments.
#[derive(Debug, Clone)]
pub struct Cubic {
    /// C and beta in 1/1024, as `bic_scale * 10` and `beta` are.
    c: f64,
    beta: f64,
    /// Acknowledged segments, in eighths of a window, after which the friendly window grows by one (`beta_scale`).
    friendly: Option<f64>,
    fast_convergence: bool,
    /// `last_max_cwnd`; 0: not known.
    w_max: f64,
    origin: f64,
    /// Time to the plateau, 1/1024 s.
    k: f64,
    /// Start of the epoch in ticks.
    epoch: Option<u64>,
    /// Window and time when the growth was last looked at.
    looked: (f64, u64),
    /// Acknowledged segments that the friendly window has not used yet, and that window (`ack_cnt`, `tcp_cwnd`).
    acks: f64,
    reno: f64,
    /// The window grows by one for so many acknowledged segments (`cnt`).
    per_step: f64,
    /// Acknowledged segments since its last step (`snd_cwnd_cnt`).
    counted: f64,
}

impl Cubic {
    pub(super) fn new(c: &Config) -> Cubic {
        let beta = (c.beta * 1024.0).round();
        // cubictcp_register, integer divisions.
        let scale = ((8.0 * (1024.0 + beta) / 3.0).floor() / (1024.0 - beta)).floor();
        Cubic {
            c: (c.c * 102.4).round() * 10.0,
            beta,
            friendly: c.reno_friendly.then_some(scale),
            fast_convergence: c.fast_convergence,
            w_max: 0.0,
            origin: 0.0,
            k: 0.0,
            epoch: None,
            looked: (0.0, 0),
            acks: 0.0,
            reno: 0.0,
            per_step: 2.0,
            counted: 0.0,
        }
    }

    /// Congestion avoidance by `acked` segments.
    pub(super) fn grow(&mut self, w: &mut Window, ack: &Ack, acked: f64) {
        self.update(w.cwnd.floor(), acked, ack);
        // tcp_cong_avoid_ai: acknowledged segments are counted, so that a step that has become smaller is taken at once.
        if self.counted >= self.per_step {
            self.counted = 0.0;
            w.cwnd += 1.0;
        }
        self.counted += acked;
        if self.counted >= self.per_step {
            let steps = (self.counted / self.per_step).floor();
            self.counted -= steps * self.per_step;
            w.cwnd += steps;
        }
    }

    /// `bictcp_update`.
    fn update(&mut self, cwnd: f64, acked: f64, ack: &Ack) {
        let now = ack.now / TICK;
        self.acks += acked;
        if self.looked.0 == cwnd && now - self.looked.1 <= LOOK_AGAIN {
            return;
        }
        // The curve once a tick, the friendly window with every step.
        if self.epoch.is_none() || self.looked.1 != now {
            self.looked = (cwnd, now);
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(cwnd, acked, now),
            };
            // The smallest delay in ticks, rounded up (usecs_to_jiffies).
            let delay = ack.min_rtt.get().map_or(0, |rtt| rtt.round_up(TICK) / TICK);
            let t = (((now - epoch + delay) << 10) / 1000) as f64;
            let target = self.target(t);
            self.per_step = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
            if self.w_max == 0.0 {
                // Where the path's capacity is still unknown, 5 % a round trip at least.
                self.per_step = self.per_step.min(20.0);
            }
        }
        if let Some(scale) = self.friendly {
            let step = (cwnd * scale / 8.0).floor().max(1.0);
            while self.acks > step {
                self.acks -= step;
                self.reno += 1.0;
            }
            if self.reno > cwnd {
                self.per_step = self.per_step.min((cwnd / (self.reno - cwnd)).floor());
            }
        }
        // At most half a window a round trip.
        self.per_step = self.per_step.max(2.0);
    }

    fn begin(&mut self, cwnd: f64, acked: f64, tick: u64) -> u64 {
        self.epoch = Some(tick);
        (self.acks, self.reno) = (acked, cwnd);
        (self.k, self.origin) = if self.w_max <= cwnd {
            (0.0, cwnd)
        } else {
            ((1024.0 * cbrt((self.w_max - cwnd) * 1024.0 / self.c)).floor(), self.w_max)
        };
        tick
    }

    /// The curve at `t`, 1/1024 s after the epoch's start.
    fn target(&self, t: f64) -> f64 {
        let off = (t - self.k).abs() / 1024.0;
        let delta = (self.c / 1024.0 * off * off * off).floor();
        if t < self.k { self.origin - delta } else { self.origin + delta }
    }

    /// `cubictcp_recalc_ssthresh`: of the window, whatever is outstanding.
    pub(super) fn ssthresh(&mut self, w: &Window) -> f64 {
        let cwnd = w.cwnd.floor();
        self.epoch = None;
        // tcp_init_cwnd_reduction, tcp_enter_loss.
        self.counted = 0.0;
        let shrinks = cwnd < self.w_max && self.fast_convergence;
        self.w_max = if shrinks { (cwnd * (1024.0 + self.beta) / 2048.0).floor() } else { cwnd };
        (cwnd * self.beta / 1024.0).floor().max(2.0)
    }

    pub(super) fn event(&mut self, event: Event) {
        match event {
            // cubictcp_cwnd_event: idle time is not the epoch's.
            Event::TxStart { now, idle } => {
                let idle = now / TICK - (now - idle) / TICK;
                self.epoch = self.epoch.map(|epoch| (epoch + idle).min(now / TICK));
            }
            // bictcp_reset: nothing is known any more.
            Event::Timeout { .. } => {
                (self.w_max, self.epoch, self.looked) = (0.0, None, (0.0, 0));
            }
            Event::Write { .. } | Event::Established { .. } | Event::Recovery | Event::Restart | Event::Complete => {}
        }
    }
}
