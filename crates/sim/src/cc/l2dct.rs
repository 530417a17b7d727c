//! L2DCT (Munir et al., INFOCOM 2013): DCTCP that favors connections with few bytes sent, by a weight that falls with the bytes sent.

use super::fixed_point::{self, CwndGrowth};
use super::{Ack, CcConfig, CcEntry, CongestionControl, Dctcp, Event, Reduction, Threshold, Window, dctcp};
use forebay_experiment::transport::Ecn;
use forebay_types::QueueLen;
use forebay_types::param::{Entry, Kind, optional};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    marks: dctcp::Config,
    min_cwnd: f64,
    no_growth_on_ece: bool,
    w_max: f64,
    w_min: f64,
    light: QueueLen,
    heavy: QueueLen,
}

/// State of one connection.
#[derive(Debug, Clone)]
pub struct L2dct {
    c: Config,
    /// DCTCP's estimate of the marked fraction, unchanged.
    marks: Dctcp,
    /// Bytes sent so far. Never reset: a persistent connection counts as one flow (TRIM section 4).
    sent: u64,
    mss: u32,
}

impl L2dct {
    pub(super) fn new(c: &Config) -> L2dct {
        L2dct { c: *c, marks: Dctcp::new(&c.marks).without_growth_on_ece(c.no_growth_on_ece), sent: 0, mss: 1 }
    }

    /// `light` and `heavy` in bytes.
    fn bounds(&self) -> (u64, u64) {
        let bytes = |q: QueueLen| match q {
            QueueLen::Bytes(b) => b,
            QueueLen::Packets(n) => n * u64::from(self.mss),
        };
        (bytes(self.c.light), bytes(self.c.heavy))
    }

    /// The weight in fixed point.
    fn weight_fixed_point(&self) -> u32 {
        let ((light, heavy), (most, least)) =
            (self.bounds(), (fixed_point::fixed(self.c.w_max), fixed_point::fixed(self.c.w_min)));
        if self.sent <= light {
            return most;
        }
        if self.sent >= heavy {
            return least;
        }
        let share = ((self.sent - light) << 16) / (heavy - light);
        let change = ((u64::from(most.abs_diff(least)) * share) >> 16) as u32;
        if most >= least { most - change } else { most + change }
    }

    /// w(bytes): `w_max` up to `light`, `w_min` from `heavy` on, linear between (TRIM section 4).
    fn weight(&self) -> f64 {
        let bytes = |q: QueueLen| match q {
            QueueLen::Bytes(b) => b as f64,
            // A public implementation counts segments.
            QueueLen::Packets(n) => n as f64 * f64::from(self.mss),
        };
        let (light, heavy) = (bytes(self.c.light), bytes(self.c.heavy));
        let sent = self.sent as f64;
        if sent <= light {
            self.c.w_max
        } else if sent >= heavy {
            self.c.w_min
        } else {
            self.c.w_max - (self.c.w_max - self.c.w_min) * (sent - light) / (heavy - light)
        }
    }
}

