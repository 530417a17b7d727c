//! The packets that a switch forwards in one window: where each lies, where it goes, and their order.

use crate::net::packet::{Packet, flag};
use forebay_experiment::streams::Draws;
use forebay_sampling::mix;
use forebay_units::{PortId, Time};
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;

/// Bits of [`GatheredPacket::key`] below the time.
pub(super) const PORT_BITS: u32 = 24;

/// Up to so many packets are sorted by insertion.
const FEW: usize = 16;

/// A packet that a switch forwards in the current window.
#[derive(Clone, Copy)]
pub(super) struct GatheredPacket {
    /// Time since the start of the window, then the egress port.
    pub key: u64,
    /// Its slot in the ring of the port that brought it. The ring has let it go, but keeps it until packets are added to that
    /// port, which only the node at its other end does.
    pub packet: *const Packet,
    /// When the same port brought the packet before this one.
    pub served: Time,
}

// SAFETY: it is read by the thread alone that runs the switch which has gathered it, in the same window.
unsafe impl Send for GatheredPacket {}

impl GatheredPacket {
    #[inline(always)]
    pub(super) fn to(&self) -> PortId {
        PortId::new(self.key as u32 & ((1 << PORT_BITS) - 1))
    }

    /// Time since the start of the window.
    #[inline(always)]
    pub(super) fn after(&self) -> Time {
        Time(self.key >> PORT_BITS)
    }
}

pub(super) const NO_PACKET: GatheredPacket = GatheredPacket { key: 0, packet: std::ptr::null(), served: Time::ZERO };

/// Decides who is first of packets that reach a switch at the same instant. Equal rates and exact times make that the rule, and a standing
/// order (of ports, say) would give one sender every place that becomes free in a full queue (phase effects, Floyd and Jacobson 1992).
///
/// First is the link that has brought nothing for longest, as in a switch whose arbiter goes round. So a sender that puts one packet more
/// on the way than the link carries, which then arrives right behind another of its own, loses that one, and not somebody else's.
///
/// Links that were served together are ordered by a hash of connection and time, which is the same whoever asks, in which order. Of the
/// time only the high bits count: who of two that send without a pause is ahead by less than can be told is so in every packet time, until
/// their clocks have drifted apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreaker(u64);

/// Our choice: links that are served alike keep their order for 2^33 ps, 9 ms; longer than a burst, shorter than the 120 ms in which clocks
/// that differ by 100 ppm drift apart by a packet time at 1 Gbps.
const COHERENT: u32 = 33;

impl TieBreaker {
    /// For the run with this seed.
    pub(super) fn new(seed: u64) -> TieBreaker {
        TieBreaker(Draws::Ties.stream(seed, &[]).next_u64())
    }

    /// The place of a packet among those of its time whose links were served together.
    fn drawn(self, m: &GatheredPacket) -> u64 {
        // SAFETY: see `GatheredPacket::packet`.
        let p = unsafe { &*m.packet };
        // What a connection sends in one direction comes through one port, so it names the port as well as a number would.
        let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
        mix(mix(flow ^ self.0) ^ (p.arrival.0 >> COHERENT))
    }

    /// The order of two packets of the same time.
    #[inline]
    fn order(self, a: &GatheredPacket, b: &GatheredPacket) -> Ordering {
        a.served.cmp(&b.served).then_with(|| self.drawn(a).cmp(&self.drawn(b)))
    }

    /// Moves those before `place`, from `first` on, that have the key of `moved` and come after it, one place up. Returns what place becomes free.
    ///
    /// # Safety
    /// Both are in one slice, in which `place` is free.
    #[cold]
    #[inline(never)]
    unsafe fn pass(
        self,
        first: *mut GatheredPacket,
        mut place: *mut GatheredPacket,
        moved: &GatheredPacket,
    ) -> *mut GatheredPacket {
        // SAFETY: `first` < `place`, by the condition of the loop.
        unsafe {
            while place > first && (*place.sub(1)).key == moved.key {
                let before = place.sub(1);
                if self.order(&*before, moved) != Ordering::Greater {
                    break;
                }
                *place = *before;
                place = before;
            }
        }
        place
    }
}

/// Puts packets into order, with memory of its own.
#[derive(Default)]
pub(super) struct ArrivalSorter {
    /// Where the runs end that are in order already: what one link brought, at least.
    runs: Vec<usize>,
    merged: Vec<GatheredPacket>,
    /// Where the packets of each part of a window begin.
    begins: Vec<u32>,
}

