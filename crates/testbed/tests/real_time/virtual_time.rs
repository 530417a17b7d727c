//! Failures of links and classes of service in real time, against the same scenarios in virtual time. Where no namespaces may be made these tests
//! say so and pass: there is nothing to test. A machine that is too busy for a run in real time makes it invalid, and it is tried again.

use super::worlds::{attempts, both};
use forebay_experiment::report::Report;
use forebay_experiment::rows::{EventKind, PacketRow};
use std::collections::BTreeMap;

/// Two racks of two hosts and two spines; every host of one rack sends to one of the other. Packets that a spine loses in 400 ms are not recovered.
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

/// Sources of datagrams do not react: as many packets are lost, and delivered, as in virtual time, within 2 %. The outages are long, so that a source that
/// a loaded machine stops for ten milliseconds at the edge of one changes the counts by less.
#[test]
fn failure_costs_match_virtual_time() {
    attempts(|| {
        let later = [
            ("duration = \"1200ms\"", "duration = \"3200ms\""),
            ("up = \"700ms\"\nreroute = \"400ms\"", "up = \"1500ms\"\nreroute = \"1200ms\""),
            (
                "down = \"800ms\"\nup = \"1000ms\"\nreroute = \"100ms\"",
                "down = \"1700ms\"\nup = \"2900ms\"\nreroute = \"1000ms\"",
            ),
        ];
        let text = later.iter().fold(RACKS.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let Some([real, exact]) = both(&text, false) else { return };
        let known = |r: &Report| r.events.iter().map(|e| (e.time_ps, e.kind, e.port, e.flows, e.pairs)).collect::<Vec<_>>();
        assert_eq!(known(&real), known(&exact));
        let lost = |r: &Report| r.events.iter().filter_map(|e| e.packets).collect::<Vec<_>>();
        let delivered = |r: &Report| r.flows.iter().map(|f| f.bytes_measured).sum::<u64>();
        for (a, b) in lost(&real).into_iter().zip(lost(&exact)).chain([(delivered(&real), delivered(&exact))]) {
            assert!(b > 50 && (a as f64 / b as f64 - 1.0).abs() <= 0.02, "{a} for {b}");
        }
        assert_eq!(real.events.iter().filter(|e| e.kind == EventKind::LinkUp).count(), 2);
    });
}

/// A connection outlives its link: it is moved, sends again, and all of it arrives.
#[test]
fn connections_survive() {
    attempts(|| {
        let traffic = RACKS.split("[[workload]]").next().unwrap_or_default().replace("duration = \"1200ms\"\n", "");
        let text = traffic + "[[workload]]\nkind = \"long\"\npattern = \"permutation\"\nsize = \"1MB\"\n";
        let Some([real, _]) = both(&text, false) else { return };
        assert!(real.flows.len() == 4 && real.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
        assert!(real.events.iter().any(|e| e.packets.is_some_and(|n| n > 0)), "{:?}", real.events);
    });
}

/// Requests and answers share a TCP connection: one handshake, and most requests are acknowledged by their answers.
#[test]
fn two_way_requests_share_connection() {
    attempts(|| {
        let Some([real, exact]) = both(&(blocks("\"newreno\"") + "two-way = true\n"), true) else { return };
        for report in [&real, &exact] {
            let count = |wanted: &dyn Fn(&PacketRow) -> bool| report.packets.iter().filter(|p| wanted(p)).count();
            assert_eq!(count(&|p| p.syn && !p.back), 3, "handshakes");
            let requests: Vec<u64> = report.flows.iter().filter(|f| f.request).map(|f| f.conn_id).collect();
            assert_eq!((requests.len(), report.flows.len()), (15, 30));
            assert!(report.flows.iter().all(|f| !f.acked.is_never()), "all messages are acknowledged");
            let alone = count(&|p| p.back && !p.syn && requests.contains(&p.conn_id));
            assert!(alone < 15, "{alone} ACKs of 15 requests carry no data");
        }
        assert_eq!(classes(&real), classes(&exact), "data segments");
    });
}

/// The class of each data segment at its first arrival, by connection and place of its first byte in the stream (from 1).
fn classes(report: &Report) -> BTreeMap<(u64, u32), u8> {
    let mut all = BTreeMap::new();
    for p in report.packets.iter().filter(|p| !p.back && p.payload > 0) {
        all.entry((p.conn_id, p.number)).or_insert(p.class);
    }
    all
}

/// PRIN is a program that has to be attached first; `stream.rs` tests its classes.
#[test]
fn segment_classes_match_virtual_time() {
    attempts(|| {
        let pias = r#"{ kind = "cubic", shim = { kind = "pias", demotion-thresholds = ["10KB", "30KB", "50KB"] } }"#;
        let service = r#"{ kind = "cubic", shim = { kind = "service", class = 5 } }"#;
        for (cc, answers) in [(pias, 7), (service, 0)] {
            let Some([real, exact]) = both(&blocks(cc), true) else { return };
            let (found, expected) = (classes(&real), classes(&exact));
            assert!(found.len() >= 3 * 5 * 45, "{cc}: {}", found.len());
            assert_eq!(found, expected, "{cc}");
            assert!(real.packets.iter().filter(|p| p.back).all(|p| p.class == answers), "{cc}: ACKs");
        }
    });
}

/// Two racks over two spines: each packet takes its own way, a link damages packets, and one fails and is avoided.
const SPRAYED: &str = r#"
duration = "1200ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host   = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
fabric = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
balance = "packet"
corruption = { port = "leaf0->spine0", bit-errors = 1e-5 }
failure = { link = "leaf0->spine1", down = "400ms", up = "700ms", reroute = "100ms" }
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "udp"
from = "rack0"
to = "rack1"
pattern = "pairwise"
rate = "8Mbps"
"#;

/// Random decisions use the same draws: a host's nth packet takes the same path, and the same packets of a link are damaged.
#[test]
fn spraying_and_damage_match_virtual_time() {
    attempts(|| {
        let Some([real, exact]) = both(SPRAYED, false) else { return };
        let known = |r: &Report| r.events.iter().map(|e| (e.time_ps, e.kind, e.port, e.flows, e.pairs)).collect::<Vec<_>>();
        assert_eq!(known(&real), known(&exact));
        let kinds: Vec<EventKind> = real.events.iter().map(|e| e.kind).collect();
        assert_eq!(kinds, [EventKind::Spraying, EventKind::Corruption, EventKind::LinkDown, EventKind::LinkUp]);
        let counts = |r: &Report| {
            let lost = r.events.iter().filter_map(|e| e.packets);
            lost.chain(r.ports.iter().map(|p| p.sent_pkts)).filter(|n| *n > 0).collect::<Vec<_>>()
        };
        let (a, b) = (counts(&real), counts(&exact));
        assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= b / 50 + 2), "{a:?} for {b:?}");
        let corrupted = |r: &Report| r.ports.iter().map(|p| p.corrupted).sum::<u64>();
        assert!(
            corrupted(&exact) > 40 && corrupted(&real).abs_diff(corrupted(&exact)) <= 2,
            "{} for {}",
            corrupted(&real),
            corrupted(&exact)
        );
    });
}

