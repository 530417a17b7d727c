//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP's proportional reduction with Accurate ECN feedback (RFC 9768) and ECT(1), for the
//! Internet. Flows with an RTT below the virtual RTT grow as if they had that RTT. Segments are paced. Losses, and marks that a peer with classic ECN
//! echoes, are answered as by Reno.
//!
//! The window is fractional and owned by this file where the stack has SACK: unmarked segments let it grow also while a reduction is in progress
//! (section 2.4.3). Detection of a classic ECN AQM on the path, which is optional and off in Linux, and windows below two segments are not modeled.

use super::newreno::halve;
use super::{
    Ack, CcConfig, CcEntry, CongestionControl, Event, Outcome, RecoveryKind, Reduction, Round, Threshold, Trigger, Window,
};
use forebay_experiment::transport::Ecn;
use forebay_types::param::{Entry, Kind, Param};
use forebay_types::{Rate, Time, TimeOrNever};

/// Longest burst at the pacing rate (RFC 9331 section 4.3 item 7: 250 us on the public Internet; Linux `prague_burst_shift`: 2^-12 s).
const BURST: Time = Time::from_us(250);

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    g: f64,
    alpha: f64,
    rtt_virt: Time,
    transition: u32,
    min_cwnd: f64,
}

/// State of one connection.
#[derive(Debug, Clone)]
pub struct Prague {
    c: Config,
    alpha: f64,
    /// Segments delivered since the last update of alpha, and those reported as marked.
    delivered: u64,
    marked: u64,
    round: Round,
    /// Time of the last update of alpha.
    updated: Time,
    /// Updates of alpha after slow start.
    rounds: u32,
    /// Time of the last reduction for marks.
    reduced: TimeOrNever,
    /// Time and smoothed RTT at the last ACK.
    now: Time,
    srtt: TimeOrNever,
    /// A mark was reported, so that some queue on the path marks.
    saw_marks: bool,
    /// ACKs carry the echo of classic ECN.
    classic: bool,
    /// Window of a reduction that this ACK began.
    target: Option<f64>,
    /// The stack has let the window grow on this ACK.
    grown: bool,
    /// Pacing rate, segments per second; infinite before the first RTT.
    rate: f64,
}

impl Prague {
    pub(super) fn new(c: &Config) -> Prague {
        Prague {
            c: *c,
            alpha: c.alpha,
            delivered: 0,
            marked: 0,
            round: Round::default(),
            updated: Time::ZERO,
            rounds: 0,
            reduced: TimeOrNever::NEVER,
            now: Time::ZERO,
            srtt: TimeOrNever::NEVER,
            saw_marks: false,
            classic: false,
            target: None,
            grown: false,
            rate: f64::INFINITY,
        }
    }

    /// Returns true if the flow behaves as one with the virtual RTT: short flows of small RTT get going faster than that (section 2.4.4), and so does slow
    /// start (Linux `prague_is_rtt_indep`).
    fn is_rtt_independent(&self, w: &Window) -> bool {
        !w.in_slow_start() && self.rounds >= self.c.transition && self.srtt.get().is_some_and(|rtt| rtt < self.c.rtt_virt)
    }

    /// Segments by which the window grows per RTT: (RTT / RTT_virt)^2, because the rate of a flow with the virtual RTT grows by a segment per RTT_virt
    /// in each RTT_virt.
    fn additive_increase(&self, w: &Window) -> f64 {
        match self.srtt.get() {
            Some(rtt) if self.is_rtt_independent(w) => {
                let ratio = rtt.0 as f64 / self.c.rtt_virt.0 as f64;
                ratio * ratio
            }
            _ => 1.0,
        }
    }

    /// Returns true if the virtual RTT after the last reduction for marks has not passed.
    fn has_reduced(&self, w: &Window) -> bool {
        self.is_rtt_independent(w) && self.reduced.get().is_some_and(|then| self.now.saturating_sub(then) < self.c.rtt_virt)
    }

