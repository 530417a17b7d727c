//! Workloads: start times and sizes of trains, requests, rounds and listed flows.

use forebay_experiment::rows::FlowRow;
use forebay_scenario::Scenario;
use forebay_tests::{Outcome, one};
use forebay_types::{NodeId, QueryId};
use std::path::PathBuf;

pub(crate) const US: u64 = 1_000_000;

pub(crate) fn text(workload: &str) -> String {
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 3\naccess = {{ rate = \"1Gbps\", delay = \"10us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"10us\" }}\n[transport]\nstack = \"ns2\"\nfin = false\n[[workload]]\n{workload}\n"
    )
}

fn by_connection(o: &Outcome, conn: u64) -> Vec<&FlowRow> {
    o.report.flows.iter().filter(|f| f.conn_id == conn).collect()
}

#[test]
fn a_closed_loop_pauses_after_completion() {
    let o = one(&text("kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"100us\"\ntrains = 5\nstart = \"1ms\""), &[]);
    assert_eq!(o.report.flows.len(), 15);
    for conn in 0..3 {
        let trains = by_connection(&o, conn);
        assert_eq!(trains[0].start.0, 1_100 * US);
        for pair in trains.windows(2) {
            assert_eq!(pair[1].start.0, pair[0].acked.ps().unwrap() + 100 * US);
        }
        assert!(trains.iter().all(|t| t.size_bytes == 20_000 && t.bytes_acked == 20_000 && t.end.ps() < t.acked.ps()));
    }
}

#[test]
fn open_loop_trains_queue_up() {
    let o = one(
        &text(
            "kind = \"on-off\"\nsizes = \"200KB\"\ngaps = \"100us\"\ngap-from = \"start\"\ntrains = 4\nlast-size = \"1KB\"\nlast-at = \"2ms\"",
        ),
        &[],
    );
    for conn in 0..3 {
        let trains = by_connection(&o, conn);
        let starts: Vec<u64> = trains.iter().map(|t| t.start.0 / US).collect();
        assert_eq!(starts, [100, 200, 300, 400, 2000]);
        assert_eq!(trains.iter().map(|t| t.size_bytes).collect::<Vec<_>>(), [200_000, 200_000, 200_000, 200_000, 1_000]);
        // One after the other on the connection, although written at once.
        assert!(trains.windows(2).all(|w| w[0].end.ps() < w[1].end.ps()));
    }
}

#[test]
fn client_repeats_after_think_time() {
    let o = one(
        &text("kind = \"requests\"\nrequest = \"100B\"\nresponse = \"5KB\"\nthink = \"250us\"\ncount = 6\nstart = \"50us\""),
        &[],
    );
    assert_eq!((o.report.queries.len(), o.report.flows.len()), (18, 36));
    for query in &o.report.queries {
        let parts: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == Some(query.query_id)).collect();
        let [request, response] = parts[..] else { panic!("{parts:?}") };
        assert_eq!((request.size_bytes, response.size_bytes), (100, 5_000));
        assert_eq!((request.src, request.dst), (response.dst, response.src));
        // The server answers when it has the request.
        assert_eq!(Some(response.start.0), request.end.ps());
        assert_eq!((query.start.0, query.end.ps()), (request.start.0, response.end.ps()));
        let after = query.end.ps().unwrap() + 250 * US;
        let next = o.report.queries.iter().filter(|q| q.start.0 == after).count();
        let last = o.report.queries.iter().all(|q| q.start.0 <= after);
        assert!(next >= 1 || last, "{query:?}");
    }
}

#[test]
fn rounds_wait_for_all_blocks() {
    let o = one(
        &text(
            "kind = \"incast\"\nrequest = \"0B\"\nsenders = \"left\"\nreceiver = \"r0\"\nblock = \"64KB\"\nrounds = 4\ngap = \"1ms\"\nrequest-latency = \"40us\"",
        ),
        &[],
    );
    assert_eq!(o.report.queries.len(), 4);
    for (i, q) in o.report.queries.iter().enumerate() {
        let blocks: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == Some(QueryId::new(i as u64))).collect();
        assert_eq!((blocks.len(), q.fan_in, q.bytes), (3, 3, 192_000));
        assert!(blocks.iter().all(|b| b.start.0 == q.start.0 + 40 * US));
        assert_eq!(q.end.ps(), blocks.iter().map(|b| b.end.ps()).max().unwrap());
        if let Some(next) = o.report.queries.get(i + 1) {
            assert_eq!(next.start.0, q.end.ps().unwrap() + 1000 * US);
        }
    }
}

