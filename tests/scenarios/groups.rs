//! Several transports in one run: assignment of connections, and measurements of each.

use forebay_tests::{Outcome, one, repository};
use forebay_types::{GroupId, NodeId};

const MS: u64 = 1_000_000_000;

fn text(groups: &str, workload: &str) -> String {
    format!(
        "duration = \"500ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 10\naccess = {{ rate = \"10Gbps\", delay = \"10us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"10us\", buffer = \"100pkt\", queue = {{ kind = \"dctcp-step\", k = \"20pkt\" }} }}\n\
         [transport]\nstack = \"ns2\"\n{groups}\n[[workload]]\n{workload}\n"
    )
}

fn groups(a: &str, b: &str) -> String {
    format!("[[transport.group]]\nname = \"a\"\ncc = \"newreno\"\n{a}\n[[transport.group]]\nname = \"b\"\ncc = \"dctcp\"\n{b}\n")
}

/// Group of the messages of each of the ten senders.
fn by_sender(o: &Outcome) -> Vec<Vec<u32>> {
    let of = |src: u32| {
        let mut list: Vec<u32> = o.report.flows.iter().filter(|f| f.src == NodeId::new(src)).map(|f| f.group.get()).collect();
        list.dedup();
        list
    };
    let sender = |n: usize| o.variant.node_names.iter().position(|name| *name == format!("s{n}")).unwrap() as u32;
    (0..10).map(|n| of(sender(n))).collect()
}

#[test]
fn equal_shares_split_ten_senders() {
    let share = groups("share = 0.5", "share = 0.5");
    let alternating: Vec<Vec<u32>> = (0..10).map(|n| vec![n % 2]).collect();
    for seed in ["seed=1", "seed=2"] {
        let o = one(&text(&share, "kind = \"incast\"\nblock = \"20KB\"\nrounds = 3\njitter = \"50us\""), &[seed]);
        // Every message of a block, and its request, is listed under its own transport.
        assert_eq!((by_sender(&o), o.report.flows.len()), (alternating.clone(), 60));
        assert_eq!(by_sender(&one(&text(&share, "kind = \"long\"\njitter = \"1ms\""), &[seed, "duration=5ms"])), alternating);
    }
    let o = one(&text(&groups("share = 0.1", "share = 0.9"), "kind = \"poisson\"\nsizes = \"1KB\"\nload = 0.02"), &[]);
    let of = |group: u32| o.report.flows.iter().filter(|f| f.group == GroupId::new(group)).count();
    assert!(o.report.flows.len() > 500 && of(1).abs_diff(9 * of(0)) <= 10, "{} and {}", of(0), of(1));
}

#[test]
fn host_groups_assign_by_sender() {
    let hosts = groups("hosts = [\"s0..s6\"]", "hosts = [\"s7..s9\", \"recv\"]");
    let expected: Vec<Vec<u32>> = (0..10).map(|n| vec![u32::from(n > 6)]).collect();
    assert_eq!(by_sender(&one(&text(&hosts, "kind = \"on-off\"\nsizes = \"3KB\"\ngaps = \"1ms\"\ntrains = 4"), &[])), expected);
    // The request has the transport of the client, the response that of the server.
    let requests =
        "kind = \"requests\"\nclients = \"s0..s9\"\nservers = \"recv\"\nresponse = \"2KB\"\nthink = \"1ms\"\ncount = 2";
    let o = one(&text(&hosts, requests), &[]);
    assert_eq!(by_sender(&o), expected);
    assert!(o.report.flows.iter().filter(|f| f.size_bytes == 2_000).all(|f| f.group == GroupId::new(1)));
}

