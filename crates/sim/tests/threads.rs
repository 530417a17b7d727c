//! Runs on several threads, which share the state of one run: the report is that of one thread.

use forebay_experiment::report::Report;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_sim::run::{Cores, run_seeded};
use forebay_sim::world::Simulator;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

/// Runs a leaf-spine network on `threads` threads. Flows open and close connections during the run, and queries use persistent ones.
fn run(transport: &str, threads: usize) -> Report {
    static WORLDS: OnceLock<Worlds> = OnceLock::new();
    let text = format!(
        r#"
duration = "4ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts-per-leaf = 3
host = {{ rate = "10Gbps", delay = "1us", buffer = "60pkt", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
fabric = {{ rate = "10Gbps", delay = "1us", buffer = "60pkt", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
[transport]
rto-min = "1ms"
{transport}
[[workload]]
kind = "poisson"
load = 0.6
sizes = {{ log-uniform = ["2KB", "300KB"] }}
[[workload]]
kind = "requests"
clients = "h0..h2"
servers = "h6..h8"
response = "20KB"
two-way = true
"#
    );
    let worlds = WORLDS.get_or_init(|| Worlds::new(&[&Simulator]));
    let scenario = Scenario::from_text(worlds, &text, "case.toml", Path::new(""), &[], None);
    let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}"));
    let config = &resolved.variants[0].config;
    let cores = if threads == 1 { Cores::ONE } else { Cores::exactly(threads) };
    run_seeded(config.check().expect("checked"), 5, cores, &mut |_| ControlFlow::Continue(())).expect("it ends")
}

#[test]
fn threads_do_not_change_the_report() {
    for transport in ["stack = \"rfc\"\ncc = \"dctcp\"", "stack = \"linux\"\ncc = \"cubic\""] {
        let one = run(transport, 1);
        assert!(one.flows.len() > 100, "{} flows", one.flows.len());
        for threads in [2, 3, 5] {
            let many = run(transport, threads);
            assert_eq!(many.fingerprint, one.fingerprint, "{transport}: {threads} threads");
            assert_eq!(many.flows, one.flows, "{transport}: {threads} threads");
            assert_eq!(many.ports, one.ports, "{transport}: {threads} threads");
        }
    }
}
