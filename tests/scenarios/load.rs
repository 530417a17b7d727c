//! The configured load is the load on the wire, within statistical bounds.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::{Outcome, one};

/// Web-search flows between random hosts of a small leaf-spine at 30 %. A few hundred sizes determine the mean, so the drawn flows, not the
/// expectation, are the reference for the load on the wire.
const FABRIC: &str = r#"
duration = "400ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts-per-leaf = 4
host = { rate = "1Gbps", delay = "5us" }
[transport]
stack = "ns2"
rto-min = "5ms"
[[workload]]
kind = "poisson"
sizes = { cdf = "websearch" }
load = 0.3
[observe]
occupancy = "none"
"#;

/// Number of flows within five standard deviations of the configured Poisson mean.
fn flows_match(o: &Outcome, expected: f64) {
    let n = o.report.flows.len() as f64;
    println!("flows {n}, expected {expected:.1}");
    assert!((n - expected).abs() < 5.0 * expected.sqrt(), "{n} flows, expected {expected}");
}

#[test]
fn hosts_send_requested_payload() {
    // 12 hosts at 1 Gbps, 0.3 of it, mean 1 711 250 B.
    let rate = 12.0 * 0.3 * 1e9 / 8.0 / 1_711_250.0;
    let o = one(FABRIC, &["duration=3s"]);
    flows_match(&o, 3.0 * rate);
    let bytes: f64 = o.report.flows.iter().map(|f| f.size_bytes as f64).sum();
    // Relative error of a compound Poisson sum: sqrt(E[X^2] / E[X]^2 / n); the table's ratio is about 7.5.
    let error = (7.5 / o.report.flows.len() as f64).sqrt();
    let load = bytes * 8.0 / 3.0 / 12e9;
    println!("payload load {load:.4}, standard error {:.4}", error * 0.3);
    assert!((load / 0.3 - 1.0).abs() < 4.0 * error, "{load}");
    assert!(o.report.flows.iter().all(|f| f.src != f.dst));
}

/// Constant sizes have no variance: only the Poisson number of flows varies.
#[test]
fn load_by_payload_and_wire() {
    let pipe = r#"
duration = "2s"
[topology]
kind = "dumbbell"
left = 4
access     = { rate = "1Gbps", delay = "5us" }
bottleneck = { rate = "1Gbps", delay = "5us" }
[transport]
stack = "ns2"
[[workload]]
kind = "poisson"
sizes = "10KB"
load = 0.3
load-at = "bottleneck"
"#;
    for of in ["payload", "wire"] {
        for (at, load) in [("bottleneck", 0.3), ("hosts", 0.075)] {
            let sets =
                [format!("workload.0.load-of={of}"), format!("workload.0.load-at={at}"), format!("workload.0.load={load}")];
            let o = one(pipe, &[&sets[0], &sets[1], &sets[2]]);
            // Seven segments of 40 B header each.
            let counted = if of == "wire" { 10_280.0 } else { 10_000.0 };
            let expected = 2.0 * 0.3 * 1e9 / 8.0 / counted;
            flows_match(&o, expected);
            // On the wire: data, and SYN, ACK of the SYN-ACK, ACK of the FIN; all flows but the last few are complete.
            let p = o.port("bottleneck");
            let n = o.report.flows.len() as f64;
            let busy = n * (10_280.0 + 3.0 * 40.0) * 8.0 / 2e9;
            println!("{of} at {at}: busy {:.4}, from the flows {busy:.4}", p.busy);
            assert!((p.busy - busy).abs() < 0.001, "{} against {busy}", p.busy);
        }
    }
}

/// Transmitted bytes of hosts' ports are exactly payload, headers, retransmissions and ACKs.
#[test]
fn wire_bytes_match_flows() {
    let o = one(FABRIC, &["transport.fin=false", "transport.handshake=false", "workload.0.stop=200ms", "workload.0.sizes=30KB"]);
    let nodes = &o.variant.config.network.nodes;
    let from_hosts: u64 =
        o.report.ports.iter().filter(|p| nodes[o.variant.config.network.ports[p.port].from].host).map(|p| p.sent_bytes).sum();
    assert!(o.report.flows.iter().all(|f| !f.end.is_never() && f.bytes_acked == 30_000));
    let segments: u64 = o.report.flows.iter().map(|f| f.segs_sent).sum();
    let again: u64 = o.report.flows.iter().map(|f| f.segs_retx).sum();
    let payload = 30_000 * o.report.flows.len() as u64;
    assert_eq!((again, segments), (0, 21 * o.report.flows.len() as u64));
    assert_eq!(from_hosts, payload + 40 * segments + 40 * segments, "payload, headers and an ACK for each segment");
}
