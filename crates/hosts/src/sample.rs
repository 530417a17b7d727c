//! Health of an attachment's connections: snapshots of the sockets, and the difference between two.

use crate::inet_diag::{self, Socket};
use crate::state::Attachment;
use crate::time_limit::with_time_limit;
use crate::{Error, NetNs, Prefix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

/// Sockets that count: the same before and after attaching, so that both can be compared.
#[derive(Debug, Clone)]
pub(crate) struct SocketFilter {
    namespace: NetNs,
    prefixes: Vec<Prefix>,
    cgroup: Option<u64>,
}

impl SocketFilter {
    pub(crate) fn new(attachment: &Attachment) -> SocketFilter {
        let cgroup = attachment.cgroup.as_ref().and_then(|c| std::fs::metadata(c).ok()).map(|m| m.ino());
        SocketFilter { namespace: attachment.namespace, prefixes: attachment.prefixes.clone(), cgroup }
    }

    fn counts(&self, s: &Socket) -> bool {
        (self.prefixes.is_empty() || self.prefixes.iter().any(|p| p.contains(s.remote.ip())))
            && self.cgroup.is_none_or(|c| s.cgroup == c)
    }
}

/// The sockets at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    at: Instant,
    sockets: BTreeMap<(SocketAddr, SocketAddr), Socket>,
}

impl Snapshot {
    pub(crate) fn take(filter: &SocketFilter) -> Result<Snapshot, Error> {
        let ended = || Error::new("the network namespace of the attachment has ended");
        let held = || {
            Error::new(
                "the kernel did not list the connections within 10 s: there are too many, or a process holds the lock of one",
            )
            .fix("a process in `ss -tp` that hangs, or has memory in a FUSE file system, may be the reason: end it")
        };
        let namespace = filter.namespace;
        let all = with_time_limit(move || namespace.run(inet_diag::sockets))?.ok_or_else(held)?.ok_or_else(ended)?;
        let sockets = all.into_iter().filter(|s| filter.counts(s)).map(|s| ((s.local, s.remote), s)).collect();
        Ok(Snapshot { at: Instant::now(), sockets })
    }

    /// Health between an earlier snapshot and this one. Connections that ended in between are not included.
    pub(crate) fn since(&self, earlier: &Snapshot) -> Health {
        let seconds = (self.at - earlier.at).as_secs_f64().max(1e-3);
        let (mut sent, mut again, mut acked) = (0_u64, 0_u64, 0_u64);
        for (ends, now) in &self.sockets {
            // A connection between the same ports with fewer acknowledged bytes is a new one: it counts from its start.
            let same = earlier.sockets.get(ends).filter(|e| e.info.bytes_acked <= now.info.bytes_acked);
            let before = same.map(|s| s.info).unwrap_or_default();
            sent += u64::from(now.info.segments_out.wrapping_sub(before.segments_out));
            again += u64::from(now.info.retransmissions.wrapping_sub(before.retransmissions));
            acked += now.info.bytes_acked.saturating_sub(before.bytes_acked);
        }
        self.health(sent, again, acked as f64 * 8.0 / seconds / 1e6)
    }

    /// Health since each connection was opened; the throughput is unknown.
    pub(crate) fn so_far(&self) -> Health {
        let sum = |f: fn(&Socket) -> u32| self.sockets.values().map(|s| u64::from(f(s))).sum();
        self.health(sum(|s| s.info.segments_out), sum(|s| s.info.retransmissions), 0.0)
    }

