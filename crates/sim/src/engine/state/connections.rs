//! Connection slots: handed out between windows only, because all hosts share them. An application inside a window asks for one.

use super::SimState;
use crate::engine::connection::{Connection, IncomingMessages, OutgoingMessages};
use crate::engine::host::TimerKind;
use crate::engine::path::empty_path;
use crate::tcp::Address;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_experiment::streams::Draws;
use forebay_experiment::topology::address;
use forebay_traffic::OpenSpec;
use forebay_units::{ConnSlot, Time, WorkloadId};

impl SimState {
    /// Makes room for `more` connections that are sure to come: growing by doubling leaves holes that the allocator keeps.
    pub(crate) fn make_room(&mut self, more: usize) {
        self.generations.reserve_exact(more);
        self.streams.reserve_exact(more);
        self.senders.reserve_exact(more);
        self.outgoing.reserve_exact(more);
        self.receivers.reserve_exact(more);
        self.incoming.reserve_exact(more);
    }

    /// Prepares a connection that opens at `time`. Only called between windows: slots are shared by all hosts.
    pub(crate) fn connect(&mut self, time: Time, spec: OpenSpec) -> ConnSlot {
        let slot = self.allot(spec);
        self.changed = true;
        if self.is_local(spec.src) {
            self.set_timer(spec.src, spec.src, time, TimerKind::Open { conn: slot });
        } else {
            // All processes agree on the windows that there are.
            self.partition.calendar.mark(spec.src, time);
        }
        slot
    }

    /// The earliest time at which a connection that is asked for now can open: the start of the next window.
    pub(crate) fn soonest(&self) -> Time {
        self.partition.calendar.window_end()
    }

    /// Asks for a connection that opens at `time`, not before [`SimState::soonest`]. For applications inside a window.
    pub(crate) fn ask(&mut self, time: Time, spec: OpenSpec) {
        debug_assert!(time >= self.soonest(), "slots are handed out between windows");
        self.partition.ask(time, spec);
    }

    /// A connection slot for `spec`, not yet open.
    pub(super) fn allot(&mut self, spec: OpenSpec) -> ConnSlot {
        let (slot, conn_id) = self.slots.allocate(self.streams.next_id());
        let c = &self.tcp[spec.group];
        let isn = c.isn.unwrap_or_else(|| self.slots.sequence_number());
        let fresh = slot == self.streams.next_id();
        let generation = if fresh { 0 } else { (self.streams[slot].generation + 1) & 0x3F };
        let own = self.endpoint_shims.connect(spec.group, slot, (spec.src, spec.dst), generation);
        let towards = |from, to| (address::lower(to), self.fabric.fib().flow_hash(conn_id, from, to));
        let (dst, hash) = towards(spec.src, spec.dst);
        let forward = Address { conn: slot, isn, dst, hash, generation: own };
        let (dst, hash) = towards(spec.dst, spec.src);
        let back = Address { dst, hash, ..forward };
        // Memory of the connection before.
        let lent = if fresh {
            self.streams.push(Connection::default());
            self.generations.push(own);
            None
        } else {
            self.senders[slot].lend()
        };
        let every = self.recorder.interval(conn_id);
        self.senders.put(slot, spec.src, Sender::new(c, forward, lent));
        self.outgoing.put(slot, spec.src, OutgoingMessages::sampled(every));
        self.receivers.put(slot, spec.dst, Receiver::new(c, back));
        self.incoming.put(slot, spec.dst, IncomingMessages::default());
        self.senders[slot].join(spec.group);
        self.receivers[slot].join(spec.group);
        if self.receivers[slot].is_tuned() {
            let ways = (spec.dst, spec.src);
            let back = self.fabric.fib().travel(&self.network, ways, back.hash.into(), u64::from(self.tcp[spec.group].ack_size));
            self.receivers[slot].enter_path(Time(back));
        }
        self.generations[slot] = own;
        self.fabric.fib().certain(&self.network, (spec.src, spec.dst), &mut self.way);
        self.streams[slot] = Connection {
            conn_id,
            src: spec.src,
            dst: spec.dst,
            hash: forward.hash,
            app: spec.app,
            sum: self.deliveries.sum(WorkloadId::new(spec.app.get()), spec.group, &self.way),
            tag: spec.tag,
            generation,
            live: true,
            sampled: every.is_some(),
            ..Connection::default().writing(spec.first)
        };
        self.expect_endless(slot);
        if self.window_shims.any() {
            self.join_window_shim(slot, spec.src, spec.dst, spec.group);
        }
        if self.tcp[spec.group].law.hooks().path() {
            self.describe_path(slot, back.hash);
        }
        slot
    }

    /// Tells the law of connection `slot` about its path; `back` is the ECMP hash of its ACKs.
    fn describe_path(&mut self, slot: ConnSlot, back: u16) {
        let s = &self.streams[slot];
        let sender = &mut self.senders[slot];
        let c = &self.tcp[sender.group()];
        let rng = Draws::Law.stream(self.seed, &[s.conn_id]);
        sender.enter_path(empty_path(&self.network, self.fabric.fib(), s.src, s.dst, (s.hash, back), c, rng));
    }
}
