//! Unresponsive sources send at their rate in any case, and delivered and lost packets add up.

use forebay_experiment::rows::FlowRow;
use forebay_tests::{Outcome, one};
use forebay_types::{GroupId, NodeId};

const US: u64 = 1_000_000;
/// Payload of a packet of 1500 B.
const PAYLOAD: u64 = 1_472;

/// Sources and a sink on one switch; 1 Gbps, 10 us.
fn text(senders: u32, queue: &str, workload: &str) -> String {
    format!(
        "duration = \"100ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"1Gbps\", delay = \"10us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"10us\", buffer = \"20pkt\"{queue} }}\n[transport]\nstack = \"ns2\"\nrto-min = \"10ms\"\n[[workload]]\n{workload}\n"
    )
}

/// Lost packets of a source: sent, not delivered, and not under way at the end.
fn lost(f: &FlowRow) -> u64 {
    assert_eq!(f.bytes_acked % PAYLOAD, 0);
    f.segs_sent - f.bytes_acked / PAYLOAD
}

#[test]
fn udp_rate_is_wire_rate() {
    let o = one(&text(2, "", "kind = \"udp\"\nfrom = \"s0\"\nrate = \"100Mbps\"\nstart = \"2ms\"\nstop = \"50ms\""), &[]);
    // A packet every 120 us in 48 ms.
    let [f] = &o.report.flows[..] else { panic!("{:?}", o.report.flows) };
    assert_eq!((f.segs_sent, f.bytes_acked, f.start.0, f.size_bytes, f.end.ps()), (400, 400 * PAYLOAD, 2_000 * US, 0, None));
    let p = o.port("bottleneck");
    assert_eq!((p.sent_pkts, p.sent_bytes, p.queue_max_pkts), (400, 600_000, 1));
    // No packet goes back.
    assert_eq!((o.port("sw->s0").sent_pkts, o.port("recv->sw").sent_pkts), (0, 0));
    assert_eq!(o.variant.transports, ["newreno", "udp"]);
    assert_eq!((f.group, o.report.acked.clone()), (GroupId::new(1), vec![0, 400 * PAYLOAD].into()));
    // Packets received after the warm-up: 26 ms to 50 ms; 22 to 23 us are in flight.
    let o = one(
        &text(
            2,
            "",
            "kind = \"udp\"\nfrom = \"s0\"\nrate = \"100Mbps\"\nstart = \"2ms\"\nstop = \"50ms\"\n[observe]\nwarmup = \"26ms\"",
        ),
        &[],
    );
    assert_eq!(o.report.acked.as_slice(), [0, 200 * PAYLOAD]);
}

#[test]
fn udp_overload_is_dropped_and_counted() {
    let o = one(&text(2, "", "kind = \"udp\"\nrate = \"700Mbps\"\npacket-jitter = \"10us\""), &[]);
    let (sent, gone): (u64, u64) = o.report.flows.iter().fold((0, 0), |sum, f| (sum.0 + f.segs_sent, sum.1 + lost(f)));
    // 1.4 Gbps for 100 ms in packets of 12 000 bits; 1 Gbps gets through.
    assert!((sent as f64 / 11_666.0 - 1.0).abs() < 1e-3, "{sent}");
    let p = o.port("bottleneck");
    let through = sent - p.dropped_overflow;
    assert!((through as f64 - 8_333.0).abs() < 25.0 && p.busy > 0.999, "{through} {}", p.busy);
    // Packets neither delivered nor dropped are in the buffer or on a link at the end of the run.
    assert!(gone >= p.dropped_overflow && gone <= p.dropped_overflow + 25, "{gone} {}", p.dropped_overflow);
    assert_eq!(o.rtos(), 0);
}

/// Beside TCP: UDP keeps its rate, and TCP fills the rest (PRIN, Fig. 19: 100 Mbps of UDP into the receiver's port).
#[test]
fn tcp_fills_rest_beside_udp() {
    let o = one(
        &text(
            3,
            "",
            "kind = \"long\"\nfrom = [\"s0\", \"s1\"]\n[[workload]]\nkind = \"udp\"\nfrom = \"s2\"\nrate = \"100Mbps\"\n\
             packet-jitter = \"120us\"\n[observe]\nwarmup = \"20ms\"",
        ),
        &["duration=1s"],
    );
    let wire = |group: u32, payload: f64| o.report.acked[GroupId::new(group)] as f64 * 8.0 / 0.98e9 * 1500.0 / payload;
    let (tcp, udp, busy) = (wire(0, 1460.0), wire(1, PAYLOAD as f64), o.port("bottleneck").busy);
    let f = o.class("udp")[0];
    println!("tcp {tcp:.4} udp {udp:.4} busy {busy:.4} drops {} of udp {}", o.drops(), lost(f));
    assert!(f.segs_sent >= 8_333 && lost(f) > 0);
    // It loses packets while the buffer is full, which is rare, since TCP adapts to the rest.
    assert!(udp > 0.09 && udp <= 0.1001, "{udp}");
    assert!(busy > 0.99 && (tcp + udp) / busy > 0.99, "{tcp} {udp} {busy}");
}

