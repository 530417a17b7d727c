//! Suite of a comparison of two kernels: scenarios that reach the parts of TCP, drawn scenarios, and packet scripts.

use super::Input;
use crate::agreement;
use crate::variants::variants;
use std::path::PathBuf;

/// Scenarios of the comparison with the simulator (`forebay-bench linux`), by name: congestion controls, marks, losses, timeouts, delayed ACKs,
/// offload, and connections that carry data in both directions.
const SCENARIOS: [&str; 20] = [
    "newreno 2 flows 1G",
    "newreno without SACK 1 % lost",
    "newreno 1 % lost",
    "cubic 1 flows 10G",
    "cubic 4 flows RED with ECN",
    "cubic window of 64 KB",
    "cubic idle restarts",
    "cubic buffer of 10",
    "dctcp 2 flows 1G",
    "dctcp trains",
    "dctcp beside newreno",
    "bbr 1 flows 1G",
    "incast 16 newreno",
    "incast 8 dctcp",
    "requests",
    "two-way large requests lost",
    "short flows 3 % lost",
    "spurious timeouts",
    "server cubic 1Gbps 1 ms 0.2 % lost",
    "server bbr 100Mbps 10 ms",
];

/// A path that delivers packets late: recovery has to wait for them (RACK, D-SACK, undo).
const REORDERING: &str = "seed = 3\nduration = \"400ms\"\n[topology]\nkind = \"dumbbell\"\nleft = 2\n\
    access = { rate = \"1Gbps\", delay = \"100us\" }\n\
    bottleneck = { rate = \"200Mbps\", delay = \"1ms\", buffer = \"200pkt\" }\n\
    [[topology.reorder]]\nport = \"bottleneck\"\np = BY_PROBABILITY\nby = \"BY_TIME\"\n\
    [transport]\nstack = \"linux\"\nhost = \"bare\"\ncc = \"cubic\"\n[[workload]]\nkind = \"long\"\nstagger = \"1ms\"\n";

/// Seed and number of the drawn scenarios.
const DRAWN: (u64, u64) = (38, 6);

/// Packet scripts: exchanges that no scenario reaches.
const SCRIPTS: [(&str, &str); 12] = [
    ("closed-window.pkt", include_str!("../../../../tests/connections/closed-window.pkt")),
    ("dsack-undo.pkt", include_str!("../../../../tests/connections/dsack-undo.pkt")),
    ("ecn-with-loss-ecn.pkt", include_str!("../../../../tests/connections/ecn-with-loss-ecn.pkt")),
    ("frto-spurious-more-data.pkt", include_str!("../../../../tests/connections/frto-spurious-more-data.pkt")),
    ("nagle.pkt", include_str!("../../../../tests/connections/nagle.pkt")),
    ("probe-tail.pkt", include_str!("../../../../tests/connections/probe-tail.pkt")),
    ("prr-many-losses.pkt", include_str!("../../../../tests/connections/prr-many-losses.pkt")),
    ("rack-window.pkt", include_str!("../../../../tests/connections/rack-window.pkt")),
    ("receive-stream.pkt", include_str!("../../../../tests/connections/receive-stream.pkt")),
    ("reordering-far.pkt", include_str!("../../../../tests/connections/reordering-far.pkt")),
    ("syn-lost-twice-ts.pkt", include_str!("../../../../tests/connections/syn-lost-twice-ts.pkt")),
    ("timeout-in-recovery.pkt", include_str!("../../../../tests/connections/timeout-in-recovery.pkt")),
];

/// The whole suite in its order.
pub fn suite() -> Vec<Input> {
    let scenario = |name: String, text: String| Input::Scenario { name, text, folder: PathBuf::new() };
    let listed = SCENARIOS.iter().filter_map(|name| agreement::scenario(name).map(|text| scenario((*name).to_owned(), text)));
    let late = [("late packets", "0.02", "300us"), ("very late packets", "0.002", "5ms")]
        .map(|(name, p, by)| scenario(name.to_owned(), REORDERING.replace("BY_PROBABILITY", p).replace("BY_TIME", by)));
    let drawn = agreement::drawn(DRAWN.0, DRAWN.1).into_iter().map(|(name, text)| scenario(name, text));
    // The first variant of each script is the plain one.
    let plain = |text: &str| variants(text).ok().and_then(|all| all.into_iter().next()).map(|v| v.1);
    let scripts =
        SCRIPTS.into_iter().filter_map(|(name, text)| Some(Input::Script { name: name.to_owned(), text: plain(text)? }));
    listed.chain(late).chain(drawn).chain(scripts).collect()
}

#[cfg(test)]
mod tests {
    use super::{DRAWN, Input, SCENARIOS, SCRIPTS, suite};
    use forebay_scenario::Scenario;

    #[test]
    fn every_scenario_resolves_on_linux() {
        let all = suite();
        assert_eq!(all.len(), SCENARIOS.len() + 2 + DRAWN.1 as usize + SCRIPTS.len());
        for input in &all {
            let Input::Scenario { name, text, folder } = input else { continue };
            let sets = ["world=linux".to_owned()];
            let scenario = Scenario::from_text(forebay_backends::all(), text, name, folder, &sets, None);
            if let Err(e) = scenario.and_then(|s| s.resolve()) {
                panic!("{name}: {}", e.render());
            }
        }
    }
}
