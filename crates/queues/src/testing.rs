//! What tests of several disciplines share.

use crate::{Arrival, Effect, Found, QueueState, Room, Verdict, Waiter};

/// A busy port with this queue of 1500-byte packets and a buffer in packets.
pub(crate) fn found(queue: QueueState, buffer: u32) -> Found {
    let limit = QueueState { packets: buffer, bytes: u64::MAX };
    Found { now: 0, queue, limit, memory: u64::MAX, serving: 1500 * u32::from(queue.packets > 0), idle_since: 0 }
}

/// A port that never transmits anything by itself, around a waiting room: everything but time.
pub(crate) struct Port {
    pub room: Room,
    pub buffer: QueueState,
    /// Packets in the room by handle.
    pub waiting: Vec<Waiter>,
    pub serving: Option<Waiter>,
    next: u32,
    pub effects: Vec<Effect>,
}

impl Port {
    pub fn new(room: Room, buffer: QueueState) -> Port {
        Port { room, buffer, waiting: Vec::new(), serving: None, next: 0, effects: Vec::new() }
    }

    pub fn found(&self) -> Found {
        let mut queue = QueueState::default();
        self.waiting.iter().chain(&self.serving).for_each(|w| queue.add(w.packet.wire));
        let serving = self.serving.map_or(0, |w| w.packet.wire);
        Found { now: 0, queue, limit: self.buffer, memory: u64::MAX, serving, idle_since: 0 }
    }

    /// A packet arrives; its handle is the number of the arrival.
    pub fn arrive(&mut self, packet: Arrival) -> Verdict {
        let handle = self.next;
        self.next += 1;
        self.effects.clear();
        let found = self.found();
        let verdict = self.room.on_arrival(&found, &packet, &mut self.effects);
        for e in &self.effects {
            if let Effect::Drop { handle, .. } = e {
                let place = self.waiting.iter().position(|w| w.handle == *handle).expect("a waiting packet is dropped");
                self.waiting.remove(place);
            }
        }
        if !matches!(verdict, Verdict::Drop(_)) {
            let waiter = Waiter { handle, packet };
            self.room.push(waiter);
            self.waiting.push(waiter);
        }
        assert_eq!(self.room.len(), self.waiting.len());
        verdict
    }

    /// The transmitter takes the next packet.
    pub fn serve(&mut self) -> Option<u32> {
        self.serving = self.room.pop();
        let handle = self.serving?.handle;
        self.waiting.retain(|w| w.handle != handle);
        Some(handle)
    }
}

/// An ECN-capable packet.
pub(crate) fn packet(wire: u32, class: u8, rank: u16, flow: u64) -> Arrival {
    Arrival { wire, ect: true, class, rank, flow }
}
