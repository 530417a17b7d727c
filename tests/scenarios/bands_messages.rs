//! Growth on messages, within a band around what Linux and ns-2 do.

use forebay_tests::band::{Bands, JITTER};
use forebay_tests::one;

/// One connection on which 200 responses of 6 KB follow each other, each long done before the next.
const RESPONSES: &str = r#"
duration = "20s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "linux"
cc = "newreno"
cwnd-validation = false
[[workload]]
kind = "on-off"
sizes = "6KB"
gaps = "1ms"
trains = 200
[observe]
tcp = { flows = [0], every = "ack" }
"#;

/// 6 KB are five segments, and each counts where the stack counts segments: 10 + 200 * 5 (Linux), 2 + 200 * 5 (ns-2).
#[test]
fn window_counts_segments_after_responses() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for sets in [["transport.stack=linux", "transport.cc=newreno"], ["transport.stack=ns2", "transport.cc=newreno"]] {
            let o = one(RESPONSES, &[jitter, &sets].concat());
            let window = o.report.tcp.last().map_or(0.0, |r| r.cwnd);
            bands.hold(format!("window after 200 responses, {sets:?}, {jitter:?}"), window, 980.0..=1040.0);
        }
    }
    bands.judge();
}
