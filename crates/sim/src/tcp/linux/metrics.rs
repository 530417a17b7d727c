//! Metrics of paths that a host keeps (Linux net/ipv4/tcp_metrics.c): a connection that closes stores its RTT and threshold, and the next one to the
//! same peer begins with them. The kernel also saves the variation of the RTT and the window, but uses neither. Its degree of reordering is not
//! modeled. Entries do not age: a run is shorter than the hour after which the kernel drops them.

use crate::cc::Threshold;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};
use forebay_experiment::transport::{Metrics, RtoRule};
use forebay_types::Time;

/// Metrics of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remembered {
    /// Smoothed RTT, if known.
    rtt: Option<Time>,
    /// Threshold of slow start in whole segments, if known.
    ssthresh: Option<u64>,
}

impl Remembered {
    /// Takes the metrics of a connection that closes (tcp_update_metrics).
    pub fn update(&mut self, c: &TcpConfig, s: &Sender) {
        let Some(srtt) = s.rtt.smoothed().get().filter(|_| s.rtt.backoff() == 0) else {
            self.rtt = None;
            return;
        };
        // A longer RTT counts at once, a shorter one by an eighth.
        self.rtt = Some(self.rtt.map_or(srtt, |old| if old > srtt { old - (old - srtt) / 8 } else { srtt }));
        if c.metrics != Metrics::All {
            return;
        }
        let half = (s.cc.window.cwnd as u64) / 2;
        let threshold = s.cc.window.ssthresh.get().map(|segments| segments as u64);
        self.ssthresh = match threshold {
            Some(threshold) if !s.cc.window.in_slow_start() && s.loss.ca_state() == CaState::Open => Some(half.max(threshold)),
            Some(_) | None => self.ssthresh.map(|old| old.max(threshold.unwrap_or(half))),
        };
    }
}

impl Sender {
    /// Takes over the metrics of the path before the connection opens (tcp_init_metrics): the threshold, and an RTT that is used if the handshake
    /// shows a shorter one.
    pub fn remember(&mut self, c: &TcpConfig, path: &Remembered) {
        if let Some(threshold) = path.ssthresh.filter(|_| c.metrics == Metrics::All) {
            self.cc.window.ssthresh = Threshold::at(threshold as f64);
        }
        if let Some(rtt) = path.rtt {
            self.cold.remembered = rtt.into();
        }
        if !c.handshake {
            self.first_timeout(c);
        }
    }

    /// Sets the first timeout of data, if the handshake was faster than the stored RTT: SYNs are small. The estimate stays, and gives the timeout
    /// from the first sample of data on.
    pub(in crate::tcp) fn first_timeout(&mut self, c: &TcpConfig) {
        let (remembered, r) = (self.remembered(), &mut self.rtt);
        if remembered > r.smoothed().get()
            && let Some(remembered) = remembered
            && c.rto_rule != RtoRule::Fixed
        {
            // In ticks, rounded down.
            let rtt = remembered - remembered % c.rto_granularity;
            r.set_base_rto(c, rtt + (rtt * 2).max(c.rto_min));
        }
    }
}
