//! What hosts produce while a window runs and what others may see of it at its end only. There is one lane now; threads will have one each.

use super::hosts::Wake;
use forebay_traffic::{Notice, OpenSpec};
use forebay_units::{AppId, ConnSlot, NodeId, QueryId};

/// Something that a host does to another one. It takes effect at the end of the window: nothing that it causes happens before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handover {
    /// A timer of `host`.
    Timer { host: NodeId, time: u64, order: u64, wake: Wake },
    /// The sender of `conn` has a message, which its receiver is to look out for.
    Expect { conn: ConnSlot, end: u64, query: Option<QueryId> },
    /// The receiver of `conn` had its next message completely at `time`.
    Delivered { conn: ConnSlot, time: u64 },
    /// The sender of `conn` has ended.
    Closed { conn: ConnSlot },
}

/// What the hosts of one thread have produced in the current window.
#[derive(Default)]
pub(super) struct Lane {
    /// What has happened to applications, which are notified after the current packet or timer.
    pub notices: Vec<(AppId, Notice)>,
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
    pub(super) fn hand_over(&mut self, from: NodeId, what: Handover) {
        self.handovers.push((from, what));
    }

    /// How much waits for the end of the window.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.handovers.len() | self.asked.len()
    }

    /// Gives away what is to take effect now.
    pub(super) fn take_handovers(&mut self) -> Vec<(NodeId, Handover)> {
        std::mem::take(&mut self.handovers)
    }

    /// Gives away what has been asked for.
    pub(super) fn take_asked(&mut self) -> Vec<(u64, OpenSpec)> {
        std::mem::take(&mut self.asked)
    }

    /// Takes emptied lists back, for their memory.
    pub(super) fn take_back(&mut self, handovers: Vec<(NodeId, Handover)>) {
        self.handovers = handovers;
    }

    /// An application asks for a connection that opens at `time`.
    pub(super) fn ask(&mut self, time: u64, spec: OpenSpec) {
        self.asked.push((time, spec));
    }
}
