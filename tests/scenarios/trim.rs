//! TCP-TRIM against what its publication claims, in the set-ups of the specification (TRIM section 5).

use forebay_tests::{IMPAIRMENT, Outcome, jain, one};

const MS: u64 = 1_000_000_000;

/// TRIM 5.3: TRIM in the set-up that impairs Reno, every window recorded.
fn impaired(sets: &[&str]) -> Outcome {
    one(IMPAIRMENT, &[&["transport.cc={ kind = \"trim\" }", "observe.tcp.every=ack"], sets].concat())
}

/// Largest window between two times, ms.
fn window(o: &Outcome, from: u64, to: u64) -> f64 {
    let rows = o.report.tcp.iter().filter(|r| (from * MS..to * MS).contains(&r.time_ps));
    rows.map(|r| r.cwnd).fold(0.0, f64::max)
}

/// Time when everything was acknowledged, s.
fn end(o: &Outcome) -> f64 {
    o.report.flows.iter().map(|f| f.acked.ps().expect("acknowledged")).max().unwrap() as f64 * 1e-12
}

/// Fig. 7 (a) and (b): windows at most 20 before the long train, queue at most 20 of 100, no timeout, done by 0.6 s.
///
/// Over 100 seeds: windows at most 8.7 when the long train comes, queue at most 12, done by 0.507 s. During the small responses the window of the
/// very first ones, which nothing has reduced yet, goes beyond 20 in 9 of the seeds where several of them come at once; 36 is the largest.
#[test]
fn long_train_after_small_responses() {
    let (mut before, mut late, mut queue, mut done) = (0.0f64, 0.0f64, 0, 0.0f64);
    let mut first: Vec<f64> = Vec::new();
    for seed in 1..=100 {
        let o = impaired(&[&format!("seed={seed}")]);
        assert_eq!((o.rtos(), o.drops()), (0, 0), "seed {seed}");
        for conn in 0..5 {
            let last = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < 500 * MS).expect("a sample");
            before = before.max(last.cwnd);
        }
        first.push(window(&o, 0, 120));
        late = late.max(window(&o, 120, 500));
        queue = queue.max(o.port("bottleneck").queue_max_pkts);
        done = done.max(end(&o));
    }
    first.sort_by(f64::total_cmp);
    let over = first.iter().filter(|&&w| w > 20.0).count();
    println!("windows: {before:.1} at 0.5 s, {late:.1} from 0.12 s, first {:.1} to {:.1}, {over} over 20", first[50], first[99]);
    println!("queue {queue}, done by {done:.4} s");
    assert!(before <= 20.0 && late <= 20.0 && queue <= 20 && done < 0.6);
    assert!(over <= 15 && first[50] < 16.0);
}

/// The same under the other readings, ten seeds each. Exceptions are the windows if some reductions do not set ssthresh (A2), and the queue if K is
/// at its upper end (A12: up to 46).
#[test]
fn long_train_under_other_readings() {
    for (setting, most_window, most_queue) in [
        ("gap-scope=idle", 20.0, 20),
        ("reduction-mode=per-rtt", 20.0, 20),
        ("reduction-mode=per-ack-capped", 20.0, 20),
        ("additive-only=true", 20.0, 20),
        ("ssthresh-on-trim=late", 50.0, 20),
        ("ssthresh-on-trim=cut", 63.0, 20),
        ("k-policy=upper", 20.0, 50),
        ("min-rtt-seed=handshake", 20.0, 20),
        ("min-rtt-seed=handshake-raw", 20.0, 20),
        ("min-rtt-seed=first-sample", 20.0, 20),
        ("at=on", 20.0, 20),
    ] {
        let (mut late, mut queue, mut done) = (0.0f64, 0, 0.0f64);
        for seed in 1..=10 {
            let o = impaired(&[&format!("transport.cc.{setting}"), &format!("seed={seed}")]);
            assert_eq!((o.rtos(), o.drops()), (0, 0), "{setting}, seed {seed}");
            late = late.max(window(&o, 120, 500));
            queue = queue.max(o.port("bottleneck").queue_max_pkts);
            done = done.max(end(&o));
        }
        println!("{setting}: window {late:.1}, queue {queue}, done by {done:.4} s");
        assert!(late <= most_window && queue <= most_queue && done < 0.6, "{setting}: {late} {queue} {done}");
    }
}

