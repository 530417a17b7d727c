//! DCTCP (RFC 8257): reduce in proportion to the fraction of marked bytes, once per window; losses halve as in TCP.

use super::newreno::halve;
use super::{Ack, CongestionControl, Event, LawConfig, LawEntry, Reduction, Round, Threshold, Trigger, Window};
use forebay_experiment::transport::Ecn;
use forebay_param::{Entry, Kind, Param, choices, optional};
use forebay_sampling::math;

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    rules: Rules,
    /// The first alpha.
    alpha: f64,
}

/// Those of the parameters that a connection goes by all the time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rules {
    g: f64,
    min_cwnd: f64,
    no_growth_on_ece: bool,
    /// Kernel arithmetic: alpha in 1/1024, shift by g.
    fixed_point: bool,
}

impl Config {
    /// For the laws that build on DCTCP's estimate of the marked fraction.
    pub(super) fn paper(g: f64, alpha: f64) -> Config {
        Config { rules: Rules { g, min_cwnd: 2.0, no_growth_on_ece: false, fixed_point: false }, alpha }
    }
}

/// Parameters of the laws that build on it.
pub(super) const G: Param =
    optional("g", Kind::Float(1e-6, 1.0), "0.0625", "weight of the newest marked fraction in alpha, as in dctcp");
pub(super) const ALPHA: Param = optional("alpha", Kind::Float(0.0, 1.0), "1.0", "initial alpha, as in dctcp");
pub(super) const MIN_CWND: Param = optional("min-cwnd", Kind::Float(1.0, 1000.0), "2.0", "floor of a reduction in segments");

/// The threshold of a law that weights the cut of DCTCP, which counts `marks` for it, by an exponent of alpha: cwnd (1 - alpha^exponent / 2) on marks, half on losses.
pub(super) fn weighted(w: &Window, cut: Reduction, marks: &Dctcp, exponent: impl FnOnce() -> f64, floor: f64) -> f64 {
    match cut.trigger {
        Trigger::Ecn => w.cwnd * (1.0 - penalty(marks.alpha, exponent()) / 2.0),
        Trigger::Loss | Trigger::Timeout => halve(cut),
    }
    .max(floor)
}

/// `alpha` to the power `exponent`.
fn penalty(alpha: f64, exponent: f64) -> f64 {
    if exponent == 1.0 {
        return alpha;
    }
    // Below the smallest normal number alpha is as good as 0, and so is a power below e^-700.
    let log = if alpha < f64::MIN_POSITIVE { f64::NEG_INFINITY } else { exponent * math::ln(alpha) };
    if log < -700.0 { 0.0 } else { math::exp(log) }
}

/// State of one connection.
#[derive(Debug, Clone)]
pub struct Dctcp {
    c: Rules,
    alpha: f64,
    bytes_acked: u64,
    bytes_marked: u64,
    /// The observation window (which ends at DCTCP.WindowEnd).
    window: Round,
}

impl Dctcp {
    pub(super) fn new(c: &Config) -> Dctcp {
        Dctcp { c: c.rules, alpha: c.alpha, bytes_acked: 0, bytes_marked: 0, window: Round::default() }
    }

    //= https://www.rfc-editor.org/rfc/rfc8257#section-3.3
    //# DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M
    /// alpha <- (1 - g) alpha + g F (RFC 8257 section 3.3, step 7).
    fn update_alpha(&mut self) {
        let g = self.c.g;
        if self.c.fixed_point {
            // Linux dctcp_update_alpha: alpha is an integer of 1/1024. Where the shift leaves nothing, all of it goes
            // (min_not_zero), so that it can reach 0.
            let old = (self.alpha * 1024.0) as u64;
            let decay = match (old as f64 * g) as u64 {
                0 => old,
                decay => decay,
            };
            let gain = (self.bytes_marked as f64 * 1024.0 * g) as u64 / self.bytes_acked;
            self.alpha = (old - decay + gain).min(1024) as f64 / 1024.0;
        } else {
            self.alpha = (1.0 - g) * self.alpha + g * self.bytes_marked as f64 / self.bytes_acked as f64;
        }
    }
}

impl CongestionControl for Dctcp {
    type Sent = ();
    const PKTS_ACKED: bool = false;

    #[inline]
    fn in_ack_event(&mut self, _w: &mut Window, ack: &Ack) {
        // RFC 8257 section 3.3: SACK information is ignored, duplicates add nothing.
        self.bytes_acked += ack.acked;
        if ack.ece {
            self.bytes_marked += ack.acked;
        }
        if self.window.ends(ack) {
            // A window in which nothing was acknowledged says nothing about marks.
            if self.bytes_acked > 0 {
                self.update_alpha();
            }
            self.bytes_acked = 0;
            self.bytes_marked = 0;
        }
    }

