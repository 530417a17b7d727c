//! Changes of path in a guest: the kernel decides when a connection draws a new hash, and its packets take the path of that hash. Both are those of the
//! simulator.

use crate::packets::{both, same_packets};
use forebay_experiment::report::Report;

/// Two long flows between racks with two spines. The empty round trip takes 40 us.
fn scenario(seed: u32, keys: &str) -> String {
    format!(
        r#"
seed = {seed}
duration = "3ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host   = {{ rate = "10Gbps", delay = "5us", buffer = "500pkt" }}
fabric = {{ rate = "10Gbps", delay = "5us", buffer = "500pkt", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
[transport]
stack = "linux"
cc = "dctcp"
host = "bare"
{keys}
[[workload]]
kind = "long"
from = "rack0"
to = "rack1"
pattern = "pairwise"
[observe]
warmup = "480us"
"#
    )
}

const PLB: &str = "tcp-plb-enabled = true\ntcp-plb-rehash-rounds = 1\ntcp-plb-cong-thresh = 64";

/// Payload that both flows delivered after the warm-up, as a share of the rate of one link.
fn share(report: &Report) -> f64 {
    let bytes: u64 = report.flows.iter().map(|f| f.bytes_measured).sum();
    bytes as f64 * 8.0 / 10e9 / 2.52e-3
}

/// Seeds whose flows collide separate within ten round trips of 40 us after the handshake, packet by packet as in the simulator.
#[test]
fn colliding_elephants_separate() {
    let mut collisions = 0;
    for seed in 1..=6 {
        let Some(plain) = both(&scenario(seed, "")) else { return };
        same_packets(&plain, 0);
        if share(&plain[0]) > 1.5 {
            continue;
        }
        collisions += 1;
        let Some(runs) = both(&scenario(seed, PLB)) else { return };
        let shares = runs.each_ref().map(share);
        println!("seed {seed}: {:.2} of a link, with PLB {shares:.2?}", share(&plain[0]));
        assert!(shares.iter().all(|share| *share > 1.4), "seed {seed}: {shares:?}");
        same_packets(&runs, 0);
    }
    assert!(collisions > 0);
}
