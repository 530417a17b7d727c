//! The end of a window: what hosts did to others takes effect, and slots are given back and handed out.

use super::Core;
use crate::engine::lane::Handover;
use crate::net::generation::Generation;
use forebay_experiment::transport::Metrics;
use forebay_units::{ConnSlot, NodeId};
use std::sync::PoisonError;

impl Core {
    /// The window is over: what hosts did to others takes effect, in the order of the hosts that did it, which does not depend on who ran
    /// first. Then the connections that were asked for are prepared.
    #[inline]
    pub(in crate::engine) fn end_window(&mut self) {
        self.run_by(None);
        if self.lane.waits() {
            self.settle_window();
        }
    }

    #[inline(never)]
    fn settle_window(&mut self) {
        self.settle_drops();
        self.apply_handovers();
        self.grant();
    }

    fn apply_handovers(&mut self) {
        let mut list = self.lane.take_handovers();
        list.sort_by_key(|h| h.0);
        for (_, what) in list.drain(..) {
            match what {
                Handover::Timer { host, time, order, wake } => {
                    debug_assert!(time >= self.lane.wheel.end, "a host affects another one in the next window at the earliest");
                    if self.holds(host) {
                        self.hosts[host].add(time, order, wake);
                    }
                    self.lane.wheel.mark(host, time);
                }
                Handover::Expect { conn, end, query, .. } if self.holds(self.streams[conn].dst) => {
                    self.incoming[conn].expect(&mut self.receivers[conn].deliver_at, end, query);
                    self.know_written(conn, end);
                }
                Handover::Stopped { conn, written } => self.know_written(conn, written),
                Handover::Delivered { conn, time } if self.holds(self.streams[conn].src) => {
                    self.outgoing[conn].note_delivered(time);
                }
                Handover::Row { conn, row, first } => self.complete_row(conn, row, first),
                Handover::LateAck { conn, time, held } if self.holds(self.streams[conn].src) => {
                    self.note_late_ack(conn, time, held);
                }
                Handover::Closed { conn, written } => self.close(conn, written),
                Handover::Expect { .. } | Handover::Delivered { .. } | Handover::LateAck { .. } => {}
            }
        }
        self.lane.take_back(list);
    }

    /// So much has been written to `conn`, as its sender knows where it is here.
    fn know_written(&mut self, conn: ConnSlot, written: u64) {
        if !self.holds(self.streams[conn].src) {
            self.senders[conn].set_written(written);
        }
    }

    /// Prepares the connections that were asked for in an order that does not depend on who asked first.
    fn grant(&mut self) {
        let mut asked = self.lane.take_asked();
        asked.sort_by_key(|(time, spec)| (*time, spec.src, spec.app, spec.tag));
        for (time, spec) in asked {
            self.connect(time, spec);
        }
    }

    /// The sender of `conn` at host `node` has ended. Its receiver, which is another host's, lives on until the end of the window: what was
    /// sent twice and reaches it before is answered, as a host does that still has the connection. The slot is then given back.
    #[inline(never)]
    pub(super) fn end_sender(&mut self, conn: ConnSlot, node: NodeId) {
        self.senders[conn].retire();
        self.lane.hand_over(node, Handover::Closed { conn, written: self.senders[conn].written() });
    }

    /// The connection, to which so much was `written`, has ended; its slot can be used again. What is still under way for it will be recognised by its
    /// generation. Each process books what its own hosts know of it.
    pub(super) fn close(&mut self, conn: ConnSlot, written: u64) {
        self.leave_window_shim(conn);
        let (sends, receives) = (self.holds(self.streams[conn].src), self.holds(self.streams[conn].dst));
        let (sender, receiver, stream) = (&self.senders[conn], &self.receivers[conn], &mut self.streams[conn]);
        let c = &self.tcp[sender.group()];
        if c.metrics != Metrics::Off && sends {
            self.paths.write().unwrap_or_else(PoisonError::into_inner).remember((stream.src, stream.dst), c, sender);
        }
        assert!(
            (!sends || sender.all_acked()) && (!receives || receiver.delivered() == written),
            "conservation: a connection closed before its bytes arrived"
        );
        let shim = self.endpoint_shims.balance(sender.group(), conn);
        // An endpoint that is elsewhere has sent and received nothing here.
        // A packet that the shim still holds goes with its entry.
        let sent = sender.balance().wrapping_add(receiver.balance).wrapping_add(shim.sent).wrapping_sub(shim.taken + shim.held);
        self.ended.book((stream.sum, sender.group()), if receives { written } else { 0 }, (sent, stream.dropped));
        (stream.live, stream.job) = (false, None);
        self.generations[conn] = Generation::RETIRED;
        self.slots.give_back(conn);
    }

    /// Books drops to their connections.
    #[inline]
    pub(super) fn settle_drops(&mut self) {
        while let Some(d) = self.lane.dropped.pop() {
            let s = &mut self.streams[d.conn];
            if s.live && s.generation == d.generation {
                s.dropped += 1;
            } else {
                self.ended.drop_one();
            }
        }
    }
}