impl CongestionControl for L2dct {
    type Sent = ();
    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        self.marks.in_ack_event(w, ack);
        self.sent = self.sent.max(ack.snd_nxt);
        self.mss = ack.mss;
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        if self.marks.holds(ack) {
            return;
        }
        if self.marks.is_fixed_point() {
            let left = CwndGrowth::slow_start(w, ack.grow);
            let per_step = fixed_point::segments(w.cwnd) as u64 * u64::from(fixed_point::fixed(self.c.w_max))
                / u64::from(self.weight_fixed_point().max(1));
            return self.marks.growth.step(w, per_step.min(u64::from(u32::MAX)) as u32, left);
        }
        // TRIM section 4: slow start as TCP; then cwnd += k / cwnd for each ACK, k = w / w_max.
        let rest = if w.in_slow_start() { w.slow_start(ack.grow) } else { ack.grow };
        if rest > 0.0 {
            w.cwnd += self.weight() / self.c.w_max * rest / w.cwnd;
        }
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        if self.marks.is_fixed_point() {
            let weight = self.weight_fixed_point();
            return dctcp::weighted_fixed_point(w, cut, &mut self.marks, weight, self.c.min_cwnd).into();
        }
        // TRIM section 4: b = alpha^w, cwnd <- cwnd (1 - b / 2); loss reaction as TCP.
        dctcp::weighted(w, cut, &self.marks, || self.weight(), self.c.min_cwnd).into()
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        // As in DCTCP (RFC 8257 section 3.5): marks cut by at most a half, usually by much less; a loss halves.
        true
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        self.marks.cwnd_event(w, event);
    }

    fn alpha(&self) -> Option<f64> {
        self.marks.alpha()
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "l2dct",
        summary: "DCTCP with weights that favor connections that have sent little (Munir et al. 2013)",
        params: &[
            dctcp::G,
            dctcp::ALPHA,
            dctcp::MIN_CWND,
            dctcp::NO_GROWTH_ON_ECE,
            fixed_point::ARITHMETIC,
            optional("w-max", Kind::Float(1e-3, 1000.0), "2.5", "weight of a connection that has sent at most `light`"),
            optional("w-min", Kind::Float(1e-3, 1000.0), "0.125", "weight of a connection that has sent `heavy` or more"),
            optional(
                "light",
                Kind::QueueLen,
                "200KB",
                "up to here the weight is `w-max`; in bytes, or in full segments (\"200pkt\")",
            ),
            optional(
                "heavy",
                Kind::QueueLen,
                "1MB",
                "from here on the weight is `w-min`; in bytes, or in full segments (\"1000pkt\")",
            ),
        ],
    },
    needs_marks: true,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Dctcp,
    recovery: None,
    adjust: Some(fixed_point::by_stack),
    build: |v| {
        CcConfig::L2dct(Config {
            marks: dctcp::Config::of(v),
            min_cwnd: v.float("min-cwnd"),
            no_growth_on_ece: v.bool("no-growth-on-ece"),
            w_max: v.float("w-max"),
            w_min: v.float("w-min"),
            light: v.queue_len("light"),
            heavy: v.queue_len("heavy"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::fixed_point::Arithmetic;
    use crate::cc::testing::cut as reduction;

    fn cc(light: &str, heavy: &str) -> L2dct {
        L2dct::new(&Config {
            marks: dctcp::Config::estimate(1.0 / 16.0, 0.3, Arithmetic::Paper),
            min_cwnd: 2.0,
            no_growth_on_ece: false,
            w_max: 2.5,
            w_min: 0.125,
            light: light.parse().unwrap(),
            heavy: heavy.parse().unwrap(),
        })
    }

    fn sent(l: &mut L2dct, bytes: u64) -> Window {
        let mut w = Window { cwnd: 40.0, ssthresh: Threshold::at(30.0) };
        let ack = Ack { snd_una: 0, snd_nxt: bytes, acked: 0, ..super::super::testing::ACK };
        l.in_ack_event(&mut w, &ack);
        l.cong_avoid(&mut w, &ack);
        w
    }

    /// TRIM section 4: k runs from 1 down to 0.05, the cut from alpha^2.5 / 2 to alpha^0.125 / 2.
    #[test]
    fn weights_follow_the_bytes_sent() {
        for (bytes, weight) in [(0, 2.5), (200_000, 2.5), (600_000, 1.3125), (1_000_000, 0.125), (90_000_000, 0.125)] {
            let mut l = cc("200KB", "1MB");
            let w = sent(&mut l, bytes);
            assert!((w.cwnd - (40.0 + weight / 2.5 / 40.0)).abs() < 1e-12, "{bytes}: {w:?}");
            let cut = 1.0 - l.ssthresh(&Window { cwnd: 100.0, ..w }, reduction(Trigger::Ecn)).or_infinite() / 100.0;
            assert!((cut - 0.3f64.powf(weight) / 2.0).abs() < 1e-9, "{bytes}: {cut}");
            assert_eq!(l.ssthresh(&w, reduction(Trigger::Loss)), 20.0);
        }
    }

    #[test]
    fn counts_segments_and_never_forgets() {
        let mut l = cc("200pkt", "1000pkt");
        sent(&mut l, 600 * 1460);
        assert!((l.weight() - 1.3125).abs() < 1e-12);
        // A timeout moves the next byte back; the bytes sent stay.
        sent(&mut l, 0);
        assert!((l.weight() - 1.3125).abs() < 1e-12);
    }

    #[test]
    fn slow_start_is_not_weighted() {
        let mut l = cc("0KB", "1B");
        let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(10.5) };
        let ack = Ack { snd_nxt: 5_000_000, ..super::super::testing::ACK };
        l.in_ack_event(&mut w, &ack);
        l.cong_avoid(&mut w, &ack);
        assert!((w.cwnd - (10.5 + 0.05 * 0.5 / 10.5)).abs() < 1e-12, "{w:?}");
    }

    #[test]
    fn floor() {
        let mut l = cc("200KB", "1MB");
        l.marks = Dctcp::new(&dctcp::Config::estimate(0.0625, 1.0, Arithmetic::Paper));
        assert_eq!(l.ssthresh(&Window { cwnd: 3.0, ssthresh: Threshold::at(3.0) }, reduction(Trigger::Ecn)), 2.0);
    }
}
