//! CUBIC in whole networks, against a running Linux kernel and ns-3.

use forebay_tests::{Outcome, one};

/// Hosts at 1 Gbps, a router at 100 Mbps with 172 packets of buffer.
const ROUTER: &str = r#"
duration = "5s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "100Mbps", delay = "50us", buffer = "172pkt" }
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "long"
[observe]
tcp = { flows = [0], every = "1us" }
"#;

/// The first threshold of the flow, in segments.
fn first_threshold(o: &Outcome) -> f64 {
    o.report.tcp.iter().find_map(|r| r.ssthresh).unwrap_or(f64::INFINITY)
}

/// HyStart leaves slow start before it overshoots: the kernel leaves at a window of 31 and has 10 drops in all. Slow start up to the first loss drops
/// as much as the queue and the path hold.
#[test]
fn hystart_exits_before_queue_is_full() {
    for seed in 1..=3 {
        let seed = format!("seed={seed}");
        let o = one(ROUTER, &[&seed]);
        let threshold = first_threshold(&o);
        println!("drops {}, leaves slow start at {threshold}, busy {}", o.drops(), o.port("bottleneck").busy);
        assert!(o.drops() < 30, "{} drops", o.drops());
        assert!((16.0..64.0).contains(&threshold), "left slow start at {threshold}");
        assert_eq!(o.rtos(), 0);
        assert!(o.port("bottleneck").busy > 0.995, "{}", o.port("bottleneck").busy);
        let old = one(ROUTER, &[&seed, "transport.slow-start=standard"]);
        assert!(old.drops() > 150 && first_threshold(&old) > 172.0, "{} drops without HyStart", old.drops());
    }
}

/// HyStart++ slows down at the point where HyStart stops (RFC 9406 section 4.2): it overshoots less than slow start. It counts every byte of a
/// delayed ACK, where the slow start of the `rfc` stack counts one segment, and is faster up to that point.
#[test]
fn hystart_plus_plus_overshoots_less() {
    for (stack, cc) in [("linux", "cubic"), ("linux", "newreno"), ("rfc", "newreno"), ("rfc", "cubic")] {
        let sets = [format!("transport.stack={stack}"), format!("transport.cc={cc}")];
        // A queue long enough for five rounds of a quarter of the growth.
        let drops = |start| one(ROUTER, &[&sets[0], &sets[1], start, "topology.bottleneck.buffer=400pkt"]).drops();
        let (plus, standard) = (drops("transport.slow-start=hystart++"), drops("transport.slow-start=standard"));
        println!("{cc} on {stack}: {plus} and {standard} drops");
        assert!(plus > 0 && plus * 3 < standard * 2, "{cc} on {stack}: {plus} drops, {standard} without");
    }
}

/// Only Linux's CUBIC has HyStart by default, as in Linux.
#[test]
fn slow_start_by_default() {
    for (stack, cc, early) in
        [("linux", "cubic", true), ("linux", "newreno", false), ("rfc", "cubic", false), ("ns2", "cubic", false)]
    {
        let o = one(ROUTER, &[&format!("transport.stack={stack}"), &format!("transport.cc={cc}"), "duration=300ms"]);
        assert_eq!(first_threshold(&o) < 64.0, early, "{cc} on {stack}: {}", first_threshold(&o));
    }
}

/// One flow of RFC 9438, 250 packets of drop-tail buffer, 1 Gbps, 250 us: a mean queue of 213 packets and a goodput of 0.972 in ns-3.
#[test]
fn rfc_cubic_fills_a_short_path() {
    const SHORT: &str = r#"
duration = "5s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "59us" }
bottleneck = { rate = "1Gbps", delay = "59112ns", buffer = "250pkt" }
[transport]
stack = "rfc"
cc = "cubic"
[[workload]]
kind = "long"
jitter = "1ms"
[observe]
warmup = "1s"
"#;
    for window in ["1460000B", "100MB"] {
        for jitter in ["transport.send-jitter=0s", "transport.send-jitter=100ns"] {
            for seed in 1..=2 {
                let o = one(SHORT, &[&format!("transport.rcv-wnd={window}"), jitter, &format!("seed={seed}")]);
                let queue = o.port("bottleneck").queue_mean_pkts;
                let goodput = o.report.flows[0].bytes_measured as f64 * 8.0 / 4e9;
                println!("{window} {jitter}: queue {queue:.1}, goodput {goodput:.4}, timeouts {}", o.rtos());
                assert!((196.0..230.0).contains(&queue), "{window} {jitter}: queue {queue}");
                assert!(goodput > 0.95, "{window} {jitter}: goodput {goodput}");
            }
        }
    }
}
