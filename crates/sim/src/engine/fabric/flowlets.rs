//! Flowlet table of a switch: a flow keeps its port until it pauses (Kandula et al., "Dynamic load balancing without packet reordering", ACM CCR 2007).

use crate::net::packet::Packet;
use forebay_types::{PortId, Time};

/// Entries of the table. Our choice: as CONGA section 3.4, 64 K entries for a leaf switch.
const ENTRIES: usize = 1 << 16;

/// Entry of a packet's flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flowlet {
    /// The packet belongs to the flowlet that takes this port.
    Current(PortId),
    /// The packet begins a flowlet. The flowlet before it, if any, took this port.
    New(Option<PortId>),
}

/// Last packet and port of each flow.
///
/// As in a switch, the entry of a flow is found by the hash of its five-tuple alone. Two flows with the same entry count as one.
#[derive(Debug, Clone)]
pub(super) struct FlowletTable {
    gap: Time,
    /// Time of the last packet, ps + 1; 0: none. Pages that no flow uses take no memory.
    seen: Vec<u64>,
    /// Port of the flowlet.
    ports: Vec<u32>,
}

impl FlowletTable {
    /// Creates an empty table. A packet that comes more than `gap` after the last one of its flow begins a flowlet. Switches compare timestamps with a
    /// timer, so that their gaps are between `gap` and twice as long (CONGA section 3.4, the age bit); our choice: exact times.
    pub(super) fn new(gap: Time) -> FlowletTable {
        FlowletTable { gap, seen: vec![0; ENTRIES], ports: vec![0; ENTRIES] }
    }

    /// Number of the entry of a packet's flow.
    #[inline]
    pub(super) fn entry(p: &Packet) -> u16 {
        // In wide networks the hash has few bits of the connection.
        p.hash ^ p.dst
    }

    /// Notes a packet of the flow with this entry, at `now`.
    #[inline]
    pub(super) fn packet(&mut self, entry: u16, now: Time) -> Flowlet {
        let place = usize::from(entry);
        let before = std::mem::replace(&mut self.seen[place], now.0 + 1);
        if before == 0 {
            return Flowlet::New(None);
        }
        let port = PortId::new(self.ports[place]);
        if now.0 + 1 - before > self.gap.0 { Flowlet::New(Some(port)) } else { Flowlet::Current(port) }
    }

    /// Sets the port of the flowlet that has begun.
    #[inline]
    pub(super) fn assign(&mut self, entry: u16, port: PortId) {
        self.ports[usize::from(entry)] = port.get();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_keeps_port_until_it_pauses() {
        let mut table = FlowletTable::new(Time::from_us(10));
        let port = PortId::new(3);
        assert_eq!(table.packet(7, Time::ZERO), Flowlet::New(None));
        table.assign(7, port);
        // Each packet restarts the time, and the gap itself is no pause.
        for us in [4, 14, 24] {
            assert_eq!(table.packet(7, Time::from_us(us)), Flowlet::Current(port));
        }
        assert_eq!(table.packet(8, Time::from_us(24)), Flowlet::New(None), "another flow");
        assert_eq!(table.packet(7, Time::from_us(34) + Time(1)), Flowlet::New(Some(port)));
    }
}
