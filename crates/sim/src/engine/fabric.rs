//! The network in motion: ports, who is fed by whom, and the forwarding of packets by switches.
//!
//! Inside one node, packets are taken in the order (arrival time, input port, sequence). Nodes of one window do not see each other,
//! so any order of nodes, on any number of threads, gives the same trajectory.

use super::wheel::Wheel;
use crate::config::{Network, PortConfig};
use crate::net::arena::Arena;
use crate::net::packet::{Packet, SackBlocks, flag};
use crate::net::port::Port;
use crate::topology::Fib;
use forebay_queues::{DropReason, SharedBuffer};
use forebay_units::PortId;

/// Ports per 64-bit word of the bitmap of busy inputs.
const WORD: u32 = 64;

/// A node as the forwarding sees it.
#[derive(Debug, Clone, Default)]
pub struct NodePorts {
    /// First input slot.
    in_first: u32,
    /// First word of the bitmap of busy inputs.
    busy_first: u32,
    busy_words: u32,
    /// Egress ports of a switch with shared memory; empty otherwise.
    shared_ports: Vec<PortId>,
    shared: Option<SharedBuffer>,
}

/// A packet gathered for one window: where it waits and, at a switch, where it goes.
#[derive(Clone, Copy, Default)]
struct Move {
    from: PortId,
    to: PortId,
}

/// A drop that endpoints' bookkeeping must know of.
#[derive(Debug, Clone, Copy)]
pub struct Dropped {
    /// Connection slot.
    pub conn: u32,
    /// Generation of the slot.
    pub generation: u8,
}

/// All ports and the calendar.
pub struct Fabric {
    /// Egress ports.
    pub ports: Arena<Port>,
    nodes: Arena<NodePorts>,
    /// Per input slot: the port that feeds it.
    feeder: Arena<PortId>,
    /// Busy inputs of all nodes.
    busy: Arena<u64>,
    /// Calendar of activations.
    pub wheel: Wheel,
    fib: Fib,
    keys: Vec<u64>,
    moves: Vec<Move>,
    /// Drops since the last look.
    pub dropped: Vec<Dropped>,
}

#[inline]
fn prefetch<T>(_place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect beyond the cache, and the address is that of a live object.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(_place).cast());
    }
}

