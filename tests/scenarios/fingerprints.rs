//! Trajectories of small scenarios, recorded in `tests/fingerprints.csv`, so that the diff shows every change of behavior.
//!
//! `FOREBAY_UPDATE=1 cargo test -p forebay-tests --test fingerprints` rewrites the file.

use forebay_experiment::Experiment;
use forebay_sim::run::{Cores, Report};
use forebay_tests::processes::execute_among;
use forebay_tests::{execute, repository, resolve, rows};
use forebay_types::Time;
use std::cell::Cell;
use std::fmt::Write;
use std::ops::ControlFlow;

const HEADER: &str = "# name,seed,hops,fingerprint: see tests/scenarios/fingerprints.rs; FOREBAY_UPDATE=1 rewrites it\n";

/// Overrides of the base scenario, by name. Each covers another feature.
const SCENARIOS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("seed", &["seed=99"]),
    ("deep-buffer", &["topology.bottleneck.buffer=500pkt"]),
    ("byte-buffer", &["topology.bottleneck.buffer=45KB"]),
    ("tiny-buffer", &["topology.bottleneck.buffer=2pkt", "topology.bottleneck.queue=drop-tail"]),
    ("shared-alpha", &["topology.bottleneck.buffer=1000pkt", "topology.shared-buffer=90KB", "topology.shared-alpha=0.5"]),
    ("shared-static", &["topology.shared-buffer=200KB", "topology.shared-per-port=30KB"]),
    ("odd-rates", &["topology.access.rate=1.7Gbps", "topology.bottleneck.rate=933Mbps"]),
    ("long-delay", &["topology.bottleneck.delay=3ms", "duration=200ms"]),
    ("unequal-delay", &["topology.access.delay=1us", "topology.bottleneck.delay=80us"]),
    ("reno", &["transport.cc=reno"]),
    ("cubic", &["transport.cc=cubic"]),
    ("dctcp", &["transport.cc=dctcp"]),
    ("dctcp-linux-arithmetic", &["transport.cc={ kind = \"dctcp\", arithmetic = \"linux\" }"]),
    ("l2dct", &["transport.cc=l2dct"]),
    ("d2tcp", &["transport.cc=d2tcp"]),
    ("trim", &["transport.cc=trim"]),
    ("trim-waits", &["transport.cc={ kind = \"trim\", at = \"on\", gap-scope = \"idle\", reduction-mode = \"per-ack-capped\" }"]),
    ("linux-trim", &["transport.stack=linux", "transport.cc=trim"]),
    ("classic-ecn", &["transport.ecn=classic"]),
    ("drop-above-k", &["topology.bottleneck.queue={ kind = \"dctcp-step\", k = \"9pkt\", drop-non-ect-above-k = true }"]),
    ("linux", &["transport.stack=linux"]),
    ("linux-cubic", &["transport.stack=linux", "transport.cc=cubic"]),
    ("linux-dctcp", &["transport.stack=linux", "transport.cc=dctcp"]),
    ("rfc", &["transport.stack=rfc"]),
    ("rfc-dctcp", &["transport.stack=rfc", "transport.cc=dctcp"]),
    ("sack", &["transport.recovery=sack"]),
    ("rack", &["transport.recovery=rack"]),
    ("delayed-acks", &["transport.ack-every=2", "transport.ack-delay=1ms"]),
    ("no-limited-transmit", &["transport.limited-transmit=false"]),
    ("no-timestamps", &["transport.timestamps=false"]),
    ("no-handshake", &["transport.handshake=false", "transport.fin=false"]),
    ("small-window", &["transport.rcv-wnd=20KB"]),
    ("large-initial-window", &["transport.init-cwnd=40"]),
    ("wrap-around", &["transport.isn=4294900000"]),
    ("idle-restart", &["transport.slow-start-after-idle=rfc5681", "transport.rto-min=200us"]),
    ("rto-1ms", &["transport.rto-min=1ms"]),
    ("proboscis", &["transport.shim=proboscis", "transport.init-cwnd=10"]),
    (
        "proboscis-cubic",
        &[
            "transport.stack=linux",
            "transport.cc=cubic",
            "transport.shim={ kind = \"proboscis\", gamma = 5, hold-on = \"any\", no-shrink = true, elephant-bytes = \"40KB\" }",
        ],
    ),
    (
        "proboscis-guest-ecn",
        &["transport.ecn=classic", "transport.shim={ kind = \"proboscis\", ecn-mode = \"guest\", k = 1.0, beta3 = \"2ms\" }"],
    ),
    ("red", &["transport.ecn=classic", RED]),
    ("red-drop", &[RED]),
    (
        "red-gentle-wait",
        &[
            "transport.ecn=classic",
            "topology.bottleneck.queue={ kind = \"red\", min = \"6KB\", max = \"14KB\", p-max = 0.2, weight = 0.1, gentle = true, \
             count = \"wait\", above-max = \"drop\", in-service = true }",
        ],
    ),
    (
        "choke",
        &[
            "transport.ecn=classic",
            "topology.bottleneck.queue={ kind = \"choke\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }",
        ],
    ),
    (
        "choke-multi",
        &[
            "transport.cc=dctcp",
            "topology.bottleneck.queue={ kind = \"choke-multi\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1, m = 2, \
             match = \"any\" }",
        ],
    ),
    (
        "choke-drop",
        &["topology.bottleneck.queue={ kind = \"choke\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }"],
    ),
    (
        "strict-priority",
        &[
            "transport.cc=dctcp",
            "transport.shim={ kind = \"pias\", demotion-thresholds = [\"4KB\", \"9KB\", \"18KB\", \"30KB\", \"45KB\", \"75KB\", \"120KB\"] }",
            "topology.bottleneck.queue={ kind = \"strict-priority\", k = \"10pkt\" }",
        ],
    ),
    (
        "strict-two-queues",
        &[
            "transport.shim=prin",
            "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 2, buffer-scope = \"queue\", limits = [\"16pkt\"] }",
        ],
    ),
    ("protect", &["transport.shim=prin", "topology.bottleneck.queue={ kind = \"protect\", reserve = \"16pkt\" }"]),
    (
        "pushout",
        &["transport.shim=prin", "transport.cc=dctcp", "topology.bottleneck.queue={ kind = \"pushout\", k = \"10pkt\" }"],
    ),
    ("pfabric-queue", &["transport.shim=srpt", "topology.bottleneck.queue=pfabric"]),
    ("latched-echo", &["transport.cc=dctcp", "transport.ecn-echo=latched"]),
    ("prin", &["transport.shim=prin", "topology.bottleneck.queue=protect"]),
    ("prin-strict", &["transport.shim={ kind = \"prin\", tail-reorder-wait = \"400us\" }", STRICT]),
    ("prin-linux", &["transport.stack=linux", "transport.shim={ kind = \"prin\", ssthresh = \"cap\" }", STRICT]),
    ("pias", &["transport.cc=dctcp", "transport.shim={ kind = \"pias\", demotion-thresholds = [\"20KB\", \"40KB\"] }", STRICT]),
    ("pfabric-law", &["transport.cc=pfabric", "topology.bottleneck.queue=pfabric"]),
    (
        "pfabric-probes",
        &[
            "transport.cc=pfabric",
            "transport.probe-after=1",
            "topology.bottleneck.buffer=4pkt",
            "topology.bottleneck.queue=pfabric",
        ],
    ),
    ("ictcp", &["transport.shim=ictcp", "topology.bottleneck.queue=drop-tail"]),
];

