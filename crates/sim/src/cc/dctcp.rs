//! DCTCP (RFC 8257): reduce in proportion to the fraction of marked bytes, once per window; losses halve as in TCP.

use super::fixed_point::{self, Arithmetic, CwndGrowth};
use super::newreno::halve;
use super::{Ack, CcConfig, CcEntry, CongestionControl, Event, Reduction, Round, Threshold, Trigger, Window};
use forebay_experiment::plb::WHOLE_ROUND;
use forebay_experiment::transport::{Ecn, Profile, Transport};
use forebay_types::math;
use forebay_types::param::{Entry, Kind, Param, Value, Values, optional};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    rules: Rules,
    /// Initial alpha.
    alpha: f64,
}

/// Parameters that connections copy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rules {
    g: f64,
    min_cwnd: f64,
    no_growth_on_ece: bool,
    /// Kernel arithmetic: alpha in 1/1024, shift by g.
    fixed_point: bool,
    /// Also the rest of the kernel's arithmetic: whole windows; SACKed segments count as delivered, in segments; a window ends when all of it is
    /// acknowledged.
    whole: bool,
}

impl Config {
    /// For congestion controls that build on DCTCP's estimate of the marked fraction.
    pub(super) fn estimate(g: f64, alpha: f64, arithmetic: Arithmetic) -> Config {
        let linux = arithmetic == Arithmetic::Linux;
        Config { rules: Rules { g, min_cwnd: 2.0, no_growth_on_ece: false, fixed_point: linux, whole: linux }, alpha }
    }

    /// Configuration from the parameters [`G`], [`ALPHA`] and [`fixed_point::ARITHMETIC`].
    pub(super) fn of(v: &Values) -> Config {
        Config::estimate(v.float("g"), v.float("alpha"), Arithmetic::of(v))
    }
}

/// Parameters of the congestion controls that build on it.
pub(super) const G: Param =
    optional("g", Kind::Float(1e-6, 1.0), "0.0625", "weight of the newest marked fraction in alpha, as in dctcp");
pub(super) const ALPHA: Param = optional("alpha", Kind::Float(0.0, 1.0), "1.0", "initial alpha, as in dctcp");
pub(super) const MIN_CWND: Param = optional("min-cwnd", Kind::Float(1.0, 1000.0), "2.0", "floor of a reduction in segments");

pub(super) const NO_GROWTH_ON_ECE: Param =
    optional("no-growth-on-ece", Kind::Bool, "false", "do not grow on an ACK that carries ECE");

/// Threshold of a congestion control that weights DCTCP's reduction by an exponent of alpha, from the counts in `marks`: cwnd (1 - alpha^exponent /
/// 2) on marks, half on losses.
pub(super) fn weighted(w: &Window, cut: Reduction, marks: &Dctcp, exponent: impl FnOnce() -> f64, floor: f64) -> f64 {
    match cut.trigger {
        Trigger::Ecn => w.cwnd * (1.0 - penalty(marks.alpha, exponent()) / 2.0),
        Trigger::Loss | Trigger::Timeout => halve(cut),
    }
    .max(floor)
}

/// As [`weighted`], in whole numbers, with the exponent in fixed point.
pub(super) fn weighted_fixed_point(w: &Window, cut: Reduction, marks: &mut Dctcp, exponent: u32, floor: f64) -> f64 {
    marks.growth.reduced();
    match cut.trigger {
        Trigger::Ecn => reduce_fixed_point(w, fixed_point::power((marks.alpha * 65_536.0) as u32, exponent)),
        Trigger::Loss | Trigger::Timeout => fixed_point::halve(cut.from),
    }
    .max(floor.floor())
}

/// Reduces the window by half of it times `penalty`, in fixed point.
fn reduce_fixed_point(w: &Window, penalty: u32) -> f64 {
    let cwnd = fixed_point::segments(w.cwnd);
    f64::from(cwnd - ((u64::from(cwnd) * u64::from(penalty)) >> 17) as u32)
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
    g: f64,
    min_cwnd: f64,
    no_growth_on_ece: bool,
    fixed_point: bool,
    alpha: f64,
    /// Bytes acknowledged in the observation window, of which windows have less than 2^30, and those with ECE; or segments, as Linux counts them.
    acked: u32,
    marked: u32,
    /// The observation window (which ends at DCTCP.WindowEnd).
    window: Round,
    pub(super) growth: CwndGrowth,
}

impl Dctcp {
    pub(super) fn new(c: &Config) -> Dctcp {
        let arithmetic = if c.rules.whole { Arithmetic::Linux } else { Arithmetic::Paper };
        // Linux dctcp_alpha_on_init.
        let alpha = if c.rules.whole { (c.alpha * 1024.0).floor() / 1024.0 } else { c.alpha };
        let Rules { g, min_cwnd, no_growth_on_ece, fixed_point, .. } = c.rules;
        let (window, growth) = (Round::default(), CwndGrowth::new(arithmetic));
        Dctcp { g, min_cwnd, no_growth_on_ece, fixed_point, alpha, acked: 0, marked: 0, window, growth }
    }

