//! pFabric's minimal rate control (Alizadeh et al., SIGCOMM 2013, section 4.3): start with a window of one bandwidth-delay product, grow by a segment
//! per ACK, and reduce the window on timeouts only. The priorities of the pFabric queues control congestion.

use super::{Ack, CcConfig, CcEntry, CongestionControl, Reduction, Threshold, Window};
use crate::shim::srpt;
use forebay_experiment::transport::{Chosen, Ecn, Flavor, Idle, Recovery, RtoRule, Transport};
use forebay_types::param::{Entry, Kind, Param, Values, choices};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    remember: bool,
}

/// State of one connection: nothing beyond the window.
#[derive(Debug, Clone, Copy)]
pub struct Pfabric {
    remember: bool,
}

impl Pfabric {
    pub(super) fn new(c: &Config) -> Pfabric {
        Pfabric { remember: c.remember }
    }
}

impl CongestionControl for Pfabric {
    type Sent = ();
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;
    const OWN_SLOW_START: bool = true;

    #[inline]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        if self.remember { w.reno(ack.grow) } else { w.cwnd += ack.grow }
    }

    fn ssthresh(&mut self, w: &Window, _cut: Reduction) -> Threshold {
        (w.cwnd / 2.0).max(2.0).into()
    }
}

/// Requirements on the stack: SACK without fast retransmission; a fixed timeout; probes after five; ranks on the packets.
fn adjust(c: &mut Transport) {
    // A transport of its own, not the kernel's, whatever the profile.
    c.flavor = Flavor::Rfc;
    c.recovery = Recovery::Sack;
    c.limited_transmit = false;
    c.prr = false;
    c.dup_thresh = 0;
    c.rto_rule = RtoRule::Fixed;
    c.probe_after = 5;
    c.idle = Idle::Keep;
    // ProBoSCIS specification 6, variant pfabric-text.
    c.init_cwnd = 10;
    c.shims = vec![Chosen { name: srpt::ENTRY.entry.name, values: Values(Vec::new()) }];
}

const REMEMBER: &[(&str, bool)] = &[("slow-start", false), ("threshold", true)];

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "pfabric",
        summary: "pFabric's rate control: slow start from a large first window, reacting to timeouts only; brings shim = \"srpt\", recovery = \"sack\", dup-thresh = 0, rto-rule = \"fixed\", probe-after = 5, init-cwnd = 10; for pfabric queues",
        params: &[Param {
            key: "after-timeout",
            kind: Kind::Choice(&choices::<2, _>(REMEMBER)),
            default: Some("slow-start"),
            doc: "growth after a timeout has set the window to 1: slow start throughout, or only up to half the previous window",
        }],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: Some(Recovery::Sack),
    adjust: Some(adjust),
    build: |v| CcConfig::Pfabric(Config { remember: v.choice("after-timeout", REMEMBER) }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::testing::ACK;

    #[test]
    fn grows_by_one_segment_per_ack() {
        for (remember, expected) in [(false, 11.0), (true, 10.1)] {
            let mut cc = Pfabric::new(&Config { remember });
            let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(5.0) };
            cc.cong_avoid(&mut w, &ACK);
            assert_eq!(w.cwnd, expected);
            assert_eq!(cc.ssthresh(&w, Reduction { trigger: Trigger::Timeout, from: 10.0, in_flight: 0 }), expected / 2.0);
        }
    }
}