    /// Window after a reduction for marks now.
    fn reduce(&mut self, w: &Window) -> f64 {
        self.reduced = self.now.into();
        (w.cwnd * (1.0 - self.alpha / 2.0)).max(self.c.min_cwnd)
    }

    /// Growth by the segments of `ack` that are not marked.
    fn increase(&self, w: &mut Window, ack: &Ack) {
        let unmarked = (ack.grow - f64::from(ack.ce)).max(0.0);
        let rest = if w.in_slow_start() { w.slow_start(unmarked) } else { unmarked };
        if rest > 0.0 {
            w.cwnd += rest * self.additive_increase(w) / w.cwnd;
        }
    }

    /// Counts marks, and ends a round: once per RTT, or per virtual RTT.
    fn count(&mut self, w: &Window, ack: &Ack) {
        self.delivered += ack.segments_delivered();
        self.marked += u64::from(ack.ce);
        self.saw_marks |= ack.ce > 0;
        self.classic |= ack.ece && ack.ce == 0;
        let elapsed = !self.is_rtt_independent(w) || ack.now.saturating_sub(self.updated) >= self.c.rtt_virt;
        if !(elapsed && self.round.ends_when_covered(ack)) {
            return;
        }
        if self.saw_marks && self.delivered > 0 {
            // Marks of control packets may exceed the segments.
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha += self.c.g * (share - self.alpha);
        }
        self.updated = ack.now;
        (self.delivered, self.marked) = (0, 0);
        if !w.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Sets the pacing rate: the window per RTT, twice that in slow start (Linux `prague_update_pacing_rate`).
    fn pace(&mut self, w: &Window) {
        let gain = if w.cwnd < w.ssthresh.or_infinite() / 2.0 { 2.0 } else { 1.0 };
        self.rate = self.srtt.get().map_or(f64::INFINITY, |rtt| gain * w.cwnd / (rtt.0.max(1) as f64 * 1e-12));
    }

    fn pacing_rate(&self, mss: u32) -> Rate {
        // Saturates at the largest rate.
        Rate((self.rate * f64::from(mss) * 8.0) as u64)
    }

    /// Sets the window after the stack has decided about an ACK.
    fn control(&mut self, w: &mut Window, ack: &Ack, outcome: &Outcome) {
        if let Some(target) = self.target.take() {
            w.cwnd = w.cwnd.min(target);
        } else if ack.ce > 0 && self.is_rtt_independent(w) && !self.has_reduced(w) && outcome.repair == RecoveryKind::None {
            // Our choice: the first mark after the virtual RTT counts, also if it falls into the round trip of a mark that did not count. Linux waits for
            // the end of its CWR state then, so that a flow with four fifths of the virtual RTT would reduce in every second round trip only.
            w.cwnd = self.reduce(w);
            w.ssthresh = w.cwnd.into();
        } else if !self.grown && outcome.repair == RecoveryKind::None && ack.acked > 0 && ack.window_limited != Some(false) {
            self.increase(w, ack);
        }
        self.grown = false;
        self.pace(w);
    }
}

impl CongestionControl for Prague {
    type Sent = ();
    const PKTS_ACKED: bool = false;
    const CONTROL: Option<fn(&mut Prague, &mut Window, &Ack, &Outcome)> = Some(Prague::control);
    const PACING_RATE: Option<fn(&Prague, u32) -> Rate> = Some(Prague::pacing_rate);

    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        (self.now, self.srtt) = (ack.now, ack.srtt);
        self.count(w, ack);
        self.pace(w);
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        self.increase(w, ack);
        self.grown = true;
        self.pace(w);
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        let target = match cut.trigger {
            // RFC 3168 section 6.1.2: feedback of classic ECN has no count of marks.
            Trigger::Ecn if self.classic => halve(cut),
            // At most one reduction per virtual RTT (section 2.4.4; Linux `prague_enter_cwr`).
            Trigger::Ecn if self.has_reduced(w) => w.cwnd,
            Trigger::Ecn => self.reduce(w),
            // RFC 9331 section 4.3 item 2: losses are answered as by Reno.
            Trigger::Loss | Trigger::Timeout => halve(cut),
        };
        self.target = (cut.trigger != Trigger::Timeout).then_some(target);
        target.into()
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        true
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        match event {
            Event::Established { rtt: Some(rtt) } => self.srtt = rtt.into(),
            Event::Timeout { snd_max } => {
                self.target = None;
                // Marks counted before the timeout belong to a window that no longer exists.
                self.round.begin(snd_max);
                (self.delivered, self.marked) = (0, 0);
            }
            _ => {}
        }
        self.pace(w);
    }

