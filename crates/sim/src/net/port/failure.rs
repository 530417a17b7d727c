//! Link failures and repairs at a port.

use super::transmit_ring::departure;
use super::{Port, QueueKind, Threshold, kind_of};
use crate::net::packet::Packet;
use forebay_queues::{Queue, QueueState};
use forebay_types::Time;

impl Port {
    /// Takes the link down at `at`, which is not before any event at this port: waiting packets and packets on the wire go to `lost`, and later ones
    /// are dropped until [`Port::join`].
    pub fn cut(&mut self, at: Time, mut lost: impl FnMut(&Packet)) {
        self.settle(at);
        self.flush_observer(at);
        let mut count = 0;
        let take = |port: &mut Port, p: &Packet, before: bool| {
            let wire = u64::from(p.wire);
            port.queue.packets -= 1;
            port.queue.bytes -= wire;
            port.events.cut_waiting += 1;
            port.events.cut_bytes += wire;
            if before || port.sent_pkts == 0 {
                port.before -= 1;
            } else {
                port.sent_pkts -= 1;
                port.sent_bytes -= wire;
            }
        };
        // The first packet that has not arrived by then. Packets before `departed` are on the wire; the others wait, the newest of them since the end
        // of the warm-up.
        let (mut first, tail) = (self.ring.head(), self.ring.tail());
        while first != tail && self.ring.packet(first).arrival < at {
            first = self.ring.next(first);
        }
        let in_backlog = self.backlog().map_or(0, |b| b.packets().count() as u64);
        let mut before = (u64::from(self.queue.packets) - in_backlog).saturating_sub(self.sent_pkts);
        let (mut position, mut waits) = (first, false);
        while position != tail {
            let p = *self.ring.packet(position);
            waits |= position == self.departed;
            if waits {
                let future = u128::from((p.arrival - self.delay).saturating_sub(at).0);
                self.set_sojourn(self.sojourn().saturating_sub(future));
                take(self, &p, before > 0);
                before = before.saturating_sub(1);
            } else {
                self.events.cut_flying += 1;
            }
            count += 1;
            lost(&p);
            position = self.ring.next(position);
        }
        self.cut_link(at, first);
        self.ring.cut(first);
        self.departed = first;
        let mut freed = Vec::new();
        if let Some(mut backlog) = self.backlog.take() {
            let waited = backlog.settle(at);
            self.set_sojourn(self.sojourn() + waited);
            for (packet, before) in backlog.slab.live() {
                freed.extend(departure(packet, at));
                take(self, packet, before);
                self.cut_waiting(at, packet);
                count += 1;
                lost(packet);
            }
        }
        self.reset_transmit_ring(at, freed);
        self.kind = QueueKind::Down(count);
        (self.busy_until, self.latest) = (self.busy_until.min(at), self.latest.min(at));
        self.threshold = Threshold::default();
        self.record(at);
    }

    /// Takes the link up with `queue`, which is in its initial state. Returns the number of packets that the failure has cost.
    pub fn join(&mut self, queue: Queue) -> u64 {
        let lost = self.lost();
        (self.fast_limit, self.step, self.kind, self.backlog) = kind_of(queue);
        if self.hooks.is_some() || self.transmit_ring.is_some() {
            (self.fast_limit, self.step) = (QueueState::default(), false);
        }
        self.update_threshold();
        if self.intercepted {
            self.intercept();
        }
        lost
    }

    /// Packets lost so far by the current failure.
    pub fn lost(&self) -> u64 {
        if let QueueKind::Down(lost) = self.kind { lost } else { 0 }
    }
}
