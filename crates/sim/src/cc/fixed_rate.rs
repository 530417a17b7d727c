//! A null congestion control: sends at a fixed rate, whatever is lost or marked. `forebay referee` must report violations.

use super::{Ack, CcConfig, CcEntry, CongestionControl, Outcome, Path, Reduction, Threshold, Window};
use forebay_experiment::transport::Ecn;
use forebay_types::Rate;
use forebay_types::param::{Entry, Kind, optional};

/// Window that does not limit the rate, in bandwidth-delay products of the empty path. Our choice.
const WINDOWS: f64 = 100.0;

/// Least window, segments, for paths with a small product. Our choice.
const LEAST_WINDOW: f64 = 1000.0;

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// `None`: the rate of the narrowest link.
    rate: Option<Rate>,
}

/// State of one connection.
#[derive(Debug, Clone, Copy)]
pub struct FixedRate {
    configured: Option<Rate>,
    /// Payload bit/s.
    rate: Rate,
    window: f64,
}

impl FixedRate {
    pub(super) fn new(c: &Config) -> FixedRate {
        FixedRate { configured: c.rate, rate: c.rate.unwrap_or(Rate::MAX), window: LEAST_WINDOW }
    }

    fn take_path(&mut self, path: Path) {
        if self.configured.is_none() {
            self.rate = Rate((path.packets_per_s * path.packet * 8.0) as u64);
        }
        self.window = (WINDOWS * path.packets_per_s * path.idle_rtt.as_secs_f64()).max(LEAST_WINDOW);
    }
}

impl CongestionControl for FixedRate {
    type Sent = ();
    const IN_ACK_EVENT: bool = false;
    const PKTS_ACKED: bool = false;
    const OWN_SLOW_START: bool = true;
    const PATH: Option<fn(&mut FixedRate, Path)> = Some(FixedRate::take_path);
    const CONTROL: Option<fn(&mut FixedRate, &mut Window, &Ack, &Outcome)> = Some(|cc, w, _, _| w.cwnd = cc.window);
    const PACING_RATE: Option<fn(&FixedRate, u32) -> Rate> = Some(|cc, _| cc.rate);

    fn cong_avoid(&mut self, w: &mut Window, _ack: &Ack) {
        w.cwnd = self.window;
    }

    fn ssthresh(&mut self, w: &Window, _cut: Reduction) -> Threshold {
        w.ssthresh
    }
}

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "fixed-rate",
        summary: "null congestion control for `forebay referee`: a fixed rate, whatever is lost or marked",
        params: &[optional("rate", Kind::Rate, "", "payload rate; default: the rate of the narrowest link of the path")],
    },
    needs_marks: false,
    needs_sack: false,
    paces: true,
    plb: false,
    ecn: Ecn::Off,
    recovery: None,
    adjust: None,
    build: |v| CcConfig::FixedRate(Config { rate: v.opt_rate("rate") }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;

    #[test]
    fn losses_change_nothing() {
        let mut cc = FixedRate::new(&Config { rate: Some(Rate(1_000_000)) });
        let w = Window { cwnd: 10.0, ssthresh: Threshold::at(5.0) };
        let cut = Reduction { trigger: Trigger::Timeout, from: 10.0, in_flight: 0 };
        assert_eq!((cc.ssthresh(&w, cut), cc.rate), (w.ssthresh, Rate(1_000_000)));
    }
}
