//! Additive increase, multiplicative decrease on a drop-tail queue, compared with the sawtooth formula; and fairness.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::theory::sawtooth;
use forebay_tests::{Outcome, jain, one};

/// Round trip 250 us when idle: four delays, 1500 B at 10 and 1 Gbps, 40 B back at both.
const LONG: &str = r#"
duration = "2500ms"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "10Gbps", delay = "59us" }
bottleneck = { rate = "1Gbps", delay = "59112ns", buffer = "250pkt" }
[transport]
stack = "ns2"
cc = "newreno"
[[workload]]
kind = "long"
jitter = "1ms"
[observe]
warmup = "500ms"
"#;
/// Packets of 1500 B that 1 Gbps carries in 250 us.
const PIPE: f64 = 250e-6 * 1e9 / 8.0 / 1500.0;

fn shares(o: &Outcome) -> Vec<f64> {
    o.report.flows.iter().map(|f| f.bytes_acked as f64).collect()
}

/// The measured mean queue as a multiple of the sawtooth's.
fn ratio(o: &Outcome, buffer: f64, n: f64) -> f64 {
    let (queue, _, _) = sawtooth(PIPE, buffer, n);
    let ratio = o.port("bottleneck").queue_mean_pkts / queue;
    println!("buffer {buffer} flows {n}: mean {:.2}, theory {queue:.2}, ratio {ratio:.3}", o.port("bottleneck").queue_mean_pkts);
    ratio
}

#[test]
fn two_flows_use_three_quarters() {
    let (queue, _, _) = sawtooth(PIPE, 250.0, 2.0);
    assert!((queue / 250.0 - 0.76).abs() < 0.005, "{queue}");
    let o = one(LONG, &[]);
    let r = ratio(&o, 250.0, 2.0);
    assert!((0.9..1.1).contains(&r), "{r}");
    assert!(o.port("bottleneck").busy > 0.999, "{}", o.port("bottleneck").busy);
    assert_eq!(o.port("bottleneck").queue_max_pkts, 250);
    // Slow start overshoots by a buffer: NewReno repairs a loss per round trip and may time out before the warm-up is over.
    let fair = jain(&shares(&o));
    println!("jain {fair:.4} {:?}", shares(&o));
    assert!(fair > 0.9, "{fair}");
}

/// A single flow matches the formula in queue and throughput. Below one bandwidth-delay product of buffer, whole-packet windows and the round trip
/// for repair cost a few percent, which the formula does not include.
fn one_flow(jitter: &[&str]) {
    for (buffer, tolerance) in [(10, 0.05), (15, 0.02), (40, 0.001), (100, 0.001)] {
        let buffer_set = format!("topology.bottleneck.buffer={buffer}pkt");
        let o = one(LONG, &[&["topology.senders=1", &buffer_set], jitter].concat());
        let (queue, share, _) = sawtooth(PIPE, f64::from(buffer), 1.0);
        let p = o.port("bottleneck");
        let rtos = o.rtos();
        println!(
            "buffer {buffer}: queue {:.2} / {queue:.2}, busy {:.4} / {share:.4}, timeouts {rtos}",
            p.queue_mean_pkts, p.busy
        );
        assert_eq!(rtos, 0, "buffer {buffer}");
        assert!((p.busy / share - 1.0).abs() < tolerance, "buffer {buffer}: busy {} against {share}", p.busy);
        // Mean queue, where the formula's corrections do not matter.
        assert!(buffer < 40 || (p.queue_mean_pkts / queue - 1.0).abs() < 0.01, "{buffer}: {} against {queue}", p.queue_mean_pkts);
    }
}

#[test]
fn one_flow_is_the_sawtooth() {
    one_flow(&[]);
    // A processing jitter must not push a flow's own retransmission into a full queue.
    one_flow(&["transport.send-jitter=1200ns"]);
}

#[test]
fn forty_flows_share() {
    let o = one(LONG, &["topology.senders=40", "topology.bottleneck.buffer=100pkt", "duration=3s"]);
    let fair = jain(&shares(&o));
    println!("40 flows: jain {fair:.4}, busy {:.4}, timeouts {}", o.port("bottleneck").busy, o.rtos());
    assert!(fair > 0.9, "{fair}");
    assert!(o.port("bottleneck").busy > 0.99);
}

/// Jain's index of the last 6 s of 9 for two senders on access links as fast as the bottleneck, for four seeds and two sizes of header.
fn at_equal_rates(sets: &[&str]) -> Vec<f64> {
    let mut found = Vec::new();
    for seed in 1..=4 {
        for header in [0, 40] {
            let equal = ["topology.access.rate=1Gbps", "topology.bottleneck.buffer=100pkt", "duration=9s", "observe.warmup=3s"];
            let o = one(LONG, &[&equal[..], sets, &[&format!("seed={seed}"), &format!("transport.header={header}")]].concat());
            let measured: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_measured as f64).collect();
            println!("{sets:?} seed {seed} header {header}: {measured:?}, queue {:.1}", o.port("bottleneck").queue_mean_pkts);
            found.push(jain(&measured));
        }
    }
    found
}

/// A sender without losses must not lock another out of a full queue by the order of simultaneous packets. With timestamps, a timed-out sender is
/// back after one minimum RTO as soon as one of its packets arrives.
#[test]
fn equal_rates_do_not_lock_out() {
    let found = at_equal_rates(&["transport.timestamps=true"]);
    assert!(found.iter().all(|&j| j > 0.9), "{found:?}");
}

/// Phase effects (Floyd and Jacobson 1992): one sender's packets arrive just as buffer space becomes free, those of the other, halfway between, at a
/// full queue. Without timestamps its back-off doubles each time and outlives successful packets (Karn), which takes seconds. The remedy of that
/// paper is a random time of up to a packet's transmission before each packet. The receive windows, which together exceed path and queue, avoid the
/// many losses of slow start. Without them a flow with repeated timeouts has a threshold of two segments and seconds of back-off, with or without
/// jitter. ns-2 shows the same with this jitter in two of six runs.
#[test]
fn packet_time_jitter_ends_phase_effects() {
    let window = "transport.rcv-wnd=150KB";
    let found = at_equal_rates(&["transport.send-jitter=12us", window]);
    assert!(found.iter().all(|&j| j > 0.9), "{found:?}");
    let locked = at_equal_rates(&["transport.send-jitter=0us", window]);
    assert!(locked.iter().any(|&j| j < 0.7), "no phase effect to end: {locked:?}");
}
