//! Receive window autotuning must not limit goodput at data-center speeds; a fixed window or the send buffer does.

use forebay_tests::one;

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
    // 1448 of 1538 bytes.
    let full = 10.0 * 1448.0 / 1538.0;
    for delay in ["30us", "200us", "500us"] {
        let set = format!("topology.bottleneck.delay={delay}");
        let g = goodput(&[&set]);
        println!("{delay}: {g:.3} Gbps");
        assert!(g > 0.98 * full, "{delay}: {g:.3} of {full:.3} Gbps");
    }
}

/// The send buffer limits long fat paths: two thirds of 4 MB of memory (`tcp_wmem[2]`) are payload, and it is refilled when a third is free
/// (sk_stream_write_space). A kernel of 6.12 sends 1.379 Gbps on this path, also with a receive window of 16 MB.
#[test]
fn the_limit_is_the_send_buffer() {
    let set = ["transport.host=bare", "topology.bottleneck.delay=5ms", "duration=1s", "observe.warmup=750ms"];
    for more in [&[][..], &["transport.rcv-wnd=16MB"]] {
        let goodput = goodput(&[&set[..], more].concat());
        assert!((goodput / 1.379 - 1.0).abs() < 0.02, "{goodput:.3} Gbps {more:?}");
    }
    // A smaller receive window is the limit itself. RTT: 10.04 ms and serialization.
    let small = goodput(&[&set[..], &["transport.rcv-wnd=1MB"]].concat());
    let limit = 1e6 * 8.0 / 10.05e-3 / 1e9;
    assert!((small / limit - 1.0).abs() < 0.02, "{small:.3} of {limit:.3} Gbps");
}