/// RED that marks.
const RED: &str = "topology.bottleneck.queue={ kind = \"red\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }";

/// Strict priority with marks.
const STRICT: &str = "topology.bottleneck.queue={ kind = \"strict-priority\", queues = 4, k = \"10pkt\" }";

const BASE: &str = r#"
duration = "60ms"
[topology]
kind = "many-to-one"
senders = 7
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "30pkt", queue = { kind = "dctcp-step", k = "10pkt" } }
[transport]
stack = "ns2"
rto-min = "4ms"
rto-initial = "4ms"
[[workload]]
kind = "incast"
request = "0B"
senders = "s0..s4"
block = "40KB"
jitter = "30us"
[[workload]]
kind = "poisson"
sizes = { log-uniform = ["500B", "300KB"] }
load = 0.05
[[workload]]
kind = "on-off"
from = ["s5", "s6"]
sizes = { uniform = ["2KB", "60KB"] }
gaps = { exponential = "400us" }
"#;

/// Other topologies, with traffic between all hosts.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("dumbbell", "left = 4\naccess = LINK\nbottleneck = LINK"),
    ("multi-hop", "a = 2\nb = 2\nc = 3\naccess = LINK\nlink1 = LINK\nlink2 = LINK"),
    ("leaf-spine", "leaves = 3\nspines = 2\nhosts-per-leaf = 4\nhost = LINK\noversubscription = 2"),
    ("fat-tree", "k = 4\nhost = LINK"),
];

