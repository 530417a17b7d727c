//! Failures of links and classes of service in real time, against the same scenarios in virtual time. Where no namespaces may be made these tests
//! say so and pass: there is nothing to test. A machine that is too busy for a run in real time makes it invalid, and it is tried again.

use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::EventKind;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_linux::world::Linux;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_testbed::namespace::Namespace;
use forebay_testbed::world::Testbed;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

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

fn experiment(text: &str) -> Experiment {
    static ALL: std::sync::OnceLock<Worlds> = std::sync::OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&Simulator, &Linux, &Testbed]));
    let scenario = Scenario::from_text(worlds, text, "case", "".as_ref(), &[], None);
    scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone()
}

/// In real time, as often as it takes a busy machine, and in virtual time; `None` where there are no namespaces.
fn both(text: &str, packets: bool) -> Option<[Report; 2]> {
    if let Err(e) = Namespace::create() {
        eprintln!("not tested: no network namespaces here ({e})");
        return None;
    }
    let mut e = experiment(text);
    e.observe.packets = packets;
    assert_eq!(Testbed.supports(&e), []);
    let run = |world: &dyn World| world.run(e.check().expect("checked"), e.seed, &mut |_| ControlFlow::Continue(()));
    let expected = run(&Simulator).unwrap_or_else(|e| panic!("{e}"));
    let mut invalid = Vec::new();
    for _ in 0..10 {
        match run(&Testbed) {
            Ok(report) => return Some([report, expected]),
            Err(e) if e.to_string().contains("invalid") => invalid.push(e.to_string()),
            Err(e) => panic!("{e}"),
        }
    }
    panic!("this machine was never punctual: {invalid:?}");
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
