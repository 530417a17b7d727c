//! What hosts produce while a window runs and what others may see of it at its end only. Each part of a run on several cores has a lane of its
//! own (`engine/parts.rs`); what is in them joins that of the whole between windows.

use crate::engine::arrival_order::{ArrivalSorter, GatheredPacket, NO_PACKET};
use crate::engine::calendar::Calendar;
use crate::engine::connection::FirstMessage;
use crate::engine::host::TimerKind;
use crate::net::packet::Packet;
use forebay_traffic::{Notice, OpenSpec};
use forebay_units::{AppId, ConnSlot, NodeId, QueryId, Time};

/// Something that a host does to another one. It takes effect at the end of the window: nothing that it causes happens before.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum DeferredEffect {
    /// A timer of `host`.
    Timer { host: NodeId, time: Time, order: u64, wake: TimerKind },
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
pub(in crate::engine) struct DroppedPacket {
    /// Connection slot.
    pub conn: ConnSlot,
    /// Generation of the slot.
    pub generation: u8,
}

/// What the nodes of one part have produced in the current window.
pub(in crate::engine) struct PartitionState {
    /// When which node is to be looked at.
    pub(crate) calendar: Calendar,
    /// Drops since the last look.
    pub(crate) dropped: Vec<DroppedPacket>,
    /// Memory for what the switch that is being run forwards, and for its order.
    pub(crate) packets: Box<[GatheredPacket]>,
    pub(crate) sorter: ArrivalSorter,
    /// What has happened to applications, which are notified after the current packet or timer.
    pub(crate) notices: Vec<(AppId, Notice)>,
    /// By the host that it comes from.
    effects: Vec<(NodeId, DeferredEffect)>,
    /// Connections that applications asked for, and when they open.
    requests: Vec<(Time, OpenSpec)>,
    /// How many of both all processes have ([`PartitionState::mark_shared`]).
    shared: (usize, usize),
    /// Messages begun, the stopped ones of endless flows among them, less those that are acknowledged: since the last [`PartitionState::merge`], so that
    /// it may be negative.
    pub(crate) open: i64,
    /// Messages finished.
    pub(crate) done: u64,
    /// Packets that reached a host after their connection had ended.
    pub(crate) stale: u64,
    /// Memory of messages.
    pub(crate) spare: Vec<FirstMessage>,
    /// How often nodes were run.
    pub(in crate::engine) activations: u64,
}

impl PartitionState {
    /// Nothing yet in a network of `nodes` nodes, whose windows have this length.
    pub(in crate::engine) fn new(nodes: usize, length: Time) -> PartitionState {
        PartitionState {
            calendar: Calendar::new(nodes, length),
            dropped: Vec::new(),
            packets: Box::new([NO_PACKET; 64]),
            sorter: ArrivalSorter::default(),
            notices: Vec::new(),
            effects: Vec::new(),
            requests: Vec::new(),
            shared: (0, 0),
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
    pub(in crate::engine) fn lose(&mut self, packet: &Packet) {
        self.dropped.push(DroppedPacket { conn: packet.conn, generation: packet.generation() });
    }

    /// Host `from` does this at the end of the window.
    #[inline]
    pub(in crate::engine) fn defer(&mut self, from: NodeId, what: DeferredEffect) {
        self.effects.push((from, what));
    }

    /// Whether anything waits for the end of the window. Mostly nothing does.
    #[inline]
    pub(in crate::engine) fn waits(&self) -> bool {
        self.dropped.len() | self.effects.len() | self.requests.len() > 0
    }

    /// Takes over what a part has produced. Its rows of messages stand `rows` places later than it knows.
    pub(in crate::engine) fn merge(&mut self, other: &mut PartitionState, rows: usize) {
        self.dropped.append(&mut other.dropped);
        self.effects.extend(other.effects.drain(..).map(|(from, what)| match what {
            DeferredEffect::Row { conn, row, first } => (from, DeferredEffect::Row { conn, row: row + rows, first }),
            _ => (from, what),
        }));
        self.requests.append(&mut other.requests);
        self.open += std::mem::take(&mut other.open);
        self.done += std::mem::take(&mut other.done);
        self.stale += std::mem::take(&mut other.stale);
    }

    /// Gives away what is to take effect now.
    pub(in crate::engine) fn take_effects(&mut self) -> Vec<(NodeId, DeferredEffect)> {
        self.shared.0 = 0;
        std::mem::take(&mut self.effects)
    }

    /// Gives away what has been asked for.
    pub(in crate::engine) fn take_requests(&mut self) -> Vec<(Time, OpenSpec)> {
        self.shared.1 = 0;
        std::mem::take(&mut self.requests)
    }

    /// Other processes have what is here by now, as they began like this one.
    pub(in crate::engine) fn mark_shared(&mut self) {
        self.shared = (self.effects.len(), self.requests.len());
    }

    /// What is to take effect at the end of the window, and other processes do not have,
    pub(in crate::engine) fn effects(&self) -> &[(NodeId, DeferredEffect)] {
        &self.effects[self.shared.0..]
    }

    /// and what has been asked for.
    pub(in crate::engine) fn requests(&self) -> &[(Time, OpenSpec)] {
        &self.requests[self.shared.1..]
    }

    /// Takes emptied lists back, for their memory.
    pub(in crate::engine) fn take_back(&mut self, effects: Vec<(NodeId, DeferredEffect)>) {
        self.effects = effects;
    }

    /// An application asks for a connection that opens at `time`.
    pub(in crate::engine) fn request_connection(&mut self, time: Time, spec: OpenSpec) {
        self.requests.push((time, spec));
    }
}