/// Traffic that the base scenario does not have, on three racks.
const TRAFFIC: &[(&str, &str)] = &[
    ("http", "kind = \"on-off\"\nsizes = HTTP\ngaps = HTTP\npattern = \"permutation\"\ntrains = 16\ntotal = \"512KiB\""),
    (
        "http-new-connections",
        "kind = \"on-off\"\nsizes = HTTP\ngaps = HTTP\npattern = \"permutation\"\ntrains = 16\nconnections = \"per-train\"\njitter = \"1ms\"",
    ),
    (
        "remainder",
        "kind = \"on-off\"\nsizes = \"5KB\"\ngaps = { exponential = \"1ms\" }\npattern = \"other-rack\"\ntrains = 9\n\
         last-total = \"1MB\"\nlast-at = \"12ms\"",
    ),
    ("queries", "kind = \"queries\"\nrequest = \"0B\"\nfan-out = 7\nresponse = { uniform = [\"2KB\", \"30KB\"] }\nrate = 300.0"),
    (
        "queries-packets",
        "kind = \"queries\"\nfan-out = 7\nresponse = { uniform = [\"2KB\", \"30KB\"] }\nrate = 300.0\ndeadline = \"9ms\"",
    ),
    (
        "incast-packets",
        "kind = \"incast\"\nsenders = \"h1..h7\"\nreceiver = \"h0\"\nblock = \"60KB\"\nrounds = 4\njitter = \"50us\"",
    ),
    (
        "queries-in-turn",
        "kind = \"queries\"\nrequest = \"0B\"\ntotal = \"400KB\"\njitter = \"50us\"\ngap = { exponential = \"200us\" }",
    ),
    (
        "one-rack-to-all",
        "kind = \"poisson\"\nfrom = \"rack0\"\nracks = \"other\"\nsizes = { cdf = \"websearch\" }\nload = 0.7\nload-at = \"uplinks\"\n\
         flows-per-source = 20",
    ),
    (
        "udp",
        "kind = \"udp\"\npattern = \"each-other-rack\"\nrate = \"300Mbps\"\npacket-jitter = \"9us\"\n[[workload]]\nkind = \"queries\"\nrequest = \"0B\"\ntotal = \"90KB\"",
    ),
    (
        "udp-on-off",
        "kind = \"udp\"\npattern = \"permutation\"\nrate = \"900Mbps\"\non = { exponential = \"1ms\" }\noff = \"1ms\"\nservice = 3\nect = true\n\
         [[workload]]\nkind = \"long\"\npattern = \"other-rack\"",
    ),
];

/// Files of `scenarios/` with network events, and overrides of them.
const FAULTS: &[(&str, &[&str])] = &[
    ("link-failure", &["duration=25ms"]),
    ("link-failure", &["duration=25ms", "topology.failure.0.link=h3->leaf0", "topology.failure.0.reroute=0s"]),
    ("spraying", &["duration=10ms"]),
    ("bad-optic", &["duration=15ms"]),
    ("bad-optic", &["duration=15ms", "topology.corruption.0.port=leaf1->h9", "topology.corruption.0.bit-errors=1e-6"]),
    ("host-queue", &["duration=120ms"]),
];

fn all(run: fn(&Experiment) -> Report) -> String {
    let mut out = HEADER.to_owned();
    each(&mut |name, config| {
        let r = run(config);
        let _ = writeln!(out, "{name},{},{},{:016x}", config.seed, r.packet_hops, r.fingerprint);
    });
    out
}

/// Calls `run` with all of them.
fn each(run: &mut dyn FnMut(&str, &Experiment)) {
    let mut line = |name: &str, text: &str, sets: &[&str]| {
        for v in resolve(text, sets, None) {
            run(name, &v.config);
        }
    };
    for (name, sets) in SCENARIOS {
        line(name, BASE, sets);
    }
    let link = "{ rate = \"1Gbps\", delay = \"10us\", buffer = \"30pkt\" }";
    for (kind, body) in TOPOLOGIES {
        let text = format!(
            "duration = \"10ms\"\n[topology]\nkind = \"{kind}\"\n{}\n[transport]\nstack = \"ns2\"\nrto-min = \"2ms\"\n\
             [[workload]]\nkind = \"poisson\"\nfrom = \"all\"\nto = \"all\"\nsizes = {{ cdf = \"websearch\" }}\nload = 0.6\n\
             [[workload]]\nkind = \"requests\"\nclients = \"all\"\nservers = \"all\"\npattern = \"permutation\"\nresponse = \"12KB\"\n",
            body.replace("LINK", link)
        );
        line(kind, &text, &[]);
    }
    for (name, workload) in TRAFFIC {
        let text = format!(
            "duration = \"20ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nhost = {link}\noversubscription = 2\n\
             [transport]\nstack = \"ns2\"\nrto-min = \"2ms\"\n[[workload]]\n{}\n",
            workload.replace("HTTP", "{ mixture = \"trim-http\" }")
        );
        line(name, &text, &[]);
    }
    for (name, sets) in FAULTS {
        let text = std::fs::read_to_string(repository().join(format!("scenarios/{name}.toml"))).unwrap();
        line(name, &text, sets);
    }
}

