//! pFabric: the packet with the most remaining bytes is dropped first, and the flow with the fewest is served first (Alizadeh et al., SIGCOMM 2013;
//! `proboscis.md` 6).
//!
//! The publication searches the whole buffer, which holds a few tens of packets. Here packets are sorted by urgency, and most insertions and removals
//! are at the ends of the list.

use crate::sorted_list::SortedList;
use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry,
    QueueState, Queued, Verdict,
};
use alloc::vec::Vec;
use forebay_types::param::Entry;
use forebay_types::{Time, mix};

/// No packet.
const NONE: u32 = u32::MAX;

/// Bits of an urgency below the rank, for the arrival number.
const NUMBER_BITS: u32 = 48;

/// A packet of the backlog.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BacklogEntry {
    flow: u64,
    /// Its rank in the upper bits, its arrival number in the lower.
    urgency: u64,
    wire: u32,
    /// Neighbors in its chain.
    before: u32,
    behind: u32,
    chain: u32,
}

/// Oldest and newest packet of the flows that share a hash bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Chain {
    oldest: u32,
    newest: u32,
}

/// The backlog.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pfabric {
    /// By handle; entries of packets that are not in `order` are stale.
    entries: Vec<BacklogEntry>,
    /// Hash buckets in order of arrival, at least as many as packets, so that most hold one flow.
    chains: Vec<Chain>,
    /// Urgencies and handles in ascending order: the smallest rank first, of equal ones the oldest.
    order: SortedList,
    /// Packets admitted so far.
    admitted: u64,
}

impl Pfabric {
    /// Drops packets of the largest rank, above that of `packet`, until it fits; none if they are not enough. Of equal ranks the newest is dropped
    /// (our choice; the publication leaves it open).
    fn evict_for(&mut self, port: &PortState, packet: &Arrival, effects: &mut impl Effects) -> bool {
        let (mut freed, mut count) = (QueueState::default(), 0);
        for (urgency, handle) in self.order.descending() {
            if port.fits_without(freed, packet.wire) || urgency >> NUMBER_BITS <= u64::from(packet.rank) {
                break;
            }
            freed.add(self.entries[handle as usize].wire);
            count += 1;
        }
        if !port.fits_without(freed, packet.wire) {
            return false;
        }
        for _ in 0..count {
            if let Some((_, handle)) = self.order.pop_last() {
                self.unlink(handle);
                effects.drop(Handle(handle), DropReason::Overflow);
            }
        }
        true
    }

    #[inline]
    fn add(&mut self, queued: &Queued) {
        let handle = queued.handle.0;
        if self.order.len() >= self.chains.len() {
            self.grow_chains();
        }
        self.admitted += 1;
        let Arrival { wire, rank, flow, .. } = queued.packet;
        let urgency = u64::from(rank) << NUMBER_BITS | self.admitted;
        let chain = self.chain_of(flow);
        let entries = BacklogEntry { flow, urgency, wire, before: NONE, behind: NONE, chain };
        match self.entries.get_mut(handle as usize) {
            Some(place) => *place = entries,
            None => self.entries.resize(handle as usize + 1, entries),
        }
        self.append(handle);
        self.order.insert(urgency, handle);
    }

    /// Removes a packet from its chain.
    #[inline]
    fn unlink(&mut self, handle: u32) {
        let BacklogEntry { before, behind, chain, .. } = self.entries[handle as usize];
        match self.entries.get_mut(before as usize) {
            Some(w) => w.behind = behind,
            None => self.chains[chain as usize].oldest = behind,
        }
        match self.entries.get_mut(behind as usize) {
            Some(w) => w.before = before,
            None => self.chains[chain as usize].newest = before,
        }
    }

    #[inline]
    fn chain_of(&self, flow: u64) -> u32 {
        ((u128::from(mix(flow)) * self.chains.len() as u128) >> 64) as u32
    }

