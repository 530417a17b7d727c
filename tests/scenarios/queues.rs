//! Equivalent queue disciplines have identical trajectories, which also compares the two kinds of ports.

use forebay_tests::one;

const INCAST: &str = r#"
duration = "120ms"
[topology]
kind = "many-to-one"
senders = 9
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "40pkt" }
[transport]
stack = "ns2"
recovery = "sack"
rto-min = "3ms"
rto-initial = "3ms"
[[workload]]
kind = "incast"
request = "0B"
senders = "s0..s6"
block = "60KB"
jitter = "30us"
[[workload]]
kind = "poisson"
sizes = { log-uniform = ["500B", "300KB"] }
load = 0.1
[observe]
warmup = "20ms"
occupancy = ["bottleneck"]
"#;

/// Everything that could differ between two queues of the same behavior.
fn trajectory(sets: &[&str]) -> String {
    let o = one(INCAST, sets);
    let drops = o.drops();
    assert!(drops > 20, "nothing was lost: {sets:?}");
    format!("{:016x} {} {drops} {:?}", o.report.fingerprint, o.report.packet_hops, o.report.ports)
}

/// Runs both queues on networks that bring out different parts of a port.
fn same(a: &str, b: &str) {
    let networks: &[&[&str]] = &[
        &["topology.bottleneck.buffer=40pkt"],
        &["topology.bottleneck.buffer=40pkt", "observe.occupancy=[]"],
        &["topology.bottleneck.buffer=45KB"],
        &["topology.bottleneck.buffer=3pkt"],
        &["topology.bottleneck.buffer=1000pkt", "topology.shared-buffer=60KB", "topology.shared-alpha=2.0"],
        &["topology.access.delay=1us", "topology.bottleneck.delay=70us", "topology.bottleneck.rate=777Mbps"],
        &["transport.ecn=classic", "topology.access.delay=40us"],
    ];
    for network in networks {
        let run = |q: &str| trajectory(&[network, &[format!("topology.bottleneck.queue={q}").as_str()][..]].concat());
        assert_eq!(run(a), run(b), "{a} and {b} on {network:?}");
    }
}

#[test]
fn strict_priority_single_class_is_droptail() {
    same("drop-tail", "strict-priority");
    same("drop-tail", "{ kind = \"strict-priority\", queues = 2, buffer-scope = \"queue\" }");
    same("drop-tail", "{ kind = \"strict-priority\", overflow = \"tail\" }");
}

#[test]
fn fair_queueing_single_class_is_droptail() {
    for kind in ["dwrr", "wfq"] {
        same("drop-tail", &format!("{{ kind = \"{kind}\", weights = [1, 3] }}"));
        same("{ kind = \"dctcp-step\", k = \"2pkt\" }", &format!("{{ kind = \"{kind}\", k = \"2pkt\" }}"));
    }
}

#[test]
fn choke_without_comparison_is_red() {
    let red = "min = \"6pkt\", max = \"20pkt\", p-max = 0.1, weight = 0.05";
    // In bytes, as a buffer of fewer packets than samples is refused.
    let run = |q: &str, more: &str| {
        let queue = format!("topology.bottleneck.queue={{ kind = \"{q}\", {red}{more} }}");
        trajectory(&["topology.bottleneck.buffer=45KB", "transport.ecn=classic", "duration=300ms", &queue])
    };
    assert_eq!(run("red", ""), run("choke-multi", ", m = 1000"));
    assert_ne!(run("red", ""), run("choke", ""));
}

#[test]
fn without_ranks_pfabric_is_drop_tail() {
    same("drop-tail", "pfabric");
}

#[test]
fn precedence_without_high_is_droptail() {
    same("drop-tail", "pushout");
    same("drop-tail", "{ kind = \"protect\", high = 7 }");
}

/// A target that is never reached leaves a FIFO, in which the time of every arrival and departure is the same.
#[test]
fn idle_codel_and_pie_are_droptail() {
    same("drop-tail", "{ kind = \"codel\", target = \"100s\", interval = \"1000s\" }");
    same("drop-tail", "{ kind = \"pie\", target = \"100s\" }");
    same("drop-tail", "{ kind = \"pie\", target = \"100s\", delay = \"rate\", derandomize = true, cap = true }");
}