/// A total is divided, rounded up to whole bytes each.
#[test]
fn total_is_divided_among_senders() {
    let o = one(
        &text("kind = \"incast\"\nrequest = \"0B\"\nsenders = \"left\"\nreceiver = \"r0\"\ntotal = \"1MB\"\nrounds = 1"),
        &[],
    );
    assert!(o.report.flows.iter().all(|f| f.size_bytes == 333_334));
}

/// Errors of an illegal scenario.
fn refused(text: &str) -> String {
    let folder = std::path::Path::new("scenarios");
    let checked = Scenario::from_text(forebay_backends::all(), text, "check.toml", folder, &[], None).and_then(|s| s.resolve());
    checked.err().map(|e| e.render()).unwrap_or_default()
}

/// `from` and `to` are the ends of every workload.
#[test]
fn from_and_to_name_all_ends() {
    for (kind, from, to, rest) in [
        ("incast", "senders", "receiver", "total = \"1MB\"\nrounds = 2"),
        ("queries", "workers", "aggregators", "total = \"100KB\"\ncount = 5\ngap = \"1ms\""),
        ("requests", "clients", "servers", "response = \"5KB\"\ncount = 3"),
    ] {
        let run = |from: &str, to: &str| {
            one(&text(&format!("kind = \"{kind}\"\n{from} = \"l1..l2\"\n{to} = \"r0\"\n{rest}")), &[]).report.fingerprint
        };
        assert_eq!(run("from", "to"), run(from, to), "{kind}");
        let both = format!("kind = \"{kind}\"\nfrom = \"l1\"\n{from} = \"l2\"\n{to} = \"r0\"\n{rest}");
        let error = refused(&text(&both));
        assert!(error.contains(&format!("`from` and `{from}` name the same hosts")), "{error}");
    }
}

/// A policer of a tenth of the link: its rate passes, whatever the sender does.
#[test]
fn policer_limits_the_class() {
    let policed = text("kind = \"udp\"\nfrom = \"l0\"\nto = \"r0\"\nrate = \"500Mbps\"").replace(
        "bottleneck = { rate = \"1Gbps\",",
        "bottleneck = { queue = { kind = \"policer\", rate = \"100Mbps\", burst = \"30KB\" }, rate = \"1Gbps\",",
    );
    let o = one(&format!("duration = \"100ms\"\n{policed}"), &[]);
    let port = o.port("bottleneck");
    let passed = 8.0 * port.sent_bytes as f64;
    // 100 Mbps for 100 ms, and the full bucket at the start.
    assert!((passed - 10_240_000.0).abs() < 30_000.0, "{passed}");
    assert!(port.dropped_early > 0 && port.dropped_overflow == 0);
}

/// Ranges of nodes at the ends of links.
#[test]
fn ranges_at_ends_of_links() {
    let network = |links: &str| {
        format!(
            "[topology]\nkind = \"custom\"\nhosts = [\"h0..h7\"]\nswitches = [\"leaf0..leaf1\", \"spine\"]\nlinks = [{links}]\n\
             [transport]\ncc = \"newreno\"\n[[workload]]\nkind = \"long\"\nfrom = \"h0\"\nto = \"h7\"\nsize = \"1MB\"\n"
        )
    };
    let p = "rate = \"1Gbps\", delay = \"1us\"";
    let short = network(&format!(
        "{{ from = \"h0..h3\", to = \"leaf0\", {p} }}, {{ from = \"h4..h7\", to = \"leaf1\", {p} }}, {{ from = \"leaf0..leaf1\", to = \"spine\", {p} }}"
    ));
    let each = |from: &str, to: &str| format!("{{ from = \"{from}\", to = \"{to}\", {p} }}");
    let mut links: Vec<String> = (0..8).map(|h| each(&format!("h{h}"), &format!("leaf{}", h / 4))).collect();
    links.extend([each("leaf0", "spine"), each("leaf1", "spine")]);
    assert_eq!(one(&short, &[]).report.fingerprint, one(&network(&links.join(", ")), &[]).report.fingerprint);
    for (from, to, part) in [("h0..h3", "leaf0..leaf1", "have 4 and 2 names"), ("h3..h0", "leaf0", "is not a range of names")] {
        let error = refused(&network(&each(from, to)));
        assert!(error.contains(part), "{error}");
    }
}

