//! Push-out: a FIFO in which a packet of high priority that arrives at a full buffer evicts the newest one of low priority (`incast-prin.md` 3.3). No
//! reordering.

use crate::ring_buffer::RingBuffer;
use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, HIGH, Handle, K, Marking, PacketRef, PortState,
    Queue, QueueEntry, QueueState, Queued, Verdict,
};
use forebay_types::Time;
use forebay_types::param::Entry;

/// A packet of the backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct BacklogEntry {
    packet_ref: PacketRef,
    class: u8,
}

/// The FIFO.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushout {
    high: u8,
    k: QueueState,
    backlog: RingBuffer<BacklogEntry>,
}

impl Pushout {
    fn decide(&mut self, port: &PortState, packet: &Arrival, effects: &mut impl Effects) -> Verdict {
        let full = !port.fits(packet.wire);
        if full && (packet.class < self.high || !self.make_space(port, packet.wire, effects)) {
            return Verdict::Drop(DropReason::Overflow);
        }
        Verdict::step(port.queue, self.k, packet.ecn)
    }

    /// Evicts the newest packets of low priority until one of `wire` bytes fits; none if all of them are not enough.
    fn make_space(&mut self, port: &PortState, wire: u32, effects: &mut impl Effects) -> bool {
        let mut freed = QueueState::default();
        let high = self.high;
        let ordinary = |w: &BacklogEntry| w.class < high;
        let enough = self.backlog.newest_first().filter(ordinary).any(|w| {
            freed.add(w.packet_ref.wire);
            port.fits_without(freed, wire)
        });
        while enough && freed.packets > 0 {
            let behind = self.backlog.newest_first().position(|w| ordinary(&w));
            let newest = behind.and_then(|n| self.backlog.remove(self.backlog.len() - 1 - n));
            let Some(w) = newest else { break };
            freed.remove(w.packet_ref.wire);
            w.packet_ref.evict(effects);
        }
        enough
    }
}

impl Discipline for Pushout {
    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED
    }

    fn reads_priority(&self) -> bool {
        true
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        Some(self.k)
    }
}

impl Buffered for Pushout {
    const HAS_FAST_PUSH: bool = true;

    #[inline(always)]
    fn takes_fast_push(&self, port: &PortState, packet: &Queued) -> bool {
        self.backlog.has_capacity() && port.fits(packet.packet.wire)
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        if !port.fits(packet.packet.wire) {
            return None;
        }
        self.backlog.push_back(BacklogEntry { packet_ref: packet.packet_ref(), class: packet.packet.class });
        Some(Verdict::step(port.queue, self.k, packet.packet.ecn))
    }

    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let verdict = self.decide(port, &packet.packet, effects);
        if packet.admit(verdict, effects) {
            self.backlog.push_back(BacklogEntry { packet_ref: packet.packet_ref(), class: packet.packet.class });
        }
    }

    #[inline(always)]
    fn push_idle(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        port.fits(packet.wire).then(|| Verdict::step(port.queue, self.k, packet.ecn))
    }

    fn accepts_idle(&self) -> bool {
        !QueueState::default().reaches(self.k)
    }

    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        self.backlog.pop_front().map(|w| w.packet_ref.handle)
    }

    fn len(&self) -> usize {
        self.backlog.len()
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "pushout",
        summary: "one FIFO in which a packet of high priority that does not fit evicts the newest one of low priority (PRIN)",
        params: &[HIGH, K],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"pushout\", k = \"8pkt\" }",
    build: |v, _| {
        let k = QueueState::threshold(v.opt_queue_len("k"));
        Ok(Queue::Buffered(BufferedDiscipline::Pushout(Pushout { high: v.int("high") as u8, k, backlog: RingBuffer::default() })))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Effect, Port, packet};

    #[test]
    fn evicts_the_newest_of_low_priority() {
        let discipline =
            BufferedDiscipline::Pushout(Pushout { high: 4, k: QueueState::UNLIMITED, backlog: RingBuffer::default() });
        let mut p = Port::new(discipline, QueueState { packets: 4, bytes: u64::MAX });
        for class in [0, 0, 7, 0] {
            assert_eq!(p.arrive(packet(1500, class, 0, 0)), Verdict::Accept);
        }
        assert_eq!(p.serve(), Some(0));
        // One of the four packets is in service.
        assert_eq!(p.arrive(packet(1500, 3, 0, 0)), Verdict::Drop(DropReason::Overflow));
        assert_eq!(p.arrive(packet(1500, 4, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(3), DropReason::Overflow)]);
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(1), DropReason::Overflow)]);
        // No packet of low priority is left.
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Drop(DropReason::Overflow));
        let order: Vec<_> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [2, 5, 6]);
    }

    /// All words of eight arrivals of two priorities and transmissions, with a buffer of three. The buffer is never exceeded, and packets leave in order
    /// of arrival. A packet of high priority is dropped only if no waiting packet has low priority.
    #[test]
    fn exhaustive_words_keep_order_and_priority() {
        crate::testing::each_sequence(3, 8, |word| {
            let discipline =
                BufferedDiscipline::Pushout(Pushout { high: 4, k: QueueState::UNLIMITED, backlog: RingBuffer::default() });
            let mut p = Port::new(discipline, QueueState { packets: 3, bytes: u64::MAX });
            let mut last = None;
            for letter in word {
                if *letter == 2 {
                    let left = p.serve();
                    assert!(left.is_none() || left > last, "{word:?}");
                    last = left.or(last);
                    continue;
                }
                let low_waits = p.backlog.iter().any(|q| q.packet.class < 4);
                let full = p.state().queue.packets >= 3;
                let dropped = matches!(p.arrive(packet(1500, 7 * letter, 0, 0)), Verdict::Drop(_));
                assert_eq!(dropped, full && (*letter == 0 || !low_waits), "{word:?}");
                assert!(p.state().queue.packets <= 3, "{word:?}");
            }
        });
    }
}
