//! Packets that wait at a port with a buffered discipline, by their handles.

use super::packet::{Extra, Packet, flag};
use forebay_queues::{Arrival, BufferedDiscipline, Handle};
use forebay_types::Time;

/// The backlog of a port.
pub struct Backlog {
    pub(super) discipline: BufferedDiscipline,
    pub(super) slab: Slab,
}

/// No place.
const NONE: u32 = u32::MAX;

/// The packets of a backlog by handle. `arrival` is the time from which a packet counts in the statistics.
pub(super) struct Slab {
    packets: Vec<Packet>,
    /// The first unused place: there is always one. Each unused place has the next one in `seq`, or [`NONE`].
    unused: u32,
    /// Packets; a burst counts as one.
    stored: u32,
    /// True if the packet of a handle was counted as sent before the end of the warm-up. Packets behind the end of the list were not.
    before: Vec<bool>,
    /// SACK blocks of packets with [`flag::EXT`]; no longer than needed.
    extras: Vec<Option<Extra>>,
    /// Next segment of the same burst, or [`NONE`], by handle; no longer than needed.
    following: Vec<u32>,
    /// Delay of the departure by handle; no longer than needed.
    lates: Vec<Time>,
}

/// The facts about a packet that disciplines use.
#[inline(always)]
pub(super) fn facts(p: &Packet) -> Arrival {
    // A five-tuple is a connection slot, its generation and the direction.
    let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
    Arrival { wire: u32::from(p.wire), ecn: p.ecn(), class: p.class(), rank: p.rank(), flow }
}

impl Slab {
    /// Creates an empty slab.
    fn new() -> Slab {
        let packets = vec![Packet { seq: NONE, ..Packet::default() }];
        Slab { packets, unused: 0, stored: 0, before: Vec::new(), extras: Vec::new(), following: Vec::new(), lates: Vec::new() }
    }

    /// The handle of the next packet.
    #[inline]
    pub(super) fn next(&self) -> Handle {
        Handle(self.unused)
    }

    /// As [`Slab::insert`], for a packet without SACK blocks, if a place for the next packet is left. Otherwise nothing is done.
    #[inline(always)]
    pub(super) fn insert_fast(&mut self, packet: &Packet, entered: Time) -> bool {
        debug_assert!(!packet.has(flag::EXT));
        let place = self.packet_mut(self.next());
        let unused = place.seq;
        if unused == NONE {
            return false;
        }
        *place = *packet;
        place.arrival = entered;
        self.unused = unused;
        self.stored += 1;
        true
    }

    /// Stores a packet that entered at some time, under the next handle.
    #[inline]
    pub(super) fn insert(&mut self, packet: &Packet, extra: Option<&Extra>, entered: Time) {
        let handle = self.next();
        let place = self.packet_mut(handle);
        let unused = place.seq;
        *place = *packet;
        place.arrival = entered;
        self.unused = unused;
        self.stored += 1;
        if unused == NONE {
            self.add_place();
        }
        if extra.is_some() {
            self.keep(handle, extra);
        }
    }

