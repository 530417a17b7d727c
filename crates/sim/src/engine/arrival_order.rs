//! Order of the packets that a switch forwards in one window, and the rule for ties.

use crate::net::packet::{Extra, Packet, flag};
use crate::net::ring::Ring;
use forebay_experiment::network::Ties;
use forebay_experiment::streams::RngStream;
use forebay_types::{PortId, Time, mix};
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::num::NonZeroU64;
use std::ops::Range;

/// Bits of [`GatheredPacket::key`] below the time.
pub(super) const PORT_BITS: u32 = 24;

/// Lists up to this length are sorted by insertion.
const FEW: usize = 16;

/// A packet that a switch forwards in the current window.
#[derive(Clone, Copy)]
pub(super) struct GatheredPacket {
    /// Time since the start of the window, then the egress port.
    pub key: u64,
    /// Slot of the packet in the ring of its ingress port. The ring has released the slot, but does not reuse it until packets are added to that
    /// port, which only the node at the far end does.
    pub slot: *const Packet,
    /// Arrival of the previous packet on the same link.
    pub last_arrival: Time,
}

// SAFETY: only the thread that runs the gathering switch reads it, within the same window.
unsafe impl Send for GatheredPacket {}

impl GatheredPacket {
    /// The packet.
    #[inline(always)]
    pub(super) fn packet(&self) -> &Packet {
        debug_assert!(!self.slot.is_null(), "only gathered packets are read, not the rest of the list");
        // SAFETY: the slot holds the packet while the switch forwards it, see `slot`.
        unsafe { &*self.slot }
    }

    /// Its SACK blocks.
    #[inline(always)]
    pub(super) fn extra(&self) -> Option<&Extra> {
        debug_assert!(!self.slot.is_null(), "as for `packet`");
        // SAFETY: as in `packet`.
        unsafe { Ring::extra_behind(self.slot) }
    }

    #[inline(always)]
    pub(super) fn to(&self) -> PortId {
        PortId::new(self.key as u32 & ((1 << PORT_BITS) - 1))
    }

    /// Time since the start of the window.
    #[inline(always)]
    pub(super) fn offset(&self) -> Time {
        Time(self.key >> PORT_BITS)
    }
}

pub(super) const NO_PACKET: GatheredPacket = GatheredPacket { key: 0, slot: std::ptr::null(), last_arrival: Time::ZERO };

/// Tie-breaking rule for packets that reach a switch at the same instant. Equal rates and exact times make ties common. A fixed order, such as by
/// port, would give every free place in a full queue to one sender (phase effects, Floyd and Jacobson 1992).
///
/// The link that has been idle for longest comes first, as with a round-robin arbiter. A sender that sends one packet more than its link carries
/// loses that packet, because it arrives directly after another of its packets, and other senders lose nothing.
///
/// Links with the same previous arrival are ordered by a hash of connection and time. The hash uses the high bits of the time only: two senders that
/// transmit back to back keep their order in every packet time until their clocks have drifted apart.
///
/// `ties = "index"` is such a fixed order, by connection, for scenarios that follow a simulator with one event list. It needs no random key.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreaker(Option<NonZeroU64>);

/// Time for which links with equal previous arrivals keep their order: 2^33 ps, 9 ms. Our choice: longer than a burst, and shorter than the 120 ms in
/// which clocks that differ by 100 ppm drift apart by one packet time at 1 Gbps.
const COHERENT: u32 = 33;

impl TieBreaker {
    /// Creates the rule for a run with this seed.
    pub(super) fn new(rule: Ties, seed: u64) -> TieBreaker {
        TieBreaker(match rule {
            Ties::Drawn => NonZeroU64::new(RngStream::Ties.stream(seed, &[]).next_u64().max(1)),
            Ties::Index => None,
        })
    }

    /// Sort key among packets with equal time and equal previous arrival.
    fn tie_key(self, m: &GatheredPacket) -> u64 {
        let p = m.packet();
        // All packets of one direction of a connection come through one port, so the flow identifies the port too.
        let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
        match self.0 {
            Some(drawn) => mix(mix(flow ^ drawn.get()) ^ (p.arrival.0 >> COHERENT)),
            None => flow,
        }
    }

    /// Previous arrival on the link of a packet, with the resolution of the rule.
    fn last_arrival(self, m: &GatheredPacket) -> Time {
        if self.0.is_some() { m.last_arrival } else { Time::ZERO }
    }

