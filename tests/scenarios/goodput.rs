//! Goodput is the payload that arrives in the measured time, so it cannot exceed the capacity of the link.

use forebay_tests::one;
use forebay_types::GroupId;

/// Five NewReno senders overflow a buffer of 100 packets in slow start and repair one segment per round trip: for tens of milliseconds each receiver
/// holds hundreds of segments behind a hole. Counting acknowledged payload instead would credit them to the time after the warm-up: up to 1.06 of the
/// link.
#[test]
fn goodput_does_not_exceed_the_wire() {
    let text = r#"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[[workload]]
kind = "long"
"#;
    for (stack, header) in [("ns2", 40), ("rfc", 40), ("linux", 52)] {
        let mut waited = 0;
        for warmup in [4, 8, 12, 16, 24, 40] {
            let sets = [
                format!("transport.stack={stack}"),
                format!("transport.header={header}"),
                "transport.mss=1448".to_owned(),
                format!("observe.warmup={warmup}ms"),
                format!("duration={}ms", warmup + 60),
            ];
            let o = one(text, &sets.iter().map(String::as_str).collect::<Vec<_>>());
            let seconds = (o.report.end.0 - o.report.measured_from.0) as f64 * 1e-12;
            let most = seconds * 1e9 / 8.0 * 1448.0 / f64::from(1448 + header);
            let measured: u64 = o.report.flows.iter().map(|f| f.bytes_measured).sum();
            println!("{stack}, warm-up {warmup} ms: {:.4} of the link's payload", measured as f64 / most);
            // A segment may be on its way from the link to the receiver at either end of the interval.
            assert!(measured as f64 <= most + 2.0 * 1448.0, "{stack}, warm-up {warmup} ms: {measured} against {most}");
            assert_eq!(measured, o.report.acked[GroupId::new(0)], "rows and totals");
            waited += u64::from(measured as f64 > 0.99 * most);
        }
        assert!(waited > 0, "{stack}: the link was never full, so that nothing could exceed it");
    }
}

/// Tenants send in both directions through a dumbbell: payload per interval and direction never exceeds the capacity, and every byte is in one row.
#[test]
fn goodput_rows_name_one_port() {
    let text = r#"
duration = "50ms"
[topology]
kind = "dumbbell"
left = 2
right = 2
access     = { rate = "10Gbps", delay = "5us" }
bottleneck = { rate = "1Gbps", delay = "20us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
cc = "dctcp"
[[workload]]
kind = "long"
from = "l0..l1"
to = "r0..r1"
[[workload]]
kind = "long"
from = "r0"
to = "l0"
"#;
    let o = one(text, &[]);
    let ports: std::collections::BTreeSet<_> = o.report.deliveries.iter().map(|r| r.port).collect();
    assert_eq!(ports.len(), 2, "each direction of the bottleneck: {ports:?}");
    let mut together: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
    for r in &o.report.deliveries {
        let port = &o.variant.config.network.ports[r.port.expect("a port")];
        let carried = port.rate.0 as f64 / 8.0 * (r.to.0 - r.from.0) as f64 * 1e-12;
        // A packet may be on its way between the port and the receiver at either end of the interval.
        assert!(r.bytes as f64 <= carried + 2.0 * 1500.0, "{r:?}: {carried}");
        *together.entry(r.from.0).or_default() += r.bytes;
    }
    let one_direction = 1e9 / 8.0 * 50e-3 / together.len() as f64;
    assert!(together.values().any(|b| *b as f64 > 1.5 * one_direction), "both directions carry: {together:?}");
    let delivered: u64 = o.report.deliveries.iter().map(|r| r.bytes).sum();
    let acked: u64 = o.report.flows.iter().map(|f| f.bytes_acked).sum();
    assert!(delivered >= acked && delivered <= acked + 400 * 1500, "{delivered} delivered, {acked} acknowledged");
}
