//! What trains said lately, as a host keeps it: connections that open soon after one to the same peer send none, and have its window. Our
//! reading, as the kernel's shim has it (`crates/kernel/bpf/proboscis`): the publication sends a train before each SYN and says nothing of how
//! long one counts, so that nothing is kept unless `recent` is set.

use super::config::{Ends, Rules};
use super::window::Train;
use forebay_units::{NodeId, Time};

/// In the length of a SYN-ACK, beside the window scale: the end that accepts keeps what the train said.
pub(super) const KEEPS: u16 = 1 << 8;

/// Estimates of a host, in order of the other end.
#[derive(Debug, Default)]
pub struct TrainCache {
    /// As the end that accepts: the newest train of each peer that opens.
    trains: Vec<(NodeId, Time, Train)>,
    /// As the end that opens: until when a peer keeps one.
    kept: Vec<(NodeId, Time)>,
}

impl TrainCache {
    /// Whether the acceptor keeps the estimate of a train that it could judge.
    pub(super) fn keeps(r: &Rules) -> bool {
        r.c.recent > Time::ZERO && r.c.ends == Ends::Both
    }

    /// A train of `peer` that was sufficient. It is kept for longer than the opener relies on it, by as long as a SYN-ACK is held: the SYN that
    /// relies on it at the last moment has a way to go.
    pub(super) fn learn(&mut self, r: &Rules, now: Time, peer: NodeId, train: Train) {
        let new = (peer, now + r.c.recent + r.c.beta3, train);
        match self.trains.binary_search_by_key(&peer, |t| t.0) {
            Ok(i) => self.trains[i] = new,
            Err(i) => self.trains.insert(i, new),
        }
    }

    /// The train of `peer`, if its time is not over.
    pub(super) fn train(&self, now: Time, peer: NodeId) -> Option<Train> {
        let i = self.trains.binary_search_by_key(&peer, |t| t.0).ok()?;
        Some(self.trains[i]).filter(|t| now <= t.1).map(|t| t.2)
    }

    /// `peer` keeps what it learned of a train that left here at `left`.
    pub(super) fn note_kept_by_peer(&mut self, r: &Rules, left: Time, peer: NodeId) {
        let new = (peer, left + r.c.recent);
        match self.kept.binary_search_by_key(&peer, |k| k.0) {
            Ok(i) => self.kept[i] = new,
            Err(i) => self.kept.insert(i, new),
        }
    }

    /// Whether a SYN to `peer` needs no train.
    pub(super) fn spares(&self, r: &Rules, now: Time, peer: NodeId) -> bool {
        let found = self.kept.binary_search_by_key(&peer, |k| k.0);
        r.c.recent > Time::ZERO && found.is_ok_and(|i| now <= self.kept[i].1)
    }
}
