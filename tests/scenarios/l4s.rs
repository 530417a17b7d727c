//! L4S: TCP Prague with Accurate ECN over DualPI2, beside CUBIC, and alone with different round trips.

use forebay_tests::{Outcome, one};
use forebay_types::GroupId;

const SHARED: &str = r#"
duration = "20s"
[topology]
kind = "dumbbell"
left = 2
access     = { rate = "1Gbps", delay = "500us" }
bottleneck = { rate = "50Mbps", delay = "9ms", buffer = "2000pkt", queue = "dualpi2" }
[transport]
stack = "linux"
[[transport.group]]
name = "first"
cc = "prague"
[[transport.group]]
name = "second"
cc = "cubic"
[[workload]]
kind = "long"
transport = "first"
from = "l0"
to = "r0"
[[workload]]
kind = "long"
transport = "second"
from = "l1"
to = "r1"
[observe]
warmup = "5s"
"#;

/// Payload of the second group over that of the first, and the utilization of the bottleneck.
fn shares(sets: &[&str]) -> (f64, f64, Outcome) {
    let o = one(SHARED, sets);
    let (first, second) = (o.report.acked[GroupId::new(0)], o.report.acked[GroupId::new(1)]);
    let busy = o.port("bottleneck").busy;
    (second as f64 / first as f64, busy, o)
}

/// RFC 9332 section 2.1: the coupling makes rates about equal. A factor of two is allowed on each side.
#[test]
fn cubic_and_prague_share_dualpi2() {
    let (ratio, busy, o) = shares(&[]);
    assert!((0.5..2.0).contains(&ratio) && busy > 0.9, "{ratio:.2}, {busy:.3}");
    assert_eq!(o.rtos(), 0);
    assert!(o.port("bottleneck").marked > 0);
}

/// RFC 9331 section 4.3 item 4: flows with round trips of 5 and 20 ms, both below the virtual RTT of 25 ms, after the transition.
#[test]
fn rates_are_independent_of_rtt() {
    let prague = "transport.group.1.cc={ kind = \"prague\", transition = 50 }";
    let sets = [
        "transport.group.0.cc={ kind = \"prague\", transition = 50 }",
        prague,
        "topology.bottleneck.delay=1.5ms",
        "topology.extra-delay=l1: 7.5ms",
    ];
    let independent = shares(&sets);
    let sets = [sets[0], prague, sets[2], sets[3]].map(|s| s.replace("transition = 50", "rtt-virt = \"0s\""));
    let dependent = shares(&sets.each_ref().map(String::as_str));
    assert!((0.6..1.7).contains(&independent.0), "{:.2}", independent.0);
    assert!(dependent.0 < independent.0, "{:.2} {:.2}", dependent.0, independent.0);
}

/// RFC 9768 section 3.1.2: receivers without Accurate ECN. Prague has ECT(0) then, waits in the classic queue, and answers ECN-Echo as Reno does.
#[test]
fn prague_falls_back_to_classic_ecn() {
    let reno = ["transport.group.1.cc=newreno", "transport.group.1.ecn=classic"];
    let latched = "transport.group.0.ecn-echo=latched";
    let (ratio, busy, o) = shares(&[latched, reno[0], reno[1]]);
    assert!((0.4..2.5).contains(&ratio) && busy > 0.9, "{ratio:.2}, {busy:.3}");
    assert_eq!(o.drops(), 0, "both are marked");
}

/// Accurate ECN with another congestion control, and with data in both directions.
#[test]
fn accurate_ecn_in_both_directions() {
    let text = r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "100Mbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
cc = { kind = "dctcp", ecn = "accurate" }
[[workload]]
kind = "requests"
clients = "receiver"
servers = "senders"
two-way = true
response = "200KB"
think = "1ms"
count = 20
"#;
    let o = one(text, &[]);
    assert!(o.report.flows.iter().all(|f| !f.acked.is_never()), "all are complete");
    assert!(o.report.ports.iter().map(|p| p.marked).sum::<u64>() > 0);
}
