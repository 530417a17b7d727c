//! Flowlet switching (LetFlow, NSDI 2017) and CONGA (SIGCOMM 2014) with whole connections, on two spines of which one is slower.

use forebay_sim::run::{Cores, run_seeded};
use forebay_tests::{Outcome, execute, one, resolve};
use forebay_types::Time;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Messages with pauses over two spines. The way over the second one takes 100 us longer.
const PAUSES: &str = r#"
duration = "200ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host   = { rate = "1Gbps", delay = "5us", buffer = "1000pkt" }
fabric = { rate = "1Gbps", delay = "5us", buffer = "1000pkt" }
change = { port = "leaf0->spine1", at = "0s", delay = "105us" }
[transport]
stack = "linux"
cc = "cubic"
host = "bare"
[[workload]]
kind = "on-off"
from = "h0"
to = "h2"
pattern = "pairwise"
sizes = "20KB"
gaps = { exponential = "500us" }
gap-from = "completion"
"#;

/// Data packets that reach their host behind one that was sent later, and all of them.
fn reordered(o: &Outcome) -> (u64, u64) {
    let (mut front, mut late, mut all) = (HashMap::new(), 0, 0);
    for p in o.report.packets.iter().filter(|p| !p.back && p.payload > 0) {
        let front = front.entry(p.conn_id).or_insert(p.number);
        all += 1;
        // Sequence numbers may wrap.
        match p.number.wrapping_sub(*front) as i32 {
            0.. => *front = p.number,
            _ => late += 1,
        }
    }
    (late, all)
}

/// Shares of the data packets over both spines.
fn spines(o: &Outcome) -> [u64; 2] {
    ["leaf0->spine0", "leaf0->spine1"].map(|port| o.port(port).sent_pkts)
}

/// A gap above the difference of the paths never reorders, a gap below it does. Both use both spines with a single connection.
#[test]
fn gap_above_path_difference_keeps_order() {
    let with = |gap: &str| {
        let mut variant = resolve(PAUSES, &[&format!("topology.balance={{kind=\"flowlet\",gap=\"{gap}\"}}")], None).remove(0);
        variant.config.observe.packets = true;
        let report = execute(&variant.config);
        Outcome { variant, report }
    };
    let (long, short) = (with("200us"), with("5us"));
    // No retransmission that would be late by itself.
    assert!(long.drops() == 0 && long.report.flows.iter().all(|f| f.segs_retx == 0), "{:?}", long.report.flows);
    let (late, all) = reordered(&long);
    assert!(late == 0 && all > 1_000, "{late} of {all}");
    assert!(spines(&long).iter().all(|n| *n > all / 4), "{:?}", spines(&long));
    let (late, all) = reordered(&short);
    assert!(late > 10, "{late} of {all}");
}

/// Without pauses a flow stays where it began.
#[test]
fn flow_without_pauses_keeps_its_path() {
    let long = PAUSES
        .replace("on-off", "long")
        .replace("sizes = \"20KB\"\ngaps = { exponential = \"500us\" }\ngap-from = \"completion\"\n", "");
    let o = one(&long, &["topology.balance={kind=\"flowlet\",gap=\"50ms\"}", "duration=20ms", "transport.rcv-wnd=200KB"]);
    let [a, b] = spines(&o);
    assert!(a.min(b) == 0 && a.max(b) > 1_000, "{a} {b}");
}

/// Ten hosts a rack with 10 Gbps each, spines with 80 Gbps, the second one with 40 Gbps towards the receivers, and a load of 80 Gbps.
const SLOW_SPINE: &str = include_str!("../../scenarios/slow-spine.toml");

/// Mean completion time in ms, of the messages of the first half; and the share of the slow spine.
fn completion(o: &Outcome) -> (f64, f64) {
    let end = o.report.end;
    let early = o.report.flows.iter().filter(|f| f.start < Time::from_ms(10));
    let times: Vec<f64> = early.map(|f| (f.end.get().unwrap_or(end) - f.start).as_secs_f64() * 1e3).collect();
    let [fast, slow] = ["spine0->leaf1", "spine1->leaf1"].map(|port| o.port(port).sent_bytes as f64);
    (times.iter().sum::<f64>() / times.len() as f64, slow / (fast + slow))
}

/// The CONGA paper's result with a failed link: ECMP has several times the completion times of CONGA at high load, because it sends half of the load to
/// the slower path.
#[test]
fn conga_fits_load_to_slow_spine() {
    let measured = |balance: &str| {
        let set = format!("topology.balance={balance}");
        let runs: Vec<(f64, f64)> =
            [1, 2, 3].iter().map(|seed| completion(&one(SLOW_SPINE, &[&format!("seed={seed}"), &set]))).collect();
        println!("{balance}: {runs:?}");
        let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        (mean(|r| r.0), mean(|r| r.1))
    };
    let (ecmp, conga) = (measured("\"flow\""), measured("\"conga\""));
    assert!(ecmp.0 > 1.5 * conga.0, "{ecmp:?} {conga:?}");
    // A third over the slow spine, by the ratio of the rates; a half with ECMP.
    assert!((0.28..0.42).contains(&conga.1) && ecmp.1 > 0.44, "{ecmp:?} {conga:?}");
}

#[test]
fn cores_give_equal_results() {
    for balance in ["flowlet", "conga"] {
        let set = format!("topology.balance={balance}");
        let variants = resolve(SLOW_SPINE, &[&set, "duration=3ms"], Some(4));
        let config = &variants[0].config;
        let run = |cores| {
            run_seeded(config.check().unwrap(), config.seed, Cores::exactly(cores), &mut |_| ControlFlow::Continue(())).unwrap()
        };
        let (one, two) = (run(1), run(2));
        assert_eq!((one.fingerprint, one.flows), (two.fingerprint, two.flows), "{balance}");
    }
}
