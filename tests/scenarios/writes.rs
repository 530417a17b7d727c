//! Messages of several writes: Nagle's algorithm and delayed ACKs, against times that are computed by hand.

use forebay_experiment::rows::PacketRow;
use forebay_experiment::waits::Cause;
use forebay_tests::{Outcome, execute, resolve};
use forebay_types::Time;

/// Requests of 400 bytes on one connection, answered with 2000 bytes.
const REQUESTS: &str = r#"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "20us" }
bottleneck = { rate = "1Gbps", delay = "20us", buffer = "100pkt" }
[transport]
cc = "cubic"
host = "bare"
[[workload]]
kind = "requests"
request = "400B"
response = "2000B"
think = "1ms"
count = 20
two-way = true
"#;

fn run(sets: &[&str]) -> Outcome {
    let mut variant = resolve(REQUESTS, sets, None).remove(0);
    variant.config.observe.packets = true;
    let report = execute(&variant.config);
    Outcome { variant, report }
}

/// Payloads of the segments of a message, in order of arrival.
fn segments(o: &Outcome, message: usize) -> Vec<u32> {
    let f = &o.report.flows[message];
    let end = f.acked.get().unwrap_or(o.report.end);
    let own = |p: &PacketRow| !p.back && p.payload > 0 && p.conn_id == f.conn_id && (f.start.0..=end.0).contains(&p.time_ps);
    o.report.packets.iter().filter(own).map(|p| p.payload).collect()
}

/// The second half of a request waits for the delayed ACK of the first half (40 ms), and so does the second half of the response.
#[test]
fn nagle_waits_for_delayed_ack() {
    let o = run(&["workload.0.writes=2"]);
    let last = o.report.queries.last().unwrap();
    let took = last.end.get().unwrap() - last.start;
    assert!((Time::from_ms(80)..Time::from_ms(83)).contains(&took), "{took}");
    let causes = o.report.flows.iter().skip(4).map(|f| f.waited.map(|w| w.cause));
    assert!(causes.clone().all(|c| c == Some(Cause::DelayedAck)), "{:?}", causes.collect::<Vec<_>>());
}

/// Without Nagle's algorithm each call leaves at once, as a segment of its own, and no timer runs.
#[test]
fn each_write_is_segment_without_nagle() {
    let o = run(&["workload.0.writes=4", "transport.nagle=false", "transport.tsq=false"]);
    assert_eq!(segments(&o, 0), [100; 4]);
    assert!(o.report.queries.iter().all(|q| q.end.get().unwrap() - q.start < Time::from_ms(1)));
}

/// tcp_should_autocork: the second call waits while the first segment is in the interface, whose memory is as large. With the third call the buffer is
/// larger than that, and leaves. The fourth waits for both.
#[test]
fn autocork_joins_writes() {
    assert_eq!(segments(&run(&["workload.0.writes=4", "transport.nagle=false"]), 0), [100, 200, 100]);
}

/// A call of several segments ends with a short one, and the next call begins a segment of its own. With Nagle's algorithm the end of the first call
/// leaves, because no short segment is outstanding, and that of the second waits for it.
#[test]
fn segments_end_with_each_call() {
    let with =
        |nagle: &str| segments(&run(&["workload.0.writes=2", "workload.0.request=6000B", "transport.tsq=false", nagle]), 0);
    assert_eq!(with("transport.nagle=false"), [1448, 1448, 104, 1448, 1448, 104]);
    let o = run(&["workload.0.writes=2", "workload.0.request=6000B", "transport.tsq=false"]);
    let arrivals: Vec<u64> = o
        .report
        .packets
        .iter()
        .filter(|p| p.payload > 0 && p.conn_id == o.report.flows[0].conn_id)
        .take(6)
        .map(|p| p.time_ps)
        .collect();
    assert_eq!(with("transport.nagle=true"), [1448, 1448, 104, 1448, 1448, 104]);
    assert!(arrivals[5] - arrivals[2] > Time::from_us(80).0, "a round trip after the first short segment: {arrivals:?}");
}

/// One call is the default.
#[test]
fn one_write_is_default() {
    assert_eq!(run(&[]).report.fingerprint, run(&["workload.0.writes=1"]).report.fingerprint);
    assert_ne!(run(&[]).report.fingerprint, run(&["workload.0.writes=2"]).report.fingerprint);
}
