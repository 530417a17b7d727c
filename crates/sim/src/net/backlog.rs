//! The packets that wait at a port with a buffered discipline, which knows them by their handles.

use super::packet::{Extra, Packet, flag};
use forebay_queues::{Arrival, BufferedDiscipline, Handle};
use forebay_units::Time;

/// The backlog of a port.
pub struct Backlog {
    pub(super) discipline: BufferedDiscipline,
    pub(super) slab: Slab,
}

/// The packets of a backlog by handle. Their `arrival` is the time since when they count in the statistics.
#[derive(Default)]
pub(super) struct Slab {
    packets: Vec<Packet>,
    /// [`LIVE`] and [`BEFORE`], of each.
    states: Vec<u8>,
    /// What a packet with [`flag::EXT`] carries besides; no longer than it had to be.
    extras: Vec<Option<Extra>>,
    unused: Vec<Handle>,
    /// Wire bytes of those that are held.
    bytes: u64,
}

/// There is such a packet.
const LIVE: u8 = 1;
/// It was counted as sent before the end of the warm-up.
const BEFORE: u8 = 2;

/// What disciplines may know of a packet.
pub(super) fn facts(p: &Packet) -> Arrival {
    // A five-tuple is a connection slot, its generation and the direction.
    let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
    Arrival { wire: u32::from(p.wire), ecn: p.ecn(), class: p.class(), rank: p.rank(), flow }
}

impl Slab {
    /// Takes in a packet that entered at `entered`.
    #[inline]
    pub(super) fn insert(&mut self, packet: &Packet, extra: Option<&Extra>, entered: Time) -> Handle {
        let packet = Packet { arrival: entered, ..*packet };
        self.bytes += u64::from(packet.wire);
        let handle = match self.unused.pop() {
            Some(handle) => {
                self.packets[handle.0 as usize] = packet;
                self.states[handle.0 as usize] = LIVE;
                handle
            }
            None => {
                self.packets.push(packet);
                self.states.push(LIVE);
                Handle(self.packets.len() as u32 - 1)
            }
        };
        if extra.is_some() {
            self.keep(handle, extra);
        }
        handle
    }

    #[inline(never)]
    fn keep(&mut self, handle: Handle, extra: Option<&Extra>) {
        if self.extras.len() <= handle.0 as usize {
            self.extras.resize(handle.0 as usize + 1, None);
        }
        self.extras[handle.0 as usize] = extra.copied();
    }

    /// What a packet that is held, or was given away last, carries besides.
    #[inline]
    pub(super) fn extra(&self, handle: Handle, packet: &Packet) -> Option<&Extra> {
        if packet.has(flag::EXT) { self.extras.get(handle.0 as usize)?.as_ref() } else { None }
    }

    /// Gives a packet away; and whether it was counted as sent before the end of the warm-up.
    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) -> (Packet, bool) {
        self.unused.push(handle);
        let state = std::mem::take(&mut self.states[handle.0 as usize]);
        debug_assert!(state & LIVE != 0);
        let packet = self.packets[handle.0 as usize];
        self.bytes -= u64::from(packet.wire);
        (packet, state & BEFORE != 0)
    }

    /// The packet of a handle.
    pub(super) fn packet(&mut self, handle: Handle) -> &mut Packet {
        &mut self.packets[handle.0 as usize]
    }

    /// All that are held, and whether each was counted as sent before the end of the warm-up.
    pub(super) fn live(&self) -> impl Iterator<Item = (&Packet, bool)> {
        self.packets.iter().zip(&self.states).filter(|(_, state)| **state & LIVE != 0).map(|(p, state)| (p, state & BEFORE != 0))
    }
}

impl Backlog {
    pub(super) fn new(discipline: BufferedDiscipline) -> Backlog {
        Backlog { discipline, slab: Slab::default() }
    }

    /// Its packets, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.slab.live().map(|(packet, _)| packet)
    }

    /// Their wire bytes.
    pub fn bytes(&self) -> u64 {
        self.slab.bytes
    }

    /// Time that they have waited up to `now`, from where it counts on, ps; from here on it counts from `now`.
    pub(super) fn settle(&mut self, now: Time) -> u128 {
        let mut waited = 0;
        for (packet, _) in self.slab.packets.iter_mut().zip(&self.slab.states).filter(|(_, state)| **state & LIVE != 0) {
            waited += u128::from((now - packet.arrival).0);
            packet.arrival = now;
        }
        waited
    }

    /// From here on, what is there counts as sent before.
    pub(super) fn restart(&mut self) {
        self.slab.states.iter_mut().filter(|state| **state & LIVE != 0).for_each(|state| *state |= BEFORE);
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        debug_assert_eq!(self.discipline.len(), self.slab.packets.len() - self.slab.unused.len());
        self.slab.packets.len() == self.slab.unused.len()
    }
}