impl ArrivalSorter {
    /// Sorts by time, and by lot among packets of the same time and port; those to different ports are then in the order of ports, which
    /// nothing depends on. A window brings a node a handful of packets, mostly in order already.
    #[inline(always)]
    pub(super) fn sort(&mut self, packets: &mut [GatheredPacket], window: Time, ties: TieBreaker) {
        if packets.len() > FEW {
            return self.sort_many(packets, window, ties);
        }
        if packets.len() > 1 {
            sort_few(packets, ties);
        }
    }

    /// As `sort`. Packets are mostly spread over the window: dealt into as many parts of it, they are in order but for neighbours. Where they are not,
    /// runs are merged; most keys differ, so that lots are drawn among those alone that do not.
    #[inline(never)]
    fn sort_many(&mut self, packets: &mut [GatheredPacket], window: Time, ties: TieBreaker) {
        if self.deal(packets, window) {
            sort_few(packets, ties);
            return;
        }
        self.merge_runs(packets);
        for tied in packets.chunk_by_mut(|a, b| a.key == b.key).filter(|run| run.len() > 1) {
            sort_tied(tied, ties);
        }
    }

    /// Puts packets into order by the part of the window in which they arrive. False, and nothing done, if one of the parts has more than a few.
    fn deal(&mut self, packets: &mut [GatheredPacket], window: Time) -> bool {
        let parts = packets.len().next_power_of_two();
        let bits = PORT_BITS + u64::BITS - (window.0 - 1).leading_zeros();
        let part_of = |m: &GatheredPacket| (m.key >> bits.saturating_sub(parts.trailing_zeros())) as usize;
        let (begins, dealt) = (&mut self.begins, &mut self.merged);
        begins.clear();
        begins.resize(parts, 0);
        for m in &*packets {
            debug_assert!(m.after() < window);
            // SAFETY: times are shorter than the window, which the number of bits holds.
            unsafe { *begins.get_unchecked_mut(part_of(m)) += 1 };
        }
        let (mut sum, mut most) = (0, 0);
        for begin in &mut *begins {
            most = most.max(*begin);
            sum += std::mem::replace(begin, sum);
        }
        if most > FEW as u32 {
            return false;
        }
        if dealt.len() < packets.len() {
            dealt.resize(packets.len(), NO_PACKET);
        }
        for m in &*packets {
            // SAFETY: as above; each packet has the next place of its part.
            unsafe {
                let place = begins.get_unchecked_mut(part_of(m));
                *dealt.get_unchecked_mut(*place as usize) = *m;
                *place += 1;
            }
        }
        let count = packets.len();
        packets.copy_from_slice(&dealt[..count]);
        true
    }

    /// Sorts by key: merges neighbouring runs until there is one. Each link has brought its packets in order, so there are few. (With the
    /// library's sort, which cannot know that, a transmission of the benchmark's case lossy takes 30 instructions more: 572 for 542.)
    fn merge_runs(&mut self, packets: &mut [GatheredPacket]) {
        let runs = &mut self.runs;
        runs.clear();
        runs.extend(packets.windows(2).enumerate().filter(|(_, w)| w[1].key < w[0].key).map(|(i, _)| i + 1));
        runs.push(packets.len());
        if self.merged.len() < packets.len() {
            self.merged.resize(packets.len(), NO_PACKET);
        }
        let (mut from, mut to) = (&mut *packets, &mut self.merged[..]);
        let mut elsewhere = false;
        while runs.len() > 1 {
            let (mut begin, mut pairs) = (0, 0);
            for i in (0..runs.len()).step_by(2) {
                let middle = runs[i];
                let end = runs.get(i + 1).copied().unwrap_or(middle);
                merge(&from[begin..middle], &from[middle..end], &mut to[begin..end]);
                runs[pairs] = end;
                (begin, pairs) = (end, pairs + 1);
            }
            runs.truncate(pairs);
            std::mem::swap(&mut from, &mut to);
            elsewhere = !elsewhere;
        }
        if elsewhere {
            let count = to.len();
            to.copy_from_slice(&from[..count]);
        }
    }
}

