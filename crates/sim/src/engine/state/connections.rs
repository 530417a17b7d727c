//! Opening and closing of connections, which happens between windows only: all hosts share the slots. An application inside a window requests a
//! connection.

use super::SimState;
use super::connection_table::NewSlot;
use crate::engine::connection::{Connection, OutgoingMessages};
use crate::engine::host::TimerKind;
use crate::engine::partition_state::DeferredEffect;
use crate::engine::path::empty_path;
use crate::net::capture::CapturedConnection;
use crate::tcp::Address;
use crate::tcp::offered_shift;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_apps::OpenSpec;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::address;
use forebay_experiment::transport::{Metrics, Recovery};
use forebay_types::{ConnSlot, NodeId, Time, WorkloadId};
use std::sync::PoisonError;

impl SimState {
    /// Reserves memory for `more` connections.
    pub(crate) fn reserve_connections(&mut self, more: usize) {
        self.connections.reserve(more);
    }

    /// Time at which a connection of host `src` opens that is to open at `time`.
    pub(crate) fn opening_time(&self, src: NodeId, time: Time) -> Time {
        self.hosts[src].event_time(time)
    }

    /// Prepares a connection that opens at `time`. Between windows only.
    pub(crate) fn connect(&mut self, time: Time, spec: OpenSpec) -> ConnSlot {
        let slot = self.prepare(spec);
        let time = self.opening_time(spec.src, time);
        self.changed = true;
        if self.remote.is_local(spec.src) {
            self.hosts.set_timer(&mut self.partition, (spec.src, spec.src), time, TimerKind::Open { conn: slot });
        } else {
            // All processes have the same windows.
            self.partition.calendar.mark(spec.src, time);
        }
        slot
    }

    /// The earliest time at which a connection requested now can open: the start of the next window.
    pub(crate) fn earliest_request(&self) -> Time {
        self.partition.calendar.window_end()
    }

    /// Requests a connection that opens at `time`, not before [`SimState::earliest_request`]. For applications inside a window.
    pub(crate) fn request_connection(&mut self, time: Time, spec: OpenSpec) {
        debug_assert!(time >= self.earliest_request(), "slots are allocated between windows");
        self.partition.request_connection(time, spec);
    }

    /// Prepares the connections that were requested in the window, in an order that does not depend on the order of the requests.
    pub(super) fn open_requested(&mut self) {
        let mut requests = self.partition.take_requests();
        requests.sort_by_key(|(time, spec)| (*time, spec.src, spec.app, spec.tag));
        for (time, spec) in requests {
            self.connect(time, spec);
        }
    }

    /// Allocates and fills a slot for a connection that is not open yet.
    pub(super) fn prepare(&mut self, spec: OpenSpec) -> ConnSlot {
        let c = &self.tcp[spec.group];
        let new = self.connections.allocate(c.isn);
        let (slot, conn_id) = (new.slot, new.conn_id);
        self.fabric.note_connection(&self.network.faults, conn_id, (slot, new.generation), (spec.src, spec.dst));
        let generation = self.endpoint_shims.connect(spec.group, slot, (spec.src, spec.dst), new.generation);
        // Both directions of a TCP connection have the paths of one.
        let of_paths = spec.reverse_of.map_or(conn_id, |other| self.connections.get(other).conn_id);
        let towards = |from, to| (address::lower(to), self.fabric.fib().flow_hash(of_paths, from, to));
        let (dst, hash) = towards(spec.src, spec.dst);
        let forward = Address { conn: slot, isn: new.isn, dst, hash, generation };
        let (dst, hash) = towards(spec.dst, spec.src);
        let back = Address { dst, hash, ..forward };
        let every = self.recorder.interval(conn_id);
        self.connections.fill(&new, (spec.src, spec.dst), generation, OutgoingMessages::sampled(every), |before| {
            (Sender::new(c, forward, before.and_then(Sender::lend)), Receiver::new(c, back))
        });
        let sender = self.connections.sender_mut(slot);
        sender.join(spec.group);
        if let Some(window) = spec.window {
            sender.begin_with(window, c.mss);
        }
        let receiver = self.connections.receiver_mut(slot);
        receiver.set_group(spec.group);
        if self.accept_queues.has(spec.app) {
            receiver.leave_fast_path();
        }
        self.fabric.fib().common_ports(&self.network, (spec.src, spec.dst), &mut self.route);
        let sum = self.measurement.deliveries.sum(WorkloadId::new(spec.app.get()), spec.group, &self.route);
        *self.connections.get_mut(slot) = Connection {
            conn_id,
            src: spec.src,
            dst: spec.dst,
            hash: forward.hash,
            app: spec.app,
            sum,
            tag: spec.tag,
            generation: new.generation,
            live: true,
            sampled: every.is_some(),
            ..Connection::default().writing(spec.first)
        };
        if let Some(other) = spec.reverse_of {
            let isn = self.connections.sender(other).initial_number();
            let number = self.connections.get(other).generation;
            let has_shim = self.endpoint_shims.join(spec.group, (slot, new.generation), (other, number), isn);
            self.connections.join(slot, other, has_shim);
        }
        if self.fabric.is_captured() {
            self.note_captured(slot, &new, &spec);
        }
        self.expect_endless(slot);
        if self.window_shims.any() {
            self.join_window_shim(slot, spec.src, spec.dst, spec.group);
        }
        if self.tcp[spec.group].txrehash {
            let hashes = self.fabric.fib().path_hashes(of_paths, spec.src, spec.dst);
            let rng = RngStream::CongestionControl.stream(self.seed, &[conn_id]);
            self.connections.sender_mut(slot).allow_rehash(hashes, rng);
        }
        if self.tcp[spec.group].cc.hooks().path() {
            self.describe_path(slot, back.hash);
        }
        slot
    }

