//! Bursts of segmentation offload at the interfaces of hosts: queues, byte queue limits and jitter.

use forebay_experiment::Experiment;
use forebay_sim::run::Report;
use forebay_tests::{execute, one, resolve};

/// Six hosts with several connections each, as Linux servers: bursts share the interfaces with ACKs and short messages.
const RACKS: &str = r#"
duration = "4ms"
[topology]
kind = "leaf-spine"
leaves = 2
hosts-per-leaf = 3
spines = 2
host = { rate = "10Gbps", delay = "1us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "30pkt" } }
fabric = { rate = "10Gbps", delay = "1us", buffer = "200pkt", queue = { kind = "dctcp-step", k = "30pkt" } }
[transport]
stack = "linux"
host = "linux-server"
cc = "dctcp"
[[workload]]
kind = "long"
pattern = "permutation"
jitter = "10us"
[[workload]]
kind = "long"
pattern = "permutation"
jitter = "10us"
[[workload]]
kind = "poisson"
from = "all"
to = "all"
sizes = { cdf = "websearch" }
load = 0.3
"#;

/// Queues of hosts: the default, which is FQ-CoDel, and others.
const QUEUES: [&[&str]; 4] = [
    &[],
    &["topology.host-queue=fq"],
    &["topology.host-queue=codel"],
    &["topology.host-queue={ kind = \"fq-codel\", limit = 20 }"],
];

/// Payload that has been acknowledged, Gbps, of hosts with a FIFO in front of the wire and of hosts with FQ-CoDel. With both a burst leaves segment by
/// segment at 10 Gbps, and the receivers share what the switches let through: the two differ by little.
#[test]
fn fifo_hosts_send_bursts_too() {
    let goodput = |set: &str| {
        let o = one(RACKS, &[set]);
        o.report.acked.iter().sum::<u64>() as f64 * 8.0 / o.report.end.as_secs_f64() / 1e9
    };
    let (fifo, fair) = (goodput("topology.host-queue=drop-tail"), goodput("topology.host-queue=fq-codel"));
    // Six receivers at 10 Gbps; 1448 of 1538 bytes on the wire are payload.
    assert!(fifo > 20.0 && fifo < 6.0 * 10.0 * 1448.0 / 1538.0 && (fifo / fair - 1.0).abs() < 0.15, "{fifo} and {fair}");
}

/// `host-jitter` acts at every kind of interface.
#[test]
fn jitter_changes_runs_of_all_queues() {
    for queue in QUEUES.into_iter().chain([&["topology.host-queue=drop-tail"][..]]) {
        let run = |jitter| one(RACKS, &[queue, &[jitter, "transport.host-phase=0ns"]].concat()).report.fingerprint;
        assert_ne!(run("transport.host-jitter=0ns"), run("transport.host-jitter=25600ps"), "{queue:?}");
    }
}

/// The short path of bursts that enter the transmit ring is exact: segments that are handed over one by one give the same run.
#[test]
#[cfg(debug_assertions)]
fn whole_bursts_do_not_change_results() {
    let by_segment = |config: &Experiment| {
        forebay_sim::run::run_by_segment(config.check().unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}"))
    };
    let facts = |r: &Report| (r.fingerprint, r.packet_hops, format!("{:?}", r.ports));
    for queue in QUEUES {
        for limits in ["transport.byte-queue-limits=true", "transport.byte-queue-limits=false"] {
            for jitter in [&[][..], &["transport.host-jitter=0ns"], &["transport.send-jitter=300ns", "transport.host-jitter=1us"]]
            {
                let sets = [queue, &[limits], jitter].concat();
                let config = &resolve(RACKS, &sets, None)[0].config;
                assert_eq!(facts(&execute(config)), facts(&by_segment(config)), "{sets:?}");
            }
        }
    }
}

/// The link loses the first flight of two bursts, or a short message with its FIN. All of it has left the interface before the probe timer expires, and
/// does not hold the probe back (tcp_small_queue_check, skb_still_in_host_queue). The probe is new data or the FIN. Its ACK starts the recovery, and no
/// timeout is needed.
#[test]
fn probe_repairs_lost_flight() {
    const LOST: &str = r#"
[topology]
kind = "many-to-one"
senders = 1
access = { rate = "2Gbps", delay = "500us" }
bottleneck = { rate = "1Gbps", delay = "500us", buffer = "100pkt" }
[[topology.failure]]
link = "bottleneck"
down = "2300us"
up = "4ms"
[transport]
cc = "cubic"
[[workload]]
kind = "long"
"#;
    for size in ["100KB", "1135B"] {
        let flow = one(LOST, &[&format!("workload.0.size={size}")]).report.flows[0].clone();
        assert!(flow.segs_retx > 0 && flow.tlps > 0 && flow.rtos == 0 && flow.acked.get().is_some(), "{size}: {flow:?}");
    }
}