    fn health(&self, sent: u64, again: u64, mbit: f64) -> Health {
        let sorted = |f: &dyn Fn(&Socket) -> u32| {
            let mut all: Vec<u32> = self.sockets.values().map(f).filter(|v| *v > 0).collect();
            all.sort_unstable();
            all
        };
        // Connections that have sent nothing have only the RTT of their handshake. Many of them must not hide the others.
        let mut rtt = sorted(&|s| if s.info.bytes_acked > 0 { s.info.rtt_us } else { 0 });
        if rtt.is_empty() {
            rtt = sorted(&|s| s.info.rtt_us);
        }
        let cwnd = sorted(&|s| s.info.cwnd);
        Health {
            sockets: self.sockets.len(),
            mbit,
            retransmitted: if sent == 0 { 0.0 } else { again as f64 / sent as f64 },
            rtt_p50_us: quantile(&rtt, 0.5),
            rtt_p99_us: quantile(&rtt, 0.99),
            cwnd_p50: quantile(&cwnd, 0.5),
        }
    }
}

/// The value below which a share of the sorted ones lies; 0 of none.
pub(crate) fn quantile(sorted: &[u32], share: f64) -> u32 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

/// Health of connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Number of connections.
    pub sockets: usize,
    /// Acknowledged payload in Mbit/s.
    pub mbit: f64,
    /// Segments sent again as a share of those sent.
    pub retransmitted: f64,
    /// Median of the smoothed round trips in microseconds, of connections that have had payload acknowledged, if there are any.
    pub rtt_p50_us: u32,
    /// Their 99th percentile.
    pub rtt_p99_us: u32,
    /// Median congestion window in segments.
    pub cwnd_p50: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(acked: u64, segments: u32, remote: &str) -> Snapshot {
        let info = inet_diag::Info { bytes_acked: acked, segments_out: segments, ..inet_diag::Info::default() };
        let (local, remote) = ("127.0.0.1:1000".parse().unwrap(), remote.parse().unwrap());
        let socket = Socket { local, remote, cc: "reno".into(), info, cgroup: 0 };
        Snapshot { at: Instant::now(), sockets: BTreeMap::from([((local, remote), socket)]) }
    }

    #[test]
    fn reused_port_is_new_connection() {
        let (earlier, mut now) = (snapshot(5_000_000, 4000, "127.0.0.1:80"), snapshot(1000, 10, "127.0.0.1:80"));
        now.sockets.values_mut().for_each(|s| s.info.retransmissions = 5);
        assert_eq!(now.since(&earlier).retransmitted, 0.5);
    }

    #[test]
    fn silent_connections_do_not_dilute_rtt() {
        let mut seen = snapshot(5000, 10, "10.0.0.1:80");
        seen.sockets.values_mut().for_each(|s| s.info.rtt_us = 90_000);
        let silent = |i: u16| {
            let ends: (SocketAddr, SocketAddr) = (([127, 0, 0, 1], i).into(), ([127, 0, 0, 1], 9777).into());
            let info = inet_diag::Info { rtt_us: 20, ..inet_diag::Info::default() };
            (ends, Socket { local: ends.0, remote: ends.1, cc: "reno".into(), info, cgroup: 0 })
        };
        let others = Snapshot { at: Instant::now(), sockets: (1..1000).map(silent).collect() };
        assert_eq!(others.so_far().rtt_p99_us, 20);
        seen.sockets.extend(others.sockets);
        assert_eq!((seen.so_far().rtt_p99_us, seen.so_far().sockets), (90_000, 1000));
    }

    #[test]
    fn loopback_connections_count() {
        let of = |prefixes: &[&str]| SocketFilter {
            namespace: NetNs::current().unwrap(),
            prefixes: prefixes.iter().map(|p| p.parse().unwrap()).collect(),
            cgroup: None,
        };
        for remote in ["127.0.0.1:80", "[::1]:80"] {
            let seen = snapshot(0, 0, remote);
            let socket = seen.sockets.values().next().unwrap();
            assert!(of(&[]).counts(socket), "{remote}");
            assert!(of(&["127.0.0.0/8", "::1/128"]).counts(socket), "{remote}");
            assert!(!of(&["10.0.0.0/8"]).counts(socket), "{remote}");
        }
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        assert_eq!((quantile(&[], 0.5), quantile(&[7], 0.99)), (0, 7));
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!((quantile(&hundred, 0.5), quantile(&hundred, 0.99), quantile(&hundred, 1.0)), (50, 99, 100));
    }
}
