//! Runs of scenarios on hosts of Linux and of ns-2: offloads, TCP small queues, receive buffers, deadlines, shims, queues of ports. A line has the hash
//! of the trajectory, which covers every packet, and of the rows of all messages and ports.

use super::{Hash, compare};
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

/// Six senders, links of 10 Gbps, a bottleneck of 1 Gbps.
const BASE: &str = r#"
duration = "80ms"
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "40us", buffer = "60pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
rto-min = "5ms"
[[workload]]
kind = "long"
from = "s0"
size = "3MB"
[[workload]]
kind = "on-off"
from = ["s1", "s2"]
sizes = { uniform = ["2KB", "90KB"] }
gaps = { exponential = "2ms" }
deadline = "3ms"
[[workload]]
kind = "incast"
request = "0B"
senders = "s3..s5"
block = "60KB"
jitter = "30us"
rounds = 12
"#;

/// Names, and overrides of the base scenario.
const RUNS: &[(&str, &[&str])] = &[
    ("newreno", &[]),
    ("cubic", &["transport.cc=cubic"]),
    ("cubic-ecn", &["transport.cc=cubic", "transport.ecn=classic"]),
    ("cubic-6.1", &["transport.cc=cubic", "transport.kernel=\"6.1\""]),
    ("dctcp", &["transport.cc=dctcp"]),
    ("dctcp-accurate", &["transport.cc=dctcp", "transport.ecn=accurate"]),
    ("l2dct", &["transport.cc=l2dct"]),
    ("d2tcp", &["transport.cc=d2tcp"]),
    ("d2tcp-ns2", &["transport.stack=ns2", "transport.cc=d2tcp"]),
    ("d2tcp-missed", &["transport.stack=ns2", "transport.cc={ kind = \"d2tcp\", missed = \"neutral\", arithmetic = \"linux\" }"]),
    ("trim", &["transport.cc=trim", "topology.bottleneck.queue=drop-tail"]),
    ("trim-ns2", &["transport.stack=ns2", "transport.cc=trim", "topology.bottleneck.queue=drop-tail"]),
    (
        "prague",
        &[
            "transport.cc=prague",
            "topology.bottleneck.queue={ kind = \"dualpi2\", target = \"200us\", rtt-max = \"1ms\", l4s-threshold = \"20us\", l4s-range = \"10us\" }",
        ],
    ),
    ("bbr", &["transport.cc=bbr"]),
    ("bbr3", &["transport.cc=bbr3"]),
    ("bbr3-slow", &["transport.cc=bbr3", "topology.bottleneck.rate=100Mbps"]),
    ("bare", &["transport.host=bare", "transport.cc=cubic"]),
    ("ns2", &["transport.stack=ns2"]),
    ("rfc", &["transport.stack=rfc", "transport.cc=cubic"]),
    ("no-tso", &["transport.tso=1448B", "transport.cc=cubic"]),
    ("small-bursts", &["transport.tso=9KB", "transport.gro=20us", "transport.cc=dctcp"]),
    ("no-tsq", &["transport.tsq=false", "transport.cc=cubic"]),
    ("no-bql", &["transport.byte-queue-limits=false", "transport.cc=cubic", "topology.access.rate=1Gbps"]),
    ("slow-hosts", &["topology.access.rate=300Mbps", "transport.cc=cubic"]),
    ("host-fq", &["topology.host-queue=fq", "transport.cc=bbr"]),
    ("host-fq-codel", &["topology.host-queue=fq-codel", "topology.access.rate=500Mbps", "transport.cc=cubic"]),
    ("paced", &["transport.max-pacing-rate=200Mbps", "transport.cc=cubic", "topology.host-queue=fq"]),
    ("snd-buf", &["transport.snd-buf=40KB", "transport.cc=cubic"]),
    ("rcv-buf", &["transport.rcv-buf=60KB", "transport.cc=cubic"]),
    ("rcv-buf-max", &["transport.rcv-buf-max=200KB", "transport.cc=cubic", "topology.bottleneck.delay=2ms"]),
    ("small-segments", &["transport.mss=300", "transport.cc=newreno"]),
    ("jumbo", &["transport.mss=8948", "transport.cc=cubic"]),
    ("writes", &["workload.1.writes=3", "transport.cc=cubic"]),
    ("no-nagle", &["workload.1.writes=3", "transport.nagle=false"]),
    ("two-way", &["workload.1.connections=per-train", "transport.tcp-metrics=all", "transport.cc=cubic"]),
    ("metrics-rtt", &["workload.1.connections=per-train", "transport.tcp-metrics=rtt"]),
    // Requests and answers on one connection.
    ("both-directions", &["workload.2.two-way=true", "workload.2.request=3KB", "transport.cc=cubic"]),
    ("both-directions-dctcp", &["workload.2.two-way=true", "workload.2.request=20KB", "transport.cc=dctcp"]),
    (
        "both-directions-accurate",
        &["workload.2.two-way=true", "workload.2.request=20KB", "transport.cc=dctcp", "transport.ecn=accurate"],
    ),
    ("both-directions-classic", &["workload.2.two-way=true", "workload.2.request=9KB", "transport.ecn=classic"]),
    // The limits of TCP small queues and of bursts at rates far from 1 Gbps.
    (
        "fast",
        &[
            "topology.access.rate=100Gbps",
            "topology.bottleneck.rate=100Gbps",
            "topology.bottleneck.buffer=3000pkt",
            "topology.bottleneck.queue=drop-tail",
            "workload.0.size=30MB",
            "transport.cc=cubic",
        ],
    ),
    (
        "slow",
        &[
            "topology.bottleneck.rate=1Mbps",
            "topology.access.rate=3Mbps",
            "duration=4s",
            "workload.0.size=300KB",
            "transport.cc=bbr",
        ],
    ),
    ("losses", &["topology.bottleneck.loss={ p = 0.01 }", "transport.cc=cubic"]),
    ("losses-bbr", &["topology.bottleneck.loss={ p = 0.01 }", "transport.cc=bbr"]),
    ("losses-dctcp", &["topology.bottleneck.loss={ p = 0.01 }", "transport.cc=dctcp", "transport.timestamps=false"]),
    ("plb", &["transport.cc=dctcp", "transport.tcp-plb-enabled=true", "transport.tcp-plb-rehash-rounds=2"]),
    ("tiny-buffer", &["topology.bottleneck.buffer=3pkt", "topology.bottleneck.queue=drop-tail", "transport.cc=cubic"]),
    ("proboscis", &["transport.shim=proboscis", "transport.host=bare"]),
    (
        "pias",
        &[
            "transport.cc=dctcp",
            "transport.stack=ns2",
            "transport.shim={ kind = \"pias\", demotion-thresholds = [\"9KB\", \"30KB\"] }",
            "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 3, k = \"10pkt\" }",
        ],
    ),
    (
        "prin",
        &["transport.stack=ns2", "transport.shim=prin", "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 2 }"],
    ),
    (
        "prin-linux",
        &[
            "transport.host=bare",
            "transport.shim={ kind = \"prin\", tail = \"fragments\", ssthresh = \"cap\", prio-retransmit = true }",
            "topology.bottleneck.queue=protect",
        ],
    ),
    ("ictcp", &["transport.stack=ns2", "transport.shim=ictcp", "topology.bottleneck.queue=drop-tail"]),
    (
        "pfabric",
        &["transport.cc=pfabric", "transport.stack=ns2", "topology.bottleneck.queue=pfabric", "topology.bottleneck.buffer=12pkt"],
    ),
    ("codel", &["transport.cc=cubic", "topology.bottleneck.queue={ kind = \"codel\", target = \"100us\", interval = \"2ms\" }"]),
    (
        "pie",
        &[
            "transport.cc=cubic",
            "transport.ecn=classic",
            "topology.bottleneck.queue={ kind = \"pie\", target = \"100us\", update = \"100us\", burst = \"1ms\", ecn = true }",
        ],
    ),
    (
        "red",
        &[
            "transport.cc=cubic",
            "transport.ecn=classic",
            "topology.bottleneck.queue={ kind = \"red\", min = \"4pkt\", max = \"30pkt\", p-max = 0.1, weight = 0.1 }",
        ],
    ),
];

#[test]
fn runs_are_as_recorded() {
    static WORLDS: OnceLock<Worlds> = OnceLock::new();
    let worlds = WORLDS.get_or_init(|| Worlds::new(&[&Simulator]));
    let mut lines = Vec::new();
    for (name, sets) in RUNS {
        let sets: Vec<String> = sets.iter().map(|&s| s.to_owned()).collect();
        let scenario = Scenario::from_text(worlds, BASE, "base.toml", Path::new(""), &sets, None);
        let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{name}: {}", e.render()));
        let config = &resolved.variants[0].config;
        let checked = config.check().unwrap_or_else(|e| panic!("{name}: {e}"));
        let r = Simulator.run(checked, config.seed, &mut |_| ControlFlow::Continue(())).expect("it ends");
        let mut hash = Hash::default();
        hash.add_text(&format!("{:?} {:?} {:?}", r.flows, r.ports, r.timeouts.to_vec()));
        let ended = r.flows.iter().filter(|row| !row.end.is_never()).count();
        lines.push(format!("{name},{ended},{},{:016x},{:016x}", r.packet_hops, r.fingerprint, hash.0));
    }
    compare("runs", "name,messages,hops,fingerprint,hash", &lines);
}
