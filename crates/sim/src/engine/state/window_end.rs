//! The end of a window: deferred effects are applied, and connections are closed and opened.

use super::SimState;
use crate::engine::partition_state::DeferredEffect;
use forebay_types::ConnSlot;

impl SimState {
    /// Applies the effects of the window in the order of the hosts that caused them, which does not depend on the order of execution. Then prepares
    /// the requested connections.
    #[inline]
    pub(in crate::engine) fn end_window(&mut self) {
        self.set_running(None);
        if self.partition.has_effects() {
            self.apply_window();
        }
    }

    #[inline(never)]
    fn apply_window(&mut self) {
        self.count_drops();
        self.apply_effects();
        self.open_requested();
    }

    fn apply_effects(&mut self) {
        let mut list = self.partition.take_effects();
        list.sort_by_key(|h| h.0);
        for (_, effect) in list.drain(..) {
            match effect {
                DeferredEffect::Timer { host, time, order, wake } => {
                    debug_assert!(time >= self.partition.calendar.end, "effects on another host begin in the next window");
                    if self.remote.is_local(host) {
                        self.hosts[host].add(time, order, wake);
                    }
                    self.partition.calendar.mark(host, time);
                }
                DeferredEffect::Expect { conn, end, query, .. } if self.remote.is_local(self.connections.get(conn).dst) => {
                    let (incoming, receiver) = self.connections.receiving_half(conn);
                    incoming.expect(receiver.deliver_at_mut(), end, query);
                    self.note_written(conn, end);
                }
                DeferredEffect::Stopped { conn, written } => self.note_written(conn, written),
                DeferredEffect::Delivered { conn, time } if self.remote.is_local(self.connections.get(conn).src) => {
                    self.connections.outgoing_mut(conn).note_delivered(time);
                }
                DeferredEffect::Row { conn, row, first } => self.complete_row(conn, row, first),
                DeferredEffect::LateAck { conn, time, held } if self.remote.is_local(self.connections.get(conn).src) => {
                    self.note_late_ack(conn, time, held);
                }
                DeferredEffect::Closed { conn, written } => self.close(conn, written),
                DeferredEffect::Expect { .. } | DeferredEffect::Delivered { .. } | DeferredEffect::LateAck { .. } => {}
            }
        }
        self.partition.reuse(list);
    }

    /// Sets the bytes written to `conn`, whose sender is remote.
    fn note_written(&mut self, conn: ConnSlot, written: u64) {
        if !self.remote.is_local(self.connections.get(conn).src) {
            self.connections.sender_mut(conn).set_written(written);
        }
    }

    /// Counts dropped packets for their connections.
    #[inline]
    pub(super) fn count_drops(&mut self) {
        while let Some(d) = self.partition.dropped.pop() {
            self.connections.count_drop(d.conn, d.generation);
        }
    }
}
