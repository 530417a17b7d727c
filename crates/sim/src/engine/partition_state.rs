//! Calendar and output of a partition. Effects of a host on other hosts are applied at the end of a window only; the outputs of all partitions are
//! merged between windows (`partition/mod.rs`).

use super::arrival_order::{ArrivalSorter, GatheredPacket, NO_PACKET};
use super::calendar::Calendar;
use super::connection::FirstMessage;
use super::host::TimerKind;
use super::woken_processes::WokenProcesses;
use crate::net::packet::{Extra, Packet, flag};
use crate::net::port::Departure;
use forebay_apps::{Notice, OpenSpec};
use forebay_types::{AppId, ConnSlot, NodeId, PortId, QueryId, Time};

/// Packet that a link delivers late, its SACK blocks, and the input for it.
pub(super) type DelayedPacket = (PortId, Packet, Option<Extra>);

/// An effect of one host on another. It is applied at the end of the window: nothing that it causes happens earlier.
#[derive(Debug, Clone, Copy)]
pub(super) enum DeferredEffect {
    /// Sets a timer of `host`.
    Timer { host: NodeId, time: Time, order: u64, wake: TimerKind },
    /// Announces a message of the sender of `conn`, written at `start`, to its receiver.
    Expect { conn: ConnSlot, end: u64, query: Option<QueryId>, start: Time },
    /// The endless flow of `conn` has stopped after `written` bytes.
    Stopped { conn: ConnSlot, written: u64 },
    /// The receiver of `conn` had its next message completely at `time`.
    Delivered { conn: ConnSlot, time: Time },
    /// The shim of the receiving host completes a row about a message of `conn`; `first`: the connection's first.
    Row { conn: ConnSlot, row: usize, first: bool },
    /// The receiver of `conn` sent an ACK at `time` that it had delayed for `held`.
    LateAck { conn: ConnSlot, time: Time, held: Time },
    /// The sender of `conn`, to which `written` bytes were written, has finished.
    Closed { conn: ConnSlot, written: u64 },
}

/// A packet dropped in the network, to be counted for its connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct DroppedPacket {
    /// Connection slot.
    pub conn: ConnSlot,
    /// Generation of the slot.
    pub generation: u8,
}

/// State of a partition in the current window.
pub(super) struct PartitionState {
    /// Calendar of its nodes.
    pub(crate) calendar: Calendar,
    /// Packets dropped in the window.
    pub(crate) dropped: Vec<DroppedPacket>,
    /// Scratch memory for forwarding, and its sorter.
    pub(crate) packets: Box<[GatheredPacket]>,
    pub(crate) sorter: ArrivalSorter,
    /// Packets that their links deliver in a later window, while a switch forwards.
    pub(super) held: Vec<DelayedPacket>,
    /// Notices for applications, delivered after the current packet or timer.
    pub(crate) notices: Vec<(AppId, Notice)>,
    /// Packets that have left the queue of the host that runs.
    pub(crate) departures: Vec<Departure>,
    /// Calls of applications that an interrupt defers.
    pub(super) woken: WokenProcesses,
    /// Effects, with the host that causes each.
    effects: Vec<(NodeId, DeferredEffect)>,
    /// Requested connections, and when they open.
    requests: Vec<(Time, OpenSpec)>,
    /// Number of effects and requests that all processes have ([`PartitionState::mark_shared`]).
    shared: (usize, usize),
    /// Messages begun, with stopped endless flows, less messages acknowledged: since the last [`PartitionState::merge`], so that it may be negative.
    pub(crate) open: i64,
    /// Messages finished.
    pub(crate) done: u64,
    /// Time at which the last message was acknowledged, or an application without acknowledgments finished.
    worked: Time,
    /// Packets that reached a host after their connection had closed.
    pub(crate) late_packets: u64,
    /// Memory of messages, for reuse.
    pub(crate) spare: Vec<FirstMessage>,
    /// Number of node activations.
    pub(super) activations: u64,
}