    /// Compares two packets of the same time.
    #[inline]
    fn order(self, a: &GatheredPacket, b: &GatheredPacket) -> Ordering {
        self.last_arrival(a).cmp(&self.last_arrival(b)).then_with(|| self.tie_key(a).cmp(&self.tie_key(b)))
    }

    /// Moves the packets from `first` to before `place` up by one place if they have the key of `moved` and sort after it. Returns the place that
    /// becomes free.
    ///
    /// # Safety
    /// Both pointers are in one slice, in which `place` is free.
    #[cold]
    #[inline(never)]
    unsafe fn shift_tied(
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

/// Sorts gathered packets, with scratch memory that is reused.
#[derive(Default)]
pub(super) struct ArrivalSorter {
    /// Ends of the runs that are in order already: at least the packets of each link.
    runs: Vec<usize>,
    scratch: Vec<GatheredPacket>,
    /// First place of each bucket.
    bucket_starts: Vec<u32>,
}

impl ArrivalSorter {
    /// Sorts by time, and by the tie-breaking rule among packets of the same time and port. Packets for different ports at the same time are in the
    /// order of ports, on which nothing depends. In a window a node gets few packets, mostly in order already.
    #[inline(always)]
    pub(super) fn sort(&mut self, packets: &mut [GatheredPacket], window: Time, ties: TieBreaker) {
        if packets.len() > FEW {
            return self.sort_many(packets, window, ties);
        }
        if packets.len() > 1 {
            sort_few(packets, ties);
        }
    }

    /// As `sort`, for long lists. Packets are mostly spread evenly over the window, so that sorting into as many time buckets leaves only neighbors
    /// out of order. Otherwise sorted runs are merged; tie-breaking keys are computed only for equal sort keys.
    #[inline(never)]
    fn sort_many(&mut self, packets: &mut [GatheredPacket], window: Time, ties: TieBreaker) {
        if self.bucket(packets, window) {
            sort_few(packets, ties);
            return;
        }
        self.merge_runs(packets);
        for tied in packets.chunk_by_mut(|a, b| a.key == b.key).filter(|run| run.len() > 1) {
            sort_tied(tied, ties);
        }
    }

    /// Sorts packets into buckets of time. Returns false and does nothing if a bucket would hold more than a few.
    fn bucket(&mut self, packets: &mut [GatheredPacket], window: Time) -> bool {
        let parts = packets.len().next_power_of_two();
        let bits = PORT_BITS + u64::BITS - (window.0 - 1).leading_zeros();
        let part_of = |m: &GatheredPacket| (m.key >> bits.saturating_sub(parts.trailing_zeros())) as usize;
        let (bucket_starts, bucketed) = (&mut self.bucket_starts, &mut self.scratch);
        bucket_starts.clear();
        bucket_starts.resize(parts, 0);
        for m in &*packets {
            debug_assert!(m.offset() < window);
            // SAFETY: times are shorter than the window, which the number of bits holds.
            unsafe { *bucket_starts.get_unchecked_mut(part_of(m)) += 1 };
        }
        let (mut sum, mut most) = (0, 0);
        for begin in &mut *bucket_starts {
            most = most.max(*begin);
            sum += std::mem::replace(begin, sum);
        }
        if most > FEW as u32 {
            return false;
        }
        if bucketed.len() < packets.len() {
            bucketed.resize(packets.len(), NO_PACKET);
        }
        for m in &*packets {
            // SAFETY: as above; each packet has the next place of its bucket.
            unsafe {
                let place = bucket_starts.get_unchecked_mut(part_of(m));
                *bucketed.get_unchecked_mut(*place as usize) = *m;
                *place += 1;
            }
        }
        let count = packets.len();
        packets.copy_from_slice(&bucketed[..count]);
        true
    }

    /// Sorts by key, by merging neighboring runs until one is left. There are few runs, because each link brings its packets in order. (The
    /// library's sort takes 30 instructions more per transmission in the benchmark case lossy: 572 instead of 542.)
    fn merge_runs(&mut self, packets: &mut [GatheredPacket]) {
        let runs = &mut self.runs;
        runs.clear();
        runs.extend(packets.windows(2).enumerate().filter(|(_, w)| w[1].key < w[0].key).map(|(i, _)| i + 1));
        runs.push(packets.len());
        if self.scratch.len() < packets.len() {
            self.scratch.resize(packets.len(), NO_PACKET);
        }
        let (mut from, mut to) = (&mut *packets, &mut self.scratch[..]);
        let mut in_scratch = false;
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
            in_scratch = !in_scratch;
        }
        if in_scratch {
            let count = to.len();
            to.copy_from_slice(&from[..count]);
        }
    }
}

/// Sorts a non-empty list by insertion. Out of line and by pointers, so that its state stays in registers.
#[inline(never)]
fn sort_few(packets: &mut [GatheredPacket], ties: TieBreaker) {
    let Range { start: first, end } = packets.as_mut_ptr_range();
    // SAFETY: `first` < `place` < `next` <= `end` wherever memory before `place` is read, in a slice that this function owns.
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
                // A copy, so that `moved` need not be in memory.
                place = ties.shift_tied(first, place, &{ moved });
            }
            *place = moved;
        }
    }
}

