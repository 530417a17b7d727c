//! Ports whose order, or content, can change after arrival: packets wait in a room, and which one goes next is decided when the
//! transmitter becomes free. From then on it is a packet like those of other ports: in the ring, with its arrival time.
//!
//! Decisions are made late, but not differently: before an arrival, all transmissions that start before it ([`Port::serve`]); at the end
//! of the node's window, all that start before its end. What starts at the instant of an arrival starts after it (`ARCHITECTURE.md`,
//! two decisions about time). A packet that starts in this window arrives after its end, as the window is not longer than the delay.

use super::packet::{Packet, SackBlocks, ecn, flag};
use super::port::Port;
use forebay_queues::{Arrival, DropReason, Effect, Room, Verdict, Waiter};

/// Who waits at a port.
pub struct WaitingRoom {
    discipline: Room,
    /// By handle.
    held: Vec<Held>,
    /// Handles that nobody has.
    free: Vec<u32>,
    /// Kept for its memory.
    effects: Vec<Effect>,
}

/// A packet that waits; its `arrival` is the time since when it counts in the statistics.
#[derive(Clone, Copy)]
struct Held {
    packet: Packet,
    sack: SackBlocks,
    live: bool,
    /// It was counted as sent before the end of the warm-up.
    before: bool,
}

/// What disciplines may know of a packet.
pub(super) fn facts(p: &Packet) -> Arrival {
    // A five-tuple is a connection slot, its generation and the direction.
    let flow = u64::from(p.conn) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
    Arrival { wire: u32::from(p.wire), ect: p.ecn() != ecn::NOT_ECT, class: p.class(), rank: p.rank(), flow }
}

impl WaitingRoom {
    pub(super) fn new(discipline: Room) -> WaitingRoom {
        WaitingRoom { discipline, held: Vec::new(), free: Vec::new(), effects: Vec::new() }
    }

    fn take_in(&mut self, packet: &Packet, sack: Option<&SackBlocks>, entered: u64, meta: u8, facts: Arrival) {
        let packet = Packet { arrival: entered, meta: packet.meta | meta, ..*packet };
        let held = Held { packet, sack: sack.copied().unwrap_or_default(), live: true, before: false };
        let handle = self.free.pop().unwrap_or_else(|| {
            self.held.push(held);
            self.held.len() as u32 - 1
        });
        self.held[handle as usize] = held;
        self.discipline.push(Waiter { handle, packet: facts });
    }

    fn let_go(&mut self, handle: u32) -> Held {
        self.free.push(handle);
        let held = &mut self.held[handle as usize];
        debug_assert!(held.live);
        held.live = false;
        *held
    }

    /// The packets that wait, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.held.iter().filter(|h| h.live).map(|h| &h.packet)
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.discipline.is_empty()
    }
}

impl Port {
    /// Makes the transmissions that start before `until`. Returns when the first of them arrives at the other end, if nothing was on
    /// the way there.
    pub fn serve(&mut self, until: u64) -> Option<u64> {
        let mut room = self.room.take()?;
        let mut news = None;
        while self.busy_until < until {
            let Some(next) = room.discipline.pop() else { break };
            let held = room.let_go(next.handle);
            news = news.or(self.transmit(self.busy_until, &held));
        }
        self.room = Some(room);
        news
    }

    /// When the next transmission starts, ps; `None` while nobody waits.
    pub fn next_start(&self) -> Option<u64> {
        self.room.as_ref().filter(|r| !r.is_empty()).map(|_| self.busy_until)
    }

    /// Puts a packet on the wire at `start`. Returns its arrival if nothing was on the way.
    fn transmit(&mut self, start: u64, held: &Held) -> Option<u64> {
        if !self.ring.has_room() {
            self.make_room(start);
        }
        let idle = self.ring.is_empty();
        let departure = start + self.tx(u64::from(held.packet.wire));
        self.busy_until = departure;
        let arrival = departure + self.delay;
        self.ring.push(&held.packet, arrival, 0, |_| {});
        if held.packet.has(flag::EXT) {
            self.ring.push_sack(&held.sack);
        }
        self.stats.sojourn += u128::from(departure - held.packet.arrival);
        idle.then_some(arrival)
    }

