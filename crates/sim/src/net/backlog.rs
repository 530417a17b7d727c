//! The packets that wait at a port with a buffered discipline, which knows them by their handles.

use super::packet::{Extra, Packet, flag};
use forebay_queues::{Arrival, BufferedDiscipline, Handle};
use forebay_units::Time;

/// The backlog of a port.
pub struct Backlog {
    pub(super) discipline: BufferedDiscipline,
    pub(super) slab: Slab,
}

/// The packets of a backlog by handle.
#[derive(Default)]
pub(super) struct Slab {
    held: Vec<Held>,
    unused: Vec<Handle>,
    /// Wire bytes of those that are held.
    bytes: u64,
}

/// A packet of the backlog; its `arrival` is the time since when it counts in the statistics.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(crate) packet: Packet,
    pub(crate) extra: Option<Extra>,
    live: bool,
    /// It was counted as sent before the end of the warm-up.
    pub(crate) before: bool,
}

/// What disciplines may know of a packet.
pub(super) fn facts(p: &Packet) -> Arrival {
    // A five-tuple is a connection slot, its generation and the direction.
    let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
    Arrival { wire: u32::from(p.wire), ecn: p.ecn(), class: p.class(), rank: p.rank(), flow }
}

impl Slab {
    /// Takes in a packet that entered at `entered`.
    pub(super) fn insert(&mut self, packet: &Packet, extra: Option<&Extra>, entered: Time) -> Handle {
        let packet = Packet { arrival: entered, ..*packet };
        let held = Held { packet, extra: extra.copied(), live: true, before: false };
        self.bytes += u64::from(packet.wire);
        match self.unused.pop() {
            Some(handle) => {
                self.held[handle.0 as usize] = held;
                handle
            }
            None => {
                self.held.push(held);
                Handle(self.held.len() as u32 - 1)
            }
        }
    }

    /// Gives a packet away.
    pub(super) fn remove(&mut self, handle: Handle) -> Held {
        self.unused.push(handle);
        let held = &mut self.held[handle.0 as usize];
        debug_assert!(held.live);
        held.live = false;
        self.bytes -= u64::from(held.packet.wire);
        *held
    }

    /// The packet of a handle.
    pub(super) fn packet(&mut self, handle: Handle) -> &mut Packet {
        &mut self.held[handle.0 as usize].packet
    }

    /// All that are held.
    pub(super) fn live(&mut self) -> impl Iterator<Item = &mut Held> {
        self.held.iter_mut().filter(|h| h.live)
    }
}

impl Backlog {
    pub(super) fn new(discipline: BufferedDiscipline) -> Backlog {
        Backlog { discipline, slab: Slab::default() }
    }

    /// Its packets, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.slab.held.iter().filter(|h| h.live).map(|h| &h.packet)
    }

    /// Their wire bytes.
    pub fn bytes(&self) -> u64 {
        self.slab.bytes
    }

    /// Time that they have waited up to `now`, from where it counts on, ps; from here on it counts from `now`.
    pub(super) fn settle(&mut self, now: Time) -> u128 {
        let mut waited = 0;
        for held in self.slab.live() {
            waited += u128::from((now - held.packet.arrival).0);
            held.packet.arrival = now;
        }
        waited
    }

    /// From here on, what is there counts as sent before.
    pub(super) fn restart(&mut self) {
        self.slab.live().for_each(|h| h.before = true);
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        debug_assert_eq!(self.discipline.len(), self.slab.held.len() - self.slab.unused.len());
        self.slab.held.len() == self.slab.unused.len()
    }
}