    fn burst_time(&self) -> Option<Time> {
        Some(BURST)
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "prague",
        summary: "DCTCP for the Internet: ECT(1), Accurate ECN, pacing, growth that does not depend on the RTT (draft-briscoe-iccrg-prague-congestion-control)",
        params: &[
            Param {
                key: "rtt-virt",
                kind: Kind::Time,
                default: Some("25ms"),
                doc: "virtual RTT: flows with a smaller RTT grow as if they had this one; zero: off",
            },
            Param {
                key: "transition",
                kind: Kind::Int(0, 1_000_000),
                default: Some("500"),
                doc: "round trips after slow start from which on the virtual RTT counts",
            },
            Param {
                key: "g",
                kind: Kind::Float(1e-6, 1.0),
                default: Some("0.0625"),
                doc: "weight of the newest marked fraction in alpha",
            },
            Param { key: "alpha", kind: Kind::Float(0.0, 1.0), default: Some("1.0"), doc: "initial alpha" },
            Param {
                key: "min-cwnd",
                kind: Kind::Float(2.0, 1000.0),
                default: Some("2.0"),
                doc: "floor of a reduction for marks in segments",
            },
        ],
    },
    needs_marks: true,
    needs_sack: false,
    paces: true,
    plb: false,
    ecn: Ecn::L4s,
    recovery: None,
    adjust: None,
    build: |v| {
        CcConfig::Prague(Config {
            g: v.float("g"),
            alpha: v.float("alpha"),
            rtt_virt: v.time("rtt-virt"),
            transition: v.int("transition") as u32,
            min_cwnd: v.float("min-cwnd"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ACK, cut};

    const MS: Time = Time::from_ms(1);

    fn cc(transition: u32) -> Prague {
        Prague::new(&Config { g: 1.0 / 16.0, alpha: 1.0, rtt_virt: MS * 25, transition, min_cwnd: 2.0 })
    }

    fn steady(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: Threshold::at(10.0) }
    }

    /// Rounds of ten segments, an ACK each, of which `marked` are reported; round trips of `rtt`.
    fn rounds(cc: &mut Prague, w: &mut Window, count: u64, marked: u64, rtt: Time) {
        for round in 0..count {
            for n in 0..10 {
                let una = (round * 10 + n + 1) * 1460;
                let ack = Ack {
                    now: rtt * round,
                    snd_una: una,
                    snd_nxt: una + 14_600,
                    ece: n < marked,
                    ce: u32::from(n < marked),
                    srtt: rtt.into(),
                    ..ACK
                };
                cc.in_ack_event(w, &ack);
            }
        }
    }

    /// alpha converges to the marked share, and the window falls by half of it.
    #[test]
    fn reduction_is_half_the_marked_share() {
        for marked in [1, 5, 10] {
            let (mut cc, mut w) = (cc(500), steady(100.0));
            rounds(&mut cc, &mut w, 200, marked, MS * 30);
            let share = marked as f64 / 10.0;
            assert!((cc.alpha - share).abs() < 0.01, "{marked}: {}", cc.alpha);
            let left = cc.ssthresh(&w, cut(Trigger::Ecn)).or_infinite();
            assert!((left - 100.0 * (1.0 - share / 2.0)).abs() < 1.0, "{marked}: {left}");
        }
    }

    /// Alpha keeps its initial value until some queue has marked: the first mark halves the window.
    #[test]
    fn first_mark_halves() {
        let (mut cc, mut w) = (cc(500), steady(100.0));
        rounds(&mut cc, &mut w, 50, 0, MS * 30);
        assert_eq!((cc.alpha, cc.ssthresh(&w, cut(Trigger::Ecn)).or_infinite()), (1.0, 50.0));
    }

    #[test]
    fn growth_scales_with_squared_rtt() {
        // 5 ms of 25 ms: a twenty-fifth of a segment per round trip, once the transition is over.
        for (transition, rtt, expected) in [(0, 5, 0.04), (0, 25, 1.0), (0, 100, 1.0), (500, 5, 1.0)] {
            let (mut cc, mut w) = (cc(transition), steady(100.0));
            let ack = Ack { srtt: (MS * rtt).into(), grow: 100.0, ..ACK };
            cc.in_ack_event(&mut w, &ack);
            cc.cong_avoid(&mut w, &ack);
            assert!((w.cwnd - 100.0 - expected).abs() < 1e-9, "{rtt} ms: {}", w.cwnd);
        }
    }

    #[test]
    fn marked_segments_do_not_grow() {
        let (mut cc, mut w) = (cc(500), steady(100.0));
        cc.cong_avoid(&mut w, &Ack { grow: 4.0, ce: 3, ece: true, ..ACK });
        assert!((w.cwnd - 100.01).abs() < 1e-9, "{}", w.cwnd);
    }

    #[test]
    fn one_reduction_per_virtual_rtt() {
        let (mut cc, mut w) = (cc(0), steady(100.0));
        let mut at = |cc: &mut Prague, ms: u64| {
            cc.in_ack_event(&mut w, &Ack { now: MS * ms, srtt: (MS * 5).into(), ..ACK });
            cc.ssthresh(&w, cut(Trigger::Ecn)).or_infinite()
        };
        assert_eq!([at(&mut cc, 100), at(&mut cc, 105), at(&mut cc, 124), at(&mut cc, 125)], [50.0, 100.0, 100.0, 50.0]);
        // The stack begins no reduction in the round trip of a mark that did not count. The first mark after the virtual RTT counts.
        cc.target = None;
        let outcome = Outcome {
            segments: 1,
            stamp: Time::ZERO,
            duplicates: 0,
            prior_in_flight: 0,
            in_flight: 0,
            repair: RecoveryKind::None,
            next_departure: Time::ZERO,
            max_pacing_rate: Rate(u64::MAX),
        };
        for (ms, ce, window) in [(149, 1, 100.0), (150, 0, 100.0), (151, 1, 50.0), (152, 1, 50.0)] {
            let ack = Ack { now: MS * ms, srtt: (MS * 5).into(), grow: 0.0, ce, ece: ce > 0, ..ACK };
            cc.in_ack_event(&mut w, &ack);
            cc.control(&mut w, &ack, &outcome);
            assert_eq!(w.cwnd, window, "{ms} ms");
        }
    }

    /// Losses, and ECE without a count of marks, halve the window or flight from which the stack reduces (40 segments here).
    #[test]
    fn loss_and_classic_echo_halve() {
        let (mut cc, mut w) = (cc(500), steady(40.0));
        cc.alpha = 0.1;
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Loss)).or_infinite(), 20.0);
        cc.in_ack_event(&mut w, &Ack { ece: true, ..ACK });
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Ecn)).or_infinite(), 20.0);
    }

    #[test]
    fn pacing_spreads_the_window() {
        let (mut cc, mut w) = (cc(500), steady(100.0));
        cc.in_ack_event(&mut w, &Ack { srtt: (MS * 10).into(), ..ACK });
        // 100 segments of 1000 bytes in 10 ms.
        assert_eq!(cc.pacing_rate(1000), Rate(80_000_000));
        w = Window { cwnd: 10.0, ssthresh: Threshold::UNLIMITED };
        cc.in_ack_event(&mut w, &Ack { srtt: (MS * 10).into(), ..ACK });
        assert_eq!(cc.pacing_rate(1000), Rate(16_000_000));
    }
}