/// A percentage of hosts, and the rest. The choice does not depend on the seed, and a larger part contains the smaller one.
#[test]
fn percentage_of_hosts_assigns_by_sender() {
    let new = |part: &str, seed: &str| {
        let groups = groups(&format!("hosts = \"{part} of senders\""), "hosts = \"rest\"");
        let of = by_sender(&one(&text(&groups, "kind = \"long\"\njitter = \"1ms\""), &["duration=5ms", seed]));
        assert!(of.iter().all(|groups| groups.len() == 1), "{of:?}");
        (0..10).filter(|n| of[*n] == [0]).collect::<Vec<usize>>()
    };
    let mut before = Vec::new();
    for (part, count) in [("0%", 0), ("20%", 2), ("25%", 3), ("50%", 5), ("100%", 10)] {
        let hosts = new(part, "seed=1");
        assert_eq!((hosts.len(), &hosts), (count, &new(part, "seed=2")), "{part}");
        assert!(before.iter().all(|h| hosts.contains(h)), "{before:?} {hosts:?}");
        before = hosts;
    }
}

#[test]
fn share_assigns_client_both_directions() {
    let requests =
        "kind = \"requests\"\nclients = \"s0..s9\"\nservers = \"recv\"\nresponse = \"2KB\"\nthink = \"1ms\"\ncount = 2";
    let o = one(&text(&groups("share = 0.5", "share = 0.5"), requests), &[]);
    for q in &o.report.queries {
        let of: Vec<u32> = o.report.flows.iter().filter(|f| f.query_id == Some(q.query_id)).map(|f| f.group.get()).collect();
        assert!(of.len() == 2 && of[0] == of[1], "{of:?}");
    }
    assert_eq!(by_sender(&o), (0..10).map(|n| vec![n % 2]).collect::<Vec<_>>());
}

/// Payload acknowledged in the warm-up does not count, for messages and for totals of a transport.
#[test]
fn goodput_is_measured_after_the_warmup() {
    let both = groups("share = 0.5\necn = \"classic\"", "share = 0.5");
    let o = one(&text(&both, "kind = \"long\"\nstagger = \"20ms\"\n[observe]\nwarmup = \"100ms\""), &[]);
    for group in 0..2 {
        let rows = || o.report.flows.iter().filter(move |f| f.group == GroupId::new(group));
        let (measured, all): (u64, u64) = (rows().map(|f| f.bytes_measured).sum(), rows().map(|f| f.bytes_acked).sum());
        assert_eq!(measured, o.report.acked[GroupId::new(group)]);
        assert!(measured < all, "{measured} of {all}");
    }
    let total: u64 = o.report.flows.iter().map(|f| f.bytes_measured).sum();
    // 400 ms of a full link, which carries 1460 of 1500 bytes.
    assert!((total as f64 / (50e6 * 1460.0 / 1500.0) - 1.0).abs() < 0.01, "{total}");
    // A flow that began after the warm-up is measured from its first byte.
    assert!(o.report.flows.iter().filter(|f| f.start.0 > 100 * MS).all(|f| f.bytes_measured == f.bytes_acked));
    let o = one(&text(&both, "kind = \"long\"\nsize = \"10KB\"\n[observe]\nwarmup = \"100ms\""), &[]);
    assert!(o.report.flows.iter().all(|f| (f.bytes_acked, f.bytes_measured) == (10_000, 0)));
}

/// A stopped flow has a row, which ends when its last byte is acknowledged; without a duration the run lasts until then.
#[test]
fn stopped_flows_end() {
    for fin in [true, false] {
        let flows = "kind = \"long\"\nfrom = \"s0..s2\"\nstop-after = \"50ms\"\nstagger = \"20ms\"";
        let o = one(&text(&format!("cc = \"dctcp\"\nfin = {fin}"), flows).replacen("duration = \"500ms\"\n", "", 1), &[]);
        assert_eq!(o.report.flows.len(), 3);
        for (i, f) in o.report.flows.iter().enumerate() {
            let stop = (20 * i as u64 + 50) * MS;
            assert_eq!((f.start.0, f.size_bytes, f.end.ps()), (stop - 50 * MS, 0, None));
            assert!(f.acked.ps().is_some_and(|acked| acked >= stop && acked < stop + 50 * MS), "{f:?}");
            assert!(f.bytes_acked > 100_000, "{f:?}");
        }
        let total: u64 = o.report.flows.iter().map(|f| f.bytes_acked).sum();
        assert_eq!(total, o.report.acked[GroupId::new(0)]);
    }
}

