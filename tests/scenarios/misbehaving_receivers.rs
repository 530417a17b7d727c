//! Receivers that divide their ACKs (Savage et al., ACM CCR 1999): senders that count ACKs send faster, those that count bytes or segments do not.

use forebay_tests::{Outcome, one};

/// A message in slow start on a path without losses, with or without a receiver that divides each ACK into eight.
const MESSAGE: &str = r#"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "5ms" }
bottleneck = { rate = "10Gbps", delay = "5ms" }
[transport]
cc = "reno"
ack-every = 1
rcv-wnd = "4MB"
[[workload]]
kind = "long"
size = "300KB"
"#;

const DIVISION: &str = "transport.shim={kind=\"misbehaving-receiver\",ack-division=8}";

/// Completion time in round trips of 20 ms.
fn rounds(o: &Outcome) -> f64 {
    let f = &o.report.flows[0];
    assert_eq!((o.drops(), f.segs_retx), (0, 0));
    (f.end.get().unwrap_or_default() - f.start).as_secs_f64() / 20e-3
}

/// With one step of growth for each ACK, a window of two segments grows to 18 in a round trip; RFC 5681 and RFC 3465 (ABC) count acknowledged bytes,
/// Linux whole segments.
#[test]
fn ack_division_defeats_only_ack_counting() {
    for (stack, growth, faster) in [
        ("ns2", "per-ack", true),
        ("ns2", "rfc5681", false),
        ("ns2", "abc", false),
        ("rfc", "rfc5681", false),
        ("linux", "unlimited", false),
    ] {
        let set = [
            format!("transport.stack=\"{stack}\""),
            format!("transport.growth=\"{growth}\""),
            "transport.init-cwnd=2".to_owned(),
        ];
        let sets: Vec<&str> = set.iter().map(String::as_str).collect();
        let plain = rounds(&one(MESSAGE, &sets));
        let divided = rounds(&one(MESSAGE, &[&sets[..], &[DIVISION]].concat()));
        println!("{stack}, {growth}: {plain:.2} round trips, with divided ACKs {divided:.2}");
        match faster {
            true => assert!(divided < 0.6 * plain, "{stack}, {growth}: {plain} and {divided}"),
            false => assert!((divided - plain).abs() < 0.6, "{stack}, {growth}: {plain} and {divided}"),
        }
    }
}
