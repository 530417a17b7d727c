//! Spurious timeouts: bursts of higher priority delay other traffic, so ACKs arrive after the timeout. Linux detects this with the first late ACK,
//! after about one unnecessary segment per timeout.

use forebay_tests::{Outcome, one};

/// Bursts of 2 Gbps for 15 ms with priority at a port of 1 Gbps: 30 ms in which nothing else leaves, at a minimum RTO of 10 ms. Marks
/// keep windows small, so that nothing is ever dropped and a tail loss probe is new data.
const BURSTS: &str = r#"
duration = "4s"
[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "100000pkt", queue = { kind = "strict-priority", queues = 2, k = "20pkt" } }
[transport]
stack = "linux"
host = "bare"
rto-min = "10ms"
[[workload]]
kind = "long"
from = ["s0", "s1"]
[[workload]]
kind = "udp"
from = ["s2", "s3"]
rate = "1Gbps"
on = "15ms"
off = "120ms"
service = 7
start = "100ms"
"#;

/// (timeouts, retransmissions) of the run, in which nothing was dropped.
fn needless(o: &Outcome) -> (u64, u64) {
    assert_eq!(o.drops(), 0);
    (o.rtos(), o.report.flows.iter().map(|f| f.segs_retx).sum())
}

#[test]
fn spurious_timeout_costs_one_segment() {
    // Of DCTCP a kernel has 14 timeouts here, the simulator with its arithmetic 15.
    for (name, cc) in [("newreno", "newreno"), ("cubic", "cubic"), ("dctcp", "{ kind = \"dctcp\", arithmetic = \"linux\" }")] {
        let sets = [format!("transport.cc={cc}"), format!("transport.ecn={}", if name == "dctcp" { "dctcp" } else { "classic" })];
        let (rtos, retx) = needless(&one(BURSTS, &[&sets[0], &sets[1]]));
        let per = retx as f64 / rtos as f64;
        println!("{name}: {rtos} timeouts, {retx} retransmissions, {per:.2} each");
        assert!(rtos >= 14, "{name}: {rtos} timeouts are no basis");
        assert!(per < 2.0, "{name}: {per:.2} needless segments per timeout");
    }
}

/// Windows that the receiver limits, so that neither marks nor losses ever reduce them.
const STEADY: &[&str] = &["transport.cc=cubic", "transport.ecn=off", "transport.rcv-wnd=40KB"];

/// (timeouts, tail loss probes, retransmissions) with the given detection.
fn found_by(sets: &[&str], frto: bool, eifel: bool) -> (u64, u64, u64) {
    let switches = [format!("transport.frto={frto}"), format!("transport.eifel={eifel}")];
    let o = one(BURSTS, &[sets, &[&switches[0], &switches[1]]].concat());
    let (rtos, retx) = needless(&o);
    let probes = o.report.flows.iter().map(|f| u64::from(f.tlps)).sum();
    assert!(rtos >= 20, "{rtos} timeouts are no basis");
    (rtos, probes, retx)
}

/// Either detection suffices: a timeout costs the one segment that it sends, and the preceding probe one if the window has no room for new data. A
/// kernel has the same numbers (`forebay-bench linux spurious`). Without both, whole windows of 28 segments are retransmitted.
#[test]
fn frto_and_eifel_each_undo() {
    for (frto, eifel) in [(true, false), (false, true), (true, true)] {
        let (rtos, probes, retx) = found_by(STEADY, frto, eifel);
        assert_eq!(retx, rtos + probes, "frto {frto}, eifel {eifel}");
    }
    let (rtos, _, retx) = found_by(STEADY, false, false);
    assert!(retx > 20 * rtos, "{retx} {rtos}");
}

/// The echo cannot undo a timeout within a reduction on marks: tcp_enter_cwr has cleared `undo_marker`, and tcp_enter_loss sets it only after that
/// reduction is acknowledged. Their number is random, in a kernel too (7 of 58 there, 12 here); each costs a window. F-RTO depends on the
/// acknowledged data and needs no marker. Its held-back segments are sent, however, if new data had to wait for the interface: tcp_tsq_write first
/// retransmits lost segments.
#[test]
fn echo_cannot_undo_within_reduction() {
    let marked = &["transport.cc=cubic", "transport.ecn=classic"][..];
    let (mut rtos, mut retx) = (0, 0);
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let (rtos, _, retx) = found_by(&[marked, &["transport.tsq=false", seed]].concat(), true, false);
        assert_eq!(retx, rtos);
    }
    // New data waits for the interface in some of the seeds only.
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let found = found_by(&[marked, &[seed]].concat(), true, false);
        (rtos, retx) = (rtos + found.0, retx + found.2);
    }
    assert!(rtos < retx && retx < 2 * rtos, "some of {rtos} timeouts: {retx}");
    let ((rtos, _, retx), (.., all)) = (found_by(marked, false, true), found_by(marked, false, false));
    assert!(rtos < retx && retx < all, "{rtos} {retx} {all}");
}

/// A genuine timeout is not undone: with real losses the whole tail is retransmitted.
#[test]
fn genuine_timeouts_stay() {
    const SMALL: &[&str] = &["topology.bottleneck.buffer=25pkt", "duration=2s"];
    let o = one(BURSTS, SMALL);
    let retx: u64 = o.report.flows.iter().map(|f| f.segs_retx).sum();
    assert!(o.rtos() > 5 && o.drops() > 100, "{} {}", o.rtos(), o.drops());
    assert!(retx > o.rtos(), "{retx}");
}
