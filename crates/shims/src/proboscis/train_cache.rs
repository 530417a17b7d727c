//! Cache of recent trains at a host: connections that open soon after one to the same peer send no train, and have its window. Our reading, as in the
//! kernel's shim (`crates/kernel/bpf/proboscis`): the publication sends a train before each SYN and does not say how long its result holds, so that
//! nothing is kept unless `recent` is set.

use super::config::Ends;
use super::rules::Rules;
use super::window::Train;
use alloc::vec::Vec;
use forebay_types::{NodeId, Time};

/// Results of a host, in order of the peer.
#[derive(Debug, Default)]
pub struct TrainCache {
    /// At the accepting end: the newest train of each peer.
    trains: Vec<(NodeId, Time, Train)>,
    /// At the opening end: the time until which a peer keeps a result.
    kept: Vec<(NodeId, Time)>,
}

impl TrainCache {
    /// Returns true if the accepting end keeps the results of judged trains.
    pub(super) fn keeps(r: &Rules) -> bool {
        r.c.recent > Time::ZERO && r.c.ends == Ends::Both
    }

    /// Stores a sufficient train of `peer`. It is kept longer than the opener relies on it, by the time that a SYN-ACK is held, because the last SYN
    /// that relies on it needs time to arrive.
    pub(super) fn learn(&mut self, r: &Rules, now: Time, peer: NodeId, train: Train) {
        let new = (peer, now + r.c.recent + r.c.beta3, train);
        match self.trains.binary_search_by_key(&peer, |t| t.0) {
            Ok(i) => self.trains[i] = new,
            Err(i) => self.trains.insert(i, new),
        }
    }

    /// The train of `peer`, if it has not expired.
    pub(super) fn train(&self, now: Time, peer: NodeId) -> Option<Train> {
        let i = self.trains.binary_search_by_key(&peer, |t| t.0).ok()?;
        Some(self.trains[i]).filter(|t| now <= t.1).map(|t| t.2)
    }

    /// Notes that `peer` keeps the result of a train that left here at `left`.
    pub(super) fn note_kept_by_peer(&mut self, r: &Rules, left: Time, peer: NodeId) {
        let new = (peer, left + r.c.recent);
        match self.kept.binary_search_by_key(&peer, |k| k.0) {
            Ok(i) => self.kept[i] = new,
            Err(i) => self.kept.insert(i, new),
        }
    }

    /// Returns true if a SYN to `peer` needs no train.
    pub(super) fn spares(&self, r: &Rules, now: Time, peer: NodeId) -> bool {
        let found = self.kept.binary_search_by_key(&peer, |k| k.0);
        r.c.recent > Time::ZERO && found.is_ok_and(|i| now <= self.kept[i].1)
    }
}
