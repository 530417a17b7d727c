//! Classes of service in a guest: which packets of real connections are urgent, against the same connections in the simulator.

use crate::packets;
use forebay_experiment::report::Report;
use std::collections::BTreeMap;

/// Three servers answer with blocks, over a port with eight queues; nothing is lost.
fn blocks(transport: &str) -> String {
    format!(
        r#"
[topology]
kind = "many-to-one"
senders = 3
access     = {{ rate = "1Gbps", delay = "25us" }}
bottleneck = {{ rate = "1Gbps", delay = "25us", buffer = "400pkt", queue = {{ kind = "strict-priority", k = "40pkt" }} }}
[transport]
host = "bare"
mss = 1460
cc = {transport}
[[workload]]
kind = "incast"
block = "64KB"
rounds = 5
jitter = "20us"
"#
    )
}

/// The class of each data segment at its first arrival, by connection and place of its first byte in the stream (from 1).
type Classes = BTreeMap<(u64, u32), u8>;

fn classes(report: &Report) -> Classes {
    let mut all = Classes::new();
    for p in report.packets.iter().filter(|p| !p.back && p.payload > 0) {
        all.entry((p.conn_id, p.number)).or_insert(p.class);
    }
    all
}

/// Runs on both backends; `None` where there is no kernel.
fn both(transport: &str) -> Option<[Report; 2]> {
    packets::both(&blocks(transport))
}

#[test]
fn prin_marks_three_segments_per_block() {
    let Some([linux, sim]) = both(r#"{ kind = "newreno", shim = "prin" }"#) else { return };
    let found = classes(&linux);
    // 64 KB in segments of 1460 B are 45: the last three of each of five blocks of three connections, and the one segment of each request.
    assert_eq!(found.values().filter(|&&c| c == 4).count(), 3 * 5 * (3 + 1), "{found:?}");
    assert!(found.values().all(|&c| c == 0 || c == 4));
    assert!(linux.packets.iter().filter(|p| p.back).all(|p| p.class == 0), "ACKs are ordinary");
    // Of shorter messages the simulator makes three segments, and the guest does not: blocks alone, on the first connections.
    let blocks = |of: Classes| of.into_iter().filter(|(place, _)| place.0 < 3).collect::<Classes>();
    assert_eq!(blocks(found), blocks(classes(&sim)));
}

#[test]
fn pias_demotes_by_bytes_answers_urgent() {
    let shim = r#"{ kind = "dctcp", shim = { kind = "pias", demotion-thresholds = ["10KB", "30KB", "50KB"] } }"#;
    let Some([linux, sim]) = both(shim) else { return };
    let found = classes(&linux);
    for class in 4..=7 {
        assert!(found.values().any(|&c| c == class), "some segment has class {class}");
    }
    assert!(linux.packets.iter().filter(|p| p.back || p.payload == 0).all(|p| p.class == 7), "what carries no data is urgent");
    assert_eq!(found, classes(&sim));
}

#[test]
fn a_service_has_one_class() {
    let Some([linux, _]) = both(r#"{ kind = "cubic", shim = { kind = "service", class = 5 } }"#) else { return };
    assert!(linux.packets.iter().all(|p| p.class == if p.back { 0 } else { 5 }));
}
