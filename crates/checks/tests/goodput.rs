//! Goodput is what arrives in the measured time, so it cannot exceed what the link carries.

use forebay_checks::one;
use forebay_units::GroupId;

/// Five NewReno senders overrun a buffer of 100 packets in slow start and repair it one segment a round trip: for tens of milliseconds each
/// receiver holds some hundred segments that wait for one. When goodput was what was acknowledged, a warm-up that ended there counted
/// them as if they had come later: up to 1.06 of the link.
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
