//! The FIFO of packets waiting at one egress port and in flight behind it: a power-of-two ring of 32-byte slots.
//!
//! This is the innermost data structure of the packet path, so it indexes without bounds checks; the mask keeps every index legal. Checks take 10.7,
//! 9.2, 11.6, 8.5 and 9.2 instructions more per transmission (`net/arena.rs` names the cases).

use super::packet::{Codepoint, Extra, Packet, flag};
use super::ring_memory;
use forebay_types::Time;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A packet, or the SACK blocks of the packet in the slot before ([`flag::EXT`]). Any bytes are a valid packet; slots behind a packet with that flag
/// hold the blocks that [`Ring::push_extra`] has put there.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
union Slot {
    packet: Packet,
    extra: Extra,
}

/// The SACK blocks of a packet are always in the next slot in memory; for the last packet of the ring there is one more slot.
///
/// Slots `head..tail` hold packets, oldest first. Positions run freely and wrap at 2^32. Slots before the head stay readable until they are needed:
/// `stop` limits the tail until the caller frees slots.
pub struct Ring {
    /// `mask + 2` slots: a thin pointer, so that a port's ring shares a cache line with related fields.
    slots: NonNull<Slot>,
    owned: PhantomData<Box<[Slot]>>,
    mask: u32,
    head: u32,
    tail: u32,
    stop: u32,
}

// SAFETY: it owns the memory.
unsafe impl Send for Ring {}

impl Ring {
    /// Creates a ring with room for at least `capacity` slots; it grows when needed.
    pub fn new(capacity: usize) -> Ring {
        let size = capacity.max(4).next_power_of_two();
        let mask = size as u32 - 1;
        Ring { slots: slots(size), owned: PhantomData, mask, head: 0, tail: 0, stop: mask }
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

    /// Returns true if no packet waits or is in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// A slot, of which there are `mask + 2`.
    #[inline(always)]
    fn slot(&self, index: u32) -> *mut Slot {
        debug_assert!(index <= self.mask + 1);
        // SAFETY: in the allocation.
        unsafe { self.slots.as_ptr().add(index as usize) }
    }

    /// Address of the packet at `position`.
    #[inline(always)]
    pub fn place(&self, position: u32) -> *const Packet {
        self.slot(position & self.mask).cast()
    }

    /// Returns true if `packet` is in this ring.
    pub(crate) fn holds(&self, packet: *const Packet) -> bool {
        (self.place(0)..=self.place(self.mask)).contains(&packet)
    }

    /// The packet at `position`, which must be in `head..tail`.
    #[inline]
    pub fn packet(&self, position: u32) -> &Packet {
        // SAFETY: both variants are plain integers of equal size without padding, fully initialized.
        unsafe { &*self.place(position) }
    }

    /// Sets the arrival of the packet at `position`, which must be in `head..tail`.
    pub fn set_arrival(&mut self, position: u32, arrival: Time) {
        let place = self.slot(position & self.mask).cast::<Packet>();
        // SAFETY: as in `packet`; the ring is borrowed mutably.
        unsafe { (*place).arrival = arrival };
    }

    /// Position of the packet behind the one at `position`.
    #[inline]
    pub fn next(&self, position: u32) -> u32 {
        Ring::behind(position, self.packet(position))
    }

    /// Position behind `position`, which holds `packet`.
    #[inline(always)]
    pub fn behind(position: u32, packet: &Packet) -> u32 {
        position.wrapping_add(1 + u32::from(packet.flags & flag::EXT != 0))
    }

    /// SACK blocks of the packet at `position`, if it has any.
    #[inline]
    pub fn extra(&self, position: u32) -> Option<&Extra> {
        // SAFETY: a place in this ring, which is borrowed for as long.
        unsafe { Ring::extra_behind(self.place(position)) }
    }

    /// SACK blocks of a packet in a ring, if it has any.
    ///
    /// # Safety
    /// `packet` comes from [`Ring::place`], and its slots are not freed while the result lives.
    #[inline(always)]
    pub unsafe fn extra_behind<'a>(packet: *const Packet) -> Option<&'a Extra> {
        // SAFETY: behind every place there is another slot; behind a packet with the flag, `push_extra` has filled it.
        unsafe { (*packet).has(flag::EXT).then(|| &*packet.add(1).cast()) }
    }

    /// Removes the packets before `position`.
    #[inline]
    pub fn advance(&mut self, position: u32) {
        debug_assert!(position.wrapping_sub(self.head) <= self.tail.wrapping_sub(self.head));
        self.head = position;
    }

    /// Removes the packets from `position` on.
    pub fn cut(&mut self, position: u32) {
        debug_assert!(position.wrapping_sub(self.head) <= self.tail.wrapping_sub(self.head));
        self.tail = position;
    }

    /// Returns true if a packet with SACK blocks fits. If not, call [`Ring::make_room`].
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.tail != self.stop
    }