/// A2: if only the fall-back of Eq. 3 sets ssthresh, windows contradict "never above 20". The largest windows before 0.5 s in the specification's
/// twelve seeds have a median of 43 and a maximum of 63. The maximum of a few seeds varies widely (40 seeds here: 32 to 74); medians of twelve with
/// this spread (11) are known to 4 each.
#[test]
fn long_train_without_ssthresh_reduction() {
    let mut largest: Vec<f64> = Vec::new();
    for seed in 1..=12 {
        let o = impaired(&["transport.cc.ssthresh-on-trim=none", &format!("seed={seed}")]);
        let queue = o.port("bottleneck").queue_max_pkts;
        assert!(
            (o.rtos(), o.drops()) == (0, 0) && queue <= 40 && end(&o) < 0.6,
            "seed {seed}: queue {queue}, done by {}",
            end(&o)
        );
        largest.push(window(&o, 0, 500));
    }
    largest.sort_by(f64::total_cmp);
    println!("largest windows {largest:.1?}");
    let median = (largest[5] + largest[6]) / 2.0;
    assert!((median - 43.0).abs() < 8.0 && largest[0] > 20.0, "{largest:?}");
}

/// TRIM 5.6 and 5.7: long flows into a buffer of 100 packets; marks from 20 on for the congestion controls that see them.
const LONG: &str = r#"
duration = "900ms"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = { kind = "trim" }
header = 0
[[workload]]
kind = "long"
start = "100ms"
jitter = "1ms"
[observe]
warmup = "180ms"
"#;

/// Fig. 8 (a) to (e): mean queues of 7.6 (TRIM), 20.3 (DCTCP) and 78 to 82 (Reno, which is NewReno here: section 4) with five flows. TRIM with 2 to
/// 40 flows: 6.7, 7.6, 8.4, 21.8, 61.8; the last two are the floor of two packets per flow.
#[test]
fn mean_queues() {
    let mean = |cc: &str, senders: u32| {
        let o = one(LONG, &[&format!("transport.cc={cc}"), &format!("topology.senders={senders}")]);
        let p = o.port("bottleneck");
        println!("{cc}, {senders} flows: queue {:.1}, drops {}, busy {:.3}", p.queue_mean_pkts, o.drops(), p.busy);
        (p.queue_mean_pkts, o.drops(), p.busy)
    };
    for (senders, expected) in [(2, 6.7), (5, 7.6), (10, 8.4), (20, 21.8), (40, 61.8)] {
        let (queue, drops, busy) = mean("trim", senders);
        assert!((queue - expected).abs() < 0.8 && drops == 0 && busy > 0.97, "{senders}: {queue} {drops} {busy}");
    }
    for (cc, low, high) in [("dctcp", 18.5, 21.5), ("newreno", 70.0, 85.0)] {
        let queue = mean(cc, 5).0;
        assert!((low..high).contains(&queue), "{cc}: {queue}");
    }
    // L2DCT cuts more than DCTCP once flows are old: alpha to the power 1/8.
    let (queue, drops, busy) = mean("l2dct", 5);
    assert!((8.0..20.0).contains(&queue) && drops == 0 && busy > 0.97, "{queue}");
    // D2TCP without deadlines is DCTCP.
    assert_eq!(mean("d2tcp", 5), mean("dctcp", 5));
}

/// TRIM A1, first row: queues under the cut that comes once a round trip.
#[test]
fn reduction_modes_match_specification() {
    for (senders, expected) in [(2, 9.2), (5, 10.4), (10, 9.4)] {
        let o = one(LONG, &["transport.cc.reduction-mode=per-rtt", &format!("topology.senders={senders}")]);
        let queue = o.port("bottleneck").queue_mean_pkts;
        println!("per-rtt, {senders} flows: {queue:.1}");
        assert!((queue - expected).abs() < 1.2, "{senders}: {queue}");
    }
}

/// TRIM 5.8 with steps of 0.4 s: a flow more at each, later a flow fewer.
const STEPS: &str = r#"
duration = "4s"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1.1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "ns2"
cc = { kind = "trim" }
header = 0
# Nothing is dropped. A microsecond of processing can pin a late-comer or let it escape (the biased case below: index 0.44 in one of two seeds).
send-jitter = "0us"
[[workload]]
kind = "long"
start = "100ms"
stagger = "400ms"
stop-after = "2400ms"
[observe]
tcp = { flows = [0, 1, 2, 3, 4], every = "10ms" }
"#;