    /// Appends a packet of the backlog to its chain.
    #[inline]
    fn append(&mut self, handle: u32) {
        let chain = &mut self.chains[self.entries[handle as usize].chain as usize];
        let newest = core::mem::replace(&mut chain.newest, handle);
        match self.entries.get_mut(newest as usize) {
            Some(w) => w.behind = handle,
            None => chain.oldest = handle,
        }
        let w = &mut self.entries[handle as usize];
        (w.before, w.behind) = (newest, NONE);
    }

    /// Doubles the number of chains, and distributes the packets in order.
    #[cold]
    #[inline(never)]
    fn grow_chains(&mut self) {
        let more = vec![Chain { oldest: NONE, newest: NONE }; (2 * self.chains.len()).max(16)];
        for chain in core::mem::replace(&mut self.chains, more) {
            let mut handle = chain.oldest;
            while let Some(&BacklogEntry { flow, behind, .. }) = self.entries.get(handle as usize) {
                self.entries[handle as usize].chain = self.chain_of(flow);
                self.append(handle);
                handle = behind;
            }
        }
    }

    /// The oldest packet of the flow of a packet in the backlog.
    #[inline]
    fn oldest_of_flow(&self, handle: u32) -> u32 {
        let BacklogEntry { flow, chain, .. } = self.entries[handle as usize];
        let mut oldest = self.chains[chain as usize].oldest;
        // Ends at `handle` at the latest.
        while self.entries[oldest as usize].flow != flow {
            oldest = self.entries[oldest as usize].behind;
        }
        oldest
    }
}

impl Discipline for Pfabric {
    fn marks(&self) -> bool {
        false
    }

    fn reads_priority(&self) -> bool {
        true
    }
}

