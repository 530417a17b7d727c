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

/// Flows that collide separate within ten round trips of 40 us, packet by packet as in the simulator. Guests count whole nanoseconds.
#[test]
fn colliding_elephants_separate() {
    for seed in [3, 5, 6] {
        let Some(plain) = both(&scenario(seed, "")) else { return };
        let Some(runs) = both(&scenario(seed, PLB)) else { return };
        let shares = [&plain, &runs].map(|runs| runs.each_ref().map(share));
        println!("seed {seed}: {:.2?} of a link, with PLB {:.2?}", shares[0], shares[1]);
        assert!(shares[0].iter().all(|share| *share < 1.0), "the flows collide");
        assert!(shares[1].iter().all(|share| *share > 1.4), "seed {seed}: {shares:?}");
        same_packets(&runs, 1_000);
    }
}

/// A link to a spine loses all packets. The kernel draws a new hash after each timeout of a SYN, and the paths are those of the simulator.
#[test]
fn timeouts_leave_a_dead_path() {
    let text = scenario(2, "txrehash = true").replace("3ms", "20s").replace("warmup = \"480us\"", "");
    let text = text.replace("kind = \"long\"", "kind = \"long\"\nsize = \"20KB\"");
    let text = text.replace("[transport]", "[[topology.loss]]\nport = \"leaf0->spine0\"\np = 1.0\n[transport]");
    let Some(runs) = both(&text) else { return };
    let ends = runs.each_ref().map(|r| r.flows.iter().map(|f| f.end.ps().map(|end| end.div_ceil(1_000_000))).collect::<Vec<_>>());
    println!("ends at {ends:?} us");
    assert!(ends[0].iter().all(Option::is_some) && ends[0] == ends[1], "{ends:?}");
    assert!(runs[0].flows.iter().any(|f| f.syn_rtos > 0));
}
