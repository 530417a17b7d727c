//! Timeouts without a loss: bursts of more urgent traffic hold everything else back, and acknowledgements are late by more than the
//! timeout. Linux finds that out with the first late ACK and has sent about one segment in vain per timeout.

use forebay_checks::{Outcome, one};

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
fn a_spurious_timeout_costs_about_one_segment() {
    for cc in ["newreno", "cubic", "dctcp"] {
        let sets = [format!("transport.cc={cc}"), format!("transport.ecn={}", if cc == "dctcp" { "dctcp" } else { "classic" })];
        let (rtos, retx) = needless(&one(BURSTS, &[&sets[0], &sets[1]]));
        let per = retx as f64 / rtos as f64;
        println!("{cc}: {rtos} timeouts, {retx} retransmissions, {per:.2} each");
        assert!(rtos >= 20, "{cc}: {rtos} timeouts are no basis");
        assert!(per < 2.0, "{cc}: {per:.2} needless segments per timeout");
    }
}

/// Each of the two ways to find out helps alone; without both, whole windows are sent again. The echo alone is blind while the window is
/// being reduced on marks (tcp_enter_cwr forgets what could be taken back).
#[test]
fn each_of_the_two_does_it() {
    let each = |frto: bool, eifel: bool| {
        let sets = [format!("transport.frto={frto}"), format!("transport.eifel={eifel}")];
        let (rtos, retx) = needless(&one(BURSTS, &[&sets[0], &sets[1], "transport.cc=cubic", "transport.ecn=classic"]));
        println!("frto {frto}, eifel {eifel}: {rtos} timeouts, {retx} retransmissions");
        retx as f64 / rtos as f64
    };
    let (neither, frto, eifel) = (each(false, false), each(true, false), each(false, true));
    assert!(frto < 2.0, "{frto}");
    assert!(neither > 2.0 * frto.max(eifel), "{neither} {frto} {eifel}");
}

/// A genuine timeout is not taken back: with real losses the whole tail has to be repaired, and both stay out of the way.
#[test]
fn genuine_timeouts_stay() {
    const SMALL: &[&str] = &["topology.bottleneck.buffer=25pkt", "duration=2s"];
    let o = one(BURSTS, SMALL);
    let retx: u64 = o.report.flows.iter().map(|f| f.segs_retx).sum();
    assert!(o.rtos() > 5 && o.drops() > 100, "{} {}", o.rtos(), o.drops());
    assert!(retx > o.rtos(), "{retx}");
}