/// Jain's index of the second half of each step with 1 to 5 flows, and with 5 to 2 again.
fn steps(sets: &[&str]) -> Vec<f64> {
    let o = one(STEPS, sets);
    let acked = |conn: u64, ms: u64| {
        let row = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps <= ms * MS);
        row.map_or(0, |r| r.bytes_acked)
    };
    let index = |step: u64| {
        let end = 100 + 400 * step;
        let active = (0..5).filter(|c| c * 400 + 100 < end && c * 400 + 2500 >= end);
        let shares: Vec<f64> = active.map(|c| (acked(c, end) - acked(c, end - 200)) as f64).collect();
        jain(&shares)
    };
    (1..=9).map(index).collect()
}

/// Fig. 9. With gaps counted while data is in flight, one of five flows can be pinned at two packets a round trip (A27: index 0.93).
#[test]
fn flows_converge() {
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let any = steps(&[seed]);
        let idle = steps(&[seed, "transport.cc.gap-scope=idle"]);
        println!("{seed}: any {any:.3?}, idle {idle:.3?}");
        assert!(idle.iter().all(|&j| j > 0.99), "{idle:?}");
        assert!(any.iter().all(|&j| j > 0.92) && any[..4].iter().all(|&j| j > 0.99), "{any:?}");
    }
    // A1: with a smallest RTT learned from a standing queue, late-comers win where the cut comes once a round trip, and do not where it comes
    // with every ACK.
    let biased = ["transport.cc.min-rtt-seed=first-sample", "transport.cc.gap-scope=idle"];
    let (often, seldom) = (steps(&biased), steps(&[biased[0], biased[1], "transport.cc.reduction-mode=per-rtt"]));
    println!("biased: per ACK {often:.3?}, per RTT {seldom:.3?}");
    assert!(often.iter().all(|&j| j > 0.99), "{often:?}");
    for (index, expected) in seldom[1..4].iter().zip([0.55, 0.38, 0.28]) {
        assert!((index - expected).abs() < 0.05, "{seldom:?}");
    }
}

/// Round trips below a microsecond round to 0 in the kernel's arithmetic, and the timer of the probes is set a fraction of a microsecond in the past.
/// It expires at once, and the connection continues; debug builds check that time does not go back.
#[test]
fn probe_timer_set_in_the_past() {
    let text = |delay: &str, trains: &str| {
        format!(
            "duration = \"3ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 3\naccess = {{ rate = \"100Gbps\", delay = \"{delay}\" }}\n\
             bottleneck = {{ rate = \"25Gbps\", delay = \"{delay}\", buffer = \"100KB\" }}\n[transport]\n\
             cc = {{ kind = \"trim\", arithmetic = \"linux\", k = \"6347277775ps\", alpha = 0.001, min-rtt-seed = \"first-sample\" }}\n\
             [[workload]]\nkind = \"on-off\"\nsizes = \"726B\"\ngaps = {{ uniform = [\"100ns\", \"9us\"] }}\ntrains = {trains}\n"
        )
    };
    for delay in ["0ps", "1ps", "60ns", "400ns", "2us"] {
        let o = one(&text(delay, "40"), &[]);
        assert_eq!(o.report.flows.len(), 120, "{delay}");
        assert!(o.report.flows.iter().all(|f| f.bytes_acked == 726), "{delay}");
        #[cfg(debug_assertions)]
        {
            let back = forebay_sim::run::run_backwards(o.variant.config.check().unwrap()).unwrap();
            assert_eq!(forebay_tests::rows(&back), forebay_tests::rows(&o.report), "{delay}");
        }
    }
}

/// The same in a fat tree with damaged packets, queries and single flows.
#[test]
fn past_probe_timer_in_fat_tree() {
    let text = r#"
duration = "15ms"
[topology]
kind = "fat-tree"
k = 4
host = { rate = "25Gbps", delay = "0ps", buffer = "100100B", queue = { kind = "strict-priority", queues = 8 } }
[[topology.corruption]]
port = "pod0-h0->pod0-edge0"
bit-errors = 1e-4
[transport]
cc = { kind = "trim", arithmetic = "linux", k = "6347277775ps", alpha = 0.001, min-rtt-seed = "first-sample" }
[[workload]]
kind = "long"
pattern = "permutation"
size = "726B"
[[workload]]
kind = "queries"
request = "0B"
total = "552B"
count = 3
"#;
    let o = one(text, &[]);
    assert!(o.report.flows.iter().filter(|f| f.bytes_acked == f.size_bytes).count() > 500);
    #[cfg(debug_assertions)]
    {
        let back = forebay_sim::run::run_backwards(o.variant.config.check().unwrap()).unwrap();
        assert_eq!(forebay_tests::rows(&back), forebay_tests::rows(&o.report));
    }
}
