//! Failures of links and classes of service in real time, against the same scenarios in virtual time. Where no namespaces may be made these tests
//! say so and pass: there is nothing to test. A machine that is too busy for a run in real time makes it invalid, and it is tried again.

mod worlds;

use forebay_experiment::report::Report;
use forebay_experiment::rows::EventKind;
use std::collections::BTreeMap;
use worlds::both;

/// Two racks of two hosts and two spines; every host of one rack sends to one of the other. What a spine loses in 400 ms is lost for good.
const RACKS: &str = r#"
duration = "1200ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host   = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
fabric = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
[[topology.failure]]
link = "leaf0->spine0"
down = "300ms"
up = "700ms"
reroute = "400ms"
[[topology.failure]]
link = "leaf0->spine1"
down = "800ms"
up = "1000ms"
reroute = "100ms"
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "udp"
pattern = "permutation"
rate = "8Mbps"
"#;

/// Three servers answer with blocks, over a port with eight queues; nothing is lost.
fn blocks(cc: &str) -> String {
    format!(
        r#"
[topology]
kind = "many-to-one"
senders = 3
access     = {{ rate = "20Mbps", delay = "500us" }}
bottleneck = {{ rate = "20Mbps", delay = "500us", buffer = "400pkt", queue = {{ kind = "strict-priority" }} }}
[transport]
stack = "linux"
cc = {cc}
[[workload]]
kind = "incast"
block = "64KB"
rounds = 5
jitter = "1ms"
"#
    )
}

/// Sources of datagrams do not react: what is lost, and what moves, is what is lost in virtual time, within 2 %.
#[test]
fn what_failures_cost_is_what_it_costs_in_virtual_time() {
    let Some([real, exact]) = both(RACKS, false) else { return };
    let known = |r: &Report| r.events.iter().map(|e| (e.time_ps, e.kind, e.port, e.flows, e.pairs)).collect::<Vec<_>>();
    assert_eq!(known(&real), known(&exact));
    let lost = |r: &Report| r.events.iter().filter_map(|e| e.packets).collect::<Vec<_>>();
    let delivered = |r: &Report| r.flows.iter().map(|f| f.bytes_measured).sum::<u64>();
    for (a, b) in lost(&real).into_iter().zip(lost(&exact)).chain([(delivered(&real), delivered(&exact))]) {
        assert!(b > 50 && (a as f64 / b as f64 - 1.0).abs() <= 0.02, "{a} for {b}");
    }
    assert_eq!(real.events.iter().filter(|e| e.kind == EventKind::LinkUp).count(), 2);
}

/// A connection outlives its link: it is moved, sends again, and all of it arrives.
#[test]
fn connections_survive() {
    let traffic = RACKS.split("[[workload]]").next().unwrap_or_default().replace("duration = \"1200ms\"\n", "");
    let text = traffic + "[[workload]]\nkind = \"long\"\npattern = \"permutation\"\nsize = \"1MB\"\n";
    let Some([real, _]) = both(&text, false) else { return };
    assert!(real.flows.len() == 4 && real.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
    assert!(real.events.iter().any(|e| e.packets.is_some_and(|n| n > 0)), "{:?}", real.events);
}

/// The class of each data segment at its first arrival, by connection and place of its first byte in the stream (from 1).
fn classes(report: &Report) -> BTreeMap<(u64, u32), u8> {
    let mut all = BTreeMap::new();
    for p in report.packets.iter().filter(|p| !p.back && p.payload > 0) {
        all.entry((p.conn_id, p.number)).or_insert(p.class);
    }
    all
}

/// Of PRIN, which is a program that has to be attached first, `stream.rs` tests the classes.
#[test]
fn segments_have_the_classes_that_they_have_in_virtual_time() {
    let pias = r#"{ kind = "cubic", shim = { kind = "pias", demote = ["10KB", "30KB", "50KB"] } }"#;
    let service = r#"{ kind = "cubic", shim = { kind = "service", class = 5 } }"#;
    for (cc, answers) in [(pias, 7), (service, 0)] {
        let Some([real, exact]) = both(&blocks(cc), true) else { return };
        let (found, expected) = (classes(&real), classes(&exact));
        assert!(found.len() >= 3 * 5 * 45, "{cc}: {}", found.len());
        assert_eq!(found, expected, "{cc}");
        assert!(real.packets.iter().filter(|p| p.back).all(|p| p.class == answers), "{cc}: ACKs");
    }
}
