//! DCTCP: short queue and full utilization, and the limits of both.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::{Outcome, jain, one};

const TWO: &str = r#"
duration = "600ms"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = "dctcp"
[[workload]]
kind = "long"
jitter = "1ms"
[observe]
warmup = "100ms"
"#;

fn show(o: &Outcome, what: &str) {
    let p = o.port("bottleneck");
    let (drops, rtos) = (o.drops(), o.rtos());
    println!("{what}: mean {:.2} max {} busy {:.4} drops {drops} rtos {rtos}", p.queue_mean_pkts, p.queue_max_pkts, p.busy);
}

#[test]
fn the_queue_stays_near_k() {
    for n in [2, 5, 10] {
        let o = one(TWO, &[&format!("topology.senders={n}")]);
        show(&o, &format!("{n} flows"));
        let p = o.port("bottleneck");
        assert!((p.queue_mean_pkts - 20.0).abs() < 3.0, "{}", p.queue_mean_pkts);
        // At most K and one packet of each flow, and what the last increase of each adds.
        assert!(p.queue_max_pkts <= 20 + 2 * n, "{}", p.queue_max_pkts);
        assert!(p.busy >= 0.97 && p.marked > 0, "{}", p.busy);
        assert_eq!((o.drops(), o.rtos()), (0, 0));
        let shares: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_acked as f64).collect();
        assert!(jain(&shares) > 0.95, "{shares:?}");
    }
}

/// Full use from K = C RTT / 7 on, and less below.
#[test]
fn utilisation_against_the_guideline() {
    // 224.6 us with serialization: 18.7 packets, a seventh of which is 2.7.
    let busy = |sets: &[&str]| {
        let o = one(TWO, sets);
        show(&o, &format!("{sets:?}"));
        o.port("bottleneck").busy
    };
    let slow: Vec<f64> = [1, 2, 3, 5].iter().map(|k| busy(&[&format!("topology.bottleneck.queue.k={k}pkt")])).collect();
    assert!(slow.windows(2).all(|w| w[0] < w[1]), "{slow:?}");
    assert!(slow[0] < 0.8 && slow[1] < 0.99 && slow[2] > 0.99 && slow[3] > 0.999, "{slow:?}");
    // 10 Gbps and 500 us: 417 packets, a seventh is 59.5.
    let fast = |n: u32, k: u32| {
        let (n, k) = (format!("topology.senders={n}"), format!("topology.bottleneck.queue.k={k}pkt"));
        let long =
            ["duration=200ms", "topology.access.rate=10Gbps", "topology.bottleneck.rate=10Gbps", "topology.access.delay=125us"];
        let sets = [&long[..], &["topology.bottleneck.delay=125us", "topology.bottleneck.buffer=1000pkt", &n, &k]].concat();
        busy(&sets)
    };
    assert!(fast(2, 10) < 0.999 && fast(2, 61) > 0.9995);
    // The worst case is about C RTT / 8 flows; with 20 a K far below the guideline costs, the guideline does not.
    assert!(fast(20, 10) < 0.99 && fast(20, 61) > 0.999);
}

/// A loss-based congestion control fills the queue that DCTCP keeps short: they must not share one.
#[test]
fn newreno_takes_the_queue_from_dctcp() {
    let groups = "[[transport.group]]\nname = \"a\"\ncc = \"dctcp\"\n[[transport.group]]\nname = \"b\"\ncc = \"newreno\"\n";
    let flows = "[[workload]]\nkind = \"long\"\nfrom = \"s0\"\ntransport = \"a\"\n[[workload]]\nkind = \"long\"\nfrom = \"s1\"\ntransport = \"b\"";
    let both = TWO.replace("cc = \"dctcp\"\n[[workload]]\nkind = \"long\"", &format!("{groups}{flows}"));
    // At equal rates the start decides which flow loses slow start; faster access links avoid that.
    let o = one(&both, &["duration=2s", "topology.access.rate=10Gbps"]);
    show(&o, "mixed");
    let acked: Vec<u64> = o.report.flows.iter().map(|f| f.bytes_acked).collect();
    assert!(acked[1] > 4 * acked[0] && acked[0] > 1_000_000, "{acked:?}");
    assert!(o.port("bottleneck").queue_mean_pkts > 40.0);
}