/// Thresholds of each class (`ks`) at a port, and hosts whose interfaces serve classes in turn: neither is a guest's.
#[test]
fn classes_use_separate_marking_thresholds() {
    attempts(|| {
        let queue = "{ kind = \"dwrr\", queues = 2, ks = [\"55pkt\", \"10pkt\"] }";
        let strict = "{ kind = \"strict-priority\", queues = 2, ks = [\"55pkt\", \"10pkt\"] }";
        for queue in [queue, strict] {
            let text = format!(
                r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 2
access     = {{ rate = "20Mbps", delay = "500us" }}
bottleneck = {{ rate = "20Mbps", delay = "500us", buffer = "60pkt", queue = {queue} }}
host-queue = "dwrr"
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "udp"
from = "s0"
rate = "11.3Mbps"
ect = true
[[workload]]
kind = "udp"
from = "s1"
rate = "12.9Mbps"
ect = true
service = 6
"#
            );
            let Some([real, exact]) = both(&text, false) else { return };
            let at = |r: &Report| {
                r.ports.iter().map(|p| (p.marked, p.dropped_overflow, p.sent_pkts)).max_by_key(|p| p.0).unwrap_or_default()
            };
            let (a, b) = (at(&real), at(&exact));
            let near = |a: u64, b: u64, part| a.abs_diff(b) <= b / part + 2;
            // The arrival order decides which packets are pushed out, marked or not.
            assert!(b.0 > 100 && near(a.0, b.0, 20) && near(a.1, b.1, 50) && near(a.2, b.2, 50), "{a:?} for {b:?}: {queue}");
        }
    });
}
