//! SO_MAX_PACING_RATE on the running kernel, in real time.

use super::worlds::{both, experiment};
use forebay_experiment::world::World;
use forebay_testbed::world::Testbed;

/// Four Mbps each for two flows on a link of 20 Mbps.
const SCENARIO: &str = r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "20Mbps", delay = "500us" }
bottleneck = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
[transport]
cc = "cubic"
max-pacing-rate = "4Mbps"
[[workload]]
kind = "long"
[observe]
warmup = "500ms"
"#;

/// Goodput of each flow after the warm-up, bit/s.
fn goodputs(report: &forebay_experiment::report::Report) -> Vec<f64> {
    let time = (report.end - report.measured_from).0 as f64 * 1e-12;
    report.flows.iter().map(|f| f.bytes_measured as f64 * 8.0 / time).collect()
}

/// The kernel keeps the maximum rate; without it each flow would have 9 Mbps. Timers of a busy machine are late, so that it may send less.
#[test]
fn kernel_keeps_maximum_rate() {
    let Some([real, simulated]) = both(SCENARIO, false) else { return };
    let (real, simulated) = (goodputs(&real), goodputs(&simulated));
    assert!(real.len() == 2 && real.iter().all(|rate| (3.4e6..4.05e6).contains(rate)), "{real:?} bit/s");
    assert!(simulated.len() == 2 && simulated.iter().all(|rate| (3.95e6..4.05e6).contains(rate)), "{simulated:?} bit/s");
}

/// Messages of several writes are refused by name.
#[test]
fn several_writes_refused() {
    let text = SCENARIO.replace("kind = \"long\"", "kind = \"long\"\nsize = \"1MB\"\nwrites = 2");
    let refused = Testbed.supports(&experiment(&text));
    assert_eq!(refused.iter().map(|u| u.key).collect::<Vec<_>>(), ["workload.writes"]);
}
