//! A minimum timeout near the round trip, beside stock ns-2 on the same starts (`benches/peers/ns2/agree.tcl`).

use forebay_tests::band::{Bands, JITTER};
use forebay_tests::one;

/// Many flows on 50 us links: the round trip is near the minimum timeout once the queue is full.
const TWENTY: &str = r#"
duration = "800ms"
[topology]
kind = "many-to-one"
senders = 20
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "ns2"
cc = "reno"
rto-min = "1ms"
[[workload]]
kind = "long"
jitter = "1ms"
"#;

/// ns-2: 301 to 325 timeouts, 0.968 to 0.969 of the link. A timer that a fast retransmission does not restart fires while that
/// segment is on its way.
#[test]
fn short_rto_min_is_not_spurious() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for seed in 1..=5 {
            let o = one(TWENTY, &[jitter, &[&format!("seed={seed}")]].concat());
            let what = format!("20 Reno, 1 ms minimum RTO, seed {seed}, {jitter:?}");
            bands.hold(format!("{what}: timeouts"), o.rtos() as f64, 0.0..=619.0);
            // Payload acknowledged in 0.8 s, as a share of 1 Gbps.
            let goodput = o.report.flows.iter().map(|f| f.bytes_measured as f64).sum::<f64>() * 8.0 / 0.8 / 1e9;
            bands.hold(format!("{what}: goodput"), goodput, 0.95..=1.0);
        }
    }
    bands.judge();
}
