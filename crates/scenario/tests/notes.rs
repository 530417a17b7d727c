//! Notes and explanations of valid scenarios.

use crate::common::{VALID, resolve, resolve_with};

#[test]
fn unusual_settings_are_noted() {
    let r = resolve_with(VALID, &["transport.stack=linux", "transport.rto-min=10ms"]).unwrap();
    assert!(r.notes.iter().any(|n| n.contains("spurious timeouts")), "{:?}", r.notes);
    let r = resolve_with(VALID, &["topology.bottleneck.buffer=20pkt"]).unwrap();
    assert!(r.notes.iter().any(|n| n.contains("dropped, not marked")), "{:?}", r.notes);
    let sets = ["transport.shim=proboscis", "topology.bottleneck.queue=drop-tail"];
    let noted = |sets: &[&str]| resolve_with(VALID, sets).unwrap().notes.iter().any(|n| n.contains("by lost probes only"));
    assert_eq!([noted(&sets), noted(&sets[..1]), noted(&sets[1..])], [true, false, false]);
}

#[test]
fn windows_without_buffer_are_noted() {
    let noted = |sets: &[&str]| {
        let r = resolve_with(VALID, sets).unwrap_or_else(|e| panic!("{}", e.render()));
        r.notes.into_iter().find(|n| n.contains("has no `buffer`"))
    };
    let unlimited = ["topology.bottleneck.buffer=unlimited", "topology.bottleneck.queue=drop-tail", "transport.rcv-wnd=100KB"];
    let note = noted(&unlimited).unwrap();
    assert!(note.starts_with("`bottleneck` has no `buffer`, so that the windows of the connections limit its queue"), "{note}");
    assert!(note.contains("holds 100 000 B, or "), "{note}");
    assert_eq!(noted(&unlimited[1..]), None, "a buffer");
    assert_eq!(noted(&unlimited[..1]), None, "marks limit the queue");
}

#[test]
fn buffer_beyond_all_windows_is_noted() {
    let two = |sets: &[&str]| {
        let text = r#"
name = "two"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 2
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "1000pkt" }
[transport]
stack = "ns2"
cc = "newreno"
mss = 1460
header = 40
rcv-wnd = "100KB"
[[workload]]
kind = "long"
"#;
        let r = resolve_with(text, sets).unwrap_or_else(|e| panic!("{}", e.render()));
        r.notes.into_iter().find(|n| n.contains("never overflows"))
    };
    // 100 000 B are 69 segments, and a FIN.
    let note = two(&[]).unwrap();
    assert!(
        note.contains("buffers 1 000 packets, but the windows of all 2 connections together hold at most 140 packets"),
        "{note}"
    );
    assert_eq!(two(&["topology.bottleneck.buffer=140pkt"]), None, "the windows fill it");
    assert!(two(&["topology.bottleneck.buffer=141pkt"]).is_some());
    assert_eq!(two(&["transport.rcv-wnd=1MB"]), None);
    assert!(two(&["transport.rcv-wnd=1MB", "workload.0.size=50KB"]).unwrap().contains("at most 72 packets"));
    let bytes = two(&["topology.bottleneck.buffer=1MB"]).unwrap();
    assert!(bytes.contains("at most 205 600 B"), "{bytes}");
    // A step that marks from 200 packets on never marks.
    let k = |k: u32| two(&[&format!("topology.bottleneck.queue={{ kind = \"dctcp-step\", k = \"{k}pkt\" }}")]).unwrap();
    assert!(k(200).contains("marking threshold (200pkt) is not reached") && !k(20).contains("threshold"), "{}", k(200));
    // Flows that arrive have no set number.
    assert!(
        resolve_with(VALID, &["topology.bottleneck.buffer=1000000pkt"]).unwrap().notes.iter().all(|n| !n.contains("overflows"))
    );
}

/// TRIM A11: C and B are those of the shared port. A sender's own interface does not count, however slow it is: its queue cannot overflow, so that B
/// would be infinite and K's interval without an upper end.
#[test]
fn trim_uses_slowest_switch_port() {
    let text = r#"
name = "slow-hosts"
[topology]
kind = "many-to-one"
senders = 40
access = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "10Gbps", delay = "25us", buffer = "359pkt" }
[transport]
stack = "ns2"
header = 0
cc = "trim"
[[workload]]
kind = "long"
size = "1MB"
"#;
    let shown = resolve_with(text, &[]).unwrap_or_else(|e| panic!("{}", e.render())).explain();
    let shown = shown.lines().find(|l| l.starts_with("`trim`")).unwrap();
    assert!(shown.contains("C = 10 Gbps, B = 359 packets"), "{shown}");
}

