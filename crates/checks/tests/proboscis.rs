//! ProBoSCIS against the loss of first bursts: the event trace of its publication (specification 8.4). One long flow has filled the
//! bottleneck, N short flows open within one round trip.

use forebay_checks::{Outcome, repository, run};
use forebay_sim::shim::proboscis::Verdict;

/// What the trace is judged by.
#[derive(Debug)]
struct Trace {
    label: String,
    drops: u64,
    /// Drops in the two milliseconds from the first SYN on.
    burst: u64,
    retx: u64,
    rtos: u64,
    /// Completion times of the short flows in ms: mean and largest.
    mean: f64,
    max: f64,
    done: usize,
    queue_max: u32,
    queue_mean: f64,
    severe: usize,
    insufficient: usize,
    proportional: usize,
    held: usize,
    window: f64,
    probes: u32,
}

fn trace(o: &Outcome) -> Trace {
    let short = o.class("short");
    let fct: Vec<f64> = short.iter().filter(|f| f.end_ps != u64::MAX).map(|f| (f.end_ps - f.start_ps) as f64 * 1e-9).collect();
    let verdicts = |v: Verdict| short.iter().filter(|f| f.syn_ack_verdict == v).count();
    let windows: Vec<f64> =
        short.iter().filter(|f| f.syn_ack_verdict != Verdict::None).map(|f| f.syn_ack_window as f64 / 1460.0).collect();
    let port = o.port("bottleneck");
    let drops_until = |ms: u64| o.report.queue.iter().rfind(|r| r.time_ps <= ms * 1_000_000_000).map_or(0, |r| r.drops);
    Trace {
        label: o.variant.label.clone(),
        drops: o.drops(),
        burst: drops_until(302) - drops_until(300),
        retx: short.iter().map(|f| f.segs_retx).sum(),
        rtos: short.iter().map(|f| u64::from(f.rtos)).sum(),
        mean: fct.iter().sum::<f64>() / fct.len() as f64,
        max: fct.iter().copied().fold(0.0, f64::max),
        done: fct.len(),
        queue_max: port.queue_max_pkts,
        queue_mean: port.queue_mean_pkts,
        severe: verdicts(Verdict::Severe),
        insufficient: verdicts(Verdict::Insufficient),
        proportional: verdicts(Verdict::Proportional),
        held: short.iter().filter(|f| f.syn_ack_held_ps > 0).count(),
        window: windows.iter().sum::<f64>() / windows.len().max(1) as f64,
        probes: short.iter().map(|f| f.probes).sum(),
    }
}

fn scenario(sets: &[&str]) -> Vec<Outcome> {
    let text = std::fs::read_to_string(repository().join("scenarios/proboscis.toml")).unwrap();
    let sets = [&["runs=1"], sets].concat();
    run(&text, &sets)
}

#[test]
#[ignore = "a survey, to be looked at"]
fn survey() {
    for (unit, buffer) in [
        ("bytes", "{ rate = \"1Gbps\", delay = \"50us\", buffer = \"150KB\", queue = { kind = \"dctcp-step\", k = \"30KB\" } }"),
        (
            "packets",
            "{ rate = \"1Gbps\", delay = \"50us\", buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }",
        ),
    ] {
        for n in [1, 5, 10, 20, 40] {
            for seed in 1..=8 {
                let sets = [
                    format!("seed={seed}"),
                    format!("topology.senders={}", n + 1),
                    format!("topology.bottleneck={buffer}"),
                    format!("workload.1.from=\"s1..s{n}\""),
                    "observe.warmup=\"200ms\"".into(),
                ];
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                for o in scenario(&sets) {
                    let t = trace(&o);
                    println!(
                        "{unit:8} N {n:2} {:20} drops {:4} burst {:3} retx {:3} rtos {:3} fct mean {:7.2} max {:7.2} done {:2} queue max {:3} mean {:5.1} verdicts p{} s{} i{} held {} window {:.1} probes {}",
                        t.label,
                        t.drops,
                        t.burst,
                        t.retx,
                        t.rtos,
                        t.mean,
                        t.max,
                        t.done,
                        t.queue_max,
                        t.queue_mean,
                        t.proportional,
                        t.severe,
                        t.insufficient,
                        t.held,
                        t.window,
                        t.probes
                    );
                }
            }
        }
    }
}
