//! Conservation, asserted in every run: nothing is lost but what was dropped, and nothing appears from nowhere.

use super::Core;
use crate::net::packet::Packet;
use forebay_units::ConnSlot;
use std::collections::BTreeMap;

impl Core {
    /// Checks packets sent = received + dropped + in flight, for every open connection and for the closed ones together, and that every
    /// port's queue is what its ring says.
    ///
    /// # Panics
    /// When the balance is off: a bug in the simulator, whose results must not be used.
    pub(super) fn audit(&mut self) {
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
        for (conn, stream) in self.streams.enumerate().filter(|(_, s)| s.live) {
            let (sender, receiver) = (&self.senders[conn], &self.receivers[conn]);
            let shim = self.endpoint_shims.balance(sender.group(), conn);
            let sent = sender.packets + receiver.sent + shim.sent;
            let taken = sender.received + receiver.packets + shim.taken + shim.held;
            let known = taken + stream.dropped + flying.get(&conn).copied().unwrap_or(0);
            assert_eq!(sent, known, "conservation: packets of connection {} do not add up", stream.conn_id);
            assert!(
                sender.una <= receiver.rcv_nxt && receiver.rcv_nxt <= sender.high,
                "conservation: bytes of connection {}",
                stream.conn_id
            );
        }
        assert!(
            self.ended.adds_up(self.lane.stale + stale),
            "conservation: packets of closed connections do not add up: {:?}",
            self.ended
        );
    }
}
