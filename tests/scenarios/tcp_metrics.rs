//! A second connection to the same host begins with the threshold that the first has left (Linux tcp_metrics).

use forebay_tests::one;

/// Flows of 2 MB over a small buffer, one at a time: the first overshoots, and loses.
const FLOWS: &str = r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "100us" }
bottleneck = { rate = "1Gbps", delay = "100us", buffer = "30pkt" }
[transport]
stack = "linux"
cc = "newreno"
rcv-wnd = "1MB"
[[workload]]
kind = "long"
size = "2MB"
per-pair = 3
stagger = "500ms"
"#;

#[test]
fn later_connections_do_not_overshoot() {
    let retransmitted = |set: &'static str| {
        let o = one(FLOWS, &[set]);
        let flows: Vec<u64> = o.report.flows.iter().map(|f| f.segs_retx).collect();
        assert_eq!((flows.len(), o.report.flows.iter().filter(|f| f.acked.is_never()).count()), (3, 0), "{set}");
        flows
    };
    let (off, rtt, all) = (
        retransmitted("transport.tcp-metrics=off"),
        retransmitted("transport.tcp-metrics=rtt"),
        retransmitted("transport.tcp-metrics=all"),
    );
    println!("retransmissions: {off:?}, with RTT {rtt:?}, with threshold {all:?}");
    assert!(off.iter().all(|&n| n > 10), "each slow start overshoots: {off:?}");
    assert_eq!(off, rtt, "a first timeout that does not come changes nothing");
    assert_eq!(all[0], off[0]);
    assert!(all[1..].iter().all(|&n| 4 * n < off[0]), "{all:?}");
}