/// Sorts packets of one key by the tie-breaking rule. Each tie key is computed once and stored in place of the sort key: 5 instructions less per
/// transmission in the benchmark case s3, where 40 senders start at once.
#[inline(never)]
fn sort_tied(tied: &mut [GatheredPacket], ties: TieBreaker) {
    let key = tied[0].key;
    for m in &mut *tied {
        m.key = ties.tie_key(m);
    }
    // No two keys are equal: packets of one connection on one link have different times. Nothing is allocated.
    tied.sort_unstable_by_key(|m| (ties.last_arrival(m), m.key));
    for m in &mut *tied {
        m.key = key;
    }
}

/// Merges two non-empty runs; of equal keys those of `a` come first. Without branches, because the order cannot be predicted.
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

/// Sorts by time, and by the tie-breaking rule among all packets of the same time: for a switch whose ports share memory.
pub(super) fn sort_across_ports(packets: &mut [GatheredPacket], ties: TieBreaker) {
    packets.sort_by(|a, b| a.offset().cmp(&b.offset()).then_with(|| ties.order(a, b)));
}

/// Doubles the capacity of a full list.
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
    use crate::sequences::each_sequence;
    use forebay_types::Rng;

    /// Packets of `links` links, each in order, with many equal times.
    fn gathered(rng: &mut Rng, links: u64, packets: &[Packet]) -> Vec<GatheredPacket> {
        let mut all = Vec::new();
        for link in 0..links {
            let mut after = 0;
            let (count, mut last_arrival) = (rng.below(9), link * rng.below(2));
            for _ in 0..count {
                after += rng.below(3);
                let key = after << PORT_BITS | rng.below(3);
                all.push(GatheredPacket { key, slot: &raw const packets[all.len()], last_arrival: Time(last_arrival) });
                last_arrival = 100 + after;
            }
        }
        all
    }

    #[test]
    fn packets_are_sorted_with_ties() {
        let mut rng = Rng::stream(4, &[]);
        let packets: Vec<Packet> =
            (0..400).map(|i| Packet { conn: forebay_types::ConnSlot::new(i), ..Packet::default() }).collect();
        let mut sorter = ArrivalSorter::default();
        for round in 0..2_000 {
            let ties = TieBreaker::new([Ties::Drawn, Ties::Index][round as usize / 2 % 2], 9);
            let mut packets = gathered(&mut rng, 1 + round % 40, &packets);
            let mut expected = packets.clone();
            expected.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| ties.order(a, b)));
            sorter.sort(&mut packets, Time([20, 1 << 39][round as usize % 2]), ties);
            let places = |list: &[GatheredPacket]| list.iter().map(|h| h.slot).collect::<Vec<_>>();
            assert_eq!(places(&packets), places(&expected), "round {round}");
        }
    }

    /// All sets of six packets at three times, of links with one of two previous arrivals: sorted as by the standard library, with both rules for ties.
    #[test]
    fn exhaustive_packets_are_sorted() {
        let packets: Vec<Packet> =
            (0..6).map(|i| Packet { conn: forebay_types::ConnSlot::new(i), ..Packet::default() }).collect();
        let mut sorter = ArrivalSorter::default();
        for ties in [Ties::Drawn, Ties::Index].map(|rule| TieBreaker::new(rule, 9)) {
            each_sequence(6, 6, |word| {
                let gathered = |(i, letter): (usize, &u8)| GatheredPacket {
                    key: u64::from(letter % 3) << PORT_BITS,
                    slot: &raw const packets[i],
                    last_arrival: Time(u64::from(letter / 3)),
                };
                let mut sorted: Vec<GatheredPacket> = word.iter().enumerate().map(gathered).collect();
                let mut expected = sorted.clone();
                expected.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| ties.order(a, b)));
                sorter.sort(&mut sorted, Time(20), ties);
                assert!(sorted.iter().map(|p| p.slot).eq(expected.iter().map(|p| p.slot)), "{word:?}");
            });
        }
    }
}
