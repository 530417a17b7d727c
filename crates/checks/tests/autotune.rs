//! Receive windows that tune themselves must not be the limit at data-centre speeds, and are where they cannot grow.

use forebay_checks::one;

const BULK: &str = r#"
duration = "300ms"
[topology]
kind = "dumbbell"
left = 1
right = 1
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "10Gbps", delay = "30us", buffer = "2000pkt" }
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "long"
[observe]
warmup = "50ms"
"#;

/// Goodput over 250 ms, Gbps.
fn goodput(sets: &[&str]) -> f64 {
    let o = one(BULK, sets);
    o.report.acked.iter().sum::<u64>() as f64 * 8.0 / 250e-3 / 1e9
}

#[test]
fn a_bulk_flow_fills_10_gbps() {
    // 1448 of 1500 bytes.
    let full = 10.0 * 1448.0 / 1500.0;
    for delay in ["30us", "200us", "500us"] {
        let set = format!("topology.bottleneck.delay={delay}");
        let g = goodput(&[&set]);
        println!("{delay}: {g:.3} Gbps");
        assert!(g > 0.98 * full, "{delay}: {g:.3} of {full:.3} Gbps");
    }
}

/// Where the path holds more than half of `tcp_rmem[2]`, the window is the limit, as in the kernel: 3 MB an RTT. `rcv-wnd` fixes another one.
#[test]
fn the_limit_is_half_of_the_buffer() {
    let set = ["topology.bottleneck.delay=5ms", "duration=1s", "observe.warmup=750ms"];
    let tuned = goodput(&set);
    // RTT: 10.04 ms and a bit of serialisation.
    let limit = f64::from(3 << 20) * 8.0 / 10.05e-3 / 1e9;
    assert!((tuned / limit - 1.0).abs() < 0.02, "{tuned:.3} of {limit:.3} Gbps");
    let wide = goodput(&[&set[..], &["transport.rcv-wnd=16MB"]].concat());
    assert!(wide > 1.5 * tuned, "{wide:.3} {tuned:.3}");
}