    /// Sets whether an ACK with ECE lets the window grow.
    pub(super) fn without_growth_on_ece(mut self, without: bool) -> Dctcp {
        self.no_growth_on_ece = without;
        self
    }

    /// Returns true if the window does not grow on this ACK.
    #[inline(always)]
    pub(super) fn holds(&self, ack: &Ack) -> bool {
        ack.ece && self.no_growth_on_ece
    }

    /// Returns true if it computes in whole numbers throughout.
    pub(super) fn is_fixed_point(&self) -> bool {
        self.growth != CwndGrowth::Fractional
    }

    /// Linux dctcp_update_alpha, on every ACK: it counts segments, where RFC 8257 counts bytes. Out of line, so that the hook stays short.
    #[inline(never)]
    fn count_segments(&mut self, ack: &Ack) {
        let segments = ack.segments_delivered() as u32;
        self.acked += segments;
        if ack.ece {
            // Accurate ECN counts them (tp->delivered_ce).
            self.marked += if ack.ce > 0 { ack.ce.min(segments) } else { segments };
        }
        if self.window.ends_when_covered(ack) {
            self.acked = self.acked.max(1);
            self.update_alpha();
            (self.acked, self.marked) = (0, 0);
        }
    }

    /// Share of marked segments (or bytes) in the window that this ACK ends, for protective load balancing: alpha, a mean of many windows, shows
    /// congestion too late (Linux dctcp_update_alpha, `ce_ratio`).
    fn marked_in_window(&self, ack: &Ack) -> Option<u16> {
        let (ends, more) = match self.is_fixed_point() {
            true => (self.window.is_covered(ack), ack.segments_delivered()),
            false => (self.window.is_over(ack), ack.acked),
        };
        if !ends {
            return None;
        }
        let acked = u64::from(self.acked) + more;
        let marked = u64::from(self.marked) + if ack.ece { more } else { 0 };
        (marked * u64::from(WHOLE_ROUND)).checked_div(acked).map(|share| share as u16)
    }

    //= https://www.rfc-editor.org/rfc/rfc8257#section-3.3
    //# DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M
    /// alpha <- (1 - g) alpha + g F (RFC 8257 section 3.3, step 7).
    #[inline(never)]
    fn update_alpha(&mut self) {
        let g = self.g;
        if self.fixed_point {
            // Linux dctcp_update_alpha: alpha is an integer of 1/1024. If the shifted value is 0, all of alpha is subtracted (min_not_zero), so that
            // it can reach 0.
            let old = (self.alpha * 1024.0) as u64;
            let decay = match (old as f64 * g) as u64 {
                0 => old,
                decay => decay,
            };
            let gain = (f64::from(self.marked) * 1024.0 * g) as u64 / u64::from(self.acked);
            self.alpha = (old - decay + gain).min(1024) as f64 / 1024.0;
        } else {
            self.alpha = (1.0 - g) * self.alpha + g * f64::from(self.marked) / f64::from(self.acked);
        }
    }
}

impl CongestionControl for Dctcp {
    type Sent = ();
    const PKTS_ACKED: bool = false;
    const MARKED_IN_ROUND: Option<fn(&Self, &Ack) -> Option<u16>> = Some(Dctcp::marked_in_window);

    #[inline(always)]
    fn in_ack_event(&mut self, _w: &mut Window, ack: &Ack) {
        if self.is_fixed_point() {
            return self.count_segments(&{ *ack });
        }
        // RFC 8257 section 3.3: SACK information is ignored, duplicates add nothing.
        self.acked += ack.acked as u32;
        if ack.ece {
            let acked = ack.acked as u32;
            self.marked += if ack.ce > 0 { (ack.ce * ack.mss).min(acked) } else { acked };
        }
        if self.window.ends(ack) {
            // A window without acknowledged bytes is no sample of marks.
            if self.acked > 0 {
                self.update_alpha();
            }
            self.acked = 0;
            self.marked = 0;
        }
    }

