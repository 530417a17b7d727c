//! An uncongested flow takes exactly the time of store and forward, handshake and slow start.

use forebay_tests::theory::{Hop, Transfer};
use forebay_tests::{Outcome, one};

const US: u64 = 1_000_000;
const GBPS: u64 = 1_000_000_000;
/// Sizes around the borders of segments and windows, up to seven rounds of slow start.
const SIZES: [u64; 12] = [1, 100, 1459, 1460, 1461, 2920, 2921, 5840, 14_600, 14_601, 100_000, 300_123];

fn text(topology: &str, from: &str, to: &str) -> String {
    format!(
        "[topology]\n{topology}\n[transport]\nstack = \"ns2\"\n[[workload]]\nkind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"1B\"\nstart = \"3us\"\n"
    )
}

/// Every size, with and without handshake and with several initial windows: completion and ideal time, to the nanosecond.
fn check(topology: &str, from: &str, to: &str, path: &[Hop]) {
    let text = text(topology, from, to);
    for bytes in SIZES {
        for (handshake, window) in [(false, 2), (true, 2), (false, 10), (true, 10), (false, 1)] {
            let transfer = Transfer { path, bytes, mss: 1460, header: 40, ack: 40, window, handshake };
            let size = format!("workload.0.size={bytes}B");
            let o = one(&text, &[&size, &format!("transport.init-cwnd={window}"), &format!("transport.handshake={handshake}")]);
            let f = &o.report.flows[0];
            let what = format!("{topology} {bytes} B window {window} handshake {handshake}");
            assert_eq!(f.start.0, 3 * US, "{what}");
            near(f.end.ps().unwrap() - f.start.0, transfer.completion(), &what);
            near(f.ideal.0, transfer.ideal(), &what);
            undisturbed(&o, &what);
        }
    }
}

fn near(measured: u64, expected: u64, what: &str) {
    assert!(measured.abs_diff(expected) < 1000, "{what}: {measured} ps, the closed form says {expected} ps");
}

fn undisturbed(o: &Outcome, what: &str) {
    let f = &o.report.flows[0];
    assert_eq!((o.drops(), f.segs_retx, f.rtos, f.bytes_acked), (0, 0, 0, f.size_bytes), "{what}");
}

/// Hosts at the ends of a chain of switches.
fn chain(rates: &[&str], delays: &[&str]) -> String {
    let n = rates.len();
    let node = |i: usize| if i == 0 || i == n { format!("h{}", i.min(1)) } else { format!("w{i}") };
    let switches: Vec<String> = (1..n).map(|i| format!("\"w{i}\"")).collect();
    let links: Vec<String> = (0..n)
        .map(|i| {
            format!("{{ from = \"{}\", to = \"{}\", rate = \"{}\", delay = \"{}\" }}", node(i), node(i + 1), rates[i], delays[i])
        })
        .collect();
    format!("kind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [{}]\nlinks = [{}]", switches.join(", "), links.join(", "))
}

#[test]
fn one_to_six_equal_hops() {
    for hops in 1..=6 {
        check(&chain(&vec!["1Gbps"; hops], &vec!["25us"; hops]), "h0", "h1", &vec![(GBPS, 25 * US); hops]);
    }
}

#[test]
fn hops_of_different_rates() {
    let rates = ["10Gbps", "1Gbps", "2.5Gbps", "100Mbps", "40Gbps", "1.1Gbps"];
    let bps = [10 * GBPS, GBPS, 5 * GBPS / 2, GBPS / 10, 40 * GBPS, 11 * GBPS / 10];
    let delays = ["1us", "0s", "20us", "3us", "0.5us", "1ms"];
    let ps = [US, 0, 20 * US, 3 * US, US / 2, 1000 * US];
    let path: Vec<Hop> = bps.iter().copied().zip(ps).collect();
    for cut in 1..=6 {
        check(&chain(&rates[..cut], &delays[..cut]), "h0", "h1", &path[..cut]);
        check(&chain(&rates[6 - cut..], &delays[6 - cut..]), "h0", "h1", &path[6 - cut..]);
    }
}

#[test]
fn paths_of_the_topologies() {
    let link = "{ rate = \"10Gbps\", delay = \"1us\" }";
    let slow = "{ rate = \"1Gbps\", delay = \"25us\" }";
    let (l, s) = ((10 * GBPS, US), (GBPS, 25 * US));
    check(&format!("kind = \"many-to-one\"\nsenders = 3\naccess = {link}\nbottleneck = {slow}"), "s1", "recv", &[l, s]);
    check(&format!("kind = \"dumbbell\"\nleft = 2\naccess = {link}\nbottleneck = {slow}"), "l1", "r0", &[l, s, l]);
    let spine = format!("kind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts-per-leaf = 4\nhost = {slow}\nfabric = {link}");
    check(&spine, "h0", "h1", &[s, s]);
    check(&spine, "h0", "h7", &[s, l, l, s]);
    let tree = format!("kind = \"fat-tree\"\nk = 4\nhost = {slow}\nfabric = {link}");
    check(&tree, "pod0-h0", "pod0-h1", &[s, s]);
    check(&tree, "pod0-h0", "pod0-h3", &[s, l, l, s]);
    check(&tree, "pod0-h0", "pod3-h2", &[s, l, l, l, l, s]);
}

/// Textbook formulas in numbers, as a check of the recurrence above.
#[test]
fn in_plain_numbers() {
    let topology = chain(&["1Gbps"; 2], &["25us"; 2]);
    let fct = |size: u64, window: u32, handshake: bool| {
        let sets = [
            format!("workload.0.size={size}B"),
            format!("transport.init-cwnd={window}"),
            format!("transport.handshake={handshake}"),
        ];
        let o = one(&text(&topology, "h0", "h1"), &[&sets[0], &sets[1], &sets[2]]);
        o.report.flows[0].end.ps().unwrap() - o.report.flows[0].start.0
    };
    // One segment: two serializations of 12 us, two delays of 25 us.
    assert_eq!(fct(1460, 2, false), 74 * US);
    // Ten segments in one window: nine more serializations.
    assert_eq!(fct(14_600, 10, false), 74 * US + 9 * 12 * US);
    // The handshake: two more one-way delays of 50 us, SYN and SYN-ACK with 0.32 us at each of two hops, and the ACK before the data.
    assert_eq!(fct(1460, 2, true), 74 * US + 2 * (50 * US + 640_000) + 320_000);
    // 14 segments, windows 2, 4, 8: two round trips of 124.64 us before the last window, which arrives as ACKs paced it.
    assert_eq!(fct(14 * 1460, 2, false), 2 * 124_640_000 + 74 * US + 7 * 12 * US);
}
