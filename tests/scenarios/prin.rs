//! PRIN against NewReno in barrier rounds: the numbers of the PRIN specification, 3.5, and the claims about timeouts.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_experiment::rows::FlowRow;
use forebay_tests::{Outcome, one};

/// The simulation behind the specification's numbers (its appendix A): packets of 1000 B without headers, ACKs without size, no limited
/// transmit, requests of 50 us and processing up to 100 us.
const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 8
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt", queue = "protect" }
[transport]
stack = "ns2"
mss = 1000
header = 0
ack-size = 1
limited-transmit = false
rcv-wnd = "1000KB"
send-jitter = "4us"
[[workload]]
kind = "incast"
request = "0B"
block = "256KB"
rounds = 120
jitter = "100us"
request-latency = "50us"
"#;
const WARMUP: usize = 20;

/// Goodput as a share of the link; per block the timeouts of the slowest sender, all timeouts at heads and at tails, and fast retransmissions.
#[derive(Debug, Clone, Copy)]
struct Measured {
    goodput: f64,
    timeouts: f64,
    head: f64,
    tail: f64,
    fast_retx: f64,
}

fn measure(name: &str, sets: &[&str]) -> Measured {
    measure_seeds(name, sets, 3)
}

fn measure_seeds(name: &str, sets: &[&str], seeds: u32) -> Measured {
    let mut sum = Measured { goodput: 0.0, timeouts: 0.0, head: 0.0, tail: 0.0, fast_retx: 0.0 };
    for seed in 1..=seeds {
        let seed = format!("seed={seed}");
        let o: Outcome = one(INCAST, &[sets, &[seed.as_str()]].concat());
        let r = o.rounds(WARMUP);
        let from = r.0[0].start.0;
        let blocks = r.0.len() as f64;
        let per_block = |f: &dyn Fn(&FlowRow) -> u32| {
            let rows = o.report.flows.iter().filter(|row| row.start.0 >= from);
            rows.map(|row| f64::from(f(row))).sum::<f64>() / blocks
        };
        sum.goodput += r.goodput() / 125e6 / f64::from(seeds);
        sum.timeouts += r.timeouts() / f64::from(seeds);
        sum.head += per_block(&|row| row.rtos_head) / f64::from(seeds);
        sum.tail += per_block(&|row| row.rtos_tail) / f64::from(seeds);
        sum.fast_retx += per_block(&|row| row.fast_retx) / f64::from(seeds);
    }
    println!("{name:<24} {sum:.3?}");
    sum
}

const PRIN: &str = "transport.shim=prin";
const STRICT: &str = "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 2, buffer-scope = \"queue\" }";

fn senders(n: u32) -> String {
    format!("topology.senders={n}")
}

/// Specification 3.5, `protect`: PRIN keeps goodput while windows stay large, and no longer. Means over ten seeds: with eight senders NewReno
/// times out in a fifth of the blocks, and three seeds of a hundred blocks each give values from 0.25 to 0.33.
#[test]
fn goodput_of_the_specification() {
    // (senders, goodput and timeouts of PRIN, goodput of NewReno)
    for (n, goodput, timeouts, newreno) in [(8, 0.89, 0.01, 0.21), (10, 0.32, 0.25, 0.13), (12, 0.13, 1.6, 0.12)] {
        let plain = measure_seeds(&format!("newreno, N = {n}"), &[&senders(n)], 10);
        let prin = measure_seeds(&format!("prin, N = {n}"), &[&senders(n), PRIN], 10);
        println!("expected {goodput}, {timeouts}; NewReno {newreno}");
        assert!((prin.goodput - goodput).abs() < 0.1, "N = {n}: {} against {goodput}", prin.goodput);
        assert!((plain.goodput - newreno).abs() < 0.1, "N = {n}: {} against {newreno}", plain.goodput);
    }
}

/// Claims `prin-removes-tail-timeouts` and `prin-reduces-head-timeouts`.
#[test]
fn timeouts_at_tails_and_heads() {
    let mut plain_tails = 0.0;
    for n in [2, 4, 6, 8, 10, 12, 14, 16] {
        let plain = measure(&format!("newreno, N = {n}"), &[&senders(n)]);
        let protect = measure(&format!("prin, protect, N = {n}"), &[&senders(n), PRIN]);
        let strict = measure(&format!("prin, strict, N = {n}"), &[&senders(n), PRIN, STRICT]);
        plain_tails += plain.tail;
        for prin in [protect, strict] {
            assert!(prin.tail <= 0.005, "N = {n}: {prin:?}");
            if n >= 8 {
                assert!(prin.head <= 0.5 * plain.head, "N = {n}: {prin:?} {plain:?}");
            }
            assert!(n > 12 || prin.head <= 0.05 + 0.02, "N = {n}: {prin:?}");
        }
    }
    assert!(plain_tails > 0.2, "without PRIN there is something to remove: {plain_tails}");
}

