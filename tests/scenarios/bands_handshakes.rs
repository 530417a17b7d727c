//! DCTCP handshakes, compared with Linux.

use forebay_tests::band::{Bands, JITTER};
use forebay_tests::one;

/// Short DCTCP connections beside long ones, through a port that drops what is not ECN-capable above K.
const HANDSHAKES: &str = r#"
duration = "3s"
[topology]
kind = "many-to-one"
senders = 8
access     = { rate = "1Gbps", delay = "50us" }
[topology.bottleneck]
rate = "1Gbps"
delay = "50us"
buffer = "100pkt"
queue = { kind = "dctcp-step", k = "20pkt", drop-non-ect-above-k = true }
[transport]
stack = "ns2"
cc = "dctcp"
[[transport.group]]
name = "background"
[[transport.group]]
name = "test"
[[workload]]
kind = "long"
from = "s0..s1"
class = "long"
transport = "background"
[[workload]]
kind = "poisson"
from = "s2..s7"
class = "short"
transport = "test"
sizes = "20KB"
rate = 200
start = "100ms"
stop = "1100ms"
"#;

/// RFC 8257 section 3.6 and Linux: SYN and SYN-ACK of a DCTCP connection are ECN-capable, so that such a port does not drop them. SYN and SYN-ACK
/// with classic ECN are not (RFC 3168 section 6.1.1), which shows that the port drops them.
#[test]
fn dctcp_handshake_survives_above_k() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for stack in ["ns2", "linux", "rfc"] {
            let lost = |sets: &[&str]| {
                let o = one(HANDSHAKES, &[jitter, &[&format!("transport.stack={stack}")], sets].concat());
                let short = o.class("short");
                assert!(short.len() > 150, "{}", short.len());
                short.iter().filter(|f| f.syn_rtos > 0).count() as f64
            };
            bands.hold(format!("DCTCP SYNs lost, {stack}, {jitter:?}"), lost(&[]), 0.0..=0.0);
            let classic = &["transport.group.1.cc=newreno", "transport.group.1.ecn=classic"];
            bands.hold(format!("classic SYNs lost, {stack}, {jitter:?}"), lost(classic), 20.0..=150.0);
        }
    }
    bands.judge();
}
