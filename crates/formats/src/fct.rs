//! HPCC's `fct.txt`: `sip dip sport dport bytes start fct standalone-fct` per completed flow, addresses in hexadecimal, times in nanoseconds, in the order
//! of completion.

use std::collections::HashMap;
use std::io::{self, Write};

/// Nodes that addresses can tell apart.
pub const MAX_NODES: u32 = 1 << 16;

/// First source port of a pair of hosts.
const FIRST_PORT: u32 = 10_000;

/// A completed flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedFlow {
    /// Node ids of its ends, below [`MAX_NODES`].
    pub nodes: (u32, u32),
    /// Destination port, by which the scripts tell kinds of traffic apart: 100 for background traffic, 200 for incast.
    pub dport: u32,
    /// Payload, bytes.
    pub bytes: u64,
    /// Start, ns.
    pub start_ns: u64,
    /// Completion time, ns.
    pub fct_ns: u64,
    /// Completion time in the idle network, ns.
    pub standalone_ns: u64,
}

/// Path of a pair of hosts in the idle network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdlePath {
    /// Delay of the links in one direction, ns.
    pub delay_ns: u64,
    /// Time to send one full packet over each of its links, ns.
    pub packet_ns: u64,
    /// Lowest rate of its links, bit/s.
    pub rate_bps: u64,
}

impl IdlePath {
    /// Completion time of `bytes` in packets of at most `payload` bytes with `header` bytes more, ns. As in HPCC's `third.cc`: the base RTT, and all bytes
    /// at the lowest rate.
    pub fn standalone_ns(&self, bytes: u64, payload: u64, header: u64) -> u64 {
        let wire = bytes + bytes.div_ceil(payload.max(1)) * header;
        let sending = u128::from(wire) * 8_000_000_000 / u128::from(self.rate_bps.max(1));
        2 * self.delay_ns + self.packet_ns + u64::try_from(sending).unwrap_or(u64::MAX / 4)
    }
}

/// Address of a node, as HPCC's `node_id_to_ip`.
fn address(node: u32) -> u32 {
    0x0b00_0001 + ((node / 256) << 16) + ((node % 256) << 8)
}

/// Writes flows, which are in the order of their starts.
///
/// # Errors
/// Errors of `out`.
pub fn write(out: &mut dyn Write, flows: &[CompletedFlow]) -> io::Result<()> {
    let mut ports: HashMap<(u32, u32), u32> = HashMap::new();
    let mut rows: Vec<(u64, u32, &CompletedFlow)> = Vec::with_capacity(flows.len());
    for flow in flows {
        let next = ports.entry(flow.nodes).or_insert(FIRST_PORT);
        rows.push((flow.start_ns.saturating_add(flow.fct_ns), *next, flow));
        // Ports of HPCC have 16 bits.
        *next = if *next == 0xffff { FIRST_PORT } else { *next + 1 };
    }
    rows.sort_by_key(|(end, ..)| *end);
    for (_, sport, f) in rows {
        let (src, dst) = (address(f.nodes.0), address(f.nodes.1));
        writeln!(out, "{src:08x} {dst:08x} {sport} {} {} {} {} {}", f.dport, f.bytes, f.start_ns, f.fct_ns, f.standalone_ns)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_the_node() {
        for node in [0, 1, 255, 256, 319, 65_535] {
            assert_eq!((address(node) >> 8) & 0xffff, node);
        }
        assert_eq!(format!("{:08x}", address(319)), "0b013f01");
    }

    /// Two links of 1 us, one of 100 Gbps behind one of 25 Gbps: RTT 4 us + 320 ns + 80 ns, then 2 packets of 1000 + 48 bytes at 25 Gbps.
    #[test]
    fn standalone_time_of_hpcc() {
        let path = IdlePath { delay_ns: 2_000, packet_ns: 400, rate_bps: 25_000_000_000 };
        assert_eq!(path.standalone_ns(2_000, 1_000, 48), 4_400 + 670);
        assert_eq!(path.standalone_ns(2_001, 1_000, 48), 4_400 + 686);
    }

    #[test]
    fn rows_in_order_of_completion() {
        let flow = |nodes, start_ns, fct_ns| CompletedFlow { nodes, dport: 100, bytes: 5, start_ns, fct_ns, standalone_ns: 7 };
        let mut out = Vec::new();
        write(&mut out, &[flow((0, 3), 10, 100), flow((0, 3), 20, 30), flow((1, 3), 30, 30)]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "0b000001 0b000301 10001 100 5 20 30 7\n0b000101 0b000301 10000 100 5 30 30 7\n0b000001 0b000301 10000 100 5 10 100 7\n"
        );
    }
}