impl Buffered for Pfabric {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if port.fits(packet.packet.wire) || self.evict_for(port, &packet.packet, effects) {
            self.add(&packet);
        } else {
            effects.drop(packet.handle, DropReason::Overflow);
        }
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        port.fits(packet.packet.wire).then(|| {
            self.add(packet);
            Verdict::Accept
        })
    }

    #[inline(always)]
    fn push_idle(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        port.fits(packet.wire).then_some(Verdict::Accept)
    }

    fn accepts_idle(&self) -> bool {
        true
    }

    /// Serves the oldest packet of the flow with the smallest rank, so that packets of a flow stay in order.
    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        let (_, best) = self.order.first()?;
        let next = self.oldest_of_flow(best);
        if next == best {
            self.order.pop_first();
        } else {
            self.order.remove(self.entries[next as usize].urgency);
        }
        self.unlink(next);
        Some(Handle(next))
    }

    fn len(&self) -> usize {
        self.order.len()
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "pfabric",
        summary: "serves the flow with the fewest remaining bytes, drops the packet with the most (pFabric); for small buffers",
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
    use core::cmp::Reverse;
    use forebay_types::Rng;

    fn port(buffer: QueueState) -> Port {
        Port::new(BufferedDiscipline::Pfabric(Pfabric::default()), buffer)
    }

    #[test]
    fn serves_most_urgent_flow_in_order() {
        let mut p = port(QueueState::UNLIMITED);
        // Flow 1 has 30, then 20 remaining; flow 2 has 25. Ranks decrease within a flow.
        for (rank, flow) in [(30, 1), (25, 2), (20, 1), (24, 2)] {
            assert_eq!(p.arrive(packet(1500, 0, rank, flow)), Verdict::Accept);
        }
        let order: Vec<_> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [0, 2, 1, 3]);
    }

    #[test]
    fn evicts_the_largest_rank() {
        let mut p = port(QueueState { packets: 3, bytes: u64::MAX });
        for rank in [10, 30, 30] {
            p.arrive(packet(1500, 0, rank, u64::from(rank)));
        }
        assert_eq!(p.arrive(packet(1500, 0, 30, 4)), Verdict::Drop(DropReason::Overflow), "equal ranks are not evicted");
        assert_eq!(p.arrive(packet(1500, 0, 20, 4)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(2), DropReason::Overflow)]);
        // An ACK has rank 0.
        assert_eq!(p.arrive(packet(40, 0, 0, 5)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(1), DropReason::Overflow)]);
        let order: Vec<_> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [5, 0, 4]);
    }

    #[test]
    fn evicts_enough_packets_or_none() {
        let mut p = port(QueueState { packets: u32::MAX, bytes: 3000 });
        for (wire, rank) in [(1000, 50), (1000, 40), (1000, 10)] {
            p.arrive(packet(wire, 0, rank, u64::from(rank)));
        }
        assert_eq!(p.arrive(packet(1500, 0, 45, 9)), Verdict::Drop(DropReason::Overflow));
        assert_eq!((p.effects.len(), p.backlog.len()), (0, 3));
        assert_eq!(p.arrive(packet(1500, 0, 20, 9)), Verdict::Accept);
        assert_eq!(p.effects.len(), 2);
    }

    /// The algorithm of the publication: a list in order of arrival, searched for each decision.
    #[derive(Default)]
    struct Searched(Vec<Queued>);

    impl Searched {
        fn push(&mut self, port: &PortState, packet: Queued, effects: &mut Vec<Effect>) {
            let mut worse: Vec<usize> = (0..self.0.len()).filter(|&i| self.0[i].packet.rank > packet.packet.rank).collect();
            worse.sort_by_key(|&i| Reverse((self.0[i].packet.rank, i)));
            let mut freed = QueueState::default();
            let mut evicted = Vec::new();
            while !port.fits_without(freed, packet.packet.wire) {
                let Some(&next) = worse.get(evicted.len()) else {
                    return Effects::drop(effects, packet.handle, DropReason::Overflow);
                };
                freed.add(self.0[next].packet.wire);
                evicted.push(self.0[next]);
            }
            evicted.iter().for_each(|q| q.evict(effects));
            self.0.retain(|q| !evicted.contains(q));
            self.0.push(packet);
        }

        #[inline(always)]
        fn pop(&mut self) -> Option<Queued> {
            let best = self.0.iter().min_by_key(|q| q.packet.rank)?.packet.flow;
            let first = self.0.iter().position(|q| q.packet.flow == best)?;
            Some(self.0.remove(first))
        }
    }

    #[test]
    fn equals_a_linear_search() {
        for (seed, limit) in [(1, QueueState { packets: 40, bytes: u64::MAX }), (2, QueueState { packets: 90, bytes: 30_000 })] {
            let mut rng = Rng::stream(seed, &[]);
            let (mut tree, mut list) = (Pfabric::default(), Searched::default());
            let (mut unused, mut evicted): (Vec<u32>, u32) = ((0..200).collect(), 0);
            for step in 0..30_000 {
                if rng.below(10) < (if step / 600 % 2 == 0 { 7 } else { 3 }) {
                    // Few ranks and flows, so that many are equal; a shared memory that is nearly full at times.
                    let wire = [40, 700, 1500, 9000][rng.below(4) as usize];
                    let arrival = packet(wire, 0, rng.below(12) as u16, rng.below(9));
                    let handle = Handle(unused.swap_remove(rng.below(unused.len() as u64) as usize));
                    let queued = Queued { handle, since: Time(step), packet: arrival };
                    let mut queue = QueueState::default();
                    list.0.iter().for_each(|q| queue.add(q.packet.wire));
                    let memory = (rng.below(8) == 0).then(|| rng.below(20_000));
                    let port = PortState { now: Time(step), queue, limit, memory, serving: 0, idle_since: Time(0) };
                    let (mut by_tree, mut by_list) = (Vec::new(), Vec::new());
                    tree.push(&port, queued, &mut by_tree);
                    list.push(&port, queued, &mut by_list);
                    assert_eq!(by_tree, by_list, "step {step}");
                    for effect in by_tree {
                        let Effect::Drop(handle, _) = effect else { unreachable!() };
                        evicted += u32::from(handle != queued.handle);
                        unused.push(handle.0);
                    }
                } else {
                    let served = tree.pop(Time(step), &mut Vec::new());
                    assert_eq!(served, list.pop().map(|q| q.handle), "step {step}");
                    unused.extend(served.map(|h| h.0));
                }
                assert_eq!(tree.len(), list.0.len());
            }
            assert!(evicted > 500, "{evicted}");
        }
    }
}
