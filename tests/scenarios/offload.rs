//! Offload over whole connections: fewer ACKs for the same goodput, bursts at a switch, and correct counts of marks.

use forebay_tests::{Outcome, one};

/// One flow into a slower link, the receiver's host 10 Gbps away from it.
const PATH: &str = r#"
duration = "300ms"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "250pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "newreno"
rcv-wnd = "300KB"
[[workload]]
kind = "long"
[observe]
warmup = "100ms"
"#;

/// Segments of the bottleneck are 12 us apart: nine arrive by the interrupt.
const GRO: &str = "transport.gro=100us";
const TSO: &str = "transport.tso=64KB";

fn goodput(o: &Outcome) -> f64 {
    o.report.flows.iter().map(|f| f.bytes_measured as f64).sum::<f64>() * 8.0 / 0.2
}

/// Packets of the ACK direction for each segment.
fn acks_per_segment(o: &Outcome) -> f64 {
    o.port("recv->sw").sent_pkts as f64 / o.port("s0->sw").sent_pkts as f64
}

/// __tcp_ack_snd_check: one ACK for a super-segment, of up to nine segments here. Goodput is what it was, with bursts and without.
///
/// The timestamp ticks every 83 segments, and single segments carry PSH when half of the window of 300 KB has been written since the last PSH
/// (forced_push), every 104 segments. Both end a super-segment: up to 1 / 9 + 1 / 83 + 1 / 104 ACKs for a segment. Bursts of up to 44 segments (64 KB of
/// TSO) have one timestamp and end with PSH (__tcp_transmit_skb): up to 1 / 9 + 1 / 44.
#[test]
fn joined_segments_are_acknowledged_once() {
    let plain = one(PATH, &[]);
    assert!((0.49..0.51).contains(&acks_per_segment(&plain)), "{}", acks_per_segment(&plain));
    for (sets, expected) in [(&[GRO][..], 7.5..=9.0), (&[GRO, TSO], 7.4..=9.0)] {
        let o = one(PATH, sets);
        let n = 1.0 / acks_per_segment(&o);
        println!("{sets:?}: an ACK for {n:.1} segments, {:.1} Mbit/s", goodput(&o) * 1e-6);
        assert!(expected.contains(&n), "{sets:?}: an ACK for {n} segments");
        assert!((goodput(&o) / goodput(&plain) - 1.0).abs() < 0.005, "{sets:?}: {} for {}", goodput(&o), goodput(&plain));
        assert_eq!((o.drops(), o.rtos()), (0, 0), "{sets:?}");
    }
    // An interrupt sooner than the next segment merges none.
    let short = one(PATH, &["transport.gro=1us"]);
    assert!((0.49..0.51).contains(&acks_per_segment(&short)), "{}", acks_per_segment(&short));
}

/// With a small window only the segments of a burst wait at the switch: a third of the 100 KB window. A sender that waits for full bursts has two to
/// three of them in flight, and so two thirds of the goodput or more.
#[test]
fn bursts_wait_at_the_switch() {
    let far = ["topology.bottleneck.delay=500us", "transport.rcv-wnd=100KB", "transport.init-cwnd=2"];
    let queue = |tso: &[&'static str]| {
        let o = one(PATH, &[&far[..], tso].concat());
        assert_eq!((o.drops(), o.rtos()), (0, 0));
        (o.port("bottleneck").queue_max_pkts, goodput(&o))
    };
    let ((plain, without), (bursts, with)) = (queue(&[]), queue(&[TSO]));
    println!("largest queue {plain} and {bursts}, {:.1} and {:.1} Mbit/s", without * 1e-6, with * 1e-6);
    let third = 100_000.0 / 3.0 / 1448.0;
    assert!(f64::from(bursts) > 0.9 * third, "{bursts} packets of {third:.0}");
    assert!(f64::from(plain) < 0.3 * third, "{plain} packets without bursts");
    assert!((0.65..1.0).contains(&(with / without)), "{with} for {without}");
}

