//! Hashes that a connection draws for its data in turn, where the sender may change its path (Linux `sk_rethink_txhash`).

use super::address;
use forebay_types::{NodeId, Rng};

/// ECMP hashes of the data of a connection after the first one, which is [`Fib::flow_hash`](super::Fib::flow_hash).
///
/// The stream repeats after [`PathHashes::COUNT`] hashes. A backend may therefore compute all paths of a connection before it opens.
#[derive(Debug, Clone)]
pub struct PathHashes {
    first: Rng,
    next: Rng,
    drawn: usize,
    wide: bool,
}

impl PathHashes {
    /// Number of hashes of a connection, the first one included.
    pub const COUNT: usize = 32;

    /// Hashes after the first one of packets from `from` to `to` on a connection, numbered by order of creation.
    pub(super) fn new(seed: u64, wide: bool, connection: u64, from: NodeId, to: NodeId) -> PathHashes {
        let first = address::stream(seed, connection, from, to);
        let mut next = first.clone();
        next.next_u64();
        PathHashes { first, next, drawn: 1, wide }
    }

    /// Draws the hash after `before`.
    pub fn after(&mut self, before: u16) -> u16 {
        if self.drawn == PathHashes::COUNT {
            (self.next, self.drawn) = (self.first.clone(), 0);
        }
        self.drawn += 1;
        address::redrawn(self.wide, self.next.next_u64() as u16, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// In a wide network the bits of the destination stay, and the first hash is that of [`address::drawn`].
    #[test]
    fn hashes_repeat_after_their_count() {
        let (from, to) = (NodeId::new(3), NodeId::new(70_000));
        for wide in [false, true] {
            let first = address::carried(wide, address::drawn(7, 5, from, to), to);
            let mut hashes = PathHashes::new(7, wide, 5, from, to);
            let mut all = vec![first];
            for _ in 1..2 * PathHashes::COUNT {
                all.push(hashes.after(all[all.len() - 1]));
            }
            assert_eq!(all[..PathHashes::COUNT], all[PathHashes::COUNT..]);
            // Twelve or sixteen bits: two of them may be equal.
            let distinct: BTreeSet<u16> = all.iter().copied().collect();
            assert!(distinct.len() >= PathHashes::COUNT - 2, "{distinct:?}");
            assert!(!wide || all.iter().all(|hash| hash >> 12 == first >> 12));
        }
    }
}