#[test]
fn trajectories_are_as_recorded() {
    let path = repository().join("tests/fingerprints.csv");
    let now = all(execute);
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<_> = now.lines().filter(|l| !recorded.lines().any(|r| r == *l)).collect();
    assert!(now == recorded, "changed, missing or superfluous lines in tests/fingerprints.csv; now:\n{}", changed.join("\n"));
}

/// Nodes of one window do not interact (`ARCHITECTURE.md`), so the reverse order gives the same result. Debug builds also check that no host accesses
/// the data of another one.
#[test]
#[cfg(debug_assertions)]
fn node_order_does_not_change_results() {
    fn backwards(config: &Experiment) -> Report {
        forebay_sim::run::run_backwards(config.check().unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}"))
    }
    let (forth, back) = (all(execute), all(backwards));
    let changed: Vec<_> = back.lines().filter(|l| !forth.lines().any(|r| r == *l)).collect();
    assert!(forth == back, "other trajectories when the nodes of each window run in the opposite order:\n{}", changed.join("\n"));
}

/// The assignment of nodes to threads does not change any row: with more threads than cores, more partitions than switches, and partitions without
/// hosts.
#[test]
fn core_count_does_not_change_results() {
    let divided = Cell::new(0);
    let on = |cores: usize, config: &Experiment| {
        let (checked, used) = (config.check().unwrap_or_else(|e| panic!("{e}")), Cell::new(1));
        let report = forebay_sim::run::run_seeded(checked, config.seed, Cores::exactly(cores), &mut |p| {
            used.set(p.cores);
            ControlFlow::Continue(())
        });
        divided.set(divided.get() + u32::from(used.get() == cores));
        report.unwrap_or_else(|e| panic!("{e}"))
    };
    let mut number = 0;
    each(&mut |name, config| {
        let mut config = config.clone();
        config.observe.timeouts = true;
        config.observe.tcp_series = vec![(0, Time::from_us(100)), (2, Time::ZERO)];
        let one = rows(&execute(&config));
        // A few networks suffice for many threads.
        number += 1;
        let few = if number % 4 == 0 { [8, 16].as_slice() } else { &[] };
        for &cores in [2, 3].iter().chain(few) {
            let report = on(cores, &config);
            assert!(rows(&report) == one, "{name}: other rows on {cores} cores");
        }
    });
    // All but those with link failures or bit errors.
    assert!(divided.get() > 150, "{}", divided.get());
}

/// The number of processes does not change results, on one core each or on several. Runs that cannot be divided return the reason.
#[test]
fn process_count_does_not_change_results() {
    let (mut number, mut endless, mut refused) = (0, 0, Vec::new());
    each(&mut |name, config| {
        let mut config = config.clone();
        config.observe.timeouts = true;
        config.observe.tcp_series = vec![(0, Time::from_us(100)), (2, Time::ZERO)];
        // All processes must agree on the warm-up, and on the end if the scenario sets none.
        number += 1;
        config.observe.warmup = Time::from_ms(number % 2 * 4);
        let duration = config.duration.take_if(|_| number % 4 < 2);
        if config.check().is_err() {
            config.duration = duration;
        }
        endless += u32::from(config.duration.is_none());
        let one = rows(&execute(&config));
        let (count, cores) = [(2, 1), (3, 1), (2, 2)][number as usize % 3];
        match execute_among(&config, count, cores) {
            Ok(report) => assert!(rows(&report) == one, "{name}: other rows on {count} processes of {cores} cores"),
            Err(why) => refused.push(format!("{name}: {why}")),
        }
    });
    assert!(number > 70 && endless > 2 && refused.len() == REFUSED, "{number} {endless} {refused:#?}");
}

/// Files with link failures or bit errors, and transports with a shim at both ends.
const REFUSED: usize = 9;
