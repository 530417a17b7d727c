//! What hosts produce while a window runs and what others may see of it at its end only. Each part of a run on several cores has a lane of its
//! own (`engine/parts.rs`); what is in them joins that of the whole between windows.

use super::handoff::{Handoff, NO_HANDOFF, Sorter};
use super::hosts::Wake;
use super::stream::Oldest;
use super::wheel::Wheel;
use crate::net::packet::Packet;
use forebay_traffic::{Notice, OpenSpec};
use forebay_units::{AppId, ConnSlot, NodeId, QueryId, Time};

/// Something that a host does to another one. It takes effect at the end of the window: nothing that it causes happens before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handover {
    /// A timer of `host`.
    Timer { host: NodeId, time: Time, order: u64, wake: Wake },
    /// The sender of `conn` has a message, written at `start`, which its receiver is to look out for.
    Expect { conn: ConnSlot, end: u64, query: Option<QueryId>, start: Time },
    /// The application of `conn`, which wrote without end, has stopped: it has written so much.
    Stopped { conn: ConnSlot, written: u64 },
    /// The receiver of `conn` had its next message completely at `time`.
    Delivered { conn: ConnSlot, time: Time },
    /// The place of a row about a message of `conn`, which the shim of the receiving host is to complete; `first`: the connection's first.
    Row { conn: ConnSlot, row: usize, first: bool },
    /// The receiver of `conn` sent an ACK at `time` that it had held back for `held`.
    LateAck { conn: ConnSlot, time: Time, held: Time },
    /// The sender of `conn`, to which so much was written, has ended.
    Closed { conn: ConnSlot, written: u64 },
}

/// A packet dropped in the network, which the books of its connection must know of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dropped {
    /// Connection slot.
    pub conn: ConnSlot,
    /// Generation of the slot.
    pub generation: u8,
}

/// What the nodes of one part have produced in the current window.
pub(super) struct Lane {
    /// When which node is to be looked at.
    pub(crate) wheel: Wheel,
    /// Drops since the last look.
    pub(crate) dropped: Vec<Dropped>,
    /// Memory for what the switch that is being run forwards, and for its order.
    pub(crate) handoffs: Box<[Handoff]>,
    pub(crate) sorter: Sorter,
    /// What has happened to applications, which are notified after the current packet or timer.
    pub(crate) notices: Vec<(AppId, Notice)>,
    /// By the host that it comes from.
    handovers: Vec<(NodeId, Handover)>,
    /// Connections that applications asked for, and when they open.
    asked: Vec<(Time, OpenSpec)>,
    /// How many of both all processes have ([`Lane::is_known`]).
    known: (usize, usize),
    /// Messages begun, the stopped ones of endless flows among them, less those that are acknowledged: since the last [`Lane::absorb`], so that
    /// it may be negative.
    pub(crate) open: i64,
    /// Messages finished.
    pub(crate) done: u64,
    /// Packets that reached a host after their connection had ended.
    pub(crate) stale: u64,
    /// Memory of messages.
    pub(crate) spare: Vec<Oldest>,
    /// How often nodes were run.
    pub(super) activations: u64,
}

impl Lane {
    /// Nothing yet in a network of `nodes` nodes, whose windows have this length.
    pub(super) fn new(nodes: usize, length: Time) -> Lane {
        Lane {
            wheel: Wheel::new(nodes, length),
            dropped: Vec::new(),
            handoffs: Box::new([NO_HANDOFF; 64]),
            sorter: Sorter::default(),
            notices: Vec::new(),
            handovers: Vec::new(),
            asked: Vec::new(),
            known: (0, 0),
            open: 0,
            done: 0,
            stale: 0,
            spare: Vec::new(),
            activations: 0,
        }
    }

    /// The network has dropped a packet.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, packet: &Packet) {
        self.dropped.push(Dropped { conn: packet.conn, generation: packet.generation() });
    }

    /// Host `from` does this at the end of the window.
    #[inline]
    pub(super) fn hand_over(&mut self, from: NodeId, what: Handover) {
        self.handovers.push((from, what));
    }

    /// Whether anything waits for the end of the window. Mostly nothing does.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.dropped.len() | self.handovers.len() | self.asked.len() > 0
    }

    /// Takes over what a part has produced. Its rows of messages stand `rows` places later than it knows.
    pub(super) fn absorb(&mut self, other: &mut Lane, rows: usize) {
        self.dropped.append(&mut other.dropped);
        self.handovers.extend(other.handovers.drain(..).map(|(from, what)| match what {
            Handover::Row { conn, row, first } => (from, Handover::Row { conn, row: row + rows, first }),
            _ => (from, what),
        }));
        self.asked.append(&mut other.asked);
        self.open += std::mem::take(&mut other.open);
        self.done += std::mem::take(&mut other.done);
        self.stale += std::mem::take(&mut other.stale);
    }

    /// Gives away what is to take effect now.
    pub(super) fn take_handovers(&mut self) -> Vec<(NodeId, Handover)> {
        self.known.0 = 0;
        std::mem::take(&mut self.handovers)
    }

    /// Gives away what has been asked for.
    pub(super) fn take_asked(&mut self) -> Vec<(Time, OpenSpec)> {
        self.known.1 = 0;
        std::mem::take(&mut self.asked)
    }

    /// Other processes have what is here by now, as they began like this one.
    pub(super) fn is_known(&mut self) {
        self.known = (self.handovers.len(), self.asked.len());
    }

    /// What is to take effect at the end of the window, and other processes do not have,
    pub(super) fn handovers(&self) -> &[(NodeId, Handover)] {
        &self.handovers[self.known.0..]
    }

    /// and what has been asked for.
    pub(super) fn asked(&self) -> &[(Time, OpenSpec)] {
        &self.asked[self.known.1..]
    }

    /// Takes emptied lists back, for their memory.
    pub(super) fn take_back(&mut self, handovers: Vec<(NodeId, Handover)>) {
        self.handovers = handovers;
    }

    /// An application asks for a connection that opens at `time`.
    pub(super) fn ask(&mut self, time: Time, spec: OpenSpec) {
        self.asked.push((time, spec));
    }
}