    #[inline]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        // DCTCP spec 2.3: growth continues on ECE ACKs of a window that has been cut, unless the scenario forbids it.
        if !(ack.ece && self.c.no_growth_on_ece) {
            w.reno(ack.grow);
        }
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        match cut.trigger {
            // RFC 8257 section 3.3, step 9; alpha was updated by this very ACK if it closed a window.
            Trigger::Ecn if self.c.fixed_point => {
                let (cwnd, alpha) = (w.cwnd as u64, (self.alpha * 1024.0) as u64);
                (cwnd - ((cwnd * alpha) >> 11)) as f64
            }
            Trigger::Ecn => w.cwnd * (1.0 - self.alpha / 2.0),
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.5
            //# A DCTCP sender MUST react to loss episodes in the same way as conventional TCP
            // RFC 8257 section 3.5: losses are handled as in conventional TCP.
            Trigger::Loss | Trigger::Timeout => halve(cut),
        }
        .max(self.c.min_cwnd)
        .into()
    }

    fn loss_outweighs_marks(&self) -> bool {
        // RFC 8257 section 3.5; Linux dctcp_react_to_loss.
        true
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        if let Event::Timeout { snd_max } = event {
            // Marks counted before the timeout belong to a window that no longer exists; alpha itself is kept.
            self.window.begin(snd_max);
            self.bytes_acked = 0;
            self.bytes_marked = 0;
        }
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

const FIXED_POINT: &[(&str, bool)] = &[("paper", false), ("linux", true)];

pub(super) const ENTRY: LawEntry = LawEntry {
    entry: Entry {
        name: "dctcp",
        summary: "cuts in proportion to the fraction of marked bytes (RFC 8257)",
        params: &[
            Param {
                key: "g",
                kind: Kind::Float(1e-6, 1.0),
                default: Some("0.0625"),
                doc: "weight of the newest marked fraction in alpha (RFC 8257 section 4.2)",
            },
            Param {
                key: "alpha",
                kind: Kind::Float(0.0, 1.0),
                default: Some("1.0"),
                doc: "initial alpha (RFC 8257 section 3.3)",
            },
            Param {
                key: "min-cwnd",
                kind: Kind::Float(1.0, 1000.0),
                default: Some("2.0"),
                doc: "floor of a reduction in segments",
            },
            Param {
                key: "no-growth-on-ece",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "do not grow on an ACK that carries ECE",
            },
            Param {
                key: "arithmetic",
                kind: Kind::Choice(&choices::<2, _>(FIXED_POINT)),
                default: Some("paper"),
                doc: "real numbers, or the kernel's fixed point with alpha in 1/1024",
            },
        ],
    },
    needs_marks: true,
    needs_sack: false,
    ecn: Ecn::Dctcp,
    recovery: None,
    adjust: None,
    build: |v| {
        let rules = Rules {
            g: v.float("g"),
            min_cwnd: v.float("min-cwnd"),
            no_growth_on_ece: v.bool("no-growth-on-ece"),
            fixed_point: v.choice("arithmetic", FIXED_POINT),
        };
        LawConfig::Dctcp(Config { rules, alpha: v.float("alpha") })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Time, TimeOrNever};

    fn law(fixed_point: bool) -> Dctcp {
        let rules = Rules { g: 1.0 / 16.0, min_cwnd: 2.0, no_growth_on_ece: false, fixed_point };
        Dctcp::new(&Config { rules, alpha: 1.0 })
    }

    /// Claim `dctcp-cut-proportional`: with 8 of 10 packets marked in steady state the cut is 40 %, with 1 of 10 it is 5 %.
    #[test]
    fn steady_cut_is_half_the_marked_fraction() {
        for fixed_point in [false, true] {
            for marked in [1, 8, 10, 0] {
                let mut d = law(fixed_point);
                let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(10.0) };
                for packet in 1..=20_000u64 {
                    let (una, ece) = (packet * 1460, packet % 10 < marked);
                    let ack = Ack {
                        now: Time::ZERO,
                        snd_una: una,
                        snd_nxt: una + 14_600,
                        acked: 1460,
                        delivered: 1460,
                        lost: 0,
                        absent: 0,
                        window_limited: None,
                        ece,
                        grow: 1.0,
                        rtt: None,
                        newest_rtt: None,
                        srtt: TimeOrNever::NEVER,
                        min_rtt: TimeOrNever::NEVER,
                        mss: 1460,
                    };
                    d.in_ack_event(&mut w, &ack);
                }
                let w = Window { cwnd: 1000.0, ssthresh: Threshold::at(10.0) };
                let cut =
                    1.0 - d.ssthresh(&w, Reduction { trigger: Trigger::Ecn, from: w.cwnd, in_flight: 0 }).or_infinite() / w.cwnd;
                assert!((cut - marked as f64 / 20.0).abs() < 0.01, "{marked} of 10, fixed {fixed_point}: cut {cut}");
                assert_eq!(d.ssthresh(&w, Reduction { trigger: Trigger::Loss, from: w.cwnd, in_flight: 0 }), 500.0);
            }
        }
    }

    /// RFC 8257 section 3.3 steps 3 and 4: the fraction is one of bytes. With marked ACKs for three segments and as many others for one, it
    /// is 3/4 and not 1/2.
    #[test]
    fn the_marked_fraction_is_one_of_bytes() {
        use crate::cc::testing::ACK;
        let mut d = law(false);
        let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(10.0) };
        let mut una = 0;
        for n in 0..4000 {
            let ece = n % 2 == 0;
            let acked = if ece { 3 * 1460 } else { 1460 };
            una += acked;
            d.in_ack_event(&mut w, &Ack { snd_una: una, snd_nxt: una + 29_200, acked, delivered: acked, ece, ..ACK });
        }
        assert!((d.alpha - 0.75).abs() < 0.02, "{}", d.alpha);
    }
}
