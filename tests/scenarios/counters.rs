//! Port counters, for scenarios in which the correct values follow from the parameters.

use forebay_tests::one;

/// Two hosts, three links in a row; packets of 1500 B.
fn chain(rates: [&str; 3], queue: &str, sources: &str) -> String {
    let link = |from: &str, to: &str, rate: &str| {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"{rate}\", delay = \"10us\", buffer = \"2000pkt\"{queue} }}")
    };
    let links = [link("h0", "w1", rates[0]), link("w1", "w2", rates[1]), link("w2", "h1", rates[2])].join(", ");
    format!(
        "duration = \"6ms\"\n[topology]\nkind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"w1\", \"w2\"]\nlinks = [{links}]\n\
         [[workload]]\nkind = \"udp\"\nfrom = \"h0\"\nto = \"h1\"\n{sources}\n"
    )
}

/// By Little's law: at half the link's rate a packet is in service half of the time, and nothing waits.
#[test]
fn mean_queue_includes_packet_in_service() {
    let o = one(&chain(["1Gbps", "1Gbps", "1Gbps"], "", "rate = \"500Mbps\"\nstop = \"5ms\""), &["duration=5ms"]);
    for port in ["w1->w2", "w2->h1"] {
        let p = o.port(port);
        assert!((p.queue_mean_pkts - 0.5).abs() < 0.01 && (p.busy - 0.5).abs() < 0.01, "{port}: {p:?}");
    }
}

/// 2 Gbps into 1 Gbps for 5 ms: the queue grows by a packet each 12 us, from 0 to 416. Its mean is half of that; waiting after the end of the run
/// does not count.
#[test]
fn mean_queue_ends_with_run() {
    let o = one(&chain(["2Gbps", "1Gbps", "1Gbps"], "", "rate = \"2Gbps\""), &["duration=5ms"]);
    let p = o.port("w1->w2");
    assert!((405..=417).contains(&p.queue_max_pkts), "{p:?}");
    assert!((p.queue_mean_pkts - 208.0).abs() < 6.0, "{p:?}");
}

/// A packet is marked once, even if several ports on its path would mark it.
#[test]
fn mark_counts_at_its_port() {
    let queue = ", queue = { kind = \"dctcp-step\", k = \"4pkt\" }";
    let o = one(&chain(["4Gbps", "2Gbps", "1Gbps"], queue, "rate = \"4Gbps\"\nect = true\nstop = \"1ms\""), &[]);
    let (first, second) = (o.port("w1->w2"), o.port("w2->h1"));
    // All but the few that arrived at a short queue.
    assert!(first.marked > 300 && first.sent_pkts - first.marked <= 8, "{first:?}");
    assert!(second.sent_pkts == first.sent_pkts && second.marked <= first.sent_pkts - first.marked, "{second:?}");
}

/// Packets and bytes that arrived are those that were sent and those that were dropped; all have 1500 B here.
#[test]
fn bytes_of_dropped_packets() {
    let text = chain(["2Gbps", "1Gbps", "1Gbps"], "", "rate = \"2Gbps\"\nstop = \"3ms\"").replace("2000pkt", "20pkt");
    let p = one(&text, &[]).port("w1->w2").clone();
    // 500 packets in 3 ms, of which half and the buffer get through.
    assert!((490..=501).contains(&p.arrived_pkts) && (215..=235).contains(&p.dropped_overflow), "{p:?}");
    assert_eq!(p.arrived_pkts, p.sent_pkts + p.dropped_overflow);
    assert_eq!((p.arrived_bytes, p.sent_bytes), (1500 * p.arrived_pkts, 1500 * p.sent_pkts), "{p:?}");
}