    /// Notes the properties of connection `slot`, whose packets may be captured.
    #[cold]
    fn note_captured(&mut self, slot: ConnSlot, new: &NewSlot, spec: &OpenSpec) {
        let c = &self.tcp[spec.group];
        let first = spec.reverse_of.map(|other| (other, self.connections.get(other)));
        let connection = CapturedConnection {
            number: first.map_or(new.conn_id, |(_, first)| first.conn_id),
            own: new.conn_id,
            reverse_of: first.map(|(other, first)| (other, first.generation)),
            hosts: (spec.src, spec.dst),
            isn: new.isn,
            mss: c.mss.min(u32::from(u16::MAX)) as u16,
            window_shift: offered_shift(c),
            accurate_ecn: c.ecn.is_accurate(),
            sack: matches!(c.recovery, Recovery::Sack | Recovery::Rack),
            clock: c.timestamps.then_some(c.timestamp_clock),
        };
        self.fabric.note_captured((slot, new.generation), connection);
    }

    /// Describes the path of connection `slot` to its congestion control; `back` is the ECMP hash of its ACKs.
    fn describe_path(&mut self, slot: ConnSlot, back: u16) {
        let (s, sender) = self.connections.with_sender(slot);
        let c = &self.tcp[sender.group()];
        let rng = RngStream::CongestionControl.stream(self.seed, &[s.conn_id]);
        sender.set_path(empty_path(&self.network, self.fabric.fib(), s.src, s.dst, (s.hash, back), c, rng));
    }

    /// Retires the sender of `conn` at host `node`, which has finished. Its receiver, at another host, lives until the end of the window: a
    /// duplicate that reaches it earlier is answered, as by a host that still has the connection. The slot is released then.
    #[inline(never)]
    pub(super) fn end_sender(&mut self, conn: ConnSlot, node: NodeId) {
        let sender = self.connections.sender_mut(conn);
        sender.retire();
        self.partition.defer(node, DeferredEffect::Closed { conn, written: sender.written() });
    }

    /// Closes a connection to which `written` bytes were written, and releases its slot. Later packets are recognized by their generation. Each
    /// process counts what its own hosts sent and received.
    pub(super) fn close(&mut self, conn: ConnSlot, written: u64) {
        self.leave_window_shim(conn);
        let (src, dst) = (self.connections.get(conn).src, self.connections.get(conn).dst);
        let (sends, receives) = (self.remote.is_local(src), self.remote.is_local(dst));
        let (sender, receiver) = (self.connections.sender(conn), self.connections.receiver(conn));
        let c = &self.tcp[sender.group()];
        if c.metrics != Metrics::Off && sends {
            self.metrics.write().unwrap_or_else(PoisonError::into_inner).store((src, dst), c, sender);
        }
        assert!(
            (!sends || sender.all_acked()) && (!receives || receiver.delivered() == written),
            "conservation: a connection closed before its bytes arrived"
        );
        let shim = self.endpoint_shims.balance(sender.group(), conn);
        // A remote endpoint has sent and received nothing here. A packet that the shim still holds is freed with its entry.
        let sent = sender.balance().wrapping_add(receiver.balance()).wrapping_add(shim.sent).wrapping_sub(shim.taken + shim.held);
        self.connections.close(conn, if receives { written } else { 0 }, sent);
    }
}