/// A mark ends a super-segment, so that a DCTCP sender counts what the switch marked, to the last segment under way.
#[test]
fn marked_bytes_are_counted_exactly() {
    let dctcp = ["transport.cc=dctcp", "topology.bottleneck.queue={kind='dctcp-step', k='20pkt'}", "observe.warmup=0ms"];
    let outcome = |sets: &[&'static str]| {
        let o = one(PATH, &[&dctcp[..], sets].concat());
        let counted = o.report.flows.iter().map(|f| f.ce_acked_bytes).sum::<u64>() / 1448;
        (counted, o.port("bottleneck").marked, o.port("bottleneck").queue_mean_pkts, o)
    };
    for sets in [&[][..], &[GRO], &[GRO, TSO]] {
        let (counted, marked, queue, o) = outcome(sets);
        println!("{sets:?}: {marked} marked, {counted} counted, queue {queue:.1}, {:.2} ACKs a segment", acks_per_segment(&o));
        assert!(marked > 100, "{sets:?}: {marked} marks");
        assert!(counted <= marked && marked - counted <= 60, "{sets:?}: {counted} of {marked}");
    }
}

/// Trains with losses: an interrupt delivers the end of each train.
#[test]
fn interrupt_delivers_last_segment() {
    const TRAINS: &str = r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "linux"
cc = "newreno"
gro = "20us"
[[workload]]
kind = "on-off"
sizes = { uniform = ["2KB", "10KB"] }
gaps = { exponential = "1ms" }
gap-from = "start"
trains = 200
start = "100ms"
last-size = "140000B"
last-at = "500ms"
"#;
    let o = one(TRAINS, &[]);
    assert!(o.drops() > 0, "nothing was lost");
    assert!(o.report.flows.iter().all(|f| f.end < f.acked && !f.acked.is_never()), "acknowledged before it was there, or never");
}

/// One flow over 20 ms at 1 Gbps, whose windows do not limit it.
const LONG_PATH: [&str; 3] = ["topology.bottleneck.delay=10ms", "transport.rcv-wnd=100MB", "duration=2s"];

/// SO_SNDBUF of 100 KB: 200 000 bytes of memory are at most 88 segments of 1448 + 832 bytes (87 * 2280 < 200 000), or with bursts 200 000 bytes and a
/// buffer of 45 segments. The application writes again when a third is free, so at least two thirds are in flight, and the goodput is between two thirds
/// and all of that for each RTT of 20.05 ms. Without limit the flow fills the link.
#[test]
fn send_buffer_limits_goodput() {
    let rate = |sets: &[&'static str]| {
        let o = one(PATH, &[&LONG_PATH[..], sets].concat());
        assert_eq!(o.rtos(), 0);
        o.report.flows.iter().map(|f| f.bytes_measured as f64).sum::<f64>() * 8.0 / 1.9
    };
    let most = |bytes: f64| bytes * 8.0 / 0.02005;
    for cc in ["transport.cc=newreno", "transport.cc=cubic", "transport.cc=bbr"] {
        for (tso, segments) in [("transport.host=bare", 88.0), (TSO, (200_000.0 / 1448.0) + 45.0)] {
            let limited = rate(&[cc, tso, "transport.snd-buf=100KB"]) / most(segments * 1448.0);
            println!("{cc} {tso}: {limited:.3} of the largest rate");
            // BBR takes a limited sender's rate for the bandwidth and paces below it, so only the upper bound holds for it.
            let least = if cc.ends_with("bbr") { 0.0 } else { 0.5 };
            assert!(limited > least && limited <= 1.0, "{cc} {tso}: {limited}");
        }
    }
    let free = rate(&["transport.snd-buf-max=100MB"]);
    assert!(free > 5.0 * most(88.0 * 1448.0), "{free}");
}

/// BBR paces whole bursts (tcp_update_skb_after_send): it fills the link as single segments do, and the bursts wait at the switch. At 1 Gbps a burst has
/// 125 MB/s / 1024 = 122 KB, so 45 segments.
#[test]
fn bbr_paces_whole_bursts() {
    let path = ["transport.cc=bbr", "topology.bottleneck.delay=1ms", "duration=1s", "observe.warmup=500ms"];
    let of = |tso: &[&'static str]| {
        let o = one(PATH, &[&path[..], tso].concat());
        (o.port("bottleneck").queue_mean_pkts, o.report.flows.iter().map(|f| f.bytes_measured as f64).sum::<f64>() * 16.0)
    };
    let ((single, without), (bursts, with)) = (of(&[]), of(&[TSO]));
    println!("mean queue {single:.1} and {bursts:.1}, {:.1} and {:.1} Mbit/s", without * 1e-6, with * 1e-6);
    // The margin of 1 %, and one of eight phases of the cycle at three quarters of the bandwidth.
    let least = 0.99 * 7.75 / 8.0 * 1e9 * 1448.0 / 1500.0;
    assert!(without > least && with > least, "{with} and {without}");
    assert!(bursts > 10.0, "bursts of 45 segments arrive at ten times the rate: {bursts} packets wait in the mean");
}