/// Each half of PRIN removes only its own timeouts.
#[test]
fn ablations() {
    let n = senders(10);
    let plain = measure("newreno", &[&n]);
    let halve = measure("halving only", &[&n, "transport.shim={ kind = \"prin\", priority = false }"]);
    let priority = measure("priority only", &[&n, "transport.shim={ kind = \"prin\", halve = false }"]);
    assert!(halve.head <= 0.1 * plain.head && halve.tail > 0.02, "{halve:?} {plain:?}");
    assert!(priority.tail == 0.0 && priority.head > 0.5 * plain.head, "{priority:?} {plain:?}");
}

/// Specification 3.4: under strict priority the tail overtakes the rest of its block, with about one spurious fast retransmission for every second
/// sender and block. This does not happen in one FIFO, nor with a wait of the largest queueing delay.
#[test]
fn overtaking() {
    let n = senders(2);
    let fifo = measure("protect", &[&n, PRIN]);
    let strict = measure("strict", &[&n, PRIN, STRICT]);
    // 64 packets of 8 us, and a little.
    let patient = measure("strict, patient", &[&n, STRICT, "transport.shim={ kind = \"prin\", tail-reorder-wait = \"600us\" }"]);
    assert!((0.5..2.0).contains(&strict.fast_retx), "{strict:?}");
    assert_eq!((fifo.fast_retx, patient.fast_retx), (0.0, 0.0), "nothing is ever lost here");
    assert!(strict.goodput < fifo.goodput && (patient.goodput - fifo.goodput).abs() < 0.01);
}

/// The testbed-like runs of the specification's appendix A: 1538 B a packet on the line, so that goodput has a ceiling of 0.949.
const TESTBED: &[&str] = &[
    "transport.mss=1460",
    "transport.header=78",
    "transport.limited-transmit=true",
    "transport.rcv-wnd=1460000B",
    "transport.send-jitter=6us",
    "topology.access.delay=50us",
    "topology.bottleneck.delay=50us",
    "workload.0.jitter=50us",
    "workload.0.request-latency=100us",
];
const FLOOR_2: &str = "transport.shim={ kind = \"prin\", floor = 2 }";

/// Claims `prin-about-90`, `prin-timeouts-near-zero`, `newreno-poor-above-three` and, up to eight senders, `newreno-64kb-90-to-20`.
#[test]
fn single_hop() {
    for (block, buffer) in [("64KB", 96), ("128KB", 96), ("256KB", 128)] {
        let (block_key, buffer) = (format!("workload.0.block={block}"), format!("topology.bottleneck.buffer={buffer}pkt"));
        let (mut prin, mut plain) = (Vec::new(), Vec::new());
        for n in 2..=8 {
            let senders = senders(n);
            let sets = [TESTBED, &[&senders, &block_key, &buffer]].concat();
            plain.push(measure(&format!("newreno, {block}, N = {n}"), &sets).goodput);
            let r = measure(&format!("prin, {block}, N = {n}"), &[&sets[..], &[FLOOR_2]].concat());
            assert!(r.timeouts <= 0.05, "{block}, N = {n}: {r:?}");
            prin.push(r.goodput);
        }
        let mut from_3 = prin[1..].to_vec();
        from_3.sort_by(f64::total_cmp);
        let median = (from_3[2] + from_3[3]) / 2.0;
        assert!((median - 0.90).abs() < 0.10, "{block}: {median}");
        let poor = plain[2..].iter().sum::<f64>() / 5.0;
        let kept = prin[2..].iter().sum::<f64>() / 5.0;
        assert!(poor <= 0.6 + 0.1 && poor <= kept - 0.15, "{block}: NewReno {poor}, PRIN {kept}");
        if block == "64KB" {
            let range = (plain.iter().copied().fold(0.0, f64::max), plain.iter().copied().fold(1.0, f64::min));
            assert!((range.0 - 0.90).abs() < 0.12 && (range.1 - 0.20).abs() < 0.12, "{range:?}");
        }
    }
}

/// Claim `prin-slower-with-one-sender`, and that `keep` hides it while the connection never lost a packet.
#[test]
fn one_sender() {
    let sets = [TESTBED, &["topology.senders=1", "workload.0.block=64KB", "topology.bottleneck.buffer=96pkt"]].concat();
    let plain = measure("newreno", &sets);
    let keep = measure("keep", &[&sets[..], &[PRIN]].concat());
    let cap = measure("cap", &[&sets[..], &["transport.shim={ kind = \"prin\", ssthresh = \"cap\" }"]].concat());
    // 0.69, 0.69 and 0.33 of the packet rate.
    for (r, expected) in [(plain, 0.69), (keep, 0.69), (cap, 0.33)] {
        assert!((r.goodput / 0.949 - expected).abs() < 0.03, "{r:?} against {expected}");
    }
    assert!(cap.goodput < 0.9 * plain.goodput);
}

/// Claim `prin-switch-off-is-baseline`: with both halves off, every packet arrives when it does without PRIN.
#[test]
fn switched_off_equals_baseline() {
    let run = |sets: &[&str]| one(INCAST, &[sets, &["workload.0.rounds=20"]].concat()).report.fingerprint;
    let off = "transport.shim={ kind = \"prin\", halve = false, priority = false }";
    assert_eq!(run(&[]), run(&[off]));
    assert_ne!(run(&[]), run(&["transport.shim={ kind = \"prin\", priority = false }"]));
}