/// Sorts packets, at least one, by insertion. Out of line, and by pointers, so that what it works on stays in registers.
#[inline(never)]
fn sort_few(packets: &mut [GatheredPacket], ties: TieBreaker) {
    let Range { start: first, end } = packets.as_mut_ptr_range();
    // SAFETY: `first` < `place` < `next` <= `end` wherever what lies before `place` is looked at, in the slice, which is this function's alone.
    unsafe {
        let mut next = first.add(1);
        while next < end {
            let mut place = next;
            next = next.add(1);
            if (*place.sub(1)).key < (*place).key {
                continue;
            }
            let moved = *place;
            while (*place.sub(1)).key > moved.key {
                *place = *place.sub(1);
                place = place.sub(1);
                if place == first {
                    break;
                }
            }
            if place > first && (*place.sub(1)).key == moved.key {
                // A copy, so that what is moved need not lie in memory.
                place = ties.pass(first, place, &{ moved });
            }
            *place = moved;
        }
    }
}

/// Sorts packets of one key by lot. Each lot is drawn once and takes the place of the key until all are in order: 5 instructions a
/// transmission less in the benchmark's case s3, where 40 senders start at once.
#[inline(never)]
fn sort_tied(tied: &mut [GatheredPacket], ties: TieBreaker) {
    let key = tied[0].key;
    for m in &mut *tied {
        m.key = ties.drawn(m);
    }
    // No two are alike: packets of one connection that came through one link came one after the other. Nothing is allocated.
    tied.sort_unstable_by_key(|m| (m.served, m.key));
    for m in &mut *tied {
        m.key = key;
    }
}

/// Merges two runs, both of which hold something; of equal keys those of `a` go first. Which run is next cannot be foreseen, so there is no
/// branch on it.
fn merge(a: &[GatheredPacket], b: &[GatheredPacket], out: &mut [GatheredPacket]) {
    let (mut i, mut j) = (0, 0);
    let mut places = out.iter_mut();
    while i < a.len() && j < b.len() {
        let Some(place) = places.next() else { return };
        let (mine, other) = (&a[i], &b[j]);
        let later = other.key < mine.key;
        *place = *select_unpredictable(later, other, mine);
        j += usize::from(later);
        i += usize::from(!later);
    }
    let rest = if i == a.len() { &b[j..] } else { &a[i..] };
    places.into_slice().copy_from_slice(rest);
}

/// Sorts by time, and by lot among all packets of the same time: for a switch whose ports share memory.
pub(super) fn sort_across_ports(packets: &mut [GatheredPacket], ties: TieBreaker) {
    packets.sort_by(|a, b| a.after().cmp(&b.after()).then_with(|| ties.order(a, b)));
}

/// A full list with room for as many again.
#[cold]
#[inline(never)]
pub(super) fn doubled(list: Box<[GatheredPacket]>) -> Box<[GatheredPacket]> {
    let mut list = list.into_vec();
    list.resize(2 * list.len(), NO_PACKET);
    list.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_sampling::Rng;

    /// Handoffs of `links` links, each in order, with many equal times.
    fn gathered(rng: &mut Rng, links: u64, packets: &[Packet]) -> Vec<GatheredPacket> {
        let mut all = Vec::new();
        for link in 0..links {
            let mut after = 0;
            let (count, mut served) = (rng.below(9), link * rng.below(2));
            for _ in 0..count {
                after += rng.below(3);
                let key = after << PORT_BITS | rng.below(3);
                all.push(GatheredPacket { key, packet: &raw const packets[all.len()], served: Time(served) });
                served = 100 + after;
            }
        }
        all
    }

    #[test]
    fn few_and_many_are_sorted_by_key_and_lot() {
        let mut rng = Rng::stream(4, &[]);
        let packets: Vec<Packet> =
            (0..400).map(|i| Packet { conn: forebay_units::ConnSlot::new(i), ..Packet::default() }).collect();
        let (ties, mut sorter) = (TieBreaker::new(9), ArrivalSorter::default());
        for round in 0..2_000 {
            let mut packets = gathered(&mut rng, 1 + round % 40, &packets);
            let mut expected = packets.clone();
            expected.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| ties.order(a, b)));
            sorter.sort(&mut packets, Time([20, 1 << 39][round as usize % 2]), ties);
            let places = |list: &[GatheredPacket]| list.iter().map(|h| h.packet).collect::<Vec<_>>();
            assert_eq!(places(&packets), places(&expected), "round {round}");
        }
    }
}
