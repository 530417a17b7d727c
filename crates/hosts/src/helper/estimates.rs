//! Recent estimates of probe trains, for connections that open soon after: valid estimates and their expiry times, without a clock or a map. The
//! acceptor's shim gets the window; the opener's shim gets the information that the peer has one (`crates/kernel/bpf/proboscis/recent.bpf.h`).

use super::schedule::{Flow, HOLD, Notice};
use std::collections::{BTreeMap, BTreeSet};

/// Addresses of the opening and of the accepting host, in network byte order.
pub(super) type Path = [u8; 8];

/// Paths with an estimate, at most: the entries of the shim's table. Beyond that the one that ends first goes.
const MOST: usize = 4096;

/// Change of the shim's table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Set the expiry time, us, and the segments that a SYN-ACK allows.
    Set(Path, u64, u32),
    Remove(Path),
}

/// All valid estimates.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    /// Validity of an estimate, us; 0: estimates are not stored.
    time: u64,
    until: BTreeMap<Path, u64>,
    ends: BTreeSet<(u64, Path)>,
}

impl Estimates {
    /// The parameter of the shim, in ms.
    pub(super) fn time(&mut self, ms: u64) {
        self.time = ms * 1000;
    }

    /// Takes note; `left` is when the train of this connection left, if it left here. Times are in us.
    pub(super) fn notice(&mut self, now: u64, notice: &Notice, left: Option<u64>) -> Vec<Change> {
        match (notice, left) {
            // The acceptor keeps it for longer, by as long as a SYN-ACK is held: the SYN that relies on it at the last moment has a way to go.
            (Notice::Estimate(flow, segments), _) => self.learn(flow, now + self.time + HOLD, *segments),
            // The opener counts from the train, which left before the acceptor saw it.
            (Notice::Answered(flow, keeps), Some(left)) if *keeps > 0 => {
                self.learn(flow, left + self.time.min(u64::from(*keeps) * 1000), 0)
            }
            _ => Vec::new(),
        }
    }

    fn learn(&mut self, flow: &Flow, until: u64, segments: u32) -> Vec<Change> {
        if self.time == 0 {
            return Vec::new();
        }
        let path = std::array::from_fn(|i| flow[i]);
        if let Some(old) = self.until.insert(path, until) {
            self.ends.remove(&(old, path));
        }
        self.ends.insert((until, path));
        let over = if self.until.len() > MOST { self.ends.pop_first() } else { None };
        let removed = over.map(|(_, path)| {
            self.until.remove(&path);
            Change::Remove(path)
        });
        // If the table is full, the oldest entry is removed before the new one is added; both may be of the same path.
        match removed {
            Some(Change::Remove(gone)) if gone == path => Vec::new(),
            removed => removed.into_iter().chain([Change::Set(path, until, segments)]).collect(),
        }
    }

    /// Removes and returns expired estimates.
    pub(super) fn due(&mut self, now: u64) -> Vec<Change> {
        let mut over = Vec::new();
        while let Some((_, path)) = self.ends.first().copied().filter(|(until, _)| *until < now) {
            self.ends.pop_first();
            self.until.remove(&path);
            over.push(Change::Remove(path));
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = [10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4];
    const PATH: Path = [10, 0, 0, 1, 10, 0, 0, 2];

    fn keeping(ms: u64) -> Estimates {
        let mut r = Estimates::default();
        r.time(ms);
        r
    }

    /// The opener's ends first, whatever the acceptor allows and however long the answer took.
    #[test]
    fn both_ends_store_estimate() {
        let mut acceptor = keeping(50);
        assert_eq!(acceptor.notice(7_000, &Notice::Estimate(FLOW, 5), None), [Change::Set(PATH, 65_000, 5)]);
        let mut opener = keeping(50);
        assert_eq!(opener.notice(9_000, &Notice::Answered(FLOW, 50), Some(1_000)), [Change::Set(PATH, 51_000, 0)]);
        assert_eq!(opener.notice(9_000, &Notice::Answered(FLOW, 20), Some(1_000)), [Change::Set(PATH, 21_000, 0)]);
        // The time of the first one is no longer known.
        assert!(opener.due(21_000).is_empty());
        assert_eq!(opener.due(21_001), [Change::Remove(PATH)]);
        assert!(opener.due(60_000).is_empty());
    }

    /// Without a mark of the peer, without its own train, or if it is switched off.
    #[test]
    fn nothing_is_relied_on_without_reason() {
        let mut r = keeping(50);
        assert!(r.notice(0, &Notice::Answered(FLOW, 0), Some(0)).is_empty());
        assert!(r.notice(0, &Notice::Answered(FLOW, 50), None).is_empty());
        let mut off = keeping(0);
        assert!(off.notice(0, &Notice::Answered(FLOW, 50), Some(0)).is_empty());
        assert!(off.notice(0, &Notice::Estimate(FLOW, 9), None).is_empty());
    }

    /// If there are more paths than table entries, those that expire last stay.
    #[test]
    fn their_number_is_bounded() {
        let mut r = keeping(1);
        let flow = |i: usize| {
            let mut flow = FLOW;
            flow[..4].copy_from_slice(&(i as u32).to_be_bytes());
            flow
        };
        let (mut set, mut removed) = (0, 0);
        for i in 0..2 * MOST {
            for change in r.notice(i as u64, &Notice::Estimate(flow(i), 1), None) {
                match change {
                    Change::Set(..) => set += 1,
                    Change::Remove(_) => removed += 1,
                }
                assert!(set - removed <= MOST);
            }
        }
        assert_eq!((set, removed, r.due(u64::MAX).len()), (2 * MOST, MOST, MOST));
    }
}
