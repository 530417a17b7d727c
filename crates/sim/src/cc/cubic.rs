//! CUBIC (RFC 9438).

use super::{Ack, CongestionControl, Event, LawConfig, LawEntry, Trigger, Window};
use forebay_param::{Entry, Kind, Param};
use forebay_sampling::math::cbrt;

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
}

/// State of one connection. Windows in segments, times in seconds unless named otherwise.
#[derive(Debug, Clone)]
pub struct Cubic {
    c: Config,
    w_max: f64,
    /// Window just before the last reduction: cwnd_prior of section 4.3.
    cwnd_prior: f64,
    k: f64,
    w_est: f64,
    /// Start of the current congestion avoidance, ps; `u64::MAX` before its first ACK.
    epoch: u64,
}

impl Cubic {
    pub(super) fn new(c: &Config) -> Cubic {
        Cubic { c: *c, w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, epoch: u64::MAX }
    }

    fn start_epoch(&mut self, w: &Window, now: u64) {
        self.epoch = now;
        self.w_est = w.cwnd;
        if w.cwnd < self.w_max {
            // Section 4.2, equation 2: time to climb back to W_max.
            self.k = cbrt((self.w_max - w.cwnd) / self.c.c);
        } else {
            // Section 4.10: no known W_max above the window, so the plateau is here.
            self.w_max = w.cwnd;
            self.k = 0.0;
        }
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        self.c.c * d * d * d + self.w_max
    }
}

impl CongestionControl for Cubic {
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        let grow = if w.in_slow_start() { w.slow_start(ack.grow) } else { ack.grow };
        if grow <= 0.0 {
            return;
        }
        if self.epoch == u64::MAX {
            self.start_epoch(w, ack.now);
        }
        let t = (ack.now - self.epoch) as f64 * 1e-12;
        let rtt = ack.srtt as f64 * 1e-12;
        if self.c.reno_friendly {
            // Section 4.3: grow as Reno would with this beta, and as Reno itself once the old window is regained.
            let beta = self.c.beta;
            let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
            self.w_est += alpha * grow / w.cwnd;
            if self.w_cubic(t) < self.w_est {
                w.cwnd = w.cwnd.max(self.w_est);
                return;
            }
        }
        // Sections 4.4 and 4.5: aim at W_cubic one RTT ahead, between the window and 1.5 times the window.
        let target = self.w_cubic(t + rtt).clamp(w.cwnd, 1.5 * w.cwnd);
        w.cwnd += grow * (target - w.cwnd) / w.cwnd;
    }

    fn ssthresh(&mut self, w: &Window, _trigger: Trigger) -> f64 {
        self.epoch = u64::MAX;
        self.cwnd_prior = w.cwnd;
        // Section 4.7, fast convergence: a window that shrinks from event to event gives way further.
        self.w_max = if self.c.fast_convergence && w.cwnd < self.w_max { w.cwnd * (1.0 + self.c.beta) / 2.0 } else { w.cwnd };
        // Section 4.6.
        (w.flight * self.c.beta).max(2.0)
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        match event {
            // Section 5.8: the curve must not run on while the application is idle.
            Event::TxStart { now, idle } if self.epoch != u64::MAX => self.epoch = (self.epoch + idle).min(now),
            // Section 4.8: after a timeout the first congestion avoidance has its plateau at the window where it starts.
            Event::Timeout { .. } => {
                self.epoch = u64::MAX;
                self.w_max = 0.0;
            }
            Event::Restart => self.epoch = u64::MAX,
            Event::Write { .. } | Event::Established { .. } | Event::Recovery | Event::TxStart { .. } | Event::Complete => {}
        }
    }
}

pub(super) const ENTRY: LawEntry = LawEntry {
    entry: Entry {
        name: "cubic",
        summary: "cubic growth around the last window (RFC 9438)",
        params: &[
            Param {
                key: "c",
                kind: Kind::Float(1e-3, 100.0),
                default: Some("0.4"),
                doc: "scaling constant C (RFC 9438 section 5)",
            },
            Param {
                key: "beta",
                kind: Kind::Float(0.1, 0.99),
                default: Some("0.7"),
                doc: "multiplicative decrease factor (RFC 9438 section 4.6)",
            },
            Param { key: "fast-convergence", kind: Kind::Bool, default: Some("true"), doc: "RFC 9438 section 4.7" },
            Param {
                key: "reno-friendly",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "the Reno-friendly region of RFC 9438 section 4.3",
            },
        ],
    },
    needs_marks: false,
    ecn: "off",
    recovery: None,
    adjust: None,
    build: |v| {
        LawConfig::Cubic(Config {
            c: v.float("c"),
            beta: v.float("beta"),
            fast_convergence: v.bool("fast-convergence"),
            reno_friendly: v.bool("reno-friendly"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// After a loss at 1000 segments the window is back at 1000 after K = cbrt(W_max (1 - beta) / C) seconds (section 4.2).
    #[test]
    fn regains_the_old_window_after_k() {
        let mut cubic = Cubic::new(&Config { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: false });
        let mut w = Window { cwnd: 1000.0, ssthresh: f64::INFINITY, flight: 1000.0 };
        w.ssthresh = cubic.ssthresh(&w, Trigger::Loss);
        w.cwnd = w.ssthresh;
        assert_eq!(w.cwnd, 700.0);
        let rtt: u64 = 1_000_000_000; // 1 ms
        let k = (300.0f64 / 0.4).cbrt();
        let mut now = 0;
        let mut una = 0;
        while (now as f64) * 1e-12 < k {
            let segments = w.cwnd as u64;
            for _ in 0..segments {
                una += 1460;
                let ack = Ack {
                    now,
                    snd_una: una,
                    snd_nxt: una + 1_460_000,
                    acked: 1460,
                    delivered: 1460,
                    ece: false,
                    grow: 1.0,
                    rtt: Some(rtt),
                    srtt: rtt,
                    min_rtt: rtt,
                    mss: 1460,
                };
                cubic.cong_avoid(&mut w, &ack);
            }
            now += rtt;
        }
        assert!((w.cwnd - 1000.0).abs() < 1.0, "{}", w.cwnd);
    }
}
