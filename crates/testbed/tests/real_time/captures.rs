//! Captures of packets on the running kernel.

use super::worlds::{attempts, both};
use forebay_experiment::capture::{CapturedPacket, PacketEvent, tcp_flag};
use forebay_experiment::report::Report;
use std::collections::BTreeMap;

/// One sender whose packets overflow a small queue.
const SCENARIO: &str = r#"
duration = "3s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "20Mbps", delay = "2ms" }
bottleneck = { rate = "10Mbps", delay = "2ms", buffer = "8pkt" }
[transport]
cc = "cubic"
[[workload]]
kind = "long"
size = "200KB"
[observe]
capture = ["s0", "bottleneck", "recv"]
"#;

/// Highest byte of data that a host has sent, from the first one.
fn sent_bytes(packets: &[CapturedPacket]) -> u32 {
    let headers = packets.iter().filter(|p| p.interface == 0 && !p.inbound).filter_map(|p| Some((p, p.tcp?)));
    let mut first = None;
    let ends = headers.map(|(p, t)| {
        let syn = *first.get_or_insert(t.seq);
        t.seq.wrapping_add(u32::from(p.payload)).wrapping_sub(syn.wrapping_add(1))
    });
    ends.filter(|end| *end < u32::MAX / 2).max().unwrap_or(0)
}

/// Packets of each event at the bottleneck.
fn events(report: &Report) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for p in report.captured.iter().filter(|p| p.interface == 1) {
        *counts.entry(format!("{:?}", p.event)).or_default() += 1;
    }
    counts
}

#[test]
fn kernel_headers_are_captured() {
    attempts(|| {
        let Some([real, _]) = both(SCENARIO, false) else { return };
        let packets = real.captured.to_vec();
        assert!(packets.is_sorted_by_key(|p| p.time_ps));
        assert_eq!(sent_bytes(&packets), 200_000);
        let header = |p: &CapturedPacket| p.tcp.expect("a TCP header");
        // The SYN leaves the sender, and arrives at the receiver with the same options and identification.
        let syns: Vec<&CapturedPacket> =
            packets.iter().filter(|p| header(p).flags & (tcp_flag::SYN | tcp_flag::ACK) == tcp_flag::SYN).collect();
        let places: Vec<(u32, bool)> = syns.iter().map(|p| (p.interface, p.inbound)).collect();
        assert_eq!(places, [(0, false), (1, false), (2, true)]);
        assert!(syns.windows(2).all(|w| header(w[0]) == header(w[1]) && w[0].ip_id == w[1].ip_id));
        let syn = header(syns[0]);
        assert!(syn.syn.sack_permitted && syn.syn.window_scale.is_some() && syn.timestamps.is_some(), "{syn:?}");
        // The queue drops, which the counters of the port and the events of the capture show alike.
        let (events, port) = (events(&real), &real.ports[0]);
        let dropped = events.get(&format!("{:?}", PacketEvent::DroppedFull)).copied().unwrap_or(0);
        let bottleneck = real.ports.iter().find(|p| p.dropped_overflow > 0).unwrap_or(port);
        assert!(dropped > 0 && dropped as u64 == bottleneck.dropped_overflow, "{events:?}");
        assert!(packets.iter().any(|p| p.inbound && header(p).sack_blocks().next().is_some()), "no SACK blocks");
    });
}