#[test]
fn jitter_keeps_the_rate() {
    let sent = |more: &str| {
        let o = one(&text(2, "", &format!("kind = \"udp\"\nrate = \"400Mbps\"\n{more}")), &["topology.bottleneck.rate=10Gbps"]);
        assert_eq!(o.drops(), 0);
        (o.report.flows.iter().map(|f| f.segs_sent).collect::<Vec<_>>(), o.report.fingerprint)
    };
    // 30 us a packet: the 3334th is due at 99.99 ms.
    let (constant, a) = sent("");
    let (jittered, b) = sent("packet-jitter = \"30us\"");
    assert_eq!(constant, [3_334, 3_334]);
    assert!(jittered.iter().all(|n| (3_333..=3_334).contains(n)) && a != b);
    let (late, _) = sent("jitter = \"50ms\"");
    assert!(late.iter().all(|n| (1_667..3_334).contains(n)) && late[0] != late[1], "{late:?}");
}

#[test]
fn on_and_off() {
    let sent = |on: &str, off: &str| {
        let o = one(&text(1, "", &format!("kind = \"udp\"\nrate = \"400Mbps\"\non = {on}\noff = {off}")), &["duration=1s"]);
        o.report.flows[0].segs_sent
    };
    // 3 ms of 10: 100 packets every 10 ms.
    assert_eq!(sent("\"3ms\"", "\"7ms\""), 10_000);
    let random = sent("{ exponential = \"3ms\" }", "{ exponential = \"7ms\" }") as f64;
    // A hundred periods; the deviation of their sum is about a tenth, and a packet begins each.
    assert!((random / 10_000.0 - 1.0).abs() < 0.4, "{random}");
}

/// Pauses do not change the rate while a source sends, also for periods of few packets and of no whole number of packets. 400 Mbps: one packet in
/// 30 us of sending.
#[test]
fn short_periods_keep_the_rate() {
    let sent = |on: &str, off: &str, duration: &str| {
        let workload = format!("kind = \"udp\"\nrate = \"400Mbps\"\non = {on}\noff = {off}");
        let o = one(&text(1, "", &workload), &[&format!("duration={duration}")]);
        o.report.flows[0].segs_sent
    };
    // Time of sending and of a pause in us: a half, one, two and a half, three, ten and a hundred packets in a period.
    for (on, off) in [(15, 35), (30, 70), (75, 25), (90, 210), (300, 700), (3_000, 7_000)] {
        let (periods, rest) = (1_000_000 / (on + off), 1_000_000 % (on + off));
        let sending = f64::from(periods * on + rest.min(on));
        let got = sent(&format!("\"{on}us\""), &format!("\"{off}us\""), "1s") as f64;
        assert!((got - sending / 30.0).abs() <= 1.0, "{on} us: {got} against {}", sending / 30.0);
    }
    // Periods of random length: the share of sending, 0.3, has a relative deviation of 0.7 sqrt(2 / periods); 3.3 deviations.
    for (packets, periods) in [(1, 20_000), (3, 7_000), (10, 2_000), (100, 200)] {
        let (on, off) = (30 * packets, 70 * packets);
        let random = |mean: u32| format!("{{ exponential = \"{mean}us\" }}");
        let got = sent(&random(on), &random(off), "2s") as f64;
        let error = 3.3 * 0.7 * (2.0 / f64::from(periods)).sqrt();
        assert!((got / 20_000.0 - 1.0).abs() < error, "{packets} packets: {got}, {error}");
    }
}

fn by_source(o: &Outcome) -> Vec<u64> {
    (0..2).map(|src| o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).map(lost).sum()).collect()
}

/// Queues with classes use the packets' class; marking queues their ECN capability.
#[test]
fn queues_see_class_and_ect() {
    // In phase one source would find room where the other never does; the jitter mixes them.
    let source = |host: &str| format!("kind = \"udp\"\nfrom = \"{host}\"\nrate = \"700Mbps\"\npacket-jitter = \"10us\"");
    let two = format!("{}\nservice = 7\n[[workload]]\n{}", source("s0"), source("s1"));
    let fifo = by_source(&one(&text(2, "", &two), &[]));
    assert!(fifo.iter().all(|l| *l > 1_000), "{fifo:?}");
    let strict = by_source(&one(&text(2, ", queue = \"strict-priority\"", &two), &[]));
    assert!(strict[0] <= 5 && strict[1] > 3_000, "{strict:?}");
    let step = ", queue = { kind = \"dctcp-step\", k = \"5pkt\" }";
    let marked = |ect: bool| {
        one(&text(2, step, &format!("kind = \"udp\"\nrate = \"700Mbps\"\nect = {ect}")), &[]).port("bottleneck").marked
    };
    assert!(marked(false) == 0 && marked(true) > 8_000, "{}", marked(true));
}
