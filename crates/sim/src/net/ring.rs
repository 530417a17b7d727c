//! The FIFO of packets waiting at and flying behind one egress port: a power-of-two ring of 32-byte slots.
//!
//! This is the innermost data structure of the packet path, so it indexes without bounds checks; the mask keeps every index legal.

use super::packet::{Packet, SackBlocks, flag};

/// Either a packet or the SACK blocks of the packet before it. Both are plain integers of the same size, so any bytes are valid
/// for both.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
union Slot {
    packet: Packet,
    sack: SackBlocks,
}

/// Slots `head..tail` hold packets, oldest first. Positions run freely and wrap at 2^32.
pub struct Ring {
    slots: Box<[Slot]>,
    mask: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    /// A ring with room for at least `capacity` slots; it grows when needed.
    pub fn new(capacity: usize) -> Ring {
        let size = capacity.max(4).next_power_of_two();
        Ring { slots: vec![Slot { packet: Packet::default() }; size].into_boxed_slice(), mask: size as u32 - 1, head: 0, tail: 0 }
    }

    /// Position of the oldest packet.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Position behind the newest packet.
    #[inline]
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Whether nothing waits or flies.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn slot(&self, position: u32) -> &Slot {
        // SAFETY: `position & mask` is below the length, which is mask + 1.
        unsafe { self.slots.get_unchecked((position & self.mask) as usize) }
    }

    /// The packet at `position`, which must be the position of a packet in `head..tail`.
    #[inline]
    pub fn packet(&self, position: u32) -> &Packet {
        // SAFETY: both variants are plain integers of equal size without padding, fully initialised.
        unsafe { &self.slot(position).packet }
    }

    /// Position of the packet behind the one at `position`.
    #[inline]
    pub fn next(&self, position: u32) -> u32 {
        position.wrapping_add(1 + u32::from(self.packet(position).flags & flag::EXT != 0))
    }

    /// The SACK blocks of the packet at `position`, which must have [`flag::EXT`] set.
    #[inline]
    pub fn sack(&self, position: u32) -> &SackBlocks {
        // SAFETY: as for `packet`.
        unsafe { &self.slot(position.wrapping_add(1)).sack }
    }

    /// Removes the packet at the head, which takes `slots` slots.
    #[inline]
    pub fn advance(&mut self, slots: u32) {
        debug_assert!(!self.is_empty() && self.head.wrapping_add(slots) == self.next(self.head));
        self.head = self.head.wrapping_add(slots);
    }

    /// Appends a packet with another arrival time and further bits set in its `meta`. If [`flag::EXT`] is set,
    /// [`Ring::push_sack`] must follow.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, arrival: u64, meta: u8) {
        if self.tail.wrapping_sub(self.head) >= self.mask {
            self.grow();
        }
        let index = (self.tail & self.mask) as usize;
        // SAFETY: masked index, as in `slot`; any bytes are a valid packet.
        let place = unsafe { &mut self.slots.get_unchecked_mut(index).packet };
        *place = *packet;
        place.arrival = arrival;
        place.meta |= meta;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Appends the SACK blocks of the packet just pushed.
    pub fn push_sack(&mut self, sack: &SackBlocks) {
        let index = (self.tail & self.mask) as usize;
        self.slots[index].sack = *sack;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Upper bound of the number of packets.
    #[inline]
    pub fn slots_used(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Doubles the ring. One slot always stays free so that a packet with blocks fits after the check in `push`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mask = size as u32 - 1;
        let mut slots = vec![Slot { packet: Packet::default() }; size].into_boxed_slice();
        let mut position = self.head;
        while position != self.tail {
            slots[(position & mask) as usize] = *self.slot(position);
            position = position.wrapping_add(1);
        }
        self.slots = slots;
        self.mask = mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn keeps_order_across_growth_and_wrap() {
        let mut ring = Ring::new(4);
        ring.head = u32::MAX - 5;
        ring.tail = u32::MAX - 5;
        let mut model: VecDeque<(u32, bool)> = VecDeque::new();
        let mut next = 0;
        for step in 0..10_000u32 {
            let push = (step * 2_654_435_761) >> 28 < 9 && model.len() < 300;
            if push {
                let ext = next % 3 == 0;
                let mut sack = SackBlocks::default();
                sack.push((next, next + 1));
                let flags = if ext { flag::EXT } else { 0 };
                ring.push(&Packet { seq: next, flags, ..Packet::default() }, 0, 0);
                if ext {
                    ring.push_sack(&sack);
                }
                model.push_back((next, ext));
                next += 1;
            } else if let Some((seq, ext)) = model.pop_front() {
                assert_eq!(ring.packet(ring.head()).seq, seq);
                if ext {
                    assert_eq!(ring.sack(ring.head()).blocks[0], (seq, seq + 1));
                }
                ring.advance(1 + u32::from(ext));
            }
            assert_eq!(ring.is_empty(), model.is_empty());
        }
    }
}
