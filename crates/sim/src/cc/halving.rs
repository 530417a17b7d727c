//! A null congestion control: halves its window in each round trip and never grows. `forebay referee` must report violations.

use super::newreno::halve;
use super::{Ack, CcConfig, CcEntry, CongestionControl, Reduction, Round, Threshold, Window};
use forebay_experiment::transport::Ecn;
use forebay_types::param::Entry;

/// No parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

/// State of one connection.
#[derive(Debug, Clone, Default)]
pub struct Halving {
    round: Round,
}

impl Halving {
    pub(super) fn new(_: &Config) -> Halving {
        Halving::default()
    }
}

impl CongestionControl for Halving {
    type Sent = ();
    const PKTS_ACKED: bool = false;
    const OWN_SLOW_START: bool = true;

    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        if self.round.ends(ack) {
            w.cwnd = (w.cwnd / 2.0).max(1.0);
        }
    }

    fn cong_avoid(&mut self, _w: &mut Window, _ack: &Ack) {}

    fn ssthresh(&mut self, _w: &Window, cut: Reduction) -> Threshold {
        halve(cut).into()
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "halving",
        summary: "null congestion control for `forebay referee`: halves its window in each round trip and never grows",
        params: &[],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: None,
    adjust: None,
    build: |_| CcConfig::Halving(Config),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::testing::{ACK, cut};

    #[test]
    fn window_falls_to_one_segment() {
        let mut cc = Halving::new(&Config);
        let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(5.0) };
        for round in 1..8 {
            cc.in_ack_event(&mut w, &Ack { snd_una: round * 100_000, snd_nxt: round * 100_000 + 50_000, ..ACK });
        }
        assert_eq!(w.cwnd, 1.0);
    }

    /// Also at a loss it halves the window (`cut` has 40 segments), and ACKs do not raise it.
    #[test]
    fn losses_halve_without_growth() {
        let mut cc = Halving::new(&Config);
        let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(5.0) };
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Loss)).or_infinite(), 20.0);
        cc.cong_avoid(&mut w, &ACK);
        assert_eq!(w.cwnd, 10.0);
    }
}
