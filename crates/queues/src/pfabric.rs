//! pFabric's port: the packet with the most bytes to go is dropped first, and the flow with the fewest is served first (Alizadeh et al.,
//! SIGCOMM 2013; `proboscis.md` 6).
//!
//! As in the publication the whole buffer is searched: it is meant to hold a few tens of packets.

use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Marking, PortState, Queue, QueueEntry, QueueState,
    Queued,
};
use forebay_param::Entry;
use forebay_units::Time;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The backlog in order of arrival.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pfabric {
    backlog: VecDeque<Queued>,
    /// Places of those that an arrival may replace.
    worse: Vec<usize>,
}

impl Pfabric {
    /// Drops the packets of largest rank, all above that of `packet`, until it fits; none if they are not enough. Of equal ranks the
    /// newest goes (our choice; the publication does not say).
    fn make_space(&mut self, port: &PortState, packet: &Arrival, effects: &mut impl Effects) -> bool {
        let backlog = &mut self.backlog;
        self.worse.clear();
        self.worse.extend((0..backlog.len()).filter(|&i| backlog[i].packet.rank > packet.rank));
        self.worse.sort_unstable_by_key(|&i| Reverse((backlog[i].packet.rank, i)));
        let mut freed = QueueState::default();
        let needed = self.worse.iter().position(|&i| {
            freed.add(backlog[i].packet.wire);
            port.fits_without(freed, packet.wire)
        });
        let Some(needed) = needed else { return false };
        self.worse.truncate(needed + 1);
        self.worse.iter().for_each(|&i| backlog[i].evict(effects));
        // From the back, so that the places of the others stay.
        self.worse.sort_unstable_by_key(|&i| Reverse(i));
        for &i in &self.worse {
            backlog.remove(i);
        }
        true
    }
}

impl Discipline for Pfabric {
    fn marks(&self) -> bool {
        false
    }

    fn reads_tags(&self) -> bool {
        true
    }
}

impl Buffered for Pfabric {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if port.fits(packet.packet.wire) || self.make_space(port, &packet.packet, effects) {
            self.backlog.push_back(packet);
        } else {
            effects.drop(packet.handle, DropReason::Overflow);
        }
    }

    /// The earliest packet of the flow that the packet of smallest rank belongs to: a flow's own packets stay in order.
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Queued> {
        let best = self.backlog.iter().min_by_key(|q| q.packet.rank)?.packet.flow;
        let first = self.backlog.iter().position(|q| q.packet.flow == best)?;
        self.backlog.remove(first)
    }

    fn len(&self) -> usize {
        self.backlog.len()
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
    build: |_, _| Ok(Queue::Buffered(BufferedDiscipline::Pfabric(Pfabric::default()))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Effect, Port, packet};
    use crate::{Handle, Verdict};

    fn port(buffer: QueueState) -> Port {
        Port::new(BufferedDiscipline::Pfabric(Pfabric::default()), buffer)
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
        assert_eq!(p.effects, [Effect::Drop(Handle(2), DropReason::Overflow)]);
        // An ACK has rank 0.
        assert_eq!(p.arrive(packet(40, 0, 0, 5)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(1), DropReason::Overflow)]);
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
        assert_eq!((p.effects.len(), p.backlog.len()), (0, 3));
        assert_eq!(p.arrive(packet(1500, 0, 20, 9)), Verdict::Accept);
        assert_eq!(p.effects.len(), 2);
    }
}
