//! A hundred thousand connections at once fit into 200 MB.

use forebay_checks::{execute, resolve};

/// Peak resident memory of this process, bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The stack that a child process is to measure.
const STACK: &str = "FOREBAY_MEMORY_STACK";

/// Peak memory is a property of a process: each stack is measured in one of its own, this program again.
#[test]
fn a_hundred_thousand_connections() {
    for stack in forebay_sim::tcp::profile::PROFILES {
        let program = std::env::current_exe().unwrap();
        let arguments = ["--exact", "memory::one_process", "--ignored", "--nocapture"];
        let child = std::process::Command::new(program).args(arguments).env(STACK, stack).output().unwrap();
        let output = String::from_utf8_lossy(&child.stdout);
        println!("{stack}: {}", output.lines().find(|l| l.contains("peak")).unwrap_or("no measurement"));
        assert!(child.status.success(), "{stack}: {output}");
    }
}

/// Persistent connections between 100 hosts of a leaf-spine, each of which writes one small train; all are open from the start.
#[test]
#[ignore = "run by a_hundred_thousand_connections"]
fn one_process() {
    let Ok(stack) = std::env::var(STACK) else { return };
    let text = r#"
duration = "20ms"
[topology]
kind = "leaf-spine"
leaves = 10
spines = 4
hosts-per-leaf = 10
host = { rate = "10Gbps", delay = "1us", buffer = "100pkt" }
[transport]
stack = "STACK"
[[workload]]
kind = "on-off"
from = "all"
to = "all"
pattern = "permutation"
per-pair = 1000
sizes = "3KB"
gaps = { uniform = ["1us", "18ms"] }
jitter = "1ms"
trains = 1
[observe]
occupancy = "none"
"#;
    let variant = resolve(&text.replace("STACK", &stack), &[], None).remove(0);
    let before = peak();
    let r = execute(&variant.config);
    assert_eq!(r.peak_connections, 100_000);
    if let (Some(before), Some(after)) = (before, peak()) {
        println!("peak {:.1} MB, {} B a connection", after as f64 / 1e6, (after - before) / 100_000);
        // Without the pages of this program itself, which grow with everything that is linked into it.
        assert!(after - before < 195_000_000, "{after} B, {before} B of them before the run");
    }
}
