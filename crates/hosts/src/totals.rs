//! Counters of the connections of attachments that only grow. A counter of the kernel ends with its connection.

use crate::inet_diag::{Info, Socket};
use crate::status::Status;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Counts of connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Payload that the other end acknowledged, bytes.
    pub acked_bytes: u64,
    /// Segments sent.
    pub sent_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Segments delivered.
    pub delivered_segments: u64,
    /// Delivered segments whose ACK reported a mark.
    pub marked_segments: u64,
}

/// A connection, by its ends.
type Ends = (SocketAddr, SocketAddr);

#[derive(Debug, Default)]
struct Attached {
    counts: Counts,
    last: BTreeMap<Ends, Info>,
}

/// Counts of the connections of each attachment since the first observation. Packets between the last observation of a connection and its end are missed.
#[derive(Debug, Default)]
pub struct Totals {
    began: bool,
    attached: BTreeMap<String, Attached>,
}

impl Totals {
    /// Adds the packets since the last call.
    pub fn observe(&mut self, all: &[Status]) {
        for status in all {
            let attached = self.attached.entry(status.name.clone()).or_default();
            attached.observe(&status.sockets, self.began);
        }
        self.began = true;
        self.attached.retain(|name, _| all.iter().any(|s| s.name == *name));
    }

    /// Counts of the attachment `name`.
    pub fn of(&self, name: &str) -> Counts {
        self.attached.get(name).map(|a| a.counts).unwrap_or_default()
    }
}

impl Attached {
    /// Connections that are new since the last call count from their start, if there was one.
    fn observe(&mut self, sockets: &[Socket], began: bool) {
        let last = std::mem::take(&mut self.last);
        for socket in sockets {
            let (ends, now) = ((socket.local, socket.remote), socket.info);
            // Fewer acknowledged bytes are those of another connection between the same ports.
            let known = last.get(&ends).copied().filter(|before| before.bytes_acked <= now.bytes_acked);
            if began {
                self.counts.add(&known.unwrap_or_default(), &now);
            }
            self.last.insert(ends, now);
        }
    }
}

impl Counts {
    fn add(&mut self, before: &Info, now: &Info) {
        // The kernel's counters of segments have 32 bits.
        let grown = |of: fn(&Info) -> u32| u64::from(of(now).wrapping_sub(of(before)));
        self.acked_bytes += now.bytes_acked.saturating_sub(before.bytes_acked);
        self.sent_segments += grown(|i| i.segments_out);
        self.retransmitted_segments += grown(|i| i.retransmissions);
        self.delivered_segments += grown(|i| i.delivered);
        self.marked_segments += grown(|i| i.delivered_ce);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(port: u16, bytes_acked: u64, segments_out: u32) -> Socket {
        let (local, remote) = (([127, 0, 0, 1], port).into(), ([127, 0, 0, 1], 80).into());
        Socket { local, remote, cc: "dctcp".into(), info: Info { bytes_acked, segments_out, ..Info::default() }, cgroup: 0 }
    }

    #[test]
    fn counts_never_shrink() {
        let mut a = Attached::default();
        // Present at the first observation: its past does not count.
        a.observe(&[socket(1, 1_000, 10)], false);
        assert_eq!(a.counts, Counts::default());
        a.observe(&[socket(1, 1_500, 15), socket(2, 300, 3)], true);
        assert_eq!((a.counts.acked_bytes, a.counts.sent_segments), (800, 8));
        // The first one has ended, and its ports are used again.
        a.observe(&[socket(2, 300, 3)], true);
        a.observe(&[socket(1, 40, 1), socket(2, 300, 4)], true);
        assert_eq!((a.counts.acked_bytes, a.counts.sent_segments), (840, 10));
        a.observe(&[socket(1, 20, 1)], true);
        assert_eq!((a.counts.acked_bytes, a.counts.sent_segments), (860, 11));
    }

    #[test]
    fn segment_counters_wrap() {
        let mut a = Attached::default();
        a.observe(&[socket(1, 1_000, u32::MAX)], false);
        a.observe(&[socket(1, 2_000, 4)], true);
        assert_eq!(a.counts.sent_segments, 5);
    }
}
