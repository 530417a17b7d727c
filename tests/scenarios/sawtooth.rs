//! Additive increase, multiplicative decrease on a drop-tail queue, against the sawtooth; and who gets how much.

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

/// One flow has nobody to be out of step with: queue and throughput are those of the formula. Below one bandwidth-delay product of
/// buffer the windows of whole packets and the round trip that repairs a loss cost a few percent, which the formula leaves out.
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

/// A sender that never lost a packet must not keep the other out of a full queue by what decides between packets that arrive at the same
/// instant. With timestamps, a timed-out sender is back after one minimum RTO as soon as one of its packets gets through.
#[test]
fn equal_rates_do_not_lock_out() {
    let found = at_equal_rates(&["transport.timestamps=true"]);
    assert!(found.iter().all(|&j| j > 0.9), "{found:?}");
}

/// Packets that do not arrive at the same instant are another matter: where one sender's arrive just as places become free, the other's,
/// always halfway between, find the queue full (phase effects, Floyd and Jacobson 1992). Without timestamps its back-off doubles each time
/// and outlives what does get through (Karn), which makes seconds of it. The remedy is theirs: a random time of up to a packet's
/// transmission before each packet. The receive windows, which together are more than the path and its queue hold, spare both the many losses of a
/// first slow start: a flow that times out again and again there has a threshold of two segments and seconds of back-off, jitter or not (as in ns-2,
/// where it was so with this jitter in two of six such runs).
#[test]
fn packet_time_jitter_ends_phase_effects() {
    let window = "transport.rcv-wnd=150KB";
    let found = at_equal_rates(&["transport.send-jitter=12us", window]);
    assert!(found.iter().all(|&j| j > 0.9), "{found:?}");
    let locked = at_equal_rates(&["transport.send-jitter=0us", window]);
    assert!(locked.iter().any(|&j| j < 0.7), "no phase effect to end: {locked:?}");
}
