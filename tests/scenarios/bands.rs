//! Long flows compared with stock ns-2 on the same starts: each figure is within a band around that of ns-2, with processing jitter and without.
//! `benches/peers/ns2/agree.tcl` produces the reference values; `make peers` runs it again.

use forebay_tests::band::{Bands, JITTER};
use forebay_tests::{Outcome, one};

/// Round trip 250 us when idle: four delays, 1500 B at 10 and 1 Gbps, 40 B back at both. The queue is the switch's.
const FAST_ACCESS: &str = r#"
duration = "6s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "59us" }
bottleneck = { rate = "1Gbps", delay = "59112ns", buffer = "251pkt" }
[transport]
stack = "ns2"
cc = "newreno"
[[workload]]
kind = "long"
"#;

/// The same round trip with equal rates everywhere; RED as stock ns-2 has it (p_max 0.1, gentle).
const RED: &str = r#"
duration = "6s"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "1Gbps", delay = "56340ns" }
[topology.bottleneck]
rate = "1Gbps"
delay = "56340ns"
buffer = "250pkt"
queue = { kind = "red", min = "50pkt", max = "100pkt", p-max = 0.1, gentle = true }
[transport]
stack = "ns2"
cc = "newreno"
ecn = "classic"
[[workload]]
kind = "long"
jitter = "1ms"
[observe]
warmup = "1s"
"#;

/// Payload acknowledged after the warm-up, by flow.
fn measured(o: &Outcome) -> Vec<f64> {
    o.report.flows.iter().map(|f| f.bytes_measured as f64).collect()
}

/// ns-2: 1 timeout (0 with a window limit of 1000), mean queue 187.0 with the packet on the wire, 186.0 without. A loss halves the window, not the
/// data sent beyond the hole, which is fifty times as much after slow start's overshoot.
#[test]
fn one_newreno_flow_halves_its_window() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for window in ["1460000B", "100MB"] {
            let o = one(FAST_ACCESS, &[jitter, &[&format!("transport.rcv-wnd={window}")]].concat());
            let what = format!("one NewReno, {window}, {jitter:?}");
            bands.hold(format!("{what}: timeouts"), o.rtos() as f64, 0.0..=2.0);
            bands.hold(format!("{what}: queue"), o.port("bottleneck").queue_mean_pkts, 176.0..=195.0);
        }
    }
    bands.judge();
}

/// ns-2: mean queue 48.9 to 49.2 with the packet on the wire, shares 1.02 to 1.05, no drops after the start. Echoes that outlast their reduction, or
/// a sender that cannot send CWR during repair, starve one of the two.
#[test]
fn red_ecn_flows_share_queue() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for seed in 1..=10 {
            let o = one(RED, &[jitter, &[&format!("seed={seed}")]].concat());
            let what = format!("two ECN-NewReno, RED, seed {seed}, {jitter:?}");
            let share = measured(&o);
            bands.hold(format!("{what}: queue"), o.port("bottleneck").queue_mean_pkts, 42.0..=54.0);
            bands.hold(format!("{what}: ratio"), share[0] / share[1], 0.85..=1.15);
            bands.hold(format!("{what}: drops"), o.drops() as f64, 0.0..=0.0);
        }
    }
    bands.judge();
}
