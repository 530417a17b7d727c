//! `scenarios/own-queue.toml`: in one queue CUBIC starves DCTCP; with separate queues both have their shares.

use forebay_tests::{execute, repository};

/// Payload of the DCTCP senders and of the CUBIC senders, with this queue at the shared port.
fn bytes(queue: &str) -> (f64, f64) {
    let set = format!("topology.bottleneck.queue={queue}");
    let file = repository().join("scenarios/own-queue.toml");
    let scenario = forebay_scenario::load(forebay_backends::all(), &file, &[set], None);
    let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{}", e.render()));
    let r = execute(&resolved.variants[0].config);
    let of = |group: usize| r.flows.iter().filter(|f| f.group.index() == group).map(|f| f.bytes_acked as f64).sum::<f64>();
    (of(0), of(1))
}

#[test]
fn shared_queue_starves_new_transport() {
    let (new, old) = bytes("{ kind = \"dctcp-step\", k = \"65pkt\" }");
    assert!(new < 0.15 * old, "{new} {old}");
}

/// Shares follow the weights. Tolerance 5 % for slow start and handshakes.
#[test]
fn separate_queues_keep_shares() {
    for kind in ["dwrr", "wfq"] {
        for (weights, share) in [("[1, 1]", 0.5), ("[3, 1]", 0.75), ("[1, 4]", 0.2)] {
            let (new, old) = bytes(&format!("{{ kind = \"{kind}\", weights = {weights}, ks = [\"65pkt\"] }}"));
            let got = new / (new + old);
            assert!((got - share).abs() < 0.05, "{kind} {weights}: {got}");
            // The link is never idle: 10 Gbps of 1448 in 1538 or so bytes for 100 ms.
            assert!(new + old > 0.9 * 1e10 / 8.0 * 0.1, "{kind} {weights}: {}", new + old);
        }
    }
}

#[test]
fn strict_priority_gets_link() {
    let (new, old) = bytes("{ kind = \"strict-priority\", queues = 2, k = \"65pkt\", k-scope = \"queue\" }");
    assert!(new > 10.0 * old, "{new} {old}");
}
