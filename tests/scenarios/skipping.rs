//! Skipping whole periods changes no row of any table, and not the fingerprint: every run is made with it and without.

use forebay_experiment::Experiment;
use forebay_tests::{execute, resolve, rows};
use forebay_types::Time;
use proptest::prelude::*;

/// Runs an experiment with and without, and returns what is said about it.
fn both(name: &str, config: &Experiment) -> String {
    let mut config = Experiment { skip: false, ..config.clone() };
    config.observe.timeouts = true;
    let plain = rows(&execute(&config));
    config.skip = true;
    let report = execute(&config);
    let skipping = rows(&report);
    if plain != skipping {
        let at = plain.bytes().zip(skipping.bytes()).position(|(a, b)| a != b).unwrap_or(0);
        let part = |s: &str| s[at.saturating_sub(300)..(at + 200).min(s.len())].to_owned();
        panic!("{name}: other rows, although {}:\n{}\n---\n{}", report.remark, part(&plain), part(&skipping));
    }
    report.remark
}

/// The same of the only variant of a scenario.
fn said(text: &str, sets: &[&str]) -> String {
    let variants = resolve(text, sets, None);
    assert_eq!(variants.len(), 1, "several variants");
    both(&sets.join(" "), &variants[0].config)
}

/// How much of the run was skipped, in s.
fn skipped(remark: &str) -> f64 {
    let text = remark.strip_prefix("skipped ").and_then(|r| r.split_once(" of ")).map(|r| r.0);
    let time = text.unwrap_or_else(|| panic!("{remark}")).parse::<Time>().unwrap_or_else(|e| panic!("{remark}: {e:?}"));
    time.as_secs_f64()
}

/// Endless flows, slow enough that long runs are short.
const DUMBBELL: &str = r#"
duration = "400s"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "100Mbps", delay = "25us", buffer = "40pkt", queue = { kind = "dctcp-step", k = "10pkt" } }
[transport]
stack = "ns2"
cc = "dctcp"
[[workload]]
kind = "long"
"#;

