//! Push-out: one FIFO; a high packet that finds it full evicts the newest ordinary one (`incast-prin.md` 3.3). No reordering.

use crate::{Arrival, DropReason, Effect, Found, HIGH, K, Marking, Queue, QueueEntry, QueueState, Room, Verdict, Waiter};
use forebay_param::Entry;
use std::collections::VecDeque;

/// The FIFO.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushout {
    high: u8,
    k: QueueState,
    waiting: VecDeque<Waiter>,
}

impl Pushout {
    pub(crate) fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED
    }

    pub(crate) fn on_arrival(&mut self, found: &Found, packet: &Arrival, effects: &mut Vec<Effect>) -> Verdict {
        let full = !found.fits(packet.wire);
        if full && (packet.class < self.high || !self.make_room(found, packet.wire, effects)) {
            return Verdict::Drop(DropReason::Overflow);
        }
        Verdict::step(found.queue, self.k, packet.ect)
    }

    /// Evicts as many of the newest ordinary packets as a packet of `wire` bytes needs; none if all are not enough.
    fn make_room(&mut self, found: &Found, wire: u32, effects: &mut Vec<Effect>) -> bool {
        let mut freed = QueueState::default();
        let high = self.high;
        let ordinary = |w: &Waiter| w.packet.class < high;
        let enough = self.waiting.iter().rev().filter(|w| ordinary(w)).any(|w| {
            freed.add(w.packet.wire);
            found.fits_without(freed, wire)
        });
        while enough && freed.packets > 0 {
            let newest = self.waiting.iter().rposition(ordinary).and_then(|i| self.waiting.remove(i));
            let Some(w) = newest else { break };
            freed.remove(w.packet.wire);
            effects.push(w.overflow());
        }
        enough
    }

    pub(crate) fn push(&mut self, waiter: Waiter) {
        self.waiting.push_back(waiter);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        self.waiting.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "pushout",
        summary: "one FIFO in which a high packet arriving full evicts the newest ordinary one (PRIN)",
        params: &[HIGH, K],
    },
    marking: Marking::WithK,
    thresholds: &["k"],
    example: "{ kind = \"pushout\", k = \"8pkt\" }",
    build: |v, _| {
        let k = QueueState::threshold(v.opt_queue_len("k"));
        Ok(Queue::Room(Room::Pushout(Pushout { high: v.int("high") as u8, k, waiting: VecDeque::new() })))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Port, packet};

    #[test]
    fn the_newest_ordinary_packet_leaves() {
        let room = Room::Pushout(Pushout { high: 4, k: QueueState::UNLIMITED, waiting: VecDeque::new() });
        let mut p = Port::new(room, QueueState { packets: 4, bytes: u64::MAX });
        for class in [0, 0, 7, 0] {
            assert_eq!(p.arrive(packet(1500, class, 0, 0)), Verdict::Accept);
        }
        assert_eq!(p.serve(), Some(0));
        // One of four places is in service.
        assert_eq!(p.arrive(packet(1500, 3, 0, 0)), Verdict::Drop(DropReason::Overflow));
        assert_eq!(p.arrive(packet(1500, 4, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop { handle: 3, reason: DropReason::Overflow }]);
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop { handle: 1, reason: DropReason::Overflow }]);
        // Nobody ordinary is left.
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Drop(DropReason::Overflow));
        let order: Vec<_> = std::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [2, 5, 6]);
    }
}