/// An HPCC list of node ids: the switch is node 0.
#[test]
fn hpcc_list_with_node_ids() {
    let path: PathBuf = std::env::temp_dir().join(format!("forebay-checks-{}-topology.txt", std::process::id()));
    std::fs::write(&path, "7 1 6\n0\n0 1 100Gbps 1us 0\n").unwrap();
    let list: PathBuf = std::env::temp_dir().join(format!("forebay-checks-{}-ids.txt", std::process::id()));
    std::fs::write(&list, "2\n1 4 3 100 5000 2.0001\n6 1 3 100 777 2\n").unwrap();
    let o = one(&text(&format!("kind = \"replay\"\nfile = \"{}\"\nnodes = \"{}\"", list.display(), path.display())), &[]);
    for file in [path, list] {
        std::fs::remove_file(file).unwrap();
    }
    let facts: Vec<_> = o.report.flows.iter().map(|f| (f.start.0, f.src.get(), f.dst.get(), f.size_bytes)).collect();
    assert_eq!(facts, [(0, 5, 0, 777), (100 * US, 0, 3, 5_000)]);
}

fn replayed(name: &str, content: &str) -> Outcome {
    let path: PathBuf = std::env::temp_dir().join(format!("forebay-checks-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    let o = one(&text(&format!("kind = \"replay\"\norigin = \"listed\"\nfile = \"{}\"", path.display())), &[]);
    std::fs::remove_file(&path).unwrap();
    o
}

#[test]
fn replay_follows_flow_list() {
    // Hosts l0, l1, l2, r0, r1, r2 are 0 to 5.
    let hpcc = replayed(
        "flow.txt",
        "4\n0 3 3 100 5000 0.000100\n1 4 3 100 1 0.0001000005\n2 5 3 100 1460000 0.000050\n3 0 3 100 777 0.002\n",
    );
    let csv = replayed(
        "flows.csv",
        "start_us,dst,src,bytes,note\n50,r2,l2,1460000,a\n100,r0,l0,5000,b\n100.0005,4,1,1,c\n2000,l0,r0,777,d\n",
    );
    let facts =
        |o: &Outcome| o.report.flows.iter().map(|f| (f.start.0, f.src.get(), f.dst.get(), f.size_bytes)).collect::<Vec<_>>();
    let expected = [(50 * US, 2, 5, 1_460_000), (100 * US, 0, 3, 5_000), (100 * US + 500, 1, 4, 1), (2_000 * US, 3, 0, 777)];
    assert_eq!(facts(&hpcc), expected);
    assert_eq!(facts(&csv), expected);
    assert_eq!(hpcc.report.fingerprint, csv.report.fingerprint);
    assert!(hpcc.report.flows.iter().all(|f| f.bytes_acked == f.size_bytes));
}