    /// Makes room for at least one packet of two slots; frees the slots before `oldest`, which is not behind the head.
    pub fn make_room(&mut self, oldest: u32) {
        if self.tail.wrapping_sub(oldest) >= self.mask {
            self.grow(oldest);
        }
        // One slot always stays free for the SACK blocks of the last packet.
        self.stop = oldest.wrapping_add(self.mask);
    }

    /// Appends a packet, for which there is room, with another arrival time, marked or not (`Ce` or `NotEct`) and with the changes of `fill`. If
    /// [`flag::EXT`] is set, [`Ring::push_extra`] must follow.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, arrival: Time, mark: Codepoint, fill: impl FnOnce(&mut Packet)) {
        debug_assert!(self.has_room());
        // SAFETY: masked index; any bytes are a valid packet, and there is no other reference to it.
        let place = unsafe { &mut (*self.slot(self.tail & self.mask)).packet };
        *place = *packet;
        place.meta.add_ecn(mark);
        fill(place);
        // Last: `fill` marks the segments of a burst in the same field (`CONTINUES`).
        place.arrival = arrival;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Appends the SACK blocks of the packet just pushed.
    #[inline(always)]
    pub fn push_extra(&mut self, extra: &Extra) {
        let index = self.tail.wrapping_sub(1) & self.mask;
        // SAFETY: at most mask + 1.
        unsafe { (*self.slot(index + 1)).extra = *extra };
        if self.tail == self.stop {
            // The slot that is kept free for this: no further packet fits.
            self.stop = self.stop.wrapping_add(1);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Doubles the ring, keeping the slots from `oldest` on.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, oldest: u32) {
        let mut grown = Ring::new((self.mask as usize + 1) * 2);
        (grown.head, grown.tail, grown.stop) = (self.head, oldest, oldest.wrapping_add(grown.mask));
        while grown.tail != self.tail {
            // The same positions hold the same packets.
            let (packet, extra) = (self.packet(grown.tail), self.extra(grown.tail));
            grown.push(packet, packet.arrival, Codepoint::NotEct, |_| {});
            if let Some(extra) = extra {
                grown.push_extra(extra);
            }
        }
        *self = grown;
    }
}

/// Allocates `size` slots and one more.
fn slots(size: usize) -> NonNull<Slot> {
    let slots = ring_memory::take(size.trailing_zeros(), Layout::new::<Slot>()).cast::<Slot>();
    for i in 0..=size {
        // SAFETY: the allocation holds one slot more, and there is no other reference to it.
        unsafe { slots.add(i).write(Slot { packet: Packet::default() }) };
    }
    slots
}

impl Drop for Ring {
    fn drop(&mut self) {
        ring_memory::free((self.mask + 1).trailing_zeros(), self.slots.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::{CONTINUES, SackBlocks};
    use crate::sequences::each_sequence;
    use std::collections::VecDeque;

    /// One block.
    fn blocks(seq: u32) -> Extra {
        Extra::Sack(SackBlocks::of([(seq, seq + 1)]).expect("a block"))
    }

    /// A sender marks the segments of a burst in the field of the arrival.
    #[test]
    fn arrival_survives_changes_of_fill() {
        let mut ring = Ring::new(4);
        ring.push(&Packet::default(), Time::from_us(7), Codepoint::Ce, |p| (p.arrival, p.seq) = (CONTINUES, 5));
        let p = ring.packet(ring.head());
        assert_eq!((p.arrival, p.seq, p.ecn()), (Time::from_us(7), 5, Codepoint::Ce));
    }

    #[test]
    fn keeps_order_across_growth_and_wrap() {
        let mut ring = Ring::new(4);
        ring.head = u32::MAX - 5;
        ring.tail = u32::MAX - 5;
        ring.stop = ring.tail.wrapping_add(ring.mask);
        let mut model: VecDeque<(u32, bool)> = VecDeque::new();
        let mut next = 0;
        for step in 0..10_000u32 {
            let push = step.wrapping_mul(2_654_435_761) >> 28 < 9 && model.len() < 300;
            if push {
                let ext = next % 3 == 0;
                let flags = if ext { flag::EXT } else { 0 };
                if !ring.has_room() {
                    ring.make_room(ring.head());
                }
                ring.push(&Packet { seq: next, flags, ..Packet::default() }, Time::ZERO, Codepoint::NotEct, |_| {});
                if ext {
                    ring.push_extra(&blocks(next));
                }
                model.push_back((next, ext));
                next += 1;
            } else if let Some((seq, ext)) = model.pop_front() {
                assert_eq!(ring.packet(ring.head()).seq, seq);
                assert_eq!(ring.extra(ring.head()), ext.then(|| blocks(seq)).as_ref());
                ring.advance(ring.next(ring.head()));
            }
            assert_eq!(ring.is_empty(), model.is_empty());
        }
    }

    /// Ring: all words of nine operations on the smallest ring, from positions around the wrap: the same packets as a list, in order, with their SACK
    /// blocks.
    #[test]
    fn exhaustive_operations_match_vec_deque() {
        for begin in [0, u32::MAX - 3, u32::MAX] {
            each_sequence(3, 9, |word| {
                let mut ring = Ring::new(4);
                (ring.head, ring.tail, ring.stop) = (begin, begin, begin.wrapping_add(ring.mask));
                let mut model: VecDeque<(u32, bool)> = VecDeque::new();
                for (seq, letter) in (0..).zip(word) {
                    if *letter == 0 {
                        if let Some((seq, ext)) = model.pop_front() {
                            assert_eq!(ring.packet(ring.head()).seq, seq, "{word:?}");
                            assert_eq!(ring.extra(ring.head()), ext.then(|| blocks(seq)).as_ref(), "{word:?}");
                            ring.advance(ring.next(ring.head()));
                        }
                    } else {
                        let ext = *letter == 2;
                        if !ring.has_room() {
                            ring.make_room(ring.head());
                        }
                        let flags = if ext { flag::EXT } else { 0 };
                        ring.push(&Packet { seq, flags, ..Packet::default() }, Time::ZERO, Codepoint::NotEct, |_| {});
                        if ext {
                            ring.push_extra(&blocks(seq));
                        }
                        model.push_back((seq, ext));
                    }
                    assert_eq!(ring.is_empty(), model.is_empty(), "{word:?}");
                }
                let mut at = ring.head();
                for (seq, ext) in model {
                    assert_eq!((ring.packet(at).seq, ring.extra(at)), (seq, ext.then(|| blocks(seq)).as_ref()), "{word:?}");
                    at = ring.next(at);
                }
                assert_eq!(at, ring.tail(), "{word:?}");
            });
        }
    }
}
