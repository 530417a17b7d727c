//! Links whose rate, delay or loss changes during a run. Every run asserts that packets sent are those that arrived, were dropped or lost, or are in
//! flight.

use forebay_experiment::rows::EventKind;
use forebay_tests::{Outcome, one};

/// Datagrams of 1500 B at 1 Gbps meet a bottleneck of 120 Mbps, 100 us a packet, with an unlimited buffer.
const DATAGRAMS: &str = r#"
duration = "30ms"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "5us" }
bottleneck = { rate = "120Mbps", delay = "5us", buffer = "100000pkt" }
CHANGES
[transport]
stack = "linux"
[[workload]]
kind = "udp"
rate = "1Gbps"
"#;

/// A flow of 4 MB over 100 Mbps and 10 ms.
const FLOW: &str = r#"
[topology]
kind = "dumbbell"
left = 2
access     = { rate = "1Gbps", delay = "100us" }
bottleneck = { rate = "100Mbps", delay = "5ms", buffer = "100pkt" }
CHANGES
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "long"
size = "4MB"
"#;

fn change(at: &str, keys: &str) -> String {
    format!("[[topology.change]]\nport = \"bottleneck\"\nat = \"{at}\"\n{keys}\n")
}

fn with(text: &str, changes: &[String], sets: &[&str]) -> Outcome {
    one(&text.replace("CHANGES\n", &changes.concat()), sets)
}

/// Datagrams that reached the receiver.
fn arrived(o: &Outcome) -> u64 {
    o.report.flows.iter().map(|f| f.bytes_acked / 1472).sum()
}

/// Without delays a packet of the faster link arrives before the smallest packet of the slower one would. The engine asserts that no event lies in the
/// window that it handles.
#[test]
fn link_without_delay_becomes_faster() {
    let none = ["topology.access.delay=0s", "topology.bottleneck.delay=0s"];
    let faster = with(DATAGRAMS, &[change("0s", "rate = \"12Gbps\"")], &none);
    assert_eq!(arrived(&faster), arrived(&with(DATAGRAMS, &[], &[none[0], none[1], "topology.bottleneck.rate=12Gbps"])));
}

#[test]
fn rate_applies_to_waiting_packets() {
    let before = arrived(&with(DATAGRAMS, &[], &[]));
    assert!((298..=300).contains(&before), "{before}");
    // 100 packets in the first 10 ms, and 100 in the 20 ms at half the rate.
    for queue in ["drop-tail", "fq-codel"] {
        let set = format!("topology.bottleneck.queue={{ kind = \"{queue}\" }}");
        let target = "topology.bottleneck.queue={ kind = \"fq-codel\", target = \"1s\", interval = \"2s\", limit = 100000 }";
        let sets: &[&str] = if queue == "fq-codel" { &[target] } else { &[&set] };
        let slower = arrived(&with(DATAGRAMS, &[change("10ms", "rate = \"60Mbps\"")], sets));
        assert!((198..=200).contains(&slower), "{queue}: {slower}");
        let faster = arrived(&with(DATAGRAMS, &[change("10ms", "rate = \"240Mbps\"")], sets));
        assert!((498..=500).contains(&faster), "{queue}: {faster}");
    }
}

#[test]
fn equal_values_keep_the_trajectory() {
    for queue in ["drop-tail", "fq-codel", "pie"] {
        let sets = [format!("topology.bottleneck.queue={queue}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let still = with(FLOW, &[], &sets);
        let same: Vec<String> =
            ["30ms", "50ms", "123456789ns", "200ms"].map(|at| change(at, "rate = \"100Mbps\"\ndelay = \"5ms\"")).into();
        assert_eq!(with(FLOW, &same, &sets).report.fingerprint, still.report.fingerprint, "{queue}");
    }
}

#[test]
fn delays_keep_the_order() {
    let delays = ["1ms", "20ms", "100us", "5ms", "40ms", "300us"];
    let changes: Vec<String> =
        delays.iter().enumerate().map(|(i, d)| change(&format!("{}ms", 40 * (i + 1)), &format!("delay = \"{d}\""))).collect();
    for queue in ["drop-tail", "fq-codel"] {
        let o = with(FLOW, &changes, &[&format!("topology.bottleneck.queue={queue}")]);
        for f in &o.report.flows {
            assert!(!f.end.is_never() && f.bytes_acked == f.size_bytes, "{f:?}");
        }
        let events: Vec<u64> =
            o.report.events.iter().filter(|e| e.kind == EventKind::LinkChange).map(|e| e.time_ps / 1_000_000_000).collect();
        assert_eq!(events, [40, 80, 120, 160, 200, 240]);
    }
    // Packets that are not lost and not reordered are never retransmitted.
    let calm = with(FLOW, &changes, &["topology.bottleneck.buffer=100000pkt"]);
    assert_eq!(calm.report.flows.iter().map(|f| f.segs_retx).sum::<u64>(), 0);
}

#[test]
fn loss_begins_and_ends() {
    let outage = [change("50ms", "loss = \"100%\""), change("150ms", "loss = \"0%\"")];
    let o = with(FLOW, &outage, &[]);
    assert!(o.report.flows.iter().all(|f| !f.end.is_never() && f.segs_retx > 0), "{:?}", o.report.flows);
    let lost: u64 = o.report.events.iter().filter(|e| e.kind == EventKind::LinkLoss).filter_map(|e| e.packets).sum();
    assert!(lost > 10, "{lost}");
    let none = with(FLOW, &[change("50ms", "loss = \"0%\"")], &[]);
    assert_eq!(none.report.fingerprint, with(FLOW, &[], &[]).report.fingerprint);
}
