//! Forwarding by switches in one window: packets are gathered from the busy inputs, sorted, and queued at the ports of their routes.

use super::{Fabric, WORD};
use crate::engine::arrival_order::{GatheredPacket, PORT_BITS, doubled, sort_across_ports};
use crate::engine::node_set::NodeSet;
use crate::engine::partition_state::PartitionState;
use crate::engine::tiers::GROUP;
use crate::net::packet::{Packet, flag};
use crate::net::port::Port;
use crate::net::prefetch::{self, prefetch};
use forebay_experiment::topology::address::destination;
use forebay_queues::SharedBuffer;
use forebay_types::{NodeId, PortId, Time, TimeOrNever};

impl Fabric {
    /// Forwards all packets that reach some switches in the current window, and marks each switch for its next arrival. `WIDE` selects the layout of
    /// addresses in packets of this network ([`Fib::is_wide`](forebay_experiment::topology::Fib::is_wide)).
    #[inline(never)]
    pub(in crate::engine) fn forward<const WIDE: bool>(&mut self, partition: &mut PartitionState, switches: NodeSet) {
        debug_assert_eq!(WIDE, self.fib.is_wide());
        // Owned here, so that the compiler can assume that nothing else accesses it.
        let mut list = std::mem::take(&mut partition.packets);
        let start = partition.calendar.start;
        for node in switches {
            partition.activations += 1;
            let (count, mut next);
            (list, count, next) = self.gather::<WIDE>(partition, node, (list, 0));
            let packets = &mut list[..count];
            if self.nodes[node].special {
                next = next.min(self.forward_special(partition, node, packets));
            } else {
                partition.sorter.sort(packets, partition.calendar.length(), self.ties);
                for m in &*packets {
                    self.hop(partition, m, start);
                }
            }
            if let Some(next) = next.get() {
                partition.calendar.mark_ahead(node, next);
            }
        }
        partition.packets = list;
    }

    /// As [`Fabric::forward`], for some switches of which no two are neighbors and none is special.
    #[inline(never)]
    pub(in crate::engine) fn forward_group<const WIDE: bool>(&mut self, partition: &mut PartitionState, group: NodeSet) {
        for node in group {
            partition.activations += 1;
            self.for_each_busy_input(node, prefetch);
        }
        for node in group {
            self.for_each_busy_input(node, |port| prefetch::line(port.ring.place(port.ring.head()).cast()));
        }
        let mut list = std::mem::take(&mut partition.packets);
        let mut gathered = [(0, TimeOrNever::NEVER); GROUP];
        let mut count = 0;
        for (node, gathered) in group.zip(&mut gathered) {
            let next;
            (list, count, next) = self.gather::<WIDE>(partition, node, (list, count));
            *gathered = (count, next);
        }
        for m in &list[..count] {
            self.ports[m.to()].prefetch_queue();
        }
        let start = partition.calendar.start;
        let mut first = 0;
        for (node, &(end, next)) in group.zip(&gathered) {
            let packets = &mut list[first..end];
            partition.sorter.sort(packets, partition.calendar.length(), self.ties);
            for m in &*packets {
                self.hop(partition, m, start);
            }
            if let Some(next) = next.get() {
                partition.calendar.mark_ahead(node, next);
            }
            first = end;
        }
        partition.packets = list;
    }

    #[inline(always)]
    fn for_each_busy_input(&self, node: NodeId, look: impl Fn(&Port)) {
        let n = &self.nodes[node];
        for word in 0..n.busy_words {
            let mut bits = self.busy[n.busy_first + word];
            while bits != 0 {
                look(&self.ports[self.feeder[n.in_first + word * WORD + bits.trailing_zeros()]]);
                bits &= bits - 1;
            }
        }
    }

    /// Returns true if a switch has shared memory, buffered disciplines, or inspected inputs.
    pub(in crate::engine) fn is_special(&self, node: NodeId) -> bool {
        self.nodes[node].special
    }

