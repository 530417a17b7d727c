//! Protective load balancing and new paths after timeouts: flows on one of two spines separate, and leave a path that loses all packets.

use forebay_tests::{Outcome, one};

/// Two long flows of DCTCP between racks with two spines. The empty round trip takes 40 us; the measurement begins ten round trips after the handshake.
const ELEPHANTS: &str = r#"
duration = "3ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host   = { rate = "10Gbps", delay = "5us", buffer = "500pkt" }
fabric = { rate = "10Gbps", delay = "5us", buffer = "500pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
cc = "dctcp"
host = "bare"
tcp-plb-rehash-rounds = 1
tcp-plb-cong-thresh = 64
[[workload]]
kind = "long"
from = "rack0"
to = "rack1"
pattern = "pairwise"
[observe]
warmup = "440us"
"#;

/// Payload that both flows delivered after the warm-up, as a share of what one link carries.
fn share(o: &Outcome) -> f64 {
    let bytes: u64 = o.report.flows.iter().map(|f| f.bytes_measured).sum();
    bytes as f64 * 8.0 / 10e9 / 2.56e-3
}

#[test]
fn colliding_elephants_separate() {
    let (mut collisions, mut separate) = (0, 0);
    for seed in 1..=12 {
        let seed = format!("seed={seed}");
        let without = share(&one(ELEPHANTS, &[&seed]));
        let with = share(&one(ELEPHANTS, &[&seed, "transport.tcp-plb-enabled=true"]));
        println!("{seed}: {without:.2} of a link, with PLB {with:.2}");
        if without > 1.5 {
            // The flows took different spines from the start.
            continue;
        }
        collisions += 1;
        separate += u32::from(with > 1.3);
        assert!(without < 1.0);
    }
    // Flows whose rounds end at the same time may change to the same spine again and again.
    assert!(collisions >= 5 && separate + 1 >= collisions, "{separate} of {collisions}");
}

/// With the kernel's defaults nothing happens in less than twelve congested round trips.
#[test]
fn few_congested_rounds_change_nothing() {
    let sets = ["seed=1", "transport.tcp-plb-rehash-rounds=12", "transport.tcp-plb-cong-thresh=128"];
    let without = one(ELEPHANTS, &sets);
    let with = one(ELEPHANTS, &[&sets[..], &["transport.tcp-plb-enabled=true"]].concat());
    assert_eq!(without.report.fingerprint, with.report.fingerprint);
}

/// A link to a spine loses all packets, and switches do not know. Connections that draw a new path after each timeout deliver; others never do.
#[test]
fn timeout_leaves_a_dead_path() {
    let text = ELEPHANTS.replace("duration = \"3ms\"", "duration = \"60s\"").replace("warmup = \"440us\"", "");
    let text = text.replace("kind = \"long\"", "kind = \"long\"\nsize = \"20KB\"");
    let text = text.replace("[transport]", "[[topology.loss]]\nport = \"leaf0->spine0\"\np = 1.0\n[transport]");
    let mut stuck = 0;
    for seed in 1..=4 {
        let seed = format!("seed={seed}");
        let ended = |o: &Outcome| o.report.flows.iter().filter(|f| !f.end.is_never()).count();
        let without = ended(&one(&text, &[&seed]));
        let with = ended(&one(&text, &[&seed, "transport.txrehash=true"]));
        println!("{seed}: {without} of 2 messages complete, with txrehash {with}");
        assert_eq!(with, 2);
        stuck += 2 - without;
    }
    assert!(stuck > 0);
}
