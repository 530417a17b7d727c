//! Captures of runs, read back: `forebay trains` finds the messages of the workload with their exact sizes, and their starts to the nanosecond.

use crate::captures::{INCAST, LONG, SHALLOW, captured, file, star};
use forebay_formats::trains::capture::Capture;
use forebay_formats::trains::{Options, flows};
use forebay_store::capture::host;
use forebay_tests::Outcome;
use forebay_types::NodeId;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::net::IpAddr;

/// A message: hosts, bytes, and start in ns.
type Message = (NodeId, NodeId, u64, u64);

/// Messages of the workload.
fn original(o: &Outcome) -> Vec<Message> {
    assert!(o.report.flows.iter().all(|f| f.acked.get().is_some()), "an unfinished message has no size in a capture");
    let mut all: Vec<Message> = o.report.flows.iter().map(|f| (f.src, f.dst, f.size_bytes, f.start.as_ns())).collect();
    all.sort_unstable();
    all
}

/// Messages in the capture of a run.
fn read_back(o: &Outcome) -> Vec<Message> {
    let capture = &o.variant.config.observe.capture;
    let nodes = o.variant.config.network.nodes.ids();
    let nodes: BTreeMap<IpAddr, NodeId> = nodes.map(|id| (host(id).ip(capture.ip), id)).collect();
    let mut capture = Capture::new("test", Box::new(Cursor::new(file(o))), None).expect("a capture");
    let found = flows(&mut capture, &Options::default()).expect("a capture without damage");
    let of = |f: &forebay_formats::trains::Flow| {
        (nodes[&f.message.src.end.ip()], nodes[&f.message.dst.end.ip()], f.message.bytes, f.start_ns)
    };
    let mut all: Vec<Message> = found.iter().map(of).collect();
    all.sort_unstable();
    all
}

/// Differences of both lists, the first few of each.
fn differences(name: &str, original: &[Message], read: &[Message]) -> Option<String> {
    let only = |a: &[Message], b: &[Message]| a.iter().filter(|m| !b.contains(m)).take(4).copied().collect::<Vec<_>>();
    let (lost, more) = (only(original, read), only(read, original));
    let equal = original == read;
    (!equal).then(|| format!("{name}: {} messages, read {}; missing {lost:?}, instead {more:?}", original.len(), read.len()))
}

/// Scenarios in which every message begins on an idle connection. Without PSH, as with the stacks `rfc` and `ns2`, messages that follow at once cannot be
/// separated.
fn scenarios() -> Vec<(&'static str, String)> {
    let rfc =
        |cc: &str, more: &str| format!("stack = \"rfc\"\ncc = \"{cc}\"\nrto-min = \"20ms\"\nrto-initial = \"50ms\"\n{more}");
    let linux = |cc: &str| format!("stack = \"linux\"\nhost = \"bare\"\ncc = \"{cc}\"");
    let deep = "buffer = \"400pkt\"";
    let step = "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"10pkt\" }";
    let codel = "buffer = \"200pkt\", queue = { kind = \"fq-codel\", target = \"100us\", interval = \"1ms\" }";
    let lossy = |text: &str| text.replace("[transport]", "[[topology.loss]]\nport = \"s0->sw\"\np = 0.02\n[transport]");
    let poisson = "kind = \"poisson\"\nsizes = { uniform = [\"1KB\", \"60KB\"] }\nrate = 2000\nflows = 200";
    let on_off = "kind = \"on-off\"\nsizes = { uniform = [\"2KB\", \"10KB\"] }\ngaps = { exponential = \"1ms\" }\ngap-from = \"completion\"\ntrains = 20\nstart = \"1ms\"";
    let two_way = "kind = \"incast\"\nblock = \"40KB\"\nrounds = 5\ntwo-way = true";
    let requests = |think: &str| {
        format!(
            "kind = \"requests\"\nclients = \"recv\"\nservers = \"senders\"\nresponse = \"30KB\"\ncount = 20\nthink = \"{think}\""
        )
    };
    let one_round = INCAST.replace("rounds = 3", "rounds = 1");
    let one_pair = "kind = \"poisson\"\nfrom = \"s0\"\nto = \"recv\"\nsizes = \"5KB\"\nrate = 1000\nflows = 100";
    vec![
        ("long-newreno", star(SHALLOW, &rfc("newreno", ""), LONG)),
        ("incast-newreno", star(SHALLOW, &rfc("newreno", ""), &one_round)),
        ("incast-rack", star(SHALLOW, &rfc("cubic", "recovery = \"rack\""), &one_round)),
        (
            "incast-ns2",
            star(SHALLOW, "stack = \"ns2\"\ncc = \"newreno\"\nrto-min = \"20ms\"\nrto-initial = \"50ms\"", &one_round),
        ),
        ("incast-cubic", star(SHALLOW, &linux("cubic"), INCAST)),
        ("incast-bbr", star(SHALLOW, &linux("bbr"), INCAST)),
        ("incast-dctcp", star(step, &linux("dctcp"), INCAST)),
        ("codel-ecn", star(codel, &linux("dctcp"), LONG)),
        ("lossy-cubic", lossy(&star(deep, &linux("cubic"), LONG))),
        ("lossy-newreno", lossy(&star(deep, &rfc("newreno", ""), LONG))),
        ("poisson-cubic", star(deep, &linux("cubic"), poisson)),
        ("one-pair", star(deep, &linux("cubic"), one_pair)),
        ("offload", star(deep, "stack = \"linux\"\ncc = \"cubic\"", LONG)),
        ("on-off", star(deep, &linux("cubic"), on_off)),
        ("on-off-dctcp", star(step, &linux("dctcp"), on_off)),
        ("two-way-incast", star(SHALLOW, &linux("cubic"), two_way)),
        ("requests", star(deep, &linux("cubic"), &requests("100us"))),
        ("requests-without-pause", star(deep, &linux("cubic"), &requests("0s"))),
    ]
}

#[test]
fn messages_survive_roundtrip() {
    let mut wrong = Vec::new();
    for (name, text) in scenarios() {
        for ip in ["ipv4", "ipv6"] {
            // Until the last message is complete.
            let text = text.replace("duration = \"400ms\"\n", "");
            let o = captured(&format!("{text}[observe]\ncapture-ip = \"{ip}\"\n"), "hosts");
            let messages = original(&o);
            assert!(messages.len() >= 4, "{name}");
            wrong.extend(differences(&format!("{name}, {ip}"), &messages, &read_back(&o)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