    /// As the loop in `forward`, at a switch with shared memory or buffered ports. Returns the start of their next transmission.
    #[inline(never)]
    fn forward_special(&mut self, partition: &mut PartitionState, node: NodeId, packets: &mut [GatheredPacket]) -> TimeOrNever {
        let (start, end) = (partition.calendar.start, partition.calendar.end);
        let holds = !self.nodes[node].holds.is_empty();
        let packets = if holds {
            let kept = self.delay_gathered(partition, node, packets);
            &mut packets[..kept]
        } else {
            packets
        };
        let (shares, balances) = (self.nodes[node].shared.is_some(), self.nodes[node].balancer.is_some());
        if shares || balances {
            // Packets for different ports compete for the same memory, or their ports depend on the packets before.
            sort_across_ports(packets, self.ties);
        } else {
            partition.sorter.sort(packets, partition.calendar.length(), self.ties);
        }
        let inspects = !self.nodes[node].inspected_inputs.is_empty();
        for m in packets {
            if inspects && self.is_damaged(partition, node, m) {
                continue;
            }
            if balances {
                self.balance(node, m, start + m.offset());
            }
            if (!shares || self.is_admitted(partition, node, m, start)) && !self.enqueue_slow(partition, m) {
                self.hop(partition, m, start);
            }
        }
        if holds {
            self.put_held(partition);
        }
        self.serve_waiting(partition, node, end)
    }

    /// Returns true if the shared memory has room for a gathered packet. If not, it is dropped here.
    #[inline(always)]
    fn is_admitted(&mut self, partition: &mut PartitionState, node: NodeId, m: &GatheredPacket, start: Time) -> bool {
        let admits = self.pool_admits(partition, node, m.packet(), m.to(), start + m.offset());
        if !admits {
            self.drop_for_memory(partition, m);
        }
        admits
    }

