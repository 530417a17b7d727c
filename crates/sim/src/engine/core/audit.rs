//! Conservation, asserted in every run: nothing is lost but what was dropped, and nothing appears from nowhere.

use super::Core;
use crate::net::packet::Packet;
use forebay_units::ConnSlot;
use std::collections::BTreeMap;

impl Core {
    /// What this process knows of packets sent = received + dropped + in flight: the difference, for every open connection and, last, for the closed
    /// ones together. Added up over all processes of the run they must be zero. Also checks that every port's queue is what its ring says.
    ///
    /// # Panics
    /// When it is not, or acknowledged bytes never arrived: a bug in the simulator, whose results must not be used.
    pub(super) fn audit(&mut self) -> Vec<u64> {
        self.settle_drops();
        let mut flying: BTreeMap<ConnSlot, u64> = BTreeMap::new();
        let mut stale = 0;
        for port in self.fabric.ports.iter() {
            port.audit();
            let mut count = |p: &Packet| {
                let s = &self.streams[p.conn];
                if s.live && s.generation == p.generation() {
                    *flying.entry(p.conn).or_default() += 1;
                } else {
                    stale += 1;
                }
            };
            let mut position = port.ring.head();
            while position != port.ring.tail() {
                count(port.ring.packet(position));
                position = port.ring.next(position);
            }
            port.backlog().into_iter().flat_map(|b| b.packets()).for_each(&mut count);
        }
        let mut differences = Vec::with_capacity(self.streams.len() + 1);
        for (conn, stream) in self.streams.enumerate().filter(|(_, s)| s.live) {
            let (sender, receiver) = (&self.senders[conn], &self.receivers[conn]);
            let shim = self.endpoint_shims.balance(sender.group(), conn);
            let sent = sender.balance().wrapping_add(receiver.balance).wrapping_add(shim.sent);
            let known = shim.taken + shim.held + stream.dropped + flying.get(&conn).copied().unwrap_or(0);
            differences.push(sent.wrapping_sub(known));
            let rcv_nxt = if self.holds(stream.dst) { receiver.rcv_nxt } else { self.told(conn).rcv_nxt };
            assert!(
                !self.holds(stream.src) || (sender.snd_una() <= rcv_nxt && rcv_nxt <= sender.snd_max()),
                "conservation: bytes of connection {}",
                stream.conn_id
            );
        }
        differences.push(self.ended.difference(self.lane.stale + stale));
        differences
    }

    /// Checks the differences of all processes together.
    ///
    /// # Panics
    /// When the balance is off: a bug in the simulator, whose results must not be used.
    pub(super) fn check_balance(&self, differences: &[u64]) {
        for (stream, difference) in self.streams.iter().filter(|s| s.live).zip(differences) {
            assert_eq!(*difference, 0, "conservation: packets of connection {} do not add up", stream.conn_id);
        }
        assert_eq!(differences.last(), Some(&0), "conservation: packets of closed connections do not add up: {:?}", self.ended);
    }
}
