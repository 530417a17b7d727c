//! Values of `tcp_info` for assertions, as far as the simulator has them.

use crate::connection::{Connection, Stage};
use forebay_sim::tcp::sender::{CaState, Sender, Timer};
use forebay_types::Time;

impl Connection {
    /// Names for assertions with their current values: those of `tcp_info` that the simulator has.
    pub(crate) fn info(&self) -> Vec<(&'static str, f64)> {
        let Some(s) = &self.sender else { return vec![("tcpi_state", self.state())] };
        let n = s.counts(&self.c);
        let us = |time: Time| time.as_us() as f64;
        let threshold = s.window().ssthresh.get().map_or(f64::from(0x7fff_ffff), f64::floor);
        let ca = match s.ca_state() {
            CaState::Open => 0.0,
            CaState::Disorder => 1.0,
            CaState::Cwr => 2.0,
            CaState::Recovery => 3.0,
            CaState::Loss => 4.0,
        };
        // The growing intervals of probes of a closed window show in the back-off alone (tcp_probe0_when).
        let probes = s.snd_una() == s.snd_nxt() && s.timer() == Timer::Rto;
        let rto = if probes { s.rtt().base_rto() } else { s.rto(&self.c) };
        let min_rtt = s.rtt().min().get().map_or(f64::from(u32::MAX), us);
        vec![
            ("tcpi_state", self.state()),
            ("tcpi_ca_state", ca),
            ("tcpi_snd_cwnd", s.window().cwnd.floor()),
            ("tcpi_snd_ssthresh", threshold),
            ("tcpi_unacked", f64::from(n.unacked)),
            ("tcpi_sacked", f64::from(n.sacked)),
            ("tcpi_lost", f64::from(n.lost)),
            ("tcpi_retrans", f64::from(n.retrans)),
            ("tcpi_total_retrans", s.stats().losses.segs_retx as f64),
            ("tcpi_backoff", f64::from(s.rtt().backoff())),
            ("tcpi_rto", us(rto)),
            ("tcpi_rtt", s.rtt().smoothed().get().map_or(0.0, us)),
            ("tcpi_rttvar", us(s.rtt().rttvar())),
            ("tcpi_min_rtt", min_rtt),
            ("tcpi_reordering", f64::from(s.reordering(&self.c))),
            ("tcpi_snd_mss", f64::from(self.c.mss)),
            ("tcpi_advmss", f64::from(self.settings.advertised_mss())),
            ("exact_cwnd", s.window().cwnd),
            ("exact_ssthresh", s.window().ssthresh.get().unwrap_or(f64::from(0x7fff_ffff))),
            ("dctcp_alpha", (s.cc().alpha().unwrap_or(f64::NAN) * 1024.0).round()),
        ]
    }

    /// `TCP_*` of Linux.
    fn state(&self) -> f64 {
        let acked = self.sender.as_ref().is_some_and(Sender::all_acked);
        match (self.stage, self.closed, self.delivered().1) {
            (Stage::Listen, ..) => 10.0,
            (Stage::SynSent, ..) => 2.0,
            (Stage::SynReceived, ..) => 3.0,
            (Stage::Open, false, false) => 1.0,
            (Stage::Open, false, true) => 8.0,
            (Stage::Open, true, false) if acked => 5.0,
            (Stage::Open, true, false) => 4.0,
            (Stage::Open, true, true) => 7.0,
        }
    }
}

/// The names that [`Connection::info`] gives values.
pub(crate) const NAMES: &[&str] = &[
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_backoff",
    "tcpi_rto",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_reordering",
    "tcpi_snd_mss",
    "tcpi_advmss",
    "exact_cwnd",
    "exact_ssthresh",
    "dctcp_alpha",
];
