//! What a connection takes, with all that there is of it: both endpoints, its application, its timers, its row in the results.

use forebay_checks::{execute, resolve};
use std::io::Write as _;

/// Bytes of a connection on each stack. On `rfc` the last segment of a train waits for a delayed ACK, so that no connection has become idle.
const BOUNDS: [(&str, u64); 3] = [("ns2", 900), ("linux", 1_000), ("rfc", 1_300)];

/// Peak resident memory of this process, bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The stack that a child process is to measure, and how many times a hundred thousand connections.
const STACK: &str = "FOREBAY_MEMORY_STACK";
const TIMES: &str = "FOREBAY_MEMORY_TIMES";

/// Peak memory is a property of a process: each stack is measured in one of its own, this program again.
fn measure(stack: &str, times: u64) {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "memory::one_process", "--ignored", "--nocapture"];
    let mut child = std::process::Command::new(program);
    let child = child.args(arguments).env(STACK, stack).env(TIMES, times.to_string()).output().unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let measured = output.lines().find(|l| l.contains("peak")).unwrap_or("no measurement");
    let _ = writeln!(std::io::stdout(), "{stack}: {measured}");
    assert!(child.status.success(), "{stack}: {output}");
}

#[test]
fn a_hundred_thousand_connections() {
    assert!(BOUNDS.iter().map(|b| b.0).eq(["ns2", "linux", "rfc"]) && forebay_sim::tcp::profile::PROFILES.len() == BOUNDS.len());
    BOUNDS.iter().for_each(|(stack, _)| measure(stack, 1));
}

#[test]
#[ignore = "takes a gigabyte: ARCHITECTURE.md has what it measured"]
fn a_million_connections() {
    measure("linux", 10);
}

/// Persistent connections between 100 hosts of a leaf-spine, each of which writes one small train; all are there from the start, and open in the
/// first twentieth of the time.
#[test]
#[ignore = "run by those above"]
fn one_process() {
    let (Ok(stack), Ok(times)) = (std::env::var(STACK), std::env::var(TIMES)) else { return };
    let times: u64 = times.parse().unwrap();
    let text = r#"
duration = "DURATIONms"
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
per-pair = PER_PAIR
sizes = "3KB"
gaps = { uniform = ["1us", "GAPms"] }
jitter = "JITTERms"
trains = 1
[observe]
occupancy = "none"
"#;
    let numbers = [("DURATION", 20), ("PER_PAIR", 1000), ("GAP", 18), ("JITTER", 1)];
    let text = numbers.iter().fold(text.replace("STACK", &stack), |text, (name, n)| text.replace(name, &(n * times).to_string()));
    let variant = resolve(&text, &[], None).remove(0);
    let before = peak();
    let r = execute(&variant.config);
    let connections = 100_000 * times;
    assert_eq!((r.peak_connections, r.flows.iter().filter(|f| !f.end.is_never()).count() as u64), (connections, connections));
    if let (Some(before), Some(after)) = (before, peak()) {
        // Without the pages of this program itself, which grow with everything that is linked into it.
        let each = (after - before) / connections;
        println!("peak {:.1} MB, {each} B a connection", after as f64 / 1e6);
        let bound = BOUNDS.iter().find(|b| b.0 == stack).map_or(0, |b| b.1);
        assert!(each <= bound, "{each} B a connection, at most {bound}: {after} B, {before} B of them before the run");
    }
}
