//! The end of a window: what hosts did to others takes effect, and slots are given back and handed out.

use super::SimState;
use crate::engine::partition::state::DeferredEffect;
use forebay_units::ConnSlot;

impl SimState {
    /// The window is over: what hosts did to others takes effect, in the order of the hosts that did it, which does not depend on who ran
    /// first. Then the connections that were asked for are prepared.
    #[inline]
    pub(in crate::engine) fn end_window(&mut self) {
        self.set_running(None);
        if self.partition.waits() {
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
        for (_, what) in list.drain(..) {
            match what {
                DeferredEffect::Timer { host, time, order, wake } => {
                    debug_assert!(
                        time >= self.partition.calendar.end,
                        "a host affects another one in the next window at the earliest"
                    );
                    if self.remote.is_local(host) {
                        self.hosts[host].add(time, order, wake);
                    }
                    self.partition.calendar.mark(host, time);
                }
                DeferredEffect::Expect { conn, end, query, .. } if self.remote.is_local(self.connections.get(conn).dst) => {
                    let (incoming, receiver) = self.connections.receiving_half(conn);
                    incoming.expect(&mut receiver.deliver_at, end, query);
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
        self.partition.take_back(list);
    }

    /// So much has been written to `conn`, as its sender knows where it is here.
    fn note_written(&mut self, conn: ConnSlot, written: u64) {
        if !self.remote.is_local(self.connections.get(conn).src) {
            self.connections.sender_mut(conn).written = written;
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