/// TRIM 5.10: 512 KB as 64 responses of the trace, each on a new connection or all on one.
#[test]
fn responses_add_up_to_total() {
    let http = "kind = \"on-off\"\nsizes = { mixture = \"trim-http\" }\ngaps = { mixture = \"trim-http\" }\ntrains = 64\ntotal = \"512KiB\"\njitter = \"5ms\"";
    let text = text(http);
    let normal = one(&text, &["transport.fin=true"]);
    let base = one(&text, &["transport.fin=true", "workload.0.connections=per-train"]);
    let sizes = |o: &Outcome, src: u32| -> Vec<u64> {
        o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).map(|f| f.size_bytes).collect()
    };
    for src in 0..3 {
        let drawn = sizes(&normal, src);
        assert_eq!((drawn.len(), drawn.iter().sum::<u64>()), (64, 524_288));
        assert!(drawn.iter().all(|s| *s >= 512));
        // The same responses on any connections.
        assert_eq!(drawn, sizes(&base, src));
    }
    assert_ne!(sizes(&normal, 0), sizes(&normal, 1));
    let connections = |o: &Outcome| o.report.flows.iter().map(|f| f.conn_id).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((connections(&normal), connections(&base)), (3, 192));
    // At most the three of them, and the next ones, are open at a time.
    assert!(base.report.peak_connections <= 6, "{}", base.report.peak_connections);
    for o in [&normal, &base] {
        for src in 0..3 {
            let trains: Vec<_> = o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).collect();
            assert!(trains[0].start.0 >= 200 * US && trains[0].start.0 <= 10_000 * US);
            let gaps = trains.windows(2).map(|w| w[1].start.0 - w[0].acked.ps().unwrap());
            assert!(gaps.clone().all(|g| (200 * US..=5_000 * US).contains(&g)), "{:?}", gaps.collect::<Vec<_>>());
        }
    }
}

/// TRIM 5.11: small objects from 0.1 s, the remainder of 1 MB as one object at 0.5 s, and nothing after it.
#[test]
fn last_train_completes_total() {
    let fat_tree = "kind = \"on-off\"\nsizes = { uniform = [\"2KiB\", \"6KiB\"] }\ngaps = { exponential = \"1ms\" }\ngap-from = \"start\"\n\
                    trains = 50\nstart = \"100ms\"\nlast-total = \"1MiB\"\nlast-at = \"500ms\"";
    for trains in [50, 250] {
        let o = one(&text(fat_tree), &[&format!("workload.0.trains={trains}"), "workload.0.last-total=2MiB"]);
        for conn in 0..3 {
            let objects = by_connection(&o, conn);
            let last = objects[objects.len() - 1];
            assert_eq!(objects.iter().map(|f| f.size_bytes).sum::<u64>(), 2 << 20);
            assert_eq!(last.start.0, 500_000 * US);
            assert!(objects[0].start.0 > 100_000 * US && objects.len() == trains + 1);
            assert!(objects[..objects.len() - 1].iter().all(|f| (2_048..=6_144).contains(&f.size_bytes)));
        }
    }
    // With 100 ms between objects only a few come before the last one; the others are given up.
    let o = one(&text(fat_tree), &["workload.0.gaps=100ms"]);
    for conn in 0..3 {
        let starts: Vec<u64> = by_connection(&o, conn).iter().map(|f| f.start.0 / US / 1000).collect();
        assert_eq!(starts, [200, 300, 400, 500]);
        assert_eq!(by_connection(&o, conn).iter().map(|f| f.size_bytes).sum::<u64>(), 1 << 20);
    }
}

/// A new connection cannot open inside the window of its request: without a pause it opens one link delay later at most.
#[test]
fn per_train_connections_without_pause() {
    let o = one(
        &text(
            "kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"0s\"\ntrains = 5\nconnections = \"per-train\"\nlast-size = \"1KB\"\nlast-at = \"50ms\"",
        ),
        &["transport.fin=true"],
    );
    assert_eq!(o.report.flows.len(), 18);
    for src in 0..3 {
        let trains: Vec<_> = o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).collect();
        assert!(
            trains[..5]
                .windows(2)
                .all(|w| w[0].acked.ps().is_some_and(|acked| w[1].start.0 > acked && w[1].start.0 <= acked + 10 * US))
        );
        assert_eq!((trains[5].start.0, trains[5].size_bytes), (50_000 * US, 1_000));
    }
}

