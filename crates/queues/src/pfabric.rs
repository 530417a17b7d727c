//! pFabric's port: the packet with the most bytes to go is dropped first, and the flow with the fewest is served first (Alizadeh et al.,
//! SIGCOMM 2013; `proboscis.md` 6).
//!
//! As in the publication the whole buffer is searched: it is meant to hold a few tens of packets.

use crate::{Arrival, DropReason, Effect, Found, Marking, Queue, QueueEntry, QueueState, Room, Verdict, Waiter};
use forebay_param::Entry;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The packets that wait, in order of arrival.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pfabric {
    waiting: VecDeque<Waiter>,
    /// Places of those that an arrival may replace.
    worse: Vec<usize>,
}

impl Pfabric {
    pub(crate) fn on_arrival(&mut self, found: &Found, packet: &Arrival, effects: &mut Vec<Effect>) -> Verdict {
        if found.fits(packet.wire) || self.make_room(found, packet, effects) {
            Verdict::Accept
        } else {
            Verdict::Drop(DropReason::Overflow)
        }
    }

    /// Drops the packets of largest rank, all above that of `packet`, until it fits; none if they are not enough. Of equal ranks the
    /// newest goes (our choice; the publication does not say).
    fn make_room(&mut self, found: &Found, packet: &Arrival, effects: &mut Vec<Effect>) -> bool {
        let waiting = &mut self.waiting;
        self.worse.clear();
        self.worse.extend((0..waiting.len()).filter(|&i| waiting[i].packet.rank > packet.rank));
        self.worse.sort_unstable_by_key(|&i| Reverse((waiting[i].packet.rank, i)));
        let mut freed = QueueState::default();
        let needed = self.worse.iter().position(|&i| {
            freed.add(waiting[i].packet.wire);
            found.fits_without(freed, packet.wire)
        });
        let Some(needed) = needed else { return false };
        self.worse.truncate(needed + 1);
        effects.extend(self.worse.iter().map(|&i| waiting[i].overflow()));
        // From the back, so that the places of the others stay.
        self.worse.sort_unstable_by_key(|&i| Reverse(i));
        for &i in &self.worse {
            waiting.remove(i);
        }
        true
    }

    pub(crate) fn push(&mut self, waiter: Waiter) {
        self.waiting.push_back(waiter);
    }

    /// The earliest packet of the flow that the packet of smallest rank belongs to: a flow's own packets stay in order.
    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        let best = self.waiting.iter().min_by_key(|w| w.packet.rank)?.packet.flow;
        let first = self.waiting.iter().position(|w| w.packet.flow == best)?;
        self.waiting.remove(first)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "pfabric",
        summary: "serves the flow with the fewest bytes to go, drops the packet with the most (pFabric); for small buffers",
        params: &[],
    },
    marking: Marking::Never,
    thresholds: &[],
    example: "\"pfabric\"",
    build: |_, _| Ok(Queue::Room(Room::Pfabric(Pfabric::default()))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Port, packet};

    fn port(buffer: QueueState) -> Port {
        Port::new(Room::Pfabric(Pfabric::default()), buffer)
    }

    #[test]
    fn the_earliest_packet_of_the_most_urgent_flow() {
        let mut p = port(QueueState::UNLIMITED);
        // Flow 1 has 30, then 20 to go; flow 2 has 25; ranks fall inside a flow.
        for (rank, flow) in [(30, 1), (25, 2), (20, 1), (24, 2)] {
            assert_eq!(p.arrive(packet(1500, 0, rank, flow)), Verdict::Accept);
        }
        let order: Vec<_> = std::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [0, 2, 1, 3]);
    }

    #[test]
    fn the_worst_packet_makes_room() {
        let mut p = port(QueueState { packets: 3, bytes: u64::MAX });
        for rank in [10, 30, 30] {
            p.arrive(packet(1500, 0, rank, u64::from(rank)));
        }
        assert_eq!(p.arrive(packet(1500, 0, 30, 4)), Verdict::Drop(DropReason::Overflow), "equal is not worse");
        assert_eq!(p.arrive(packet(1500, 0, 20, 4)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop { handle: 2, reason: DropReason::Overflow }]);
        // An ACK has rank 0.
        assert_eq!(p.arrive(packet(40, 0, 0, 5)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop { handle: 1, reason: DropReason::Overflow }]);
        let order: Vec<_> = std::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [5, 0, 4]);
    }

    #[test]
    fn bytes_replace_as_many_as_needed_or_none() {
        let mut p = port(QueueState { packets: u32::MAX, bytes: 3000 });
        for (wire, rank) in [(1000, 50), (1000, 40), (1000, 10)] {
            p.arrive(packet(wire, 0, rank, u64::from(rank)));
        }
        assert_eq!(p.arrive(packet(1500, 0, 45, 9)), Verdict::Drop(DropReason::Overflow));
        assert_eq!((p.effects.len(), p.waiting.len()), (0, 3));
        assert_eq!(p.arrive(packet(1500, 0, 20, 9)), Verdict::Accept);
        assert_eq!(p.effects.len(), 2);
    }
}
