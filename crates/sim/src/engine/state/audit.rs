//! Conservation of packets and bytes, asserted in every run.

use super::SimState;
use crate::net::packet::Packet;
use forebay_types::ConnSlot;
use std::collections::BTreeMap;

impl SimState {
    /// Computes packets sent less packets received, dropped or in flight, for every open connection and, last, for the closed ones together.
    /// Only packets of this process count: the sums over all processes must be zero. Also checks that the count of every port's queue matches its ring.
    ///
    /// # Panics
    /// If a queue does not match its ring, or acknowledged bytes never arrived. That is a bug in the simulator: the results must not be used.
    pub(super) fn audit(&mut self) -> Vec<u64> {
        self.count_drops();
        let mut flying: BTreeMap<ConnSlot, u64> = BTreeMap::new();
        let mut late_packets = 0;
        for port in self.fabric.ports.iter() {
            port.audit();
            let mut count = |p: &Packet| {
                let s = self.connections.get(p.conn);
                if s.live && s.generation == p.generation() {
                    *flying.entry(p.conn).or_default() += 1;
                } else {
                    late_packets += 1;
                }
            };
            let mut position = port.ring.head();
            while position != port.ring.tail() {
                count(port.ring.packet(position));
                position = port.ring.next(position);
            }
            port.backlog().into_iter().flat_map(|b| b.packets()).for_each(&mut count);
        }
        let mut differences = Vec::with_capacity(self.connections.len() + 1);
        for (conn, stream) in self.connections.live() {
            let (sender, receiver) = (self.connections.sender(conn), self.connections.receiver(conn));
            let shim = self.endpoint_shims.balance(sender.group(), conn);
            let sent = sender.balance().wrapping_add(receiver.balance()).wrapping_add(shim.sent);
            let known = shim.taken + shim.held + stream.dropped + flying.get(&conn).copied().unwrap_or(0);
            differences.push(sent.wrapping_sub(known));
            let rcv_nxt = if self.remote.is_local(stream.dst) { receiver.rcv_nxt() } else { self.remote_receiver(conn).rcv_nxt };
            let is_ahead = self.tcp[sender.group()].shims.endpoint.as_ref().is_some_and(|shim| shim.acknowledges_ahead());
            let acked_arrived = is_ahead || sender.snd_una() <= rcv_nxt;
            assert!(
                !self.remote.is_local(stream.src) || (acked_arrived && rcv_nxt <= sender.snd_max()),
                "conservation: bytes of connection {}",
                stream.conn_id
            );
        }
        differences.push(self.connections.closed().unaccounted(self.partition.late_packets + late_packets));
        differences
    }

    /// Checks the differences of all processes together.
    ///
    /// # Panics
    /// If packets do not add up: a bug in the simulator, whose results must not be used.
    pub(super) fn check_balance(&self, differences: &[u64]) {
        for ((_, stream), difference) in self.connections.live().zip(differences) {
            assert_eq!(*difference, 0, "conservation: packets of connection {} do not add up", stream.conn_id);
        }
        assert_eq!(
            differences.last(),
            Some(&0),
            "conservation: packets of closed connections do not add up: {:?}",
            self.connections.closed()
        );
    }
}
