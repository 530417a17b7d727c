//! The AIMD window of RFC 5681, with classic ECN (RFC 3168). Recovery (RFC 6582) is the stack's.

use super::{Ack, CongestionControl, LawConfig, LawEntry, Reduction, Threshold, Window};
use forebay_experiment::transport::Ecn;
use forebay_param::Entry;

/// No parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

/// Additive increase, halving.
#[derive(Debug, Clone, Copy)]
pub struct NewReno;

impl NewReno {
    pub(super) fn new(_: &Config) -> NewReno {
        NewReno
    }
}

impl CongestionControl for NewReno {
    type Sent = ();
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;

    #[inline]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        w.reno(ack.grow);
    }

    fn ssthresh(&mut self, _w: &Window, cut: Reduction) -> Threshold {
        halve(cut).into()
    }
}

/// Half of what the stack reduces from (RFC 5681 equation 4, RFC 3168 section 6.1.2). At least 2.
#[inline]
pub(super) fn halve(cut: Reduction) -> f64 {
    (cut.from / 2.0).max(2.0)
}

pub(super) const ENTRY: LawEntry = LawEntry {
    entry: Entry { name: "newreno", summary: "AIMD with NewReno recovery (RFC 5681, RFC 6582)", params: &[] },
    needs_marks: false,
    needs_sack: false,
    ecn: Ecn::Off,
    recovery: None,
    adjust: None,
    build: |_| LawConfig::NewReno(Config),
};
