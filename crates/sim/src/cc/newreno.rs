//! The AIMD window of RFC 5681, with classic ECN (RFC 3168). Recovery (RFC 6582) is part of the stack.

use super::fixed_point::{self, Arithmetic, CwndGrowth};
use super::{Ack, CcConfig, CcEntry, CongestionControl, Event, Reduction, Threshold, Window};
use forebay_experiment::transport::Ecn;
use forebay_types::param::{Entry, Values};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    arithmetic: Arithmetic,
}

/// Additive increase, halving.
#[derive(Debug, Clone, Copy)]
pub struct NewReno {
    growth: CwndGrowth,
}

impl NewReno {
    pub(super) fn new(c: &Config) -> NewReno {
        NewReno { growth: CwndGrowth::new(c.arithmetic) }
    }
}

impl CongestionControl for NewReno {
    type Sent = ();
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;

    #[inline]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        self.growth.reno(w, ack.grow);
    }

    fn ssthresh(&mut self, _w: &Window, cut: Reduction) -> Threshold {
        self.growth.reduced();
        match self.growth {
            CwndGrowth::Fractional => halve(cut),
            CwndGrowth::WholeSegments { .. } => fixed_point::halve(cut.from),
        }
        .into()
    }

    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        if self.growth == CwndGrowth::Fractional { Threshold::at((from / 2.0).max(1.0)) } else { threshold }
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        if let Event::Timeout { .. } = event {
            self.growth.reduced();
        }
    }
}

/// Half of the window or flight that the stack reduces from (RFC 5681 equation 4, RFC 3168 section 6.1.2). At least 2.
#[inline]
pub(super) fn halve(cut: Reduction) -> f64 {
    (cut.from / 2.0).max(2.0)
}

/// Builds an entry with the parameter [`fixed_point::ARITHMETIC`] only.
pub(super) fn build(v: &Values) -> CcConfig {
    CcConfig::NewReno(Config { arithmetic: Arithmetic::of(v) })
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "newreno",
        summary: "AIMD with NewReno recovery (RFC 5681, RFC 6582)",
        params: &[fixed_point::ARITHMETIC],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: None,
    adjust: Some(fixed_point::by_stack),
    build,
};
