//! The incast model against the simulation of the publication's setting; a test is called as the claim.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_model::incast::{Incast, NstarRule, Params, TailMode};
use forebay_tests::one;
use forebay_types::{Rate, Time};

/// Packets of 1000 bytes without headers, ACKs without size, no limited transmit; D = 100 us with serialization. With timestamps, because
/// the model has one RTO of 200 ms a block: without, back-offs outlive blocks (`incast.rs`).
const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 13
access = { rate = "1Gbps", delay = "21us" }
bottleneck = { rate = "1Gbps", delay = "21us", buffer = "64pkt" }
[transport]
stack = "ns2"
cc = "newreno"
mss = 1000
header = 0
ack-size = 1
limited-transmit = false
rcv-wnd = "1000KB"
send-jitter = "4us"
timestamps = true
[[workload]]
kind = "incast"
request = "0B"
block = "256KB"
rounds = 120
jitter = "100us"
request-latency = "50us"
"#;

fn model(buffer: u64) -> Incast {
    let rate = Rate(1_000_000_000);
    let (rtt, rto) = (Time::from_us(100), Time::from_ms(200));
    Incast::new(&Params { rate, packet: 1000, payload: 1000, rtt, buffer, block: 256_000, rto }).unwrap()
}

/// Share of the link and timeouts of the slowest sender per block, after 20 rounds, as means over `seeds`.
fn simulated(n: u64, buffer: u64, window: u64, seeds: u64) -> (f64, f64) {
    let sets = [
        format!("topology.senders={n}"),
        format!("topology.bottleneck.buffer={buffer}pkt"),
        format!("transport.rcv-wnd={window}KB"),
    ];
    let run = |seed: u64| {
        let seed = format!("seed={seed}");
        let sets: Vec<&str> = sets.iter().map(String::as_str).chain([seed.as_str()]).collect();
        let o = one(INCAST, &sets);
        (o.rounds(20).goodput() / 125e6, o.rounds(20).timeouts())
    };
    let runs: Vec<(f64, f64)> = (1..=seeds).map(run).collect();
    let mean = |get: fn(&(f64, f64)) -> f64| runs.iter().map(get).sum::<f64>() / runs.len() as f64;
    (mean(|r| r.0), mean(|r| r.1))
}

fn against_model(n: u64, buffer: u64, window: u64) -> f64 {
    let theory = model(buffer).limited(n, window, TailMode::Literal, NstarRule::First).unwrap().share;
    let (share, timeouts) = simulated(n, buffer, window, 2);
    println!("N {n} B {buffer} W_l {window}: {share:.3} / {theory:.3} = {:.3}, timeouts {timeouts:.2}", share / theory);
    share / theory
}

/// From N* to 1.25 N* within 12 %; the claim allows 20 %.
#[test]
fn model_matches_simulation_above_nstar() {
    for (buffer, range) in [(64, [13, 14, 15, 16]), (128, [20, 22, 24, 25])] {
        for n in range {
            let ratio = against_model(n, buffer, 1000);
            assert!((ratio - 1.0).abs() < 0.12, "N = {n}, B = {buffer}: {ratio}");
        }
    }
}

/// A window limit of 10 packets changes nothing for more than nine senders, and keeps timeouts from repeating: within 5 %.
#[test]
fn wl10_unaffected_above_nine() {
    for n in [13, 14, 16, 18] {
        let ratio = against_model(n, 64, 10);
        assert!((ratio - 1.0).abs() < 0.05, "N = {n}: {ratio}");
    }
}

/// The first N with 0.95 timeouts per block lies within 3 of N*.
#[test]
fn nstar_is_collapse_point() {
    for (buffer, nstar) in [(64, 13), (128, 20)] {
        assert_eq!(model(buffer).nstar(NstarRule::First), Some(nstar));
        let collapsed = |n: &u64| simulated(*n, buffer, 1000, 1).1 >= 0.95;
        let onset = (nstar - 6..nstar + 7).find(collapsed).unwrap();
        println!("B {buffer}: onset {onset}");
        assert!(onset.abs_diff(nstar) <= 3, "B = {buffer}: {onset}");
    }
}