    /// Takes in or drops a packet that is at the port completely at `now`, after [`Port::serve`] up to then; `memory` is the most bytes
    /// the port may hold because of a shared memory. `lost` gets every packet that is dropped. Returns when the packet arrives at the
    /// other end, if it is sent at once and nothing was on the way.
    pub fn admit(
        &mut self,
        now: u64,
        packet: &Packet,
        sack: Option<&SackBlocks>,
        memory: u64,
        mut lost: impl FnMut(&Packet),
    ) -> Option<u64> {
        self.settle(now);
        self.record(now);
        let mut room = self.room.take()?;
        let (found, facts) = (self.found(now, memory), facts(packet));
        let blame = |r| if r == DropReason::Overflow && memory != u64::MAX { DropReason::SharedBuffer } else { r };
        room.effects.clear();
        let verdict = room.discipline.on_arrival(&found, &facts, &mut room.effects);
        for i in 0..room.effects.len() {
            match room.effects[i] {
                Effect::Mark { handle } => {
                    let p = &mut room.held[handle as usize].packet;
                    self.events.marked += u64::from(p.ecn() != ecn::CE);
                    p.meta |= ecn::CE;
                }
                Effect::Drop { handle, reason } => {
                    let held = room.let_go(handle);
                    self.evict(now, &held, blame(reason));
                    lost(&held.packet);
                }
            }
        }
        let mut news = None;
        match verdict {
            Verdict::Drop(reason) => {
                self.drop(blame(reason), u64::from(packet.wire));
                lost(packet);
            }
            Verdict::Accept | Verdict::Mark => {
                let mark = if verdict == Verdict::Mark { ecn::CE } else { 0 };
                self.events.marked += u64::from(mark != 0 && packet.ecn() != ecn::CE);
                self.count_in(u64::from(packet.wire));
                room.take_in(packet, sack, now, mark, facts);
                if self.busy_until < now {
                    // Idle, so nobody else waits: it is in service at once.
                    if let Some(next) = room.discipline.pop() {
                        let held = room.let_go(next.handle);
                        news = self.transmit(now, &held);
                    }
                }
            }
        }
        self.room = Some(room);
        news
    }

    fn count_in(&mut self, wire: u64) {
        self.queue.packets += 1;
        self.queue.bytes += wire;
        self.stats.sent_pkts += 1;
        self.stats.sent_bytes += wire;
        self.events.max_pkts = self.events.max_pkts.max(self.queue.packets);
    }

    /// Counts a packet that waited and will not be sent.
    fn evict(&mut self, now: u64, held: &Held, reason: DropReason) {
        let wire = u64::from(held.packet.wire);
        self.queue.packets -= 1;
        self.queue.bytes -= wire;
        self.stats.sojourn += u128::from(now - held.packet.arrival);
        if held.before {
            self.before -= 1;
        } else {
            self.stats.sent_pkts -= 1;
            self.stats.sent_bytes -= wire;
        }
        self.drop(reason, wire);
    }

    /// Books the waiting time up to `now`, from where it counts on.
    pub(super) fn close_room(&mut self, now: u64) {
        for held in self.room.iter_mut().flat_map(|r| r.held.iter_mut()).filter(|h| h.live) {
            self.stats.sojourn += u128::from(now - held.packet.arrival);
            held.packet.arrival = now;
        }
    }

    /// From here on, what waits counts as sent before.
    pub(super) fn restart_room(&mut self) {
        self.room.iter_mut().flat_map(|r| r.held.iter_mut()).for_each(|h| h.before = true);
    }
}
