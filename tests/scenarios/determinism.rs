//! The same scenario and seed give the same trajectory: in repeated runs, on any number of threads, observed or not.

use forebay_experiment::Experiment;
use forebay_tests::{execute, resolve};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lossy traffic of three kinds with shared links, random sizes, jitter and several congestion controls.
const BUSY: &str = r#"
duration = "40ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts-per-leaf = 4
host = { rate = "1Gbps", delay = "5us", buffer = "40pkt", queue = { kind = "dctcp-step", k = "15pkt" } }
[transport]
stack = "ns2"
rto-min = "5ms"
cc = ["newreno", "cubic", "dctcp"]
[[workload]]
kind = "poisson"
sizes = { log-uniform = ["1KB", "500KB"] }
load = 0.5
[[workload]]
kind = "incast"
senders = "h0..h6"
receiver = "h11"
block = "30KB"
jitter = "50us"
[[workload]]
kind = "on-off"
pattern = "permutation"
sizes = { exponential = "20KB" }
gaps = { exponential = "200us" }
"#;

fn configs() -> Vec<Experiment> {
    let stacks = ["ns2", "linux", "rfc"].map(|s| format!("transport.stack={s}"));
    stacks.iter().flat_map(|s| resolve(BUSY, &[s, "transport.rto-min=5ms"], None)).map(|v| v.config).collect()
}

fn on_threads(configs: &[Experiment], threads: usize) -> Vec<u64> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, u64)> = std::thread::scope(|s| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(config) = configs.get(i) else { return mine };
                mine.push((i, execute(config).fingerprint));
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    results.sort_unstable();
    results.into_iter().map(|r| r.1).collect()
}

#[test]
fn results_independent_of_threads() {
    let configs = configs();
    let alone = on_threads(&configs, 1);
    assert_eq!(alone.len(), 9);
    for threads in [1, 2, 4] {
        assert_eq!(on_threads(&configs, threads), alone, "{threads} threads");
    }
    let mut distinct = alone.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), alone.len(), "congestion controls and stacks differ");
}

/// Complete report, not only the hash.
#[test]
fn reports_repeat() {
    for config in configs().iter().take(3) {
        let (a, b) = (execute(config), execute(config));
        assert_eq!((a.flows, a.ports, a.queries), (b.flows, b.ports, b.queries));
        assert_eq!((a.end, a.packet_hops, a.peak_connections), (b.end, b.packet_hops, b.peak_connections));
    }
}

#[test]
fn observation_does_not_change_results() {
    let watched = format!(
        "{BUSY}[observe]\nqueue = {{ port = \"all\", every = \"7us\" }}\ntcp = {{ flows = [0, 1, 5, 9], every = \"ack\" }}\noccupancy = \"all\"\nwarmup = \"11ms\"\n"
    );
    // With the same warm-up: what is measured depends on it, and so does where packets waited longest.
    let blind = format!("{BUSY}[observe]\noccupancy = \"none\"\nwarmup = \"11ms\"\n");
    for (w, b) in resolve(&watched, &[], None).iter().zip(resolve(&blind, &[], None)) {
        let (w, b) = (execute(&w.config), execute(&b.config));
        assert!(!w.queue.is_empty() && !w.tcp.is_empty() && b.queue.is_empty() && b.tcp.is_empty());
        assert_eq!((w.fingerprint, w.packet_hops), (b.fingerprint, b.packet_hops));
        assert_eq!(w.flows, b.flows);
    }
}

#[test]
fn seeds_matter() {
    let fingerprint = |seed| execute(&resolve(BUSY, &[], Some(seed))[0].config).fingerprint;
    let all: std::collections::BTreeSet<u64> = (1..=5).map(fingerprint).collect();
    assert_eq!(all.len(), 5);
}