/// Lost SYNs are not among the timeouts of data.
#[test]
fn syn_timeouts_count_separately() {
    // A port of two packets: of ten SYNs at the same moment most are lost.
    let o = one(
        &text("cc = \"newreno\"", "kind = \"long\"\nsize = \"1KB\""),
        &[
            "topology.bottleneck.buffer=2pkt",
            "duration=20s",
            "topology.bottleneck.queue=drop-tail",
            "topology.bottleneck.rate=1Mbps",
        ],
    );
    let sum = |get: fn(&forebay_experiment::rows::FlowRow) -> u32| o.report.flows.iter().map(get).sum::<u32>();
    let (data, syn) = (sum(|f| f.rtos), sum(|f| f.syn_rtos));
    println!("{data} data, {syn} SYN");
    assert!(syn >= 8 && u64::from(data + syn) == o.rtos(), "{data} {syn}");
    // A SYN that was lost waited for its timer.
    let initial = o.variant.config.groups[GroupId::new(0)].tcp.rto_initial.0;
    assert!(o.report.flows.iter().filter(|f| f.syn_rtos > 0).all(|f| f.end.ps().is_none_or(|end| end > initial)));
}

/// DCTCP beside NewReno with classic ECN (`scenarios/coexistence.toml`): equal if both react to losses, different under step marking, and more so
/// with higher thresholds. The ratio is about 6 at K = 20 and 12 at K = 150 in the publication, 8 to 16 in the model of the specification.
#[test]
fn dctcp_and_newreno_share_a_port() {
    let file = std::fs::read_to_string(repository().join("scenarios/coexistence.toml")).unwrap();
    let ratio = |queue: &str, sets: &[&str]| {
        let o = one(&file, &[&[queue, "duration=3s"], sets].concat());
        let per_flow = |group: u32| {
            let rows: Vec<f64> =
                o.report.flows.iter().filter(|f| f.group == GroupId::new(group)).map(|f| f.bytes_measured as f64).collect();
            rows.iter().sum::<f64>() / rows.len() as f64
        };
        let p = o.port("bottleneck");
        let cuts = |group: u32| {
            o.report
                .flows
                .iter()
                .filter(|f| f.group == GroupId::new(group))
                .map(|f| (f.ecn_reductions, f.loss_reductions, f.reduction_alpha))
                .next()
        };
        println!(
            "{queue} {sets:?}: {:.2}, queue {:.1}, {:?} {:?}",
            per_flow(1) / per_flow(0),
            p.queue_mean_pkts,
            cuts(0),
            cuts(1)
        );
        assert!(p.busy > 0.999);
        (per_flow(1) / per_flow(0), p.queue_mean_pkts)
    };
    let (equal, queue) = ratio("topology.bottleneck.queue=drop-tail", &[]);
    assert!((0.8..1.25).contains(&equal) && (170.0..205.0).contains(&queue), "{equal} {queue}");
    let k = ["20", "65", "150"].map(|k| ratio(&format!("topology.bottleneck.queue.k={k}pkt"), &[]).0);
    assert!(k.windows(2).all(|w| w[0] < w[1]) && k[0] > 6.0 && k[2] < 20.0, "{k:?}");
    // Five of each, and one old flow among nine new ones.
    let many = |share: [&str; 2]| {
        ratio(
            "topology.left=10",
            &[&format!("transport.group.0.share={}", share[0]), &format!("transport.group.1.share={}", share[1])],
        )
        .0
    };
    assert!(many(["0.5", "0.5"]) > 2.0 && many(["0.1", "0.9"]) > 2.0);
}
