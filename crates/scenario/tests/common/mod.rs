//! A valid scenario to start from, and helpers.

use forebay_scenario::{Errors, Resolved, Scenario};
use std::path::Path;

/// Right in every line; the tests below change one thing each. Congestion controls other than NewReno have their own tests.
pub(crate) const VALID: &str = r#"name = "base"
seed = 7
runs = 2
duration = "2s"
[topology]
kind = "many-to-one"
senders = 8
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
cc = "newreno"
mss = 1460
header = 40
rto-min = "200ms"
[[workload]]
kind = "incast"
block = "64KB"
rounds = 50
[[workload]]
kind = "poisson"
class = "web"
sizes = { cdf = "websearch" }
load = 0.25
from = "s0..s3"
to = "recv"
[observe]
queue = { port = "bottleneck", every = "1ms" }
tcp = { flows = [0, 4], every = "ack" }
occupancy = "switches"
warmup = "100ms"
"#;

/// Reads and resolves a text with overrides.
pub(crate) fn resolve_with(text: &str, sets: &[&str]) -> Result<Resolved, Errors> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::from_text(forebay_backends::all(), text, "test.toml", Path::new(env!("CARGO_MANIFEST_DIR")), &sets, None)?.resolve()
}

/// Reads and resolves a text.
pub(crate) fn resolve(text: &str) -> Result<Resolved, Errors> {
    resolve_with(text, &[])
}

/// A congestion control that cannot live without marks, when the registry has one.
pub(crate) fn marking_cc() -> Option<&'static str> {
    forebay_backends::all().congestion_controls().iter().find(|l| l.needs_marks).map(|l| l.entry.name)
}