pub(crate) const RACKS: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\n\
                     host = { rate = \"1Gbps\", delay = \"5us\" }\noversubscription = 2\n[transport]\nstack = \"ns2\"\n[[workload]]\n";

/// ProBoSCIS specification 8.8: every host of a rack starts its number of flows, to random hosts of the other racks.
#[test]
fn one_rack_to_all_others() {
    let o = one(
        &format!(
            "{RACKS}kind = \"poisson\"\nfrom = \"rack1\"\nto = \"all\"\nracks = \"other\"\nsizes = {{ uniform = [\"1KB\", \"200KB\"] }}\n\
             load = 0.7\nload-at = \"uplinks\"\nflows-per-source = 500\ndeadline = \"200ms\"\ndeadline-max-size = \"100KB\"\n"
        ),
        &[],
    );
    assert_eq!(o.report.flows.len(), 2_000);
    for src in 4..8 {
        assert_eq!(o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).count(), 500);
    }
    for dst in (0..4).chain(8..12) {
        let n = o.report.flows.iter().filter(|f| f.dst == NodeId::new(dst)).count();
        // Five standard deviations of a binomial number.
        assert!((n as f64 - 250.0).abs() < 5.0 * (2_000.0 * 0.125 * 0.875_f64).sqrt(), "{n}");
    }
    assert!(o.report.flows.iter().all(|f| f.dst.get() / 4 != 1));
    for f in &o.report.flows {
        let expected = (f.size_bytes <= 100_000).then_some(f.start.0 + 200_000 * US);
        assert_eq!(f.deadline.ps(), expected);
    }
    // 2 Gbps of uplinks at 0.7; all sources are active until the first has started all its flows.
    let of = |src: u32| o.report.flows.iter().filter(move |f| f.src == NodeId::new(src));
    let first_done = (4..8).map(|s| of(s).map(|f| f.start.0).max().unwrap()).min().unwrap();
    let bytes: u64 = o.report.flows.iter().filter(|f| f.start.0 <= first_done).map(|f| f.size_bytes).sum();
    let load = bytes as f64 * 8.0 / (first_done as f64 * 1e-12) / 2e9;
    assert!((load / 0.7 - 1.0).abs() < 0.1, "{load}");
}

/// The same process with and without a limit that is not reached.
#[test]
fn unreached_source_limit_has_no_effect() {
    let poisson = format!("{RACKS}kind = \"poisson\"\nsizes = \"20KB\"\nrate = 5000.0\nstop = \"50ms\"\n");
    let free = one(&poisson, &[]);
    let limited = one(&poisson, &["workload.0.flows-per-source=1000"]);
    assert_eq!(free.report.fingerprint, limited.report.fingerprint);
    let n = free.report.flows.len() as f64;
    assert!((n - 250.0).abs() < 5.0 * 250_f64.sqrt(), "{n}");
}

/// A source without legal destinations (all are in its own rack) has no flows to wait for.
#[test]
fn sources_without_destinations_have_no_quota() {
    let text = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 2
host = { rate = "1Gbps", delay = "5us" }
[[workload]]
kind = "poisson"
from = "all"
to = "rack0"
racks = "other"
sizes = "10KB"
load = 0.1
flows-per-source = 10
"#;
    let o = forebay_tests::one(text, &[]);
    // The two hosts of the other rack.
    assert_eq!(o.report.flows.len(), 20);
}

/// No train follows the last one, even if a new connection for one is prepared shortly before.
#[test]
fn nothing_follows_the_last_train() {
    let text = r#"
[topology]
kind = "many-to-one"
senders = 50
access     = { rate = "10Gbps", delay = "50us" }
bottleneck = { rate = "10Gbps", delay = "50us" }
[[workload]]
kind = "on-off"
sizes = "2KB"
gaps = { exponential = "100us" }
gap-from = "start"
connections = "per-train"
trains = 1000
last-size = "20KB"
"#;
    for last in ["10020us", "10025us"] {
        let o = forebay_tests::one(text, &[&format!("workload.0.last-at={last}")]);
        let start = |bytes: u64| o.report.flows.iter().filter(move |f| f.size_bytes == bytes).map(|f| f.start.0);
        assert_eq!(start(20_000).count(), 50);
        assert!(start(2_000).max().unwrap() <= start(20_000).min().unwrap(), "{last}");
    }
}
