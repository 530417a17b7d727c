//! A hundred thousand connections at once fit into 200 MB.

use forebay_checks::{execute, resolve};

/// Peak resident memory of this process, bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// Persistent connections between 100 hosts of a leaf-spine, each of which writes one small train; all are open from the start.
#[test]
fn a_hundred_thousand_connections() {
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
trains = 1
[observe]
occupancy = "none"
"#;
    for stack in ["ns2", "linux"] {
        let variant = resolve(&text.replace("STACK", stack), &[], None).remove(0);
        let before = peak();
        let r = execute(&variant.config);
        assert_eq!(r.peak_connections, 100_000);
        if let (Some(before), Some(after)) = (before, peak()) {
            println!(
                "{stack}: peak {:.1} MB, {:.0} B a connection above {:.1} MB",
                after as f64 / 1e6,
                (after - before) as f64 / 1e5,
                before as f64 / 1e6
            );
            assert!(after < 200_000_000, "{after} B");
        }
    }
}