    /// Adds a place when all are in use.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self) {
        self.unused = self.packets.len() as u32;
        self.packets.push(Packet { seq: NONE, ..Packet::default() });
    }

    #[inline(never)]
    fn keep(&mut self, handle: Handle, extra: Option<&Extra>) {
        if self.extras.len() <= handle.0 as usize {
            self.extras.resize(handle.0 as usize + 1, None);
        }
        self.extras[handle.0 as usize] = extra.copied();
    }

    /// SACK blocks of a stored packet.
    #[inline]
    pub(super) fn extra(&self, handle: Handle, packet: &Packet) -> Option<&Extra> {
        if packet.has(flag::EXT) { self.extras.get(handle.0 as usize)?.as_ref() } else { None }
    }

    /// As [`Slab::insert`], for the next segment of a burst, which follows `last`. Returns its handle.
    pub(super) fn append(&mut self, last: Handle, packet: &Packet, extra: Option<&Extra>, entered: Time) -> Handle {
        let handle = self.next();
        self.insert(packet, extra, entered);
        self.stored -= 1;
        let most = handle.0.max(last.0) as usize;
        if self.following.len() <= most {
            self.following.resize(most + 1, NONE);
        }
        self.following[last.0 as usize] = handle.0;
        handle
    }

    /// The next segment of the same burst.
    #[inline]
    pub(super) fn following(&self, handle: Handle) -> Option<Handle> {
        self.following.get(handle.0 as usize).filter(|next| **next != NONE).map(|next| Handle(*next))
    }

    /// Sets the delay of the departure of a stored packet.
    #[inline]
    pub(super) fn set_late(&mut self, handle: Handle, late: Time) {
        let place = handle.0 as usize;
        if late > Time::ZERO && self.lates.len() <= place {
            self.lates.resize(place + 1, Time::ZERO);
        }
        if let Some(value) = self.lates.get_mut(place) {
            *value = late;
        }
    }

    /// Delay of the departure of a stored packet.
    #[inline]
    pub(super) fn late(&self, handle: Handle) -> Time {
        self.lates.get(handle.0 as usize).copied().unwrap_or(Time::ZERO)
    }

    /// As [`Slab::release`], for a segment of a burst, `first` or not. Returns the next segment too.
    pub(super) fn release_segment(&mut self, handle: Handle, first: bool) -> (bool, Option<Handle>) {
        let next = self.following(handle);
        if next.is_some() {
            self.following[handle.0 as usize] = NONE;
        }
        self.stored += u32::from(!first);
        (self.release(handle), next)
    }

    /// Frees the place of a packet. Returns true if it was counted as sent before the end of the warm-up.
    #[inline]
    pub(super) fn release(&mut self, handle: Handle) -> bool {
        self.packet_mut(handle).seq = self.unused;
        self.unused = handle.0;
        self.stored -= 1;
        self.before.get_mut(handle.0 as usize).is_some_and(std::mem::take)
    }

    /// The packet of a handle. Release builds do not check the handle: disciplines return the handles that they were given.
    #[inline]
    pub(super) fn packet(&self, handle: Handle) -> &Packet {
        debug_assert!((handle.0 as usize) < self.packets.len());
        // SAFETY: a handle is a place, and places are never removed.
        unsafe { self.packets.get_unchecked(handle.0 as usize) }
    }

    /// The packet of a handle, to be changed.
    #[inline]
    pub(super) fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        debug_assert!((handle.0 as usize) < self.packets.len());
        // SAFETY: as for `packet`.
        unsafe { self.packets.get_unchecked_mut(handle.0 as usize) }
    }

    /// Returns true if no packet is stored.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.stored == 0
    }

    /// The handles of all stored packets.
    fn handles(&self) -> impl Iterator<Item = Handle> + use<> {
        let mut stored = vec![true; self.packets.len()];
        let mut next = self.unused;
        while next != NONE {
            stored[next as usize] = false;
            next = self.packets[next as usize].seq;
        }
        stored.into_iter().enumerate().filter(|(_, stored)| *stored).map(|(place, _)| Handle(place as u32))
    }

    /// All stored packets, each with true if it was counted as sent before the end of the warm-up.
    pub(super) fn live(&self) -> impl Iterator<Item = (&Packet, bool)> {
        self.handles().map(|handle| (self.packet(handle), self.before.get(handle.0 as usize).is_some_and(|before| *before)))
    }
}

impl Backlog {
    pub(super) fn new(discipline: BufferedDiscipline) -> Backlog {
        Backlog { discipline, slab: Slab::new() }
    }

    /// Its packets, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.slab.live().map(|(packet, _)| packet)
    }

    /// Total waiting time up to `now` since the packets began to count, ps; from here on they count from `now`.
    pub(super) fn settle(&mut self, now: Time) -> u128 {
        let mut waited = 0;
        for handle in self.slab.handles() {
            let packet = self.slab.packet_mut(handle);
            waited += u128::from((now - packet.arrival).0);
            packet.arrival = now;
        }
        waited
    }

    /// Marks all packets as sent before the end of the warm-up.
    pub(super) fn restart(&mut self) {
        let mut before = vec![false; self.slab.packets.len()];
        self.slab.handles().for_each(|handle| before[handle.0 as usize] = true);
        self.slab.before = before;
    }

    /// Returns true if the backlog is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        debug_assert_eq!(self.discipline.len(), self.slab.stored as usize);
        self.slab.is_empty()
    }
}
