//! Links that deliver packets late, or in batches. Every run asserts that packets sent are those that arrived, were dropped or lost, or are in flight.

use forebay_tests::{Outcome, one};

/// Flows of 4 MB over 100 Mbps and 10 ms, without drops.
const FLOW: &str = r#"
[topology]
kind = "dumbbell"
left = 2
access     = { rate = "1Gbps", delay = "100us" }
bottleneck = { rate = "100Mbps", delay = "5ms", buffer = "100000pkt" }
[[topology.reorder]]
port = "bottleneck"
p = 0.02
by = "BY"
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "long"
size = "4MB"
"#;

/// Messages of one packet over a link that delivers packets every 10 ms.
const MESSAGES: &str = r#"
[topology]
kind = "dumbbell"
left = 3
access     = { rate = "1Gbps", delay = "100us" }
bottleneck = { rate = "100Mbps", delay = "5ms", buffer = "100pkt" }
[[topology.batch]]
port = "bottleneck"
every = "10ms"
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "on-off"
sizes = "1000B"
gaps = "7ms"
gap-from = "start"
trains = 40
"#;

fn retransmitted(o: &Outcome) -> u64 {
    assert!(o.report.flows.iter().all(|f| !f.end.is_never() && f.bytes_acked == f.size_bytes), "{:?}", o.report.flows);
    assert!(o.report.ports.iter().all(|p| p.dropped_overflow == 0));
    o.report.flows.iter().map(|f| f.segs_retx).sum()
}

/// RFC 5681 section 3.2 retransmits after three duplicate ACKs: a packet later than three packet times is retransmitted needlessly. RACK waits for a
/// quarter of the smallest RTT once it has seen reordering (RFC 8985 section 6.2).
#[test]
fn late_packets_cause_needless_retransmissions() {
    let run = |by: &str, sets: &[&str]| retransmitted(&one(&FLOW.replace("BY", by), sets));
    let three = "transport.recovery=newreno";
    // A packet takes 0.12 ms.
    assert_eq!(run("200us", &[three]), 0, "no packet is behind three others");
    let (counted, rack) = (run("2ms", &[three]), run("2ms", &[]));
    assert!(counted > 4 && rack < counted, "{counted} with three duplicate ACKs, {rack} with RACK");
}

#[test]
fn batches_arrive_at_multiples_of_interval() {
    let o = one(MESSAGES, &[]);
    let flows = &o.report.flows;
    assert_eq!(flows.len(), 120);
    for f in flows {
        // The link from the switch to the receiver takes 100 us and 9 us for each packet of the batch.
        let behind = f.end.ps().unwrap() % 10_000_000_000;
        assert!((100_000_000..140_000_000).contains(&behind), "{f:?}");
    }
}
