//! Links that fail in a guest's network, against the same links in the simulator: what is lost, who moves, and where no way is left. Sources of
//! datagrams do not react, so that both networks have the same packets.

use crate::{guest, packets};
use forebay_experiment::report::Report;
use forebay_experiment::rows::{EventKind, EventRow};

/// Two racks of four hosts and three spines, with failures; every host of one rack sends to one of the other.
fn racks(failures: &str, queue: &str, traffic: &str) -> String {
    format!(
        r#"
duration = "20ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts-per-leaf = 4
host   = {{ rate = "1Gbps", delay = "2us", buffer = "50pkt" }}
fabric = {{ rate = "1Gbps", delay = "2us", buffer = "50pkt"{queue} }}
{failures}
[transport]
cc = "newreno"
rto-min = "10ms"
{traffic}
"#
    )
}

const DATAGRAMS: &str =
    "[[workload]]\nkind = \"udp\"\npattern = \"permutation\"\nrate = \"700Mbps\"\nservice = 3\njitter = \"100us\"\n";

fn failure(link: &str, down: &str, rest: &str) -> String {
    format!("[[topology.failure]]\nlink = \"{link}\"\ndown = \"{down}\"\n{rest}\n")
}

fn both(text: &str) -> Option<[Report; 2]> {
    packets::reports(&guest::experiment(text))
}

/// A link that is avoided, and one that nothing avoids because it is a host's only one.
#[test]
fn failure_costs_match_the_simulator() {
    let spine = failure("leaf0->spine1", "5ms", "up = \"12ms\"\nreroute = \"1ms\"");
    let host = failure("h1->leaf0", "6ms", "up = \"9ms\"");
    let twice = failure("leaf0->spine1", "13ms", "up = \"16ms\"") + &failure("spine2->leaf1", "6ms", "");
    for failures in [spine.clone(), host, spine + &twice] {
        for queue in ["", ", queue = { kind = \"strict-priority\" }"] {
            // With this seed some paths lead over spine1.
            let failures = format!("hash-seed = 2\n{failures}");
            let Some([linux, sim]) = both(&racks(&failures, queue, DATAGRAMS)) else { return };
            let rows = |r: &Report| r.events.clone();
            let known = |e: &EventRow| (e.time_ps, e.kind, e.port, e.until_ps, e.flows, e.pairs);
            let (ours, theirs) = (rows(&linux), rows(&sim));
            assert_eq!(ours.iter().map(known).collect::<Vec<_>>(), theirs.iter().map(known).collect::<Vec<_>>(), "{failures}");
            assert!(ours.iter().any(|e| e.packets.is_some_and(|n| n > 10)), "{ours:?}");
            for (a, b) in ours.iter().zip(&theirs) {
                // The guest has a resolution of nanoseconds, the simulator of picoseconds, so the packets on the wire can differ by one.
                let (a, b) = (a.packets.unwrap_or(0), b.packets.unwrap_or(0));
                assert!(a.abs_diff(b) <= 2, "{a} packets for {b}: {failures}{queue}");
            }
            let cut = |r: &Report| r.ports.iter().map(|p| p.cut_waiting + p.cut_flying).sum::<u64>();
            assert!(cut(&linux).abs_diff(cut(&sim)) <= 4, "{} for {}", cut(&linux), cut(&sim));
        }
    }
}

#[test]
fn connections_survive_and_repeats_are_equal() {
    let failures =
        failure("leaf0->spine1", "3ms", "up = \"12ms\"\nreroute = \"500us\"") + &failure("h2->leaf0", "4ms", "up = \"5ms\"");
    let traffic = "[[workload]]\nkind = \"long\"\npattern = \"permutation\"\nsize = \"1MB\"\n";
    let text = racks(&failures, "", traffic).replace("duration = \"20ms\"\n", "");
    let Some([linux, sim]) = both(&text) else { return };
    for report in [&linux, &sim] {
        assert!(report.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
        assert_eq!(report.events.iter().filter(|e| e.kind == EventKind::LinkUp).count(), 2);
    }
    let [again, _] = both(&text).unwrap();
    assert_eq!((again.fingerprint, again.flows), (linux.fingerprint, linux.flows));
}
