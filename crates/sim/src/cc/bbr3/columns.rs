//! State in the table `tcp`, under the names of the draft.

use super::{Bbr3, State};
use crate::cc::CongestionControl as _;
use forebay_experiment::cc_state::CcState;

impl State {
    /// BBR.state.
    fn name(self) -> &'static str {
        match self {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW_DOWN",
            State::Cruise => "ProbeBW_CRUISE",
            State::Refill => "ProbeBW_REFILL",
            State::Up => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }
}

impl Bbr3 {
    /// Sets the columns of the table `tcp`; `mss` is the payload of a full segment, bytes.
    pub(super) fn columns(&self, mss: u32, s: &mut CcState) {
        let bits = |bytes_per_s: u64| bytes_per_s.saturating_mul(8);
        s.state(self.state.name());
        if let Some(rate) = Bbr3::PACING_RATE {
            s.whole("pacing_rate_bps", rate(self, mss).0);
        }
        s.whole("max_bw_bps", bits(self.max_bw()));
        s.whole("bw_bps", bits(self.bw()));
        s.whole("extra_acked_bytes", self.extra_acked.get());
        s.whole("full_bw_bps", bits(self.pipe.bw));
        s.whole("full_bw_count", self.pipe.rounds.into());
        s.whole("full_bw_reached", self.pipe.reached.into());
        s.whole("round_count", self.round_count);
        s.whole("idle_restart", self.idle_restart.into());
        let optional = [
            ("bw_shortterm_bps", self.bw_shortterm.map(bits)),
            ("inflight_longterm_bytes", self.inflight_longterm),
            ("inflight_shortterm_bytes", self.inflight_shortterm),
            ("min_rtt_ns", self.min_rtt.get().map(|rtt| rtt.0 / 1_000)),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                s.whole(name, value);
            }
        }
    }
}
