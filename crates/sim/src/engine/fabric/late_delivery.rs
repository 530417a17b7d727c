//! Links that deliver packets later than their delay: late packets, and batches. The far end of such a link is a switch, which holds its packets in
//! an input of its own until they count as arrived.

use super::Fabric;
use crate::engine::arrival_order::{GatheredPacket, PORT_BITS};
use crate::engine::partition_state::PartitionState;
use crate::net::packet::Packet;
use forebay_experiment::faults::Faults;
use forebay_types::{NodeId, PortId, Time};

/// Rule of a link.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// Late packets arrive later by this time.
    Late(Time),
    /// Packets arrive at multiples of this time.
    Batch(Time),
}

/// Link whose packets are held at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    link: PortId,
    rule: Rule,
    /// Input of the switch that has the packets held.
    input: PortId,
    /// Arrival of the last packet of a batch.
    last: Time,
}

impl Hold {
    /// The links of `faults` that hold packets; their inputs are numbered from `first` on.
    pub(super) fn of(faults: &Faults, first: usize) -> Vec<Hold> {
        let late = faults.reordering.iter().map(|r| (r.port, Rule::Late(r.by)));
        let batches = faults.batching.iter().map(|b| (b.port, Rule::Batch(b.every)));
        let hold = |(i, (link, rule))| Hold { link, rule, input: PortId::new((first + i) as u32), last: Time::ZERO };
        late.chain(batches).enumerate().map(hold).collect()
    }

    /// The port whose link it is, and the input.
    pub(super) fn ports(&self) -> (PortId, PortId) {
        (self.link, self.input)
    }
}

impl Fabric {
    /// Delays the packets gathered at `node` that their links deliver later. Packets that arrive in the current window stay, with their new time. The
    /// others are removed and kept for [`Fabric::put_held`]. Returns the number of packets that stay, which are in front.
    #[cold]
    #[inline(never)]
    pub(super) fn delay_gathered(
        &mut self,
        partition: &mut PartitionState,
        node: NodeId,
        packets: &mut [GatheredPacket],
    ) -> usize {
        let (start, end) = (partition.calendar.start, partition.calendar.end);
        let mut kept = 0;
        for i in 0..packets.len() {
            let mut m = packets[i];
            let holds = self.nodes[node].holds.iter().any(|hold| self.ports[hold.link].ring.holds(m.slot));
            if holds && self.is_damaged(partition, node, &m) {
                continue;
            }
            let release = if holds { self.release(node, &m, start + m.offset()) } else { None };
            if let Some((input, at)) = release {
                if at >= end {
                    let (packet, extra) = (m.packet(), m.extra());
                    partition.held.push((input, Packet { arrival: at, ..*packet }, extra.copied()));
                    continue;
                }
                m.key = (at - start).0 << PORT_BITS | u64::from(m.to().get());
            }
            packets[kept] = m;
            kept += 1;
        }
        kept
    }

    /// The input that holds a packet which its link brings at `now`, and its arrival; `None` if it arrives now.
    fn release(&mut self, node: NodeId, m: &GatheredPacket, now: Time) -> Option<(PortId, Time)> {
        for i in 0..self.nodes[node].holds.len() {
            let Hold { link, rule, input, last } = self.nodes[node].holds[i];
            let port = &mut self.ports[link];
            if !port.ring.holds(m.slot) {
                continue;
            }
            match rule {
                Rule::Late(by) if port.is_late(m.slot) => return Some((input, now + by)),
                Rule::Late(_) => {}
                Rule::Batch(every) => {
                    let at = Time(now.0.next_multiple_of(every.0)).max(last + Time(1));
                    self.nodes[node].holds[i].last = at;
                    return Some((input, at));
                }
            }
        }
        None
    }

    /// Puts the packets that are held into their inputs, after all packets gathered in this window are forwarded.
    #[cold]
    #[inline(never)]
    pub(super) fn put_held(&mut self, partition: &mut PartitionState) {
        let mut held = std::mem::take(&mut partition.held);
        for (input, packet, extra) in held.drain(..) {
            self.deliver_to_half(partition, input, &packet, extra.as_ref());
        }
        partition.held = held;
    }
}