/// Endless flows from each rack to the next.
const RING: &str = r#"
duration = "100s"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 1
hosts-per-leaf = 1
host = { rate = "1Gbps", delay = "20us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
fabric = { rate = "100Mbps", delay = "20us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = "dctcp"
[[workload]]
kind = "long"
from = ["h0", "h1", "h2", "h3"]
to = ["h1", "h2", "h3", "h0"]
"#;

/// Rounds: each block is asked for when the one before it has come.
const ROUNDS: &str = r#"
duration = "200s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "20us" }
bottleneck = { rate = "100Mbps", delay = "20us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = "dctcp"
[[workload]]
kind = "incast"
block = "256KB"
"#;

#[test]
fn a_dumbbell_of_endless_flows() {
    for (senders, stack, cc, most) in
        [(1, "ns2", "dctcp", 380.0), (2, "ns2", "dctcp", 250.0), (3, "ns2", "newreno", 300.0), (2, "rfc", "cubic", 100.0)]
    {
        let sets = [format!("topology.senders={senders}"), format!("transport.stack={stack}"), format!("transport.cc={cc}")];
        let said = said(DUMBBELL, &sets.each_ref().map(String::as_str));
        assert!(skipped(&said) > most, "{said}");
    }
}

#[test]
fn a_ring_of_endless_flows() {
    let said = said(RING, &[]);
    assert!(skipped(&said) > 90.0, "{said}");
}

#[test]
fn rounds() {
    let said = said(ROUNDS, &[]);
    assert!(skipped(&said) > 150.0, "{said}");
}

/// What happens at a set instant is not skipped: the end of the warm-up, flows that start and stop.
#[test]
fn not_over_what_is_to_come() {
    let text = format!("{RING}start = \"100ms\"\nstop-after = \"65s\"\n[observe]\nwarmup = \"20s\"\n");
    let said = said(&text, &[]);
    assert!(skipped(&said) > 40.0, "{said}");
}

/// A skip that ends in the window of a scheduled event would make it late: here points of deliveries and the end of the warm-up, in windows of 200 us,
/// of which a packet takes more than half.
#[test]
fn skips_end_before_windows_of_events() {
    let base = ["topology.senders=1", "topology.access.delay=200us", "topology.bottleneck.delay=200us", "transport.rto-min=10ms"];
    for last in ["duration=40.0123s", "duration=44.777s"] {
        let said = said(DUMBBELL, &[&base[..], &[last, "observe.warmup=10s"]].concat());
        assert!(skipped(&said) > 1.0, "{said}");
    }
}

/// A look at the state in the middle of a window leaves no mark in the next one. With one, an interval of deliveries ended when that window did,
/// 2 us late.
#[test]
fn a_look_at_the_state_adds_no_window() {
    let network = [
        "topology.access={ rate = \"1Gbps\", delay = \"18us\" }",
        "topology.bottleneck={ rate = \"131Mbps\", delay = \"18us\", buffer = \"18pkt\", queue = { kind = \"dctcp-step\", k = \"8pkt\" } }",
    ];
    said(DUMBBELL, &[network[0], network[1], "transport.mss=1180", "transport.rto-min=10ms", "duration=20s"]);
}

/// Connections that are asked for inside a window open in the next one at the earliest, also where the window is run in two parts.
#[test]
fn skipping_opens_train_connections_on_time() {
    let text = r#"
duration = "30ms"
[topology]
kind = "dumbbell"
left = 5
access = { rate = "100Mbps", delay = "30us" }
bottleneck = { rate = "1Gbps", delay = "1ms" }
[[workload]]
kind = "on-off"
from = ["l0", "l1", "l2", "l4", "r0", "r1", "r2", "r3", "r4"]
to = "l3"
sizes = "1000B"
gaps = { uniform = ["200ns", "4us"] }
trains = 2
connections = "per-train"
"#;
    for sets in [
        &[][..],
        &["workload.0.trains=20"],
        &["workload.0.gaps=40us"],
        &["topology.access.delay=3us"],
        &["observe.warmup=4.0000001ms"],
    ] {
        let said = said(text, sets);
        assert!(said.starts_with("skipped nothing"), "{said}");
    }
}

/// Rows of samples come again, with what is counted in them.
#[test]
fn samples_of_senders() {
    let said = said(&format!("{RING}[observe]\ntcp = {{ flows = [0, 2], every = \"10ns\" }}\n"), &["duration=8s"]);
    assert!(skipped(&said) > 2.0, "{said}");
}

/// Where numbers are drawn, or something is not known to come back, nothing is skipped, and it is said why.
#[test]
fn nothing_is_skipped_where_it_would_not_be_exact() {
    let red = "topology.bottleneck.queue={ kind = \"red\", min = \"6KB\", max = \"14KB\" }";
    let lossy = "topology.bottleneck.queue={ kind = \"lossy\", p = 0.001 }";
    let poisson = "[[workload]]\nkind = \"poisson\"\nsizes = \"20KB\"\nload = 0.05\n";
    let long = "topology.access.delay=300us";
    let cases: [(&str, String, &str); 8] = [
        (red, DUMBBELL.to_owned(), "a queue remembers"),
        (lossy, DUMBBELL.to_owned(), "a queue remembers"),
        ("transport.send-jitter=1us", DUMBBELL.to_owned(), "numbers are drawn"),
        (long, DUMBBELL.replace("delay = \"25us\", buffer", "delay = \"300us\", buffer"), "a delay of 268 us or more"),
        ("transport.cc=bbr", DUMBBELL.replace("ns2", "linux"), "a congestion control"),
        ("transport.shim=proboscis", DUMBBELL.to_owned(), "shim"),
        ("seed=2", format!("{DUMBBELL}{poisson}"), "flows arrive on their own"),
        ("seed=2", format!("{DUMBBELL}[observe]\nqueue = {{ port = \"bottleneck\", every = \"1s\" }}\n"), "a queue is sampled"),
    ];
    for (set, text, why) in cases {
        let said = said(&text, &[set, "duration=2s"]);
        assert!(said.starts_with("skipped nothing: ") && said.contains(why), "{set}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Small networks of a few flows of all sorts.
    #[test]
    fn of_any_deterministic_run(
        senders in 1u32..5, rate in 20u32..200, delay in 1u32..60, buffer in 5u32..60, k in 2u32..30, cc in 0usize..4, stack in 0usize..3,
        traffic in 0usize..3, size in 2u32..200, mss in 500u32..1461, warmup in 0u32..3
    ) {
        let (cc, stack) = (["newreno", "dctcp", "cubic", "reno"][cc], ["ns2", "rfc", "linux"][stack]);
        let workload = match traffic {
            0 => "kind = \"long\"\n".to_owned(),
            1 => format!("kind = \"incast\"\nblock = \"{size}KB\"\n"),
            _ => format!("kind = \"requests\"\nclients = \"receiver\"\nservers = \"senders\"\nresponse = \"{size}KB\"\nthink = \"{size}us\"\n"),
        };
        let text = format!(
            "duration = \"20s\"\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\n\
             access = {{ rate = \"1Gbps\", delay = \"{delay}us\" }}\n\
             bottleneck = {{ rate = \"{rate}Mbps\", delay = \"{delay}us\", buffer = \"{buffer}pkt\", queue = {{ kind = \"dctcp-step\", k = \"{}pkt\" }} }}\n\
             [transport]\nstack = \"{stack}\"\ncc = \"{cc}\"\nmss = {mss}\nrto-min = \"10ms\"\n[[workload]]\n{workload}\n[observe]\nwarmup = \"{warmup}s\"\n",
            k.min(buffer)
        );
        said(&text, &[]);
    }
}
