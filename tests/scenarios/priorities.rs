//! PIAS and pFabric: short flows overtake long ones. ICTCP: many senders fit into a small buffer.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::{Outcome, one};

/// Web-search flows at 70 % load. The bottleneck is a switch's port: a host's own interface has no priorities.
const FLOWS: &str = r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 20
access = { rate = "10Gbps", delay = "25us" }
bottleneck = { rate = "10Gbps", delay = "25us", buffer = "100pkt", queue = { kind = "strict-priority", k = "20pkt" } }
[transport]
stack = "ns2"
init-cwnd = 10
rto-min = "10ms"
[[workload]]
kind = "poisson"
sizes = { cdf = "websearch" }
load = 0.7
load-at = "bottleneck"
"#;

const PFABRIC: &str = "topology.bottleneck.queue=pfabric";

/// Mean of completion time over ideal time, of finished flows up to 100 KB and of all.
#[derive(Debug, Clone, Copy)]
struct Slowdown {
    small: f64,
    all: f64,
}

fn slowdown(name: &str, sets: &[&str]) -> Slowdown {
    let (mut small, mut all) = (Vec::new(), Vec::new());
    for seed in ["seed=1", "seed=2"] {
        let o: Outcome = one(FLOWS, &[sets, &[seed]].concat());
        for f in &o.report.flows {
            let Some(end) = f.end.ps() else { continue };
            let slow = (end - f.start.0) as f64 / f.ideal.0 as f64;
            all.push(slow);
            if f.size_bytes <= 100_000 {
                small.push(slow);
            }
        }
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let result = Slowdown { small: mean(&small), all: mean(&all) };
    println!("{name}: {result:.2?}, {} flows, {} small", all.len(), small.len());
    result
}

#[test]
fn pias_lets_short_flows_overtake() {
    let dctcp = slowdown("dctcp", &["transport.cc=dctcp"]);
    let tags = "transport.shim={ kind = \"pias\", table = \"websearch\", load = 0.7 }";
    let pias = slowdown("pias", &["transport.cc=dctcp", tags]);
    assert!(pias.small < 0.85 * dctcp.small && pias.all < dctcp.all, "{pias:?} {dctcp:?}");
}

/// 80 packets of `large` are queued in one window when 20 of `small` come at 200 us. All packets of a window carry the unacknowledged size of their flow:
/// `small` is served next. By hand: 0.83 us and 5 us to the switch, at most 8.32 us for the packet in service, 20 x 8.32 us, 7 us.
#[test]
fn pfabric_ranks_by_remaining_flow_size() {
    let text = "[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"10Gbps\", delay = \"5us\" }\n\
                bottleneck = { rate = \"1Gbps\", delay = \"7us\", buffer = \"1000pkt\", queue = \"pfabric\" }\n\
                [transport]\nstack = \"ns2\"\nmss = 1000\nheader = 40\nack-size = 40\nhandshake = false\nfin = false\n\
                cc = { kind = \"pfabric\", init-cwnd = 88, rto-min = \"5ms\" }\n\
                [[workload]]\nkind = \"long\"\nclass = \"large\"\nfrom = \"s0\"\nto = \"recv\"\nsize = \"80KB\"\n\
                [[workload]]\nkind = \"long\"\nclass = \"small\"\nfrom = \"s1\"\nto = \"recv\"\nsize = \"20KB\"\nstart = \"200us\"\n";
    let o = forebay_tests::one(text, &[]);
    let f = o.class("small")[0];
    let took = (f.end.get().expect("it is delivered") - f.start).0 as f64 / 1e6;
    assert!((179.2..=187.6).contains(&took), "{took} us");
}

#[test]
fn pfabric_serves_the_shortest_first() {
    let orig = |more: &str| format!("transport.cc={{ kind = \"pfabric\", init-cwnd = 88, rto-min = \"300us\"{more} }}");
    let newreno = slowdown("newreno", &["transport.cc=newreno", PFABRIC]);
    let text = slowdown("pfabric-text", &["transport.cc=pfabric", PFABRIC, "transport.rto-min=200ms"]);
    let tagged = slowdown("pfabric-orig", &[&orig(""), PFABRIC]);
    let untagged = slowdown("pfabric-orig without tags", &[&orig(", shim = \"none\""), PFABRIC]);
    assert!(text.small < 0.5 * newreno.small, "{text:?} {newreno:?}");
    assert!(tagged.small < 0.75 * untagged.small && tagged.all < 0.75 * untagged.all, "{tagged:?} {untagged:?}");
    // With a timeout of three RTTs, the loss of a whole window does not cost 200 ms.
    assert!(tagged.all < 0.5 * text.all, "{tagged:?} {text:?}");
}

/// As many windows of two segments as the buffer holds: no loss, where NewReno has a timeout in every block. (Claim of the ICTCP
/// publication, here on the incast of `incast.rs`.)
#[test]
fn ictcp_avoids_overflow_with_small_buffer() {
    for n in [8, 16, 32] {
        let senders = format!("topology.senders={n}");
        let plain = one(INCAST, &[&senders]);
        let ictcp = one(INCAST, &[&senders, "transport.shim=ictcp"]);
        let (p, i) = (plain.rounds(5), ictcp.rounds(5));
        println!(
            "N = {n}: newreno {:.3} with {:.2} timeouts, ictcp {:.3}",
            p.goodput() / 125e6,
            p.timeouts(),
            i.goodput() / 125e6
        );
        assert_eq!((ictcp.drops(), ictcp.rtos()), (0, 0));
        // Payload is 0.973 of the link.
        assert!(i.goodput() > 0.85 * 125e6 && p.goodput() < 0.5 * i.goodput());
        assert!(n < 16 || p.with_timeout() > 0.95);
    }
}

/// Two long connections get equal windows independent of their order, and leave the reserved share of the link free.
#[test]
fn ictcp_shares_the_link() {
    let text = INCAST.replace(
        "kind = \"incast\"\nrequest = \"0B\"\nblock = \"256KB\"\nrounds = 30\njitter = \"100us\"",
        "kind = \"long\"\nstagger = \"20ms\"",
    );
    let o = one(&text, &["topology.senders=2", "duration=400ms", "observe.warmup=100ms", "transport.shim=ictcp"]);
    let rates: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_acked as f64).collect();
    let ratio = rates[0] / rates[1];
    let port = o.port("bottleneck");
    println!("ratio {ratio:.2}, utilization {:.3}, drops {}", port.busy, o.drops());
    assert!((0.8..1.3).contains(&ratio) && o.drops() == 0, "{rates:?}");
    assert!((0.7..0.95).contains(&port.busy), "{}", port.busy);
}

const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 32
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt" }
[transport]
stack = "ns2"
[[workload]]
kind = "incast"
request = "0B"
block = "256KB"
rounds = 30
jitter = "100us"
"#;
