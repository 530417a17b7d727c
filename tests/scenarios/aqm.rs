//! DCTCP and NewReno with ECN at one bottleneck, under the queues of the coexistence study: throughput ratio and queue length. Bounds are 25 % around
//! the results of an independent small simulation (coexistence specification 4.3 to 4.5) with the same set-up. Both have a latched echo, 1 Gb/s,
//! 250 us, and a buffer of 250 packets beside the one in service.

use forebay_tests::run;
use forebay_types::GroupId;

const TWO_FLOWS: &str = r#"
duration = "4s"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "10Gbps", delay = "54us" }
bottleneck = { rate = "1Gbps", delay = "64us", buffer = "251pkt" }
[transport]
stack = "ns2"
recovery = "sack"
header = 40
[[transport.group]]
name = "tcp"
cc = "newreno"
ecn = "classic"
[[transport.group]]
name = "dctcp"
cc = "dctcp"
ecn-echo = "latched"
[[workload]]
kind = "long"
transport = "tcp"
from = "s0"
to = "recv"
[[workload]]
kind = "long"
transport = "dctcp"
from = "s1"
to = "recv"
start = "37ms"
[observe]
warmup = "1s"
"#;

/// Throughput of DCTCP over that of TCP, and the mean queue.
fn share(queue: &str, more: &str) -> (f64, f64) {
    let (mut tcp, mut dctcp, mut mean) = (0, 0, 0.0);
    let queue = format!("topology.bottleneck.queue={{ kind = \"{queue}\", {more} }}");
    for seed in ["seed=1", "seed=2"] {
        let o = run(TWO_FLOWS, &[seed, &queue]).remove(0);
        tcp += o.report.acked[GroupId::new(0)];
        dctcp += o.report.acked[GroupId::new(1)];
        mean += o.port("bottleneck").queue_mean_pkts / 2.0;
    }
    let utilisation = (tcp + dctcp) as f64 * 8.0 * 1500.0 / 1460.0 / 6e9;
    assert!(utilisation > 0.99, "{queue}: {utilisation}");
    (dctcp as f64 / tcp as f64, mean)
}

fn near(what: &str, got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 0.25, "{what}: {got:.2}, expected {expected}");
}

#[test]
fn shares_under_step_red_and_choke() {
    let thresholds = |min: u32| format!("min = \"{min}pkt\", max = \"100pkt\"");
    let (step, queue) = share("dctcp-step", "k = \"21pkt\"");
    near("step marking at 20", step, 8.4);
    near("its queue", queue, 18.0);
    // (min, T_r of RED, of CHOKe, of modified CHOKe, queue of CHOKe)
    for (min, red, choke, modified, queue) in [(30, 2.6, 3.2, 1.4, 27.0), (90, 3.7, 4.9, 1.9, 82.0)] {
        let got = (share("red", &thresholds(min)).0, share("choke", &thresholds(min)), share("choke-multi", &thresholds(min)).0);
        near("RED", got.0, red);
        near("CHOKe", got.1.0, choke);
        near("queue under CHOKe", got.1.1, queue);
        near("modified CHOKe", got.2, modified);
        assert!(got.2 < got.0 && got.0 < got.1.0, "modified CHOKe is fairer than RED, RED than CHOKe: {got:?}");
    }
}

/// Readings of \"m packets are compared\" at min 30 (coexistence specification 1.5): only `all` is fairer than plain CHOKe by much.
#[test]
fn readings_of_modified_choke() {
    let of = |rule: &str| share("choke-multi", &format!("min = \"30pkt\", max = \"100pkt\", match = \"{rule}\"")).0;
    let (all, majority, any) = (of("all"), of("majority"), of("any"));
    assert!(all < 1.7 && (2.2..3.2).contains(&majority) && (3.7..5.2).contains(&any), "{all} {majority} {any}");
}
