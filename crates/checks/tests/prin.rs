//! PRIN against NewReno in barrier rounds: the numbers of `incast-prin.md` 3.5 and the claims about timeouts.

use forebay_checks::{Outcome, one};
use forebay_sim::observe::FlowRow;

/// The simulation behind the specification's numbers (its appendix A): packets of 1000 B without headers, ACKs without size, no limited
/// transmit, requests of 50 us and processing up to 100 us.
const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 8
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt", queue = "protect" }
[transport]
mss = 1000
header = 0
ack-size = 1
limited-transmit = false
rcv-wnd = "1000KB"
send-jitter = "4us"
[[workload]]
kind = "incast"
block = "256KB"
rounds = 120
jitter = "100us"
request-latency = "50us"
"#;
const WARMUP: usize = 20;

/// Goodput as a share of the link; timeouts of the slowest sender of each block, and all timeouts at heads and tails, per block.
#[derive(Debug, Clone, Copy)]
struct Result {
    goodput: f64,
    timeouts: f64,
    head: f64,
    tail: f64,
    spurious: f64,
}

fn measure(name: &str, sets: &[&str]) -> Result {
    let mut sum = Result { goodput: 0.0, timeouts: 0.0, head: 0.0, tail: 0.0, spurious: 0.0 };
    let seeds = 3;
    for seed in 1..=seeds {
        let seed = format!("seed={seed}");
        let o: Outcome = one(INCAST, &[sets, &[seed.as_str()]].concat());
        let r = o.rounds(WARMUP);
        let from = r.0[0].start_ps;
        let blocks = r.0.len() as f64;
        let per_block = |f: &dyn Fn(&FlowRow) -> u32| {
            let rows = o.report.flows.iter().filter(|row| row.start_ps >= from);
            rows.map(|row| f64::from(f(row))).sum::<f64>() / blocks
        };
        sum.goodput += r.goodput() / 125e6 / f64::from(seeds);
        sum.timeouts += r.timeouts() / f64::from(seeds);
        sum.head += per_block(&|row| row.rtos_head) / f64::from(seeds);
        sum.tail += per_block(&|row| row.rtos_tail) / f64::from(seeds);
        sum.spurious += per_block(&|row| row.fast_retx) / f64::from(seeds);
    }
    println!("{name:<24} {sum:.3?}");
    sum
}

const PRIN: &str = "transport.shim=prin";
const STRICT: &str = "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 2, buffer-of = \"queue\" }";

fn senders(n: u32) -> String {
    format!("topology.senders={n}")
}

/// Specification 3.5, `protect`: PRIN keeps goodput while windows stay large, and no longer.
#[test]
fn goodput_of_the_specification() {
    // (senders, goodput and timeouts of PRIN, goodput of NewReno)
    for (n, goodput, timeouts, newreno) in [(8, 0.89, 0.01, 0.21), (10, 0.32, 0.25, 0.13), (12, 0.13, 1.6, 0.12)] {
        let plain = measure(&format!("newreno, N = {n}"), &[&senders(n)]);
        let prin = measure(&format!("prin, N = {n}"), &[&senders(n), PRIN]);
        println!("expected {goodput}, {timeouts}; NewReno {newreno}");
        assert!((prin.goodput - goodput).abs() < 0.1, "N = {n}: {} against {goodput}", prin.goodput);
        assert!((plain.goodput - newreno).abs() < 0.1, "N = {n}: {} against {newreno}", plain.goodput);
    }
}

#[test]
fn explore() {
    for n in [4, 8, 10, 12, 14, 16] {
        measure(&format!("newreno {n}"), &[&senders(n)]);
        measure(&format!("prin {n}"), &[&senders(n), PRIN]);
        measure(&format!("strict {n}"), &[&senders(n), PRIN, STRICT]);
    }
    let wait = "transport.shim={ kind = \"prin\", tail-reorder-wait = \"600us\" }";
    for n in [2, 4, 8] {
        measure(&format!("strict wait {n}"), &[&senders(n), STRICT, wait]);
    }
    let testbed = ["transport.mss=1460", "transport.header=78", "transport.limited-transmit=true", "transport.rcv-wnd=1460000B",
        "topology.access.delay=50us", "topology.bottleneck.delay=50us", "workload.0.jitter=50us", "workload.0.request-latency=100us",
        "transport.send-jitter=6us"];
    let cap = "transport.shim={ kind = \"prin\", ssthresh = \"cap\" }";
    let keep = "transport.shim={ kind = \"prin\" }";
    let one = [&testbed[..], &["topology.senders=1", "workload.0.block=64KB", "topology.bottleneck.buffer=96pkt"]].concat();
    measure("one", &one);
    measure("one keep", &[&one[..], &[keep]].concat());
    measure("one cap", &[&one[..], &[cap]].concat());
    let floor = "transport.shim={ kind = \"prin\", floor = 2 }";
    for (block, buffer) in [("64KB", 96), ("128KB", 96), ("256KB", 128)] {
        for n in 2..=8 {
            let (b, bb) = (format!("workload.0.block={block}"), format!("topology.bottleneck.buffer={buffer}pkt"));
            let s = senders(n);
            let sets = [&testbed[..], &[&s, &b, &bb]].concat();
            measure(&format!("newreno {block} {n}"), &sets);
            measure(&format!("prin {block} {n}"), &[&sets[..], &[floor]].concat());
            measure(&format!("strict {block} {n}"), &[&sets[..], &[floor, STRICT]].concat());
        }
    }
}