    #[inline(always)]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        // DCTCP spec 2.3: growth continues on ECE ACKs of a window that has been cut, unless the scenario forbids it.
        if !self.holds(ack) {
            self.growth.reno(w, ack.grow);
        }
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        if self.is_fixed_point() {
            let floor = self.min_cwnd;
            return weighted_fixed_point(w, cut, self, fixed_point::ONE, floor).into();
        }
        match cut.trigger {
            // RFC 8257 section 3.3, step 9; this ACK has updated alpha if it ended a window.
            Trigger::Ecn if self.fixed_point => {
                let (cwnd, alpha) = (w.cwnd as u64, (self.alpha * 1024.0) as u64);
                (cwnd - ((cwnd * alpha) >> 11)) as f64
            }
            Trigger::Ecn => w.cwnd * (1.0 - self.alpha / 2.0),
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.5
            //# A DCTCP sender MUST react to loss episodes in the same way as conventional TCP
            // RFC 8257 section 3.5: losses are handled as in conventional TCP.
            Trigger::Loss | Trigger::Timeout => halve(cut),
        }
        .max(self.min_cwnd)
        .into()
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        // RFC 8257 section 3.5; Linux dctcp_react_to_loss.
        true
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        if let Event::Counted { ece } = event
            && self.is_fixed_point()
        {
            // Linux counts it after updating alpha (tcp_in_ack_event before tcp_fastretrans_alert).
            self.acked += 1;
            self.marked += u32::from(ece);
        }
        if let Event::Timeout { snd_max } = event {
            self.growth.reduced();
            if self.is_fixed_point() {
                // As Linux, which does nothing else here (dctcp_react_to_loss).
                return;
            }
            // Marks counted before the timeout belong to a window that no longer exists; alpha is kept.
            self.window.begin(snd_max);
            self.acked = 0;
            self.marked = 0;
        }
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

/// The stack `linux` has whole windows.
fn adjust(c: &mut Transport) {
    fixed_point::by_stack(c);
    let linux = c.profile == Profile::Linux && Arithmetic::of(&c.cc.values) == Arithmetic::Linux;
    c.cc.fill("whole-windows", Value::Bool(linux));
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "dctcp",
        summary: "reduces the window in proportion to the fraction of marked bytes (RFC 8257)",
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
            NO_GROWTH_ON_ECE,
            Param {
                key: "arithmetic",
                kind: fixed_point::ARITHMETIC.kind,
                default: Some(""),
                doc: "floating point, or the kernel's fixed point with alpha in 1/1024; default: linux with stack = \"linux\", otherwise paper",
            },
            optional(
                "whole-windows",
                Kind::Bool,
                "",
                "with `arithmetic = \"linux\"`, windows and the counting of windows of data are also the kernel's; default: with stack = \"linux\"",
            ),
        ],
    },
    needs_marks: true,
    needs_sack: false,
    paces: false,
    plb: true,
    ecn: Ecn::Dctcp,
    recovery: None,
    adjust: Some(adjust),
    build: |v| {
        let fixed_point = Arithmetic::of(v) == Arithmetic::Linux;
        let rules = Rules {
            g: v.float("g"),
            min_cwnd: v.float("min-cwnd"),
            no_growth_on_ece: v.bool("no-growth-on-ece"),
            fixed_point,
            whole: fixed_point && v.opt_bool("whole-windows").unwrap_or(false),
        };
        CcConfig::Dctcp(Config { rules, alpha: v.float("alpha") })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Time, TimeOrNever};

    fn cc(fixed_point: bool) -> Dctcp {
        let rules = Rules { g: 1.0 / 16.0, min_cwnd: 2.0, no_growth_on_ece: false, fixed_point, whole: false };
        Dctcp::new(&Config { rules, alpha: 1.0 })
    }

    /// Claim `dctcp-cut-proportional`: with 8 of 10 packets marked in steady state the cut is 40 %, with 1 of 10 it is 5 %.
    #[test]
    fn reduction_is_half_the_marked_fraction() {
        for fixed_point in [false, true] {
            for marked in [1, 8, 10, 0] {
                let mut d = cc(fixed_point);
                let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(10.0) };
                for packet in 1..=20_000u64 {
                    let (una, ece) = (packet * 1460, packet % 10 < marked);
                    let ack = Ack {
                        now: Time::ZERO,
                        snd_una: una,
                        snd_nxt: una + 14_600,
                        acked: 1460,
                        delivered: 1460,
                        segments: 0,
                        lost: 0,
                        absent: 0,
                        ce: 0,
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

    /// Linux dctcp_update_alpha: the fraction counts segments (`tp->delivered`), however short. A window of three full ones without marks and one of
    /// 1 byte with a mark gives 1/4, and alpha 1024 - 64 + (1 << 6) / 4.
    #[test]
    fn the_kernel_counts_segments() {
        use crate::cc::testing::ACK;
        for counted in [false, true] {
            let rules = Rules { g: 1.0 / 16.0, min_cwnd: 2.0, no_growth_on_ece: false, fixed_point: true, whole: true };
            let mut d = Dctcp::new(&Config { rules, alpha: 1.0 });
            let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(10.0) };
            d.window.begin(3 * 1460 + 1);
            for (snd_una, acked, segments, ece) in
                [(2 * 1460, 2 * 1460, 2, false), (3 * 1460, 1460, 1, false), (3 * 1460 + 1, 1, 1, true)]
            {
                let segments = if counted { segments } else { 0 };
                let ack = Ack { snd_una, snd_nxt: 29_200, acked, delivered: acked, segments, ece, ..ACK };
                // The same fraction for protective load balancing, at the end of the window.
                assert_eq!(d.marked_in_window(&ack), ece.then_some(WHOLE_ROUND / 4), "{counted}");
                d.in_ack_event(&mut w, &ack);
            }
            assert_eq!(d.alpha * 1024.0, f64::from(1024 - 64 + 64 / 4), "{counted}");
        }
    }

    /// RFC 8257 section 3.3 steps 3 and 4: the fraction counts bytes. With marked ACKs for three segments and as many others for one, it is 3/4 and
    /// not 1/2.
    #[test]
    fn marked_fraction_counts_bytes() {
        use crate::cc::testing::ACK;
        let mut d = cc(false);
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