/// TRIM's rate, buffer and RTT of its path, and the resulting threshold, are explained before the run.
#[test]
fn check_prints_threshold_of_trim() {
    let shown = |cc: &str| {
        let r = resolve_with(VALID, &[&format!("transport.cc={cc}")]).unwrap_or_else(|e| panic!("{}", e.render()));
        let text = r.explain();
        text.lines().find(|l| l.starts_with("`trim`")).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let (default, set) = (shown("trim"), shown("{ kind = \"trim\", rate = \"9Gbps\", buffer = \"77pkt\", k = \"5ms\" }"));
    println!("{default}\n{set}");
    assert!(default.contains("K = ") && !default.contains("K = unknown"), "{default}");
    assert!(set.contains("C = 9 Gbps, B = 77 packets") && set.contains("K = 5000.0 us"), "{set}");
    assert!(shown("{ kind = \"trim\", min-rtt-seed = \"first-sample\" }").contains("K = unknown"));
}

#[test]
fn unused_tags_are_noted() {
    let notes = |queue: &str| {
        let sets = ["transport.shim=prin".to_owned(), format!("topology.bottleneck.queue={queue}")];
        let r = resolve_with(VALID, &sets.each_ref().map(String::as_str)).unwrap_or_else(|e| panic!("{}", e.render()));
        r.notes.iter().filter(|n| n.contains("no queue uses tags")).count()
    };
    assert_eq!((notes("drop-tail"), notes("protect"), notes("strict-priority")), (1, 0, 0));
}

#[test]
fn explains_shared_buffer_limit() {
    let text = r#"
[topology]
kind = "many-to-one"
senders = 4
access = { rate = "10Gbps", delay = "5us" }
bottleneck = { rate = "10Gbps", delay = "5us" }
shared-buffer = { total = "12MB", alpha = 1 }
[transport]
cc = "cubic"
[[workload]]
kind = "long"
size = "1MB"
"#;
    let shown = resolve_with(text, &[]).unwrap_or_else(|e| panic!("{}", e.render())).explain();
    assert!(shown.contains("buffer at most 6MB of the shared buffer"), "{shown}");
    assert!(
        shown.contains("shared buffer of 1 switch: 12MB, dynamic threshold with alpha 1; a single port can hold 6MB"),
        "{shown}"
    );
    let own = resolve_with(text, &["topology.bottleneck.buffer=100pkt"]).unwrap_or_else(|e| panic!("{}", e.render())).explain();
    assert!(own.contains("buffer 100pkt, at most 6MB of the shared buffer"), "{own}");
}

#[test]
fn dctcp_over_classic_ecn_is_noted() {
    let shown = |sets: &[&str]| resolve_with(VALID, sets).unwrap_or_else(|e| panic!("{}", e.render())).explain();
    assert!(shown(&["transport.cc=dctcp", "transport.ecn=classic"]).contains("a single mark counts as a whole window"));
    assert!(!shown(&["transport.cc=dctcp"]).contains("a single mark counts as"));
}

#[test]
fn explains_and_echoes_faults() {
    let text = VALID.replace(
        "senders = 8",
        "senders = 8\nbalance = \"packet\"\nhost-queue = \"fq-codel\"\nfailure = { link = \"bottleneck\", down = \"5ms\", up = \"20ms\" }\n\
         corruption = { port = \"s1->sw\", bit-errors = 1e-7 }\n\
         loss = [{ port = \"s2->sw\", p = \"0.1%\" }, { port = \"s3->sw\", p = 0.01, burst = 4 }]",
    );
    let r = resolve(&text).unwrap_or_else(|e| panic!("{}", e.render()));
    let shown = r.explain();
    for line in [
        "  packets are sprayed over all shortest paths",
        "  the link of bottleneck is down from 5ms to 20ms; switches reroute at once",
        "  s1->sw damages one bit in 10 000 000",
        "  s2->sw loses 0.1 % of its packets",
        "  s3->sw loses 1.000 % of its packets, in bursts",
    ] {
        assert!(shown.lines().any(|l| l == line), "{shown}");
    }
    // The echo is a file of the same network.
    let again = resolve(&r.variants[0].toml()).unwrap_or_else(|e| panic!("{}", e.render()));
    let network = |r: &forebay_scenario::Resolved| {
        let n = r.variants[0].config.network.clone();
        (n.faults, n.ports)
    };
    assert!(network(&again) == network(&r));
}

/// The scenario of a wide network: 1 Gbps and 30 ms.
const FAR: &str = r#"
name = "far"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 1
access = { rate = "10Gbps", delay = "5ms" }
bottleneck = { rate = "1Gbps", delay = "10ms", buffer = "1000pkt" }
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "long"
"#;

/// The queue that a Linux server has is that of its congestion control, unless the file names one, and the echo names it.
#[test]
fn host_profile_sets_the_host_queue() {
    let queues = |sets: &[&str]| {
        let r = resolve_with(FAR, sets).unwrap_or_else(|e| panic!("{}", e.render()));
        let kind = |v: &forebay_scenario::Variant| {
            let queue = &v.echo["topology"]["host-queue"];
            let again = resolve(&v.toml()).unwrap_or_else(|e| panic!("{}", e.render()));
            assert_eq!(again.variants[0].config.network.ports, v.config.network.ports);
            queue["kind"].as_str().or(queue.as_str()).unwrap_or("none").to_owned()
        };
        r.variants.iter().map(kind).collect::<Vec<_>>()
    };
    let server = "transport.host=linux-server";
    assert_eq!(queues(&["transport.host=bare"]), ["none"]);
    assert_eq!(queues(&[server, "transport.cc=[\"cubic\", \"dctcp\"]", MARKS]), ["fq-codel", "fq-codel"]);
    assert_eq!(queues(&[server, "topology.host-queue=drop-tail"]), ["drop-tail"]);
    assert_eq!(queues(&[server, "topology.host-queue=codel"]), ["codel"]);
}

const MARKS: &str = "topology.bottleneck.queue={ kind = \"dctcp-step\", k = \"20pkt\" }";

/// 4 MiB of memory are 1839 segments of 1448 bytes with 832 bytes each: 2.66 MB, less than the 3.75 MB of 1 Gbps and 30 ms. All of them are enough for
/// 709 Mbps. With two thirds, the application may still wait for space: 473 Mbps. A receive window of 1 MB limits it earlier. With buffers
/// of 45 segments (64 KB) the heads need less memory, and SO_SNDBUF is doubled: 1 MB holds 1.97 MB.
#[test]
fn check_names_the_effective_limit() {
    let shown = |sets: &[&str]| {
        let text = resolve_with(FAR, sets).unwrap_or_else(|e| panic!("{}", e.render())).explain();
        let line = text.lines().skip_while(|l| !l.starts_with("hosts of `cubic`")).nth(1).unwrap_or_else(|| panic!("{text}"));
        println!("{text}");
        line.to_owned()
    };
    let bare = shown(&["transport.host=bare"]);
    assert!(bare.contains("so the send buffer limits a connection to between 472Mbps and 709Mbps"), "{bare}");
    assert!(shown(&[]).contains("so the send buffer may limit a connection, to no less than 735Mbps"));
    assert!(
        shown(&["transport.host=bare", "transport.rcv-wnd=1MB"]).contains("so the receive window limits a connection to 266Mbps")
    );
    assert!(shown(&["topology.bottleneck.delay=1ms"]).contains("so neither limits"));
    let fixed = shown(&["transport.host=linux-server", "transport.snd-buf=1MB"]);
    assert!(fixed.contains("send buffer at most 1.97MB of payload, receive window at most 3.93MB"), "{fixed}");
    let text = resolve_with(FAR, &["transport.host=linux-server"]).unwrap_or_else(|e| panic!("{}", e.render())).explain();
    assert!(text.contains("hosts of `cubic`: linux-server, queue fq-codel, byte queue limits, tso 65.536KB, gro 8us"), "{text}");
}

/// RFC 6675 section 5, step 3: the pipe gets smaller with each SACK, so the key changes nothing.
#[test]
fn limited_transmit_is_on_with_sack() {
    let noted = |sets: &[&str]| resolve_with(VALID, sets).unwrap().notes.iter().any(|n| n.contains("no effect with SACK"));
    assert!(noted(&["transport.recovery=sack", "transport.limited-transmit=false"]));
    assert!(!noted(&["transport.recovery=sack", "transport.limited-transmit=true"]));
    assert!(!noted(&["transport.limited-transmit=false"]));
}
