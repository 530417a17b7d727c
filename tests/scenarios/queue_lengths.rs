//! The distribution of queue lengths is the same in both recorders: that of the port, which is the default, and that with a time series.

use forebay_tests::one;

fn scenario(queue: &str, topology: &str, observe: &str) -> String {
    format!(
        r#"
duration = "30ms"
[topology]
kind = "leaf-spine"
leaves = 2
hosts-per-leaf = 4
spines = 2
host = {{ rate = "1Gbps", delay = "5us", {queue} }}
fabric = {{ rate = "1Gbps", delay = "5us", {queue} }}
{topology}
[transport]
stack = "linux"
[[workload]]
kind = "long"
pattern = "permutation"
jitter = "100us"
[[workload]]
kind = "poisson"
sizes = {{ cdf = "websearch" }}
load = 0.6
load-at = "hosts"
[observe]
occupancy = "all"
{observe}
"#
    )
}

#[test]
fn percentiles_are_those_of_every_change() {
    let failure = "[[topology.failure]]\nlink = \"leaf0->spine1\"\ndown = \"5ms\"\nup = \"12ms\"\n[[topology.corruption]]\nport = \"spine0->leaf0\"\nbit-errors = 1e-6";
    let cases = [
        ("buffer = \"100pkt\"", "", ""),
        ("buffer = \"30KB\"", "", "warmup = \"10ms\""),
        ("buffer = \"40pkt\"", failure, "warmup = \"7ms\""),
        ("queue = { kind = \"dctcp-step\", k = \"20pkt\" }", "", ""),
        ("buffer = \"100pkt\", queue = { kind = \"red\", min = \"5pkt\", max = \"15pkt\" }", "", ""),
        ("buffer = \"60pkt\", queue = \"strict-priority\"", "", "warmup = \"10ms\""),
        ("buffer = \"60pkt\"", "host-queue = \"fq-codel\"", ""),
    ];
    for (queue, topology, observe) in cases {
        let text = scenario(queue, topology, observe);
        let counted = one(&text, &[]);
        let told = one(&text, &["observe.queue={ port = \"all\", every = \"1s\" }"]);
        assert!(counted.report.queue.is_empty() && !told.report.queue.is_empty());
        assert_eq!(counted.report.fingerprint, told.report.fingerprint, "{text}");
        let mut longest = 0;
        for (a, b) in counted.report.ports.iter().zip(&told.report.ports) {
            assert_eq!(a, b, "{text}");
            longest = longest.max(a.queue_percentiles.expect("all are observed")[2]);
        }
        assert!(longest > 10, "a queue of {longest} packets: {text}");
    }
}
