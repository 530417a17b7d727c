//! Connection slots: handed out between windows only, because all hosts share them. An application inside a window asks for one.

use super::core::{Core, OpenSpec};
use super::hosts::Wake;
use super::stream::Stream;
use crate::streams::Draws;
use crate::tcp::Address;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;

impl Core {
    /// Makes room for `more` connections that are sure to come: growing by doubling leaves holes that the allocator keeps.
    pub fn make_room(&mut self, more: usize) {
        self.senders.reserve_exact(more);
        self.receivers.reserve_exact(more);
        self.streams.reserve_exact(more);
    }

    /// Prepares a connection that opens at `time`. Only called between windows: slots are shared by all hosts.
    pub fn connect(&mut self, time: u64, spec: OpenSpec) -> u32 {
        let slot = self.allot(spec);
        self.wake(spec.src, spec.src, time, Wake::Open { conn: slot });
        slot
    }

    /// The earliest time at which a connection that is asked for now can open: the start of the next window.
    pub fn soonest(&self) -> u64 {
        self.fabric.wheel.end
    }

    /// Asks for a connection that opens at `time`, not before [`Core::soonest`]. For applications inside a window.
    pub fn ask(&mut self, time: u64, spec: OpenSpec) {
        debug_assert!(time >= self.soonest(), "slots are handed out between windows");
        self.asked.push((time, spec));
    }

    /// Prepares the connections that were asked for in the window that has ended, in an order that does not depend on who asked first.
    #[inline]
    pub(super) fn grant(&mut self) {
        if !self.asked.is_empty() {
            self.grant_all();
        }
    }

    #[inline(never)]
    fn grant_all(&mut self) {
        let mut asked = std::mem::take(&mut self.asked);
        asked.sort_by_key(|(time, spec)| (*time, spec.src, spec.app, spec.tag));
        for (time, spec) in asked.drain(..) {
            self.connect(time, spec);
        }
        self.asked = asked;
    }

    /// A connection slot for `spec`, not yet open.
    pub(super) fn allot(&mut self, spec: OpenSpec) -> u32 {
        let conn_id = self.next_conn;
        self.next_conn += 1;
        let c = &self.tcp[spec.group as u32];
        let isn = c.isn.unwrap_or_else(|| self.conn_rng.next_u64() as u32);
        let slot = self.free.pop().unwrap_or(self.streams.len() as u32);
        let fresh = slot as usize == self.streams.len();
        let generation = if fresh { 0 } else { (self.streams[slot].generation + 1) & 0x3F };
        // The five-tuple: hosts and a port number that differs from connection to connection.
        let hash = |a: u32, b: u32| Draws::FlowHash.stream(conn_id, &[u64::from(a), u64::from(b)]).next_u64() as u16;
        let own = self.endpoint_shims.connect(spec.group as u32, slot, generation);
        let forward = Address { conn: slot, isn, dst: spec.dst as u16, hash: hash(spec.src, spec.dst), generation: own };
        let back = Address { dst: spec.src as u16, hash: hash(spec.dst, spec.src), ..forward };
        if fresh {
            self.senders.push(Sender::new(c, forward, None));
            self.receivers.push(Receiver::new(c, back));
            self.streams.push(Stream::default());
        } else {
            let lent = self.senders[slot].lend();
            self.senders[slot] = Sender::new(c, forward, lent);
            self.receivers[slot] = Receiver::new(c, back);
        }
        self.senders[slot].group = spec.group as u16;
        self.receivers[slot].group = spec.group as u16;
        let every = self.tcp_series.iter().find(|s| s.0 == conn_id).map(|s| s.1);
        let stream = &mut self.streams[slot];
        let mut messages = std::mem::take(&mut stream.messages);
        messages.clear();
        // Most connections have one message at a time; growing from nothing would make room for four.
        messages.reserve_exact(1);
        *stream = Stream {
            messages,
            conn_id,
            src: spec.src,
            dst: spec.dst,
            hash: forward.hash,
            app: spec.app,
            tag: spec.tag,
            generation,
            live: true,
            first: spec.first,
            next_sample: if every.is_some() { 0 } else { u64::MAX },
            sample_every: every.unwrap_or(0),
            ..Stream::default()
        };
        if self.window_shims.any() {
            self.join_window_shim(slot, spec.src, spec.dst, spec.group);
        }
        if self.tcp[spec.group as u32].law.hooks().path {
            self.describe_path(slot, back.hash);
        }
        self.live += 1;
        self.peak_live = self.peak_live.max(self.live);
        slot
    }
}