impl PartitionState {
    /// Creates the state for a network of `nodes` nodes, with windows of this length.
    pub(super) fn new(nodes: usize, length: Time) -> PartitionState {
        PartitionState {
            calendar: Calendar::new(nodes, length),
            dropped: Vec::new(),
            packets: Box::new([NO_PACKET; 64]),
            sorter: ArrivalSorter::default(),
            held: Vec::new(),
            notices: Vec::new(),
            departures: Vec::new(),
            woken: WokenProcesses::default(),
            effects: Vec::new(),
            requests: Vec::new(),
            shared: (0, 0),
            open: 0,
            done: 0,
            worked: Time::ZERO,
            late_packets: 0,
            spare: Vec::new(),
            activations: 0,
        }
    }

    /// Notes a packet dropped in the network.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_packet(&mut self, packet: &Packet) {
        self.dropped.push(DroppedPacket { conn: packet.conn, generation: packet.generation() });
        self.end_awaited(packet);
    }

    /// Notes that a packet has arrived or is lost, which ends work if it is an awaited datagram.
    #[inline]
    pub(super) fn end_awaited(&mut self, packet: &Packet) {
        if packet.has(flag::AWAITED) {
            self.open -= 1;
            self.end_work(packet.arrival);
        }
    }

    /// Notes that work ended at `now`.
    pub(super) fn end_work(&mut self, now: Time) {
        self.worked = self.worked.max(now);
    }

    /// Time at which the last work ended so far.
    pub(super) fn worked(&self) -> Time {
        self.worked
    }

    /// Defers an effect caused by host `from` to the end of the window.
    #[inline]
    pub(super) fn defer(&mut self, from: NodeId, effect: DeferredEffect) {
        self.effects.push((from, effect));
    }

    /// Returns true if there are effects to apply at the end of the window, which is rare.
    #[inline]
    pub(super) fn has_effects(&self) -> bool {
        self.dropped.len() | self.effects.len() | self.requests.len() > 0
    }

    /// Merges the output of a partition, whose rows of messages are `rows` places later in the merged list.
    pub(super) fn merge(&mut self, other: &mut PartitionState, rows: usize) {
        self.dropped.append(&mut other.dropped);
        self.effects.extend(other.effects.drain(..).map(|(from, effect)| match effect {
            DeferredEffect::Row { conn, row, first } => (from, DeferredEffect::Row { conn, row: row + rows, first }),
            _ => (from, effect),
        }));
        self.requests.append(&mut other.requests);
        self.open += std::mem::take(&mut other.open);
        self.done += std::mem::take(&mut other.done);
        self.late_packets += std::mem::take(&mut other.late_packets);
    }

    /// Removes and returns the deferred effects.
    pub(super) fn take_effects(&mut self) -> Vec<(NodeId, DeferredEffect)> {
        self.shared.0 = 0;
        std::mem::take(&mut self.effects)
    }

    /// Removes and returns the requested connections.
    pub(super) fn take_requests(&mut self) -> Vec<(Time, OpenSpec)> {
        self.shared.1 = 0;
        std::mem::take(&mut self.requests)
    }

    /// Marks the current effects and requests as shared: all processes began with the same ones.
    pub(super) fn mark_shared(&mut self) {
        self.shared = (self.effects.len(), self.requests.len());
    }

    /// Effects that other processes do not have.
    pub(super) fn effects(&self) -> &[(NodeId, DeferredEffect)] {
        &self.effects[self.shared.0..]
    }

    /// Requests that other processes do not have.
    pub(super) fn requests(&self) -> &[(Time, OpenSpec)] {
        &self.requests[self.shared.1..]
    }

    /// Returns an emptied list, to reuse its memory.
    pub(super) fn reuse(&mut self, effects: Vec<(NodeId, DeferredEffect)>) {
        self.effects = effects;
    }

    /// Requests a connection that opens at `time`.
    pub(super) fn request_connection(&mut self, time: Time, spec: OpenSpec) {
        self.requests.push((time, spec));
    }
}
