//! The packets that wait at a port with a buffered discipline, which knows them by their handles.

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

/// The packets of a backlog by handle. Their `arrival` is the time since when they count in the statistics.
pub(super) struct Slab {
    packets: Vec<Packet>,
    /// The first place that is not in use: there is always one. Each of them has the next one in `seq`, or [`NONE`].
    unused: u32,
    /// How many are in use.
    held: u32,
    /// By handle: whether it was counted as sent before the end of the warm-up. Those behind its end were not.
    before: Vec<bool>,
    /// What a packet with [`flag::EXT`] carries besides; no longer than it had to be.
    extras: Vec<Option<Extra>>,
}

/// What disciplines may know of a packet.
#[inline(always)]
pub(super) fn facts(p: &Packet) -> Arrival {
    // A five-tuple is a connection slot, its generation and the direction.
    let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
    Arrival { wire: u32::from(p.wire), ecn: p.ecn(), class: p.class(), rank: p.rank(), flow }
}

impl Slab {
    /// None in use.
    fn new() -> Slab {
        let packets = vec![Packet { seq: NONE, ..Packet::default() }];
        Slab { packets, unused: 0, held: 0, before: Vec::new(), extras: Vec::new() }
    }

    /// The handle of the packet that is taken in next.
    #[inline]
    pub(super) fn next(&self) -> Handle {
        Handle(self.unused)
    }

    /// As [`Slab::insert`], of a packet that carries nothing besides, if that leaves a place for the next one. Otherwise nothing is done.
    #[inline(always)]
    pub(super) fn insert_plain(&mut self, packet: &Packet, entered: Time) -> bool {
        debug_assert!(!packet.has(flag::EXT));
        let place = self.packet_mut(self.next());
        let unused = place.seq;
        if unused == NONE {
            return false;
        }
        *place = *packet;
        place.arrival = entered;
        self.unused = unused;
        self.held += 1;
        true
    }

    /// Takes in a packet that entered at some time, under the handle that is next.
    #[inline]
    pub(super) fn insert(&mut self, packet: &Packet, extra: Option<&Extra>, entered: Time) {
        let handle = self.next();
        let place = self.packet_mut(handle);
        let unused = place.seq;
        *place = *packet;
        place.arrival = entered;
        self.unused = unused;
        self.held += 1;
        if unused == NONE {
            self.add_place();
        }
        if extra.is_some() {
            self.keep(handle, extra);
        }
    }

    /// All places are in use.
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

    /// What a packet that is held carries besides.
    #[inline]
    pub(super) fn extra(&self, handle: Handle, packet: &Packet) -> Option<&Extra> {
        if packet.has(flag::EXT) { self.extras.get(handle.0 as usize)?.as_ref() } else { None }
    }

    /// Gives a packet away; and whether it was counted as sent before the end of the warm-up.
    pub(super) fn remove(&mut self, handle: Handle) -> (Packet, bool) {
        let packet = *self.packet(handle);
        (packet, self.release(handle))
    }

    /// Forgets a packet. Whether it was counted as sent before the end of the warm-up.
    #[inline]
    pub(super) fn release(&mut self, handle: Handle) -> bool {
        self.packet_mut(handle).seq = self.unused;
        self.unused = handle.0;
        self.held -= 1;
        self.before.get_mut(handle.0 as usize).is_some_and(std::mem::take)
    }

    /// The packet of a handle. Release builds do not check that there is one: disciplines return the handles that they have got.
    #[inline]
    pub(super) fn packet(&self, handle: Handle) -> &Packet {
        debug_assert!((handle.0 as usize) < self.packets.len());
        // SAFETY: a handle is a place, and places are never removed.
        unsafe { self.packets.get_unchecked(handle.0 as usize) }
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        debug_assert!((handle.0 as usize) < self.packets.len());
        // SAFETY: as for `packet`.
        unsafe { self.packets.get_unchecked_mut(handle.0 as usize) }
    }

    /// Whether none are held.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// The handles of all that are held.
    fn handles(&self) -> impl Iterator<Item = Handle> + use<> {
        let mut held = vec![true; self.packets.len()];
        let mut next = self.unused;
        while next != NONE {
            held[next as usize] = false;
            next = self.packets[next as usize].seq;
        }
        held.into_iter().enumerate().filter(|(_, held)| *held).map(|(place, _)| Handle(place as u32))
    }

    /// All that are held, and whether each was counted as sent before the end of the warm-up.
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

    /// Time that they have waited up to `now`, from where it counts on, ps; from here on it counts from `now`.
    pub(super) fn settle(&mut self, now: Time) -> u128 {
        let mut waited = 0;
        for handle in self.slab.handles() {
            let packet = self.slab.packet_mut(handle);
            waited += u128::from((now - packet.arrival).0);
            packet.arrival = now;
        }
        waited
    }

    /// From here on, what is there counts as sent before.
    pub(super) fn restart(&mut self) {
        let mut before = vec![false; self.slab.packets.len()];
        self.slab.handles().for_each(|handle| before[handle.0 as usize] = true);
        self.slab.before = before;
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        debug_assert_eq!(self.discipline.len(), self.slab.held as usize);
        self.slab.is_empty()
    }
}
