//! CoDel, FQ-CoDel and PIE with their published defaults at 100 Mb/s and a round trip of 100 ms: queueing delay and link utilization.

use forebay_tests::{Outcome, jain, one};

const LONG: &str = r#"
duration = "80s"
[topology]
kind = "many-to-one"
senders = 10
access     = { rate = "10Gbps", delay = "25ms" }
bottleneck = { rate = "100Mbps", delay = "25ms", buffer = "5000pkt" }
[transport]
stack = "ns2"
header = 40
[[workload]]
kind = "long"
jitter = "100ms"
[observe]
warmup = "40s"
occupancy = ["bottleneck"]
"#;
/// Transmission of a packet of 1500 B at 100 Mb/s, ms.
const TX: f64 = 0.12;

struct Measured {
    /// Utilization of the bottleneck.
    busy: f64,
    /// Mean waiting time before transmission, ms.
    wait: f64,
    /// 99th percentile of the waiting time, ms.
    wait_99: f64,
    outcome: Outcome,
}

fn run(cc: &str, senders: &str, queue: &str, more: &[&str]) -> Measured {
    let sets = [format!("transport.cc={cc}"), format!("workload.0.from={senders}"), format!("topology.bottleneck.queue={queue}")];
    let outcome = one(LONG, &[&sets.each_ref().map(String::as_str)[..], more].concat());
    let p = outcome.port("bottleneck");
    assert_eq!(p.dropped_overflow, 0, "{cc} on {queue}: the buffer is not what limits the queue");
    let wait = (p.queue_mean_pkts - p.busy) * TX;
    let wait_99 = f64::from(p.queue_percentiles.expect("observed")[2]) * TX;
    Measured { busy: p.busy, wait, wait_99, outcome }
}

fn within(what: &str, got: f64, from: f64, to: f64) {
    assert!((from..=to).contains(&got), "{what}: {got:.4}, expected {from} to {to}");
}

/// One NewReno flow whose window is halved when the queue has grown to a share f of the pipe P. From P (1 + f) / 2 to P the link is not full, for
/// P (1 - f) / 2 round trips. From there to P (1 + f) it is full, and round trips grow by f / 2 on average. The utilization is
/// `3 (1 + f)^2 / (4 (1 + f + f^2))`, 78.6 % for the 5 ms of CoDel's target in a round trip of 100 ms. RFC 8289 section 3.2 derives the target from
/// such a flow; its expression for the goodput gives 78.5 %.
#[test]
fn codel_single_flow_matches_sawtooth() {
    let long = ["duration=200s", "observe.warmup=70s"];
    let m = run("newreno", "s0", "codel", &long);
    let f: f64 = 0.05;
    let expected = 3.0 * (1.0 + f).powi(2) / (4.0 * (1.0 + f + f * f));
    within("utilization", m.busy, expected - 0.02, expected + 0.02);
    // The queue is above the target only while CoDel waits for its interval and the sender for the loss, two round trips of one packet each.
    within("99 % of the waiting time", m.wait_99, 3.0, 5.5);
    // A single flow with its own queue has exactly the same trajectory.
    let fq = run("newreno", "s0", "fq-codel", &long);
    assert_eq!(m.outcome.report.fingerprint, fq.outcome.report.fingerprint);
    // CUBIC falls to 0.7 of the window instead of to half.
    let cubic = run("cubic", "s0", "codel", &long);
    within("utilization under CUBIC", cubic.busy, expected + 0.05, 1.0);
    within("99 % of the waiting time under CUBIC", cubic.wait_99, 3.0, 7.5);
}

/// "Controlling queue delay" (Nichols and Jacobson, ACM Queue 10(5), 2012): with several flows the link is full and the typical waiting time
/// near the target or below.
#[test]
fn codel_keeps_delay_at_target() {
    for (cc, full) in [("newreno", 0.97), ("cubic", 0.99)] {
        let m = run(cc, "s0..s9", "codel", &[]);
        within("utilization", m.busy, full, 1.0);
        within("mean waiting time", m.wait, 2.0, 5.5);
        within("99 % of the waiting time", m.wait_99, 5.0, 10.0);
    }
}

/// Five NewReno flows against five of CUBIC. A queue for each flow divides the link evenly as far as each flow can use its share.
#[test]
fn fq_codel_is_fair() {
    let groups =
        "header = 40\n[[transport.group]]\nname = \"a\"\ncc = \"newreno\"\n[[transport.group]]\nname = \"b\"\ncc = \"cubic\"\n";
    let workloads = "kind = \"long\"\ntransport = \"a\"\nfrom = \"s0..s4\"\njitter = \"100ms\"\n[[workload]]\nkind = \"long\"\n\
                     transport = \"b\"\nfrom = \"s5..s9\"\n";
    let text = LONG.replace("header = 40\n", groups).replace("kind = \"long\"\n", workloads);
    let shares = |queue: &str| {
        let o = one(&text, &[&format!("topology.bottleneck.queue={queue}")]);
        let acked: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_acked as f64).collect();
        let (newreno, cubic) = acked.split_at(5);
        (jain(&acked), cubic.iter().sum::<f64>() / newreno.iter().sum::<f64>())
    };
    let (fair, one_queue) = (shares("fq-codel"), shares("codel"));
    within("Jain's index with a queue for each", fair.0, 0.98, 1.0);
    within("CUBIC's share over NewReno's with a queue for each", fair.1, 1.0, 1.35);
    assert!(fair.0 > one_queue.0, "one queue for all is no fairer: {one_queue:?} against {fair:?}");
}

/// Pan et al. (HPSR 2013) and RFC 8033 section 4: PIE holds the waiting time near its target, here 15 ms, at any load.
#[test]
fn pie_keeps_delay_at_target() {
    for (cc, senders, full, least) in
        [("newreno", "s0..s9", 0.98, 9.0), ("cubic", "s0..s9", 0.99, 9.0), ("cubic", "s0", 0.85, 2.0)]
    {
        let m = run(cc, senders, "pie", &[]);
        within(&format!("utilization of {cc} from {senders}"), m.busy, full, 1.0);
        within(&format!("mean waiting time of {cc} from {senders}"), m.wait, least, 18.0);
        within(&format!("99 % of the waiting time of {cc} from {senders}"), m.wait_99, 15.0, 30.0);
    }
    // With marks instead of drops the same controller holds the same queue.
    let marks = run("newreno", "s0..s9", "{ kind = \"pie\", ecn = true }", &["transport.ecn=classic"]);
    within("mean waiting time with marks", marks.wait, 9.0, 18.0);
    assert!(marks.outcome.port("bottleneck").marked > 50 && marks.outcome.port("bottleneck").dropped_early == 0);
}

/// A packet takes a second on its link, and the controller's period is 1.8 us: 630 000 updates are due when the next packet moves.
#[test]
fn pie_updates_far_faster_than_packets() {
    let text = r#"
[topology]
kind = "many-to-one"
senders = 20
access = { rate = "64Kbps", delay = "800ms" }
bottleneck = { rate = "900Kbps", delay = "2us" }
host-queue = { kind = "pie", update = "1783852ps" }
[transport]
mss = 9000
[[workload]]
kind = "long"
from = "all"
to = "all"
pattern = "all-pairs"
size = "217KB"
"#;
    let o = one(text, &[]);
    assert!(!o.report.cut && !o.report.flows.is_empty(), "the run ends by itself");
    assert!(o.report.flows.iter().all(|f| f.bytes_acked == 217_000), "every flow is delivered");
    assert!(o.report.ports.iter().any(|p| p.dropped_early > 0), "hosts' queues drop early");
}
