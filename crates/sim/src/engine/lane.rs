//! What hosts produce while a window runs and what others may see of it at its end only. There is one lane now; threads will have one each.

use super::core::{Core, Notice, OpenSpec};
use super::hosts::Wake;
use forebay_units::{NodeId, QueryId};

/// Something that a host does to another one. It takes effect at the end of the window: nothing that it causes happens before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handover {
    /// A timer of `host`.
    Timer { host: NodeId, time: u64, order: u64, wake: Wake },
    /// The sender of `conn` has a message, which its receiver is to look out for.
    Expect { conn: u32, end: u64, query: Option<QueryId> },
    /// The receiver of `conn` had its next message completely at `time`.
    Delivered { conn: u32, time: u64 },
    /// The sender of `conn` has ended.
    Closed { conn: u32 },
}

/// What the hosts of one thread have produced in the current window.
#[derive(Default)]
pub(super) struct Lane {
    /// What applications are to be told after the current packet or timer.
    pub notices: Vec<Notice>,
    /// By the host that it comes from.
    handovers: Vec<(NodeId, Handover)>,
    /// Connections that applications asked for, and when they open.
    asked: Vec<(u64, OpenSpec)>,
    /// Messages begun, the stopped ones of endless flows among them, less those that are acknowledged.
    pub open: u64,
    /// Messages finished.
    pub done: u64,
    /// Packets that reached a host after their connection had ended.
    pub stale: u64,
}

impl Lane {
    /// Host `from` does this at the end of the window.
    #[inline]
    pub fn hand_over(&mut self, from: NodeId, what: Handover) {
        self.handovers.push((from, what));
    }

    /// An application asks for a connection that opens at `time`.
    pub fn ask(&mut self, time: u64, spec: OpenSpec) {
        self.asked.push((time, spec));
    }
}

impl Core {
    /// The window is over: what hosts did to others takes effect, in the order of the hosts that did it, which does not depend on who ran
    /// first. Then the connections that were asked for are prepared.
    #[inline]
    pub(super) fn end_window(&mut self) {
        self.run_by(None);
        if !self.fabric.dropped.is_empty() {
            self.settle_drops();
        }
        if !self.lane.handovers.is_empty() {
            self.apply_handovers();
        }
        if !self.lane.asked.is_empty() {
            self.grant();
        }
    }

    #[inline(never)]
    fn apply_handovers(&mut self) {
        let mut list = std::mem::take(&mut self.lane.handovers);
        list.sort_by_key(|h| h.0);
        for (_, what) in list.drain(..) {
            match what {
                Handover::Timer { host, time, order, wake } => {
                    debug_assert!(time >= self.fabric.wheel.end, "a host affects another one in the next window at the earliest");
                    self.hosts[host.get()].add(time, order, wake);
                    self.fabric.wheel.mark(host, time);
                }
                Handover::Expect { conn, end, query } => {
                    self.incoming[conn].expect(&mut self.receivers[conn].deliver_at, end, query);
                }
                Handover::Delivered { conn, time } => self.outgoing[conn].note_delivered(time),
                Handover::Closed { conn } => self.close(conn),
            }
        }
        self.lane.handovers = list;
    }

    /// Prepares the connections that were asked for in an order that does not depend on who asked first.
    #[inline(never)]
    fn grant(&mut self) {
        let mut asked = std::mem::take(&mut self.lane.asked);
        asked.sort_by_key(|(time, spec)| (*time, spec.src, spec.app, spec.tag));
        for (time, spec) in asked.drain(..) {
            self.connect(time, spec);
        }
        self.lane.asked = asked;
    }
}