    /// Performs the transmissions of switch `node` that start before `end`, at ports with buffered disciplines. Returns the start of the next one.
    #[inline]
    fn serve_waiting(&mut self, partition: &mut PartitionState, node: NodeId, end: Time) -> TimeOrNever {
        let n = &self.nodes[node];
        let (first, words) = (n.waiting_first, (n.buffered.len() as u32).div_ceil(WORD));
        let mut next = TimeOrNever::NEVER;
        for word in 0..words {
            let mut bits = self.waiting[first + word];
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let port = self.waiting_ports[(first + word) * WORD + bit];
                if self.ports[port].starts_before(end) {
                    self.serve_here(partition, port, end);
                }
                match self.ports[port].next_start() {
                    Some(start) => next = next.min(start.into()),
                    None => self.waiting[first + word] &= !(1 << bit),
                }
            }
        }
        next
    }

    /// Returns true if a gathered packet was damaged on the link that brought it to `node`, and captures it. A damaged one is dropped here: a
    /// store-and-forward switch checks every frame (IEEE 802.3 section 3.2.9, the frame check sequence).
    #[cold]
    #[inline(never)]
    pub(super) fn is_damaged(&mut self, partition: &mut PartitionState, node: NodeId, m: &GatheredPacket) -> bool {
        for i in 0..self.nodes[node].inspected_inputs.len() {
            let port = self.nodes[node].inspected_inputs[i];
            let (packet, extra) = (m.packet(), m.extra());
            if self.ports[port].leave_link(m.slot, (packet, extra)) {
                partition.drop_packet(packet);
                return true;
            }
        }
        false
    }

    /// Moves the packets that reach `node` in the current window from their rings to the list, behind the `filled` ones, those of one input in order.
    /// Returns the list, its length, and the time of the first packet behind the window.
    #[inline(always)]
    fn gather<const WIDE: bool>(
        &mut self,
        partition: &PartitionState,
        node: NodeId,
        (mut list, filled): (Box<[GatheredPacket]>, usize),
    ) -> (Box<[GatheredPacket]>, usize, TimeOrNever) {
        let (start, end) = (partition.calendar.start, partition.calendar.end);
        let n = &self.nodes[node];
        let (mut first, mut word, behind) = (n.in_first, n.busy_first, n.busy_first + n.busy_words);
        let route = self.fib.at(node);
        let mut next = TimeOrNever::NEVER;
        let mut places = list[filled..].as_mut_ptr_range();
        loop {
            let mut bits = self.busy[word];
            while bits != 0 {
                let from = self.feeder[first + bits.trailing_zeros()];
                let rest = bits & (bits - 1);
                let ring = &self.ports[from].ring;
                let (mut position, tail) = (ring.head(), ring.tail());
                let mut last_arrival = self.ports[from].last_arrival;
                loop {
                    let packet = ring.place(position);
                    // SAFETY: a position between head and tail.
                    let p = unsafe { &*packet };
                    if p.arrival >= end {
                        next = next.min(p.arrival.into());
                        break;
                    }
                    // SAFETY: packets are addressed to hosts of this network, and switches forward them.
                    let to = unsafe { route.next_port_unchecked(destination::<WIDE>(p.dst, p.hash), u32::from(p.hash)) };
                    prefetch(&self.ports[to]);
                    if places.start == places.end {
                        let full = list.len();
                        list = doubled(list);
                        places = list[full..].as_mut_ptr_range();
                    }
                    let key = (p.arrival - start).0 << PORT_BITS | u64::from(to.get());
                    let found = GatheredPacket { key, slot: packet, last_arrival };
                    // Not `Vec::push`, which takes 2.3 to 4.9 instructions more per transmission (`net/arena.rs` names the cases).
                    // SAFETY: a place of the list, which only the caller uses.
                    unsafe {
                        places.start.write(found);
                        places.start = places.start.add(1);
                    }
                    last_arrival = p.arrival;
                    position = position.wrapping_add(1 + u32::from(p.flags & flag::EXT != 0));
                    if position == tail {
                        // The next packet on this link sets the bit again.
                        self.busy[word] ^= bits ^ rest;
                        break;
                    }
                }
                self.ports[from].ring.advance(position);
                self.ports[from].last_arrival = last_arrival;
                bits = rest;
            }
            word += 1;
            if word >= behind {
                break;
            }
            first += WORD;
        }
        // SAFETY: both ends lie in the list.
        let unused = unsafe { places.end.offset_from_unsigned(places.start) };
        let count = list.len() - unused;
        (list, count, next)
    }

    /// Copies a packet, gathered in this window, to its egress port.
    #[inline(always)]
    fn hop(&mut self, partition: &mut PartitionState, m: &GatheredPacket, start: Time) {
        // The egress port leads away from this node, so its ring is not the one that holds the packet.
        let (p, extra) = (m.packet(), m.extra());
        if let Err(why) = self.enqueue::<false>(partition, m.to(), (start + m.offset(), None), p, extra, |_| {}) {
            self.refused(partition, m, why);
        }
    }

    /// Drops a packet for which the shared memory has no room, unless its port evicts a less urgent one.
    fn drop_for_memory(&mut self, partition: &mut PartitionState, m: &GatheredPacket) {
        let (to, now) = (m.to(), partition.calendar.start + m.offset());
        let (packet, extra) = (m.packet(), m.extra());
        let p = &mut self.ports[to];
        if p.backlog().is_some() {
            let memory = Some(p.queued_bytes());
            self.admit(partition, to, now, packet, extra, memory);
            self.note_waiting(to);
        } else {
            p.drop_for_memory(now, packet);
            p.capture_refused(now, packet, extra);
            partition.drop_packet(packet);
        }
    }

    /// Checks a gathered packet against the switch's shared memory. All queues are brought up to date only where the memory is short.
    #[inline(always)]
    fn pool_admits(&mut self, partition: &mut PartitionState, node: NodeId, packet: &Packet, to: PortId, now: Time) -> bool {
        let wire = u64::from(packet.wire);
        let n = &mut self.nodes[node];
        let Some(pool) = n.shared else { return true };
        // A packet that fits with the arrivals since the last sum of the queues also fits with less.
        let fits = pool.admits(n.shared_bound, self.ports[to].queued_bytes(), wire);
        n.shared_bound += wire;
        fits || self.pool_admits_slow(partition, node, (pool, wire), to, now)
    }

    /// As [`Fabric::pool_admits`], where the queues must be added up.
    #[inline(never)]
    fn pool_admits_slow(
        &mut self,
        partition: &mut PartitionState,
        node: NodeId,
        (pool, wire): (SharedBuffer, u64),
        to: PortId,
        now: Time,
    ) -> bool {
        // First with the lengths from the last update.
        let most: u64 = self.nodes[node].shared_ports.iter().map(|&p| self.ports[p].queued_bytes()).sum();
        if pool.admits(most, self.ports[to].queued_bytes(), wire) {
            self.nodes[node].shared_bound = most + wire;
            return true;
        }
        for i in 0..self.nodes[node].buffered.len() {
            self.serve(partition, self.nodes[node].buffered[i], now);
        }
        let mut used = 0;
        for &p in &self.nodes[node].shared_ports {
            self.ports[p].settle(now);
            used += self.ports[p].queued_bytes();
        }
        self.nodes[node].shared_bound = used + wire;
        pool.admits(used, self.ports[to].queued_bytes(), wire)
    }
}
