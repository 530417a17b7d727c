//! Runs of scenarios: hosts, ports and applications around the connections.

use forebay_experiment::report::Report;
use forebay_experiment::rows::FlowRow;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_types::Time;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

/// Runs the scenario with the bottleneck, transport and workload of `text`: hosts s0, s1, ... send to one over links of 1 Gbps and 100 us.
fn run(bottleneck: &str, text: &str) -> Report {
    static WORLDS: OnceLock<Worlds> = OnceLock::new();
    let text = format!(
        r#"
[topology]
kind = "many-to-one"
senders = 1
access     = {{ rate = "1Gbps", delay = "100us" }}
bottleneck = {{ rate = "1Gbps", delay = "100us", buffer = "1000pkt"{bottleneck} }}
{text}"#
    );
    let worlds = WORLDS.get_or_init(|| Worlds::new(&[&Simulator]));
    let scenario = Scenario::from_text(worlds, &text, "case.toml", Path::new(""), &[], None);
    let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}"));
    let config = &resolved.variants[0].config;
    Simulator.run(config.check().expect("checked"), config.seed, &mut |_| ControlFlow::Continue(())).expect("it ends")
}

/// Messages of the only connection, in order.
fn messages(report: &Report) -> Vec<&FlowRow> {
    let mut rows: Vec<&FlowRow> = report.flows.iter().collect();
    rows.sort_by_key(|row| row.start);
    rows
}

/// Ten messages of three segments, all written before the handshake is over. Each segment counts for the message of its first byte, also while it is
/// not the oldest unacknowledged one. The lost packet 12 is the data segment 10, the second one of the message 3.
#[test]
fn segments_count_for_their_message() {
    let text = r#"
[transport]
stack = "rfc"
recovery = "newreno"
mss = 1000
init-cwnd = 30
[[workload]]
kind = "on-off"
sizes = "3000B"
gaps = "10us"
gap-from = "start"
trains = 10
"#;
    let report = run(", loss = { drop = { connection = 0, packets = [12] } }", text);
    let counts: Vec<(u64, u64)> = messages(&report).iter().map(|row| (row.segs_sent, row.segs_retx)).collect();
    let expected: Vec<(u64, u64)> = (0..10).map(|n| if n == 3 { (4, 1) } else { (3, 0) }).collect();
    assert_eq!(counts, expected);
}

/// A process of Linux that an ACK wakes writes when its host has processed all packets of the interrupt (sk_stream_write_space). ACKs of eight
/// connections share interrupts.
#[test]
fn woken_applications_write_all() {
    let workload = "[[workload]]\nkind = \"long\"\nsize = \"300KB\"\n";
    let text = format!("[transport]\nstack = \"linux\"\ncc = \"cubic\"\nsnd-buf = \"20KB\"\n{}", workload.repeat(8));
    let report = run("", &text);
    let ends: Vec<u64> = report.flows.iter().filter(|row| row.end.get().is_some()).map(|row| row.size_bytes).collect();
    assert_eq!(ends, [300_000; 8]);
}

/// A send buffer of 20 KB on a path of more than 50 KB in a round trip: the sender mostly waits for the application.
#[test]
fn send_buffer_limits_most_of_time() {
    for stack in ["rfc", "linux"] {
        let text = format!(
            r#"
[transport]
stack = "{stack}"
host = "bare"
cc = "newreno"
snd-buf = "20KB"
[[workload]]
kind = "long"
size = "1MB"
"#
        );
        let report = run("", &text);
        let row = &report.flows[0];
        let limited = row.sndbuf_limited.get().unwrap_or(Time::ZERO);
        let time = row.end.or_never() - row.start;
        assert!(limited > time / 2, "{stack}: {limited} of {time}");
    }
}

/// An ACK of Linux may cover many messages, as GRO joins their segments: bytes acknowledged with ECE count for the message that they belong to. The
/// bottleneck marks all packets of a burst except the first.
#[test]
fn marked_bytes_count_per_message() {
    let text = r#"
[transport]
stack = "linux"
cc = "newreno"
ecn = "classic"
gro = "100us"
[[workload]]
kind = "on-off"
sizes = "1000B"
gaps = "2us"
gap-from = "start"
trains = 300
"#;
    let report = run(", queue = { kind = \"dctcp-step\", k = \"1pkt\" }", text);
    let rows = messages(&report);
    let marked: Vec<u64> = rows.iter().map(|row| row.ce_acked_bytes).collect();
    assert!(marked.iter().all(|bytes| *bytes <= 1000), "{marked:?}");
    assert!(marked.iter().filter(|bytes| **bytes == 1000).count() > 50, "{marked:?}");
    let together =
        |acks: usize| rows.windows(acks).any(|w| w.iter().all(|row| row.acked == w[0].acked && row.ce_acked_bytes > 0));
    assert!(together(3), "no marked ACK covers three messages");
}
