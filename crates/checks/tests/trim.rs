//! TCP-TRIM against what its publication claims, in the set-ups of the specification (section 5).

use forebay_checks::one;

/// TRIM 5.2 and 5.3: five servers send 200 small responses each from 0.1 s, and a long train at 0.5 s.
const IMPAIRMENT: &str = r#"
duration = "3s"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt" }
[transport]
stack = "ns2"
cc = { kind = "trim" }
header = 0
[[workload]]
kind = "on-off"
sizes = { uniform = ["2KB", "10KB"] }
gaps = { exponential = "1ms" }
gap-from = "start"
trains = 200
start = "100ms"
last-size = "140000B"
last-at = "500ms"
[observe]
tcp = { flows = [0, 1, 2, 3, 4], every = "ack" }
"#;

struct Impairment {
    window: f64,
    queue: u64,
    end: f64,
    rtos: u64,
    drops: u64,
}

/// Largest window of any connection before the long train, largest queue of the run, end of the last long train in seconds.
fn impairment(sets: &[&str]) -> Impairment {
    let o = one(IMPAIRMENT, sets);
    let window = o.report.tcp.iter().filter(|r| r.time_ps < 500_000_000_000).map(|r| r.cwnd).fold(0.0, f64::max);
    let end = o.report.flows.iter().map(|f| f.acked_ps).max().unwrap_or(u64::MAX) as f64 * 1e-12;
    Impairment { window, queue: o.port("bottleneck").queue_max_pkts.into(), end, rtos: o.rtos(), drops: o.drops() }
}

#[test]
fn survey() {
    for sets in [
        &[][..],
        &["transport.cc.gap-scope=idle"],
        &["transport.cc.cut-mode=per-rtt"],
        &["transport.cc.cut-mode=per-ack-capped"],
        &["transport.cc.ssthresh-on-trim=late"],
        &["transport.cc.ssthresh-on-trim=cut"],
        &["transport.cc.ssthresh-on-trim=none"],
        &["transport.cc.slow-start=false"],
        &["transport.cc.k-policy=upper"],
        &["transport.cc.min-rtt-seed=handshake"],
        &["transport.cc.min-rtt-seed=handshake-raw"],
        &["transport.cc.min-rtt-seed=first-sample"],
        &["transport.cc.at=on"],
        &["transport.send-jitter=0s"],
        &["transport.header=40"],
    ] {
        let mut worst = Impairment { window: 0.0, queue: 0, end: 0.0, rtos: 0, drops: 0 };
        let mut windows = Vec::new();
        for seed in 1..=12 {
            let seed = format!("seed={seed}");
            let r = impairment(&[sets, &[&seed]].concat());
            windows.push(r.window);
            worst = Impairment {
                window: worst.window.max(r.window),
                queue: worst.queue.max(r.queue),
                end: worst.end.max(r.end),
                rtos: worst.rtos + r.rtos,
                drops: worst.drops + r.drops,
            };
        }
        windows.sort_by(f64::total_cmp);
        println!(
            "{sets:?}: window median {:.1} worst {:.1}, queue {}, end {:.4}, rtos {}, drops {}",
            windows[6], worst.window, worst.queue, worst.end, worst.rtos, worst.drops
        );
    }
}

#[test]
fn many_seeds() {
    let mut over = Vec::new();
    let (mut queue, mut before, mut end) = (0, 0.0f64, 0.0f64);
    for seed in 1..=100 {
        let o = one(IMPAIRMENT, &[&format!("seed={seed}")]);
        let max = o.report.tcp.iter().filter(|r| r.time_ps < 500_000_000_000).map(|r| r.cwnd).fold(0.0, f64::max);
        for conn in 0..5 {
            let last = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < 500_000_000_000).unwrap();
            before = before.max(last.cwnd);
        }
        if max > 20.0 {
            let r = o.report.tcp.iter().rfind(|r| r.time_ps < 500_000_000_000 && r.cwnd > 20.0).unwrap();
            over.push((seed, max, r.ssthresh, r.time_ps / 1_000_000_000));
        }
        queue = queue.max(o.port("bottleneck").queue_max_pkts);
        end = end.max(o.report.flows.iter().map(|f| f.acked_ps).max().unwrap() as f64 * 1e-12);
        assert_eq!((o.rtos(), o.drops()), (0, 0));
    }
    println!("[many] {over:?} queue {queue} just before {before} end {end}");
}

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

#[test]
fn queues() {
    for n in [2, 5, 10, 20, 40] {
        for cc in [
            "{ kind = \"trim\" }",
            "{ kind = \"trim\", gap-scope = \"idle\" }",
            "{ kind = \"trim\", cut-mode = \"per-rtt\" }",
            "{ kind = \"trim\", cut-mode = \"per-ack-capped\" }",
            "\"dctcp\"",
            "\"l2dct\"",
            "\"newreno\"",
        ] {
            let o = one(LONG, &[&format!("transport.cc={cc}"), &format!("topology.senders={n}")]);
            let p = o.port("bottleneck");
            let shares: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_acked as f64).collect();
            println!(
                "[queue] {n} {cc}: mean {:.1} max {} drops {} rtos {} util {:.3} jain {:.3}",
                p.queue_mean_pkts,
                p.queue_max_pkts,
                o.drops(),
                o.rtos(),
                p.sent_bytes as f64 * 8.0 / 0.72e9,
                forebay_checks::jain(&shares)
            );
        }
    }
}

const STEPS: &str = r#"
duration = "4s"
[topology]
kind = "many-to-one"
senders = 5
access     = { rate = "1.1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = { kind = "trim" }
header = 0
send-jitter = "1us"
[[workload]]
kind = "long"
start = "100ms"
stagger = "400ms"
stop-after = "2400ms"
[observe]
tcp = { flows = [0, 1, 2, 3, 4], every = "10ms" }
"#;

#[test]
fn convergence() {
    for cc in [
        "{ kind = \"trim\" }",
        "{ kind = \"trim\", gap-scope = \"idle\" }",
        "{ kind = \"trim\", cut-mode = \"per-rtt\" }",
        "{ kind = \"trim\", cut-mode = \"per-ack-capped\" }",
        "{ kind = \"trim\", gap-scope = \"idle\", min-rtt-seed = \"first-sample\" }",
        "{ kind = \"trim\", cut-mode = \"per-rtt\", gap-scope = \"idle\", min-rtt-seed = \"first-sample\" }",
        "\"dctcp\"",
        "\"l2dct\"",
        "\"newreno\"",
    ] {
        for seed in 1..=3 {
            let o = one(STEPS, &[&format!("transport.cc={cc}"), &format!("seed={seed}")]);
            let acked = |conn: u64, ms: u64| {
                o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps <= ms * 1_000_000_000).map_or(0, |r| r.bytes_acked)
            };
            let mut line = String::new();
            for phase in 1..=9u64 {
                let end = 100 + 400 * phase - if phase > 5 { 0 } else { 0 };
                let active: Vec<u64> = (0..5).filter(|c| c * 400 + 100 < end && c * 400 + 2500 >= end).collect();
                let shares: Vec<f64> = active.iter().map(|&c| (acked(c, end) - acked(c, end - 200)) as f64).collect();
                line += &format!(" {}:{:.3}", active.len(), forebay_checks::jain(&shares));
            }
            println!("[steps] {cc}:{line}");
        }
    }
}