impl Fabric {
    /// The idle network; `length` is the window length in ps.
    pub fn new(network: &Network, fib: Fib, length: u64) -> Fabric {
        let count = network.nodes.len();
        let mut nodes: Vec<NodePorts> = vec![NodePorts::default(); count];
        let mut inputs: Vec<Vec<PortId>> = vec![Vec::new(); count];
        for (id, port) in network.ports.iter().enumerate() {
            inputs[port.to as usize].push(id as PortId);
            if network.nodes[port.from as usize].shared_buffer.is_some() {
                nodes[port.from as usize].shared_ports.push(id as PortId);
            }
        }
        let (mut feeder, mut words) = (Vec::new(), 0);
        let mut slot_of = vec![0; network.ports.len()];
        for (n, list) in inputs.iter().enumerate() {
            nodes[n].in_first = feeder.len() as u32;
            nodes[n].busy_first = words;
            nodes[n].busy_words = (list.len() as u32).div_ceil(WORD);
            nodes[n].shared = network.nodes[n].shared_buffer;
            for (slot, &port) in list.iter().enumerate() {
                slot_of[port as usize] = slot as u32;
            }
            feeder.extend(list);
            words += nodes[n].busy_words;
        }
        let make = |(id, c): (usize, &PortConfig)| Port::new(c, slot_of[id]);
        Fabric {
            ports: Arena::new(network.ports.iter().enumerate().map(make).collect()),
            nodes: Arena::new(nodes),
            feeder: Arena::new(feeder),
            busy: Arena::new(vec![0; words as usize]),
            wheel: Wheel::new(count, length),
            fib,
            keys: Vec::new(),
            moves: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// The forwarding tables.
    pub fn fib(&self) -> &Fib {
        &self.fib
    }

    /// Packet transmissions so far.
    pub fn hops(&self) -> u64 {
        self.ports.iter().map(Port::total_sent).sum()
    }

    /// Hands a packet to an egress port at `now`.
    #[inline]
    pub fn enqueue(&mut self, port: PortId, now: u64, packet: &Packet, sack: Option<&SackBlocks>) {
        let p = &mut self.ports[port];
        let idle = p.ring.is_empty();
        match p.enqueue(now, packet) {
            Ok(arrival) => {
                if let Some(sack) = sack {
                    p.ring.push_sack(sack);
                }
                if idle {
                    let (node, slot) = (p.to, p.in_slot);
                    self.announce(node, slot, arrival);
                }
            }
            Err(_) => self.dropped.push(Dropped { conn: packet.conn, generation: packet.generation() }),
        }
    }

    /// Input `slot` of `node`, idle so far, will bring a packet at `arrival`.
    #[inline(always)]
    fn announce(&mut self, node: u32, slot: u32, arrival: u64) {
        let word = self.nodes[node].busy_first + slot / WORD;
        self.busy[word] |= 1 << (slot % WORD);
        self.wheel.mark(node, arrival);
    }

    /// Forwards all packets that reach switch `node` in the current window, and marks it for the next one that waits.
    #[inline(never)]
    pub fn forward(&mut self, node: u32) {
        // Owned here for the time being, so that the compiler knows that nothing else reaches them.
        let mut keys = std::mem::take(&mut self.keys);
        let mut moves = std::mem::take(&mut self.moves);
        let next = self.gather(node, &mut keys, &mut moves);
        sort(&mut keys);
        let start = self.wheel.start;
        let shared = self.nodes[node].shared.is_some();
        for &key in &keys {
            // SAFETY: the low 24 bits of a key are the position in `moves` that `gather` gave it.
            let Move { from, to } = unsafe { *moves.get_unchecked((key & 0xFF_FFFF) as usize) };
            let now = start + (key >> 24);
            if shared && !self.pool_admits(node, from, to, now) {
                self.refuse(from, to);
            } else {
                self.hop(from, to, now);
            }
        }
        if next != u64::MAX {
            self.wheel.mark(node, next);
        }
        self.keys = keys;
        self.moves = moves;
    }

    /// Collects the packets that reach `node` in the current window; returns the time of the first one behind it.
    #[inline(always)]
    fn gather(&mut self, node: u32, keys: &mut Vec<u64>, moves: &mut Vec<Move>) -> u64 {
        let (start, end) = (self.wheel.start, self.wheel.end);
        let n = &self.nodes[node];
        let (first, busy_first, busy_words) = (n.in_first, n.busy_first, n.busy_words);
        let mut next = u64::MAX;
        let mut count = 0;
        for word in 0..busy_words {
            let mut bits = self.busy[busy_first + word];
            let mut emptied = 0;
            while bits != 0 {
                let slot = word * WORD + bits.trailing_zeros();
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                let from = self.feeder[first + slot];
                let ring = &self.ports[from].ring;
                if count + ring.slots_used() > keys.capacity() {
                    // SAFETY: the first `count` entries have been written.
                    unsafe {
                        keys.set_len(count);
                        moves.set_len(count);
                    }
                    keys.reserve(ring.slots_used() + 64);
                    moves.reserve(keys.capacity() - count);
                }
                let (mut position, tail) = (ring.head(), ring.tail());
                loop {
                    let p = ring.packet(position);
                    if p.arrival >= end {
                        next = next.min(p.arrival);
                        break;
                    }
                    let to = self.fib.next_port(node, u32::from(p.dst), u32::from(p.hash));
                    prefetch(&self.ports[to]);
                    // Gathering order is (input port, sequence), so its index breaks ties of time as the total order wants.
                    // SAFETY: the capacity of both suffices for every packet of this ring.
                    unsafe {
                        keys.as_mut_ptr().add(count).write((p.arrival - start) << 24 | count as u64);
                        moves.as_mut_ptr().add(count).write(Move { from, to });
                    }
                    count += 1;
                    position = position.wrapping_add(1 + u32::from(p.flags & flag::EXT != 0));
                    if position == tail {
                        // All of them are taken out below; the next packet on this link sets the bit again.
                        emptied |= bit;
                        break;
                    }
                }
            }
            self.busy[busy_first + word] &= !emptied;
        }
        // SAFETY: the first `count` entries have been written.
        unsafe {
            keys.set_len(count);
            moves.set_len(count);
        }
        next
    }

    /// Moves the packet at the head of `from` to `to`.
    #[inline(always)]
    fn hop(&mut self, from: PortId, to: PortId, now: u64) {
        // One leads to this node and the other away from it, and no link leads from a node to itself.
        let (source, target) = self.ports.pair(from, to);
        let position = source.ring.head();
        let packet = *source.ring.packet(position);
        let idle = target.ring.is_empty();
        match target.enqueue(now, &packet) {
            Ok(arrival) => {
                if packet.has(flag::EXT) {
                    target.ring.push_sack(source.ring.sack(position));
                }
                source.pop_known(&packet);
                if idle {
                    let (node, slot) = (target.to, target.in_slot);
                    self.announce(node, slot, arrival);
                }
            }
            Err(_) => {
                source.pop_known(&packet);
                self.dropped.push(Dropped { conn: packet.conn, generation: packet.generation() });
            }
        }
    }

    /// Drops the packet at the head of `from` because the shared memory has no room for it at `to`.
    fn refuse(&mut self, from: PortId, to: PortId) {
        let packet = *self.ports[from].ring.packet(self.ports[from].ring.head());
        self.ports[from].pop();
        self.ports[to].drop(DropReason::SharedBuffer, u64::from(packet.wire));
        self.dropped.push(Dropped { conn: packet.conn, generation: packet.generation() });
    }

    /// Asks the switch's shared memory about the packet at the head of `from`. Only switches that have one pay for bringing all
    /// their queues up to date.
    #[inline(never)]
    fn pool_admits(&mut self, node: u32, from: PortId, to: PortId, now: u64) -> bool {
        let wire = u64::from(self.ports[from].ring.packet(self.ports[from].ring.head()).wire);
        let n = &self.nodes[node];
        let Some(pool) = n.shared else { return true };
        let mut used = 0;
        for &p in &n.shared_ports {
            self.ports[p].settle(now);
            used += self.ports[p].queued_bytes();
        }
        pool.admits(used, self.ports[to].queued_bytes(), wire)
    }

    /// The port that feeds host `node`. Hosts have one.
    #[inline]
    pub fn host_input(&self, node: u32) -> PortId {
        self.feeder[self.nodes[node].in_first]
    }

    /// Host `node` has emptied its input.
    #[inline]
    pub fn host_idle(&mut self, node: u32) {
        self.busy[self.nodes[node].busy_first] = 0;
    }
}

/// Sorts distinct keys. A window brings a node a handful of packets, mostly in order already.
#[inline]
fn sort(keys: &mut [u64]) {
    if keys.len() > 24 {
        return keys.sort_unstable();
    }
    for i in 1..keys.len() {
        // SAFETY: 0 <= j <= i < keys.len() throughout.
        unsafe {
            let key = *keys.get_unchecked(i);
            let mut j = i;
            while j > 0 && *keys.get_unchecked(j - 1) > key {
                *keys.get_unchecked_mut(j) = *keys.get_unchecked(j - 1);
                j -= 1;
            }
            *keys.get_unchecked_mut(j) = key;
        }
    }
}
