//! Misbehaving receivers (Savage et al., ACM CCR 1999). Receivers that divide their ACKs: senders that count ACKs send faster, those that count bytes or
//! segments do not. Receivers that acknowledge data ahead of its arrival: the window opens earlier.

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

/// With an ACK for two segments, growth by ACKs multiplies the window by 1.5 in a round trip of slow start, and growth by segments by 2, with and without
/// SACK.
#[test]
fn delayed_acks_slow_growth_by_acks() {
    for recovery in ["rack", "newreno"] {
        let took = |growth: &str| {
            let set = [
                "transport.stack=\"linux\"".to_owned(),
                "transport.host=\"bare\"".to_owned(),
                "transport.ack-every=2".to_owned(),
                "transport.quickack-count=0".to_owned(),
                "transport.init-cwnd=2".to_owned(),
                format!("transport.recovery=\"{recovery}\""),
                format!("transport.growth=\"{growth}\""),
            ];
            rounds(&one(MESSAGE, &set.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let (by_acks, by_segments) = (took("per-ack"), took("unlimited"));
        assert!(by_acks > by_segments + 1.5, "{recovery}: {by_acks} and {by_segments} round trips");
    }
}

/// A flow that the receive window limits, 64 KB in a round trip of 20 ms.
const WINDOW: &str = r#"
duration = "3s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "5ms" }
bottleneck = { rate = "10Gbps", delay = "5ms" }
[transport]
cc = "reno"
ack-every = 1
rcv-wnd = "64KB"
init-cwnd = 40
[[workload]]
kind = "long"
[observe]
warmup = "1s"
"#;

fn ahead(bytes: &str) -> String {
    format!("transport.shim={{kind=\"misbehaving-receiver\",ack-division=1,ack-ahead=\"{bytes}\"}}")
}

/// With ACKs that are 32 KB ahead, 96 KB are in the network instead of 64.
#[test]
fn optimistic_acks_extend_the_window() {
    for stack in ["ns2", "rfc", "linux"] {
        let stack = format!("transport.stack={stack}");
        let bytes = |sets: &[&str]| one(WINDOW, sets).report.flows[0].bytes_measured as f64;
        let (plain, optimistic) = (bytes(&[&stack]), bytes(&[&stack, &ahead("32KB")]));
        println!("{stack}: {plain} and {optimistic} bytes");
        assert!((optimistic / plain - 1.5).abs() < 0.05, "{stack}: {plain} and {optimistic}");
    }
}

/// ACKs of data that was not sent acknowledge nothing: the attack costs its receiver a timeout for each flight.
#[test]
fn ack_of_unsent_data_gains_nothing() {
    for stack in ["ns2", "rfc", "linux"] {
        let stack = format!("transport.stack={stack}");
        let (plain, optimistic) = (one(WINDOW, &[&stack]), one(WINDOW, &[&stack, &ahead("1MB")]));
        let bytes = |o: &Outcome| o.report.flows[0].bytes_measured;
        println!("{stack}: {} and {} bytes after {} timeouts", bytes(&plain), bytes(&optimistic), optimistic.rtos());
        // Linux repeats the tail of a flight by a probe (RFC 8985), and needs no timeout for the next ACK.
        assert!(optimistic.rtos() > 0 && bytes(&optimistic) < bytes(&plain) / 2, "{stack}");
    }
}

/// A lost segment is acknowledged and never repeated. The sender goes on, and its receiver has no data behind the hole.
#[test]
fn concealed_loss_leaves_a_hole() {
    let loss = "topology.loss={port=\"bottleneck\",drop={connection=0,packets=[30]}}";
    for stack in ["ns2", "rfc", "linux"] {
        let stack = format!("transport.stack={stack}");
        let sets = [stack.as_str(), "observe.warmup=0s", loss];
        let honest = one(WINDOW, &sets);
        assert!(honest.report.flows[0].segs_retx > 0, "{stack}");
        let concealed = one(WINDOW, &[&sets[..], &[&ahead("16KB")]].concat());
        let f = &concealed.report.flows[0];
        println!("{stack}: {} bytes acknowledged, {} retransmissions", f.bytes_acked, f.segs_retx);
        assert!(f.segs_retx == 0 && f.bytes_acked > honest.report.flows[0].bytes_acked, "{stack}: {f:?}");
    }
}
