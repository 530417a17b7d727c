//! Random small scenarios: valid ones run without panic, end, and satisfy invariants.

use forebay_experiment::faults::Balance;
use forebay_experiment::rows::EventKind;
use forebay_sim::{cc, tcp::profile};
use forebay_tests::{execute, resolve};
use forebay_types::Time;
use proptest::prelude::*;

fn link(buffered: bool) -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec!["37Mbps", "100Mbps", "1Gbps", "2.5Gbps", "10Gbps", "123456789bps"]);
    let delay = prop_oneof![Just(0u64), 1..2_000u64, 2_000..1_000_000u64];
    let buffer = prop_oneof![(1..60u64).prop_map(|n| format!("{n}pkt")), (1_600..60_000u64).prop_map(|n| format!("{n}B"))];
    (rate, delay, prop::option::of(buffer), 1..40u64).prop_map(move |(rate, delay, buffer, k)| {
        let queue = match &buffer {
            Some(b) if b.ends_with('B') => "{ kind = \"dctcp-step\", k = \"1500B\" }".to_owned(),
            Some(b) => format!("{{ kind = \"dctcp-step\", k = \"{}pkt\" }}", k.min(b[..b.len() - 3].parse().unwrap_or(1))),
            None => format!("{{ kind = \"dctcp-step\", k = \"{k}pkt\" }}"),
        };
        let buffer = buffer.filter(|_| buffered).map_or(String::new(), |b| format!(", buffer = \"{b}\""));
        format!("{{ rate = \"{rate}\", delay = \"{delay}ns\"{buffer}, queue = {queue} }}")
    })
}

fn topology() -> impl Strategy<Value = String> {
    let shared = prop::option::of((40_000..400_000u64, 0.05..8.0f64));
    let shape = prop_oneof![
        (1..9u32, link(true), link(true))
            .prop_map(|(n, a, b)| format!("kind = \"many-to-one\"\nsenders = {n}\naccess = {a}\nbottleneck = {b}\n")),
        (1..5u32, 1..5u32, link(true), link(true))
            .prop_map(|(l, r, a, b)| format!("kind = \"dumbbell\"\nleft = {l}\nright = {r}\naccess = {a}\nbottleneck = {b}\n")),
        (1..3u32, 1..3u32, 1..3u32, link(true), link(true)).prop_map(|(a, b, c, l, m)| format!(
            "kind = \"multi-hop\"\na = {a}\nb = {b}\nc = {c}\naccess = {l}\nlink1 = {m}\nlink2 = {l}\n"
        )),
        (1..4u32, 1..4u32, 2..4u32, link(true), link(true)).prop_map(|(l, s, h, a, f)| format!(
            "kind = \"leaf-spine\"\nleaves = {l}\nspines = {s}\nhosts-per-leaf = {h}\nhost = {a}\nfabric = {f}\n"
        )),
        (link(true), link(true)).prop_map(|(h, f)| format!("kind = \"fat-tree\"\nk = 2\nhost = {h}\nfabric = {f}\n")),
    ];
    (shape, shared, faults()).prop_map(|(shape, shared, faults)| {
        // A link that every network of the kind has.
        let kinds =
            [("many-to-one", "bottleneck"), ("dumbbell", "bottleneck"), ("multi-hop", "link1"), ("leaf-spine", "leaf0->spine0")];
        let link = kinds.iter().find(|(kind, _)| shape.contains(&format!("\"{kind}\""))).map(|(_, link)| *link);
        let faults = link.map_or(String::new(), |link| faults.replace("LINK", link));
        match shared {
            Some((total, alpha)) => format!("[topology]\nshared-buffer = \"{total}B\"\nshared-alpha = {alpha}\n{shape}{faults}"),
            None => format!("[topology]\n{shape}{faults}"),
        }
    })
}

/// Optional faults.
fn faults() -> impl Strategy<Value = String> {
    let failure = (0..30_000u64, 1..20_000u64, 0..4_000u64).prop_map(|(down, more, reroute)| {
        format!("failure = {{ link = \"LINK\", down = \"{down}us\", up = \"{}us\", reroute = \"{reroute}us\" }}\n", down + more)
    });
    let corruption = (1..40u32).prop_map(|n| format!("corruption = {{ port = \"LINK\", bit-errors = {n}e-7 }}\n"));
    let queue = prop::sample::select(vec!["fq-codel", "codel", "dwrr", "pfabric", "drop-tail"]);
    let parts = (
        prop::option::weighted(0.3, failure),
        prop::option::weighted(0.3, corruption),
        prop::option::weighted(0.2, Just("balance = \"packet\"\n".to_owned())),
        prop::option::weighted(0.2, queue.prop_map(|q| format!("host-queue = \"{q}\"\n"))),
    );
    parts.prop_map(|(a, b, c, d)| [a, b, c, d].into_iter().flatten().collect())
}

fn transport() -> impl Strategy<Value = String> {
    let congestion_controls: Vec<&str> = cc::REGISTRY.iter().map(|l| l.entry.name).collect();
    let basics = (
        prop::sample::select(profile::PROFILES.to_vec()),
        prop::sample::select(congestion_controls),
        1..12u32,
        1..6u32,
        any::<u32>(),
    );
    let times = (100..20_000u64, 100..20_000u64, 10..5_000u64, 3_000..300_000u64);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let modes = (
        prop::sample::select(vec!["reno", "newreno", "sack", "rack"]),
        prop::sample::select(vec!["off", "rfc5681", "linux"]),
        prop::sample::select(vec!["per-ack", "rfc5681", "abc", "unlimited"]),
        64..1_461u32,
    );
    (basics, times, flags, modes).prop_map(|((stack, cc, window, acks, isn), (min, initial, delay, rcv), f, (recovery, idle, growth, mss))| {
        // pFabric's fixed timeout has no back-off: if it is shorter than the path, retransmissions can fill a link without end.
        let rule = if cc == "pfabric" { "rto-rule = \"rfc6298\"\n" } else { "" };
        // A congestion control that records segments needs SACK, and is refused without it.
        let follows = cc::find(cc).is_some_and(|l| l.needs_sack);
        let recovery = if follows && matches!(recovery, "reno" | "newreno") { "sack" } else { recovery };
        format!(
            "[transport]\n{rule}stack = \"{stack}\"\ncc = \"{cc}\"\ninit-cwnd = {window}\nack-every = {acks}\nisn = {isn}\nrto-min = \"{min}us\"\n\
             rto-initial = \"{initial}us\"\nack-delay = \"{delay}us\"\nrcv-wnd = \"{rcv}B\"\nhandshake = {}\nfin = {}\n\
             timestamps = {}\nlimited-transmit = {}\nprr = {}\ncwnd-validation = {}\nrecovery = \"{recovery}\"\n\
             slow-start-after-idle = \"{idle}\"\ngrowth = \"{growth}\"\nmss = {mss}\n",
            f.0, f.1, f.2, f.3, f.4, f.5
        )
    })
}

fn workload() -> impl Strategy<Value = String> {
    let all = "from = \"all\"\nto = \"all\"\n";
    prop_oneof![
        (1..120_000u64, 0..200u64).prop_map(move |(size, gap)| format!(
            "kind = \"long\"\n{all}pattern = \"all-pairs\"\nsize = \"{size}B\"\nstagger = \"{gap}us\"\n"
        )),
        (1..60_000u64, 0.05..1.5f64, 1..40u32)
            .prop_map(move |(s, l, n)| format!("kind = \"poisson\"\n{all}sizes = {{ exponential = \"{s}B\" }}\nload = {l}\nflows = {n}\n")),
        (1..30_000u64, 1..500u64, 1..6u32, any::<bool>()).prop_map(move |(s, g, n, open)| format!(
            "kind = \"on-off\"\n{all}pattern = \"permutation\"\nsizes = {{ exponential = \"{s}B\" }}\ngaps = {{ exponential = \"{g}us\" }}\ntrains = {n}\ngap-from = \"{}\"\n",
            if open { "start" } else { "completion" }
        )),
        (1..3_000u64, 1..60_000u64, 0..300u64, 1..5u32).prop_map(|(q, a, t, n)| format!(
            "kind = \"requests\"\nclients = \"all\"\nservers = \"all\"\npattern = \"permutation\"\nrequest = \"{q}B\"\nresponse = \"{a}B\"\nthink = \"{t}us\"\ncount = {n}\n"
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_scenarios_run_and_end(
        topology in topology(), transport in transport(), work in prop::collection::vec(workload(), 1..3), seed in 0..1_000_000u64
    ) {
        let work: String = work.iter().map(|w| format!("[[workload]]\n{w}")).collect();
        // Timeouts back off to a minute, so repair can take long; a stall does not end.
        let text = format!("duration = \"1000s\"\n{topology}{transport}{work}");
        for v in resolve(&text, &[], Some(seed)) {
            let r = execute(&v.config);
            for f in &r.flows {
                prop_assert!(!f.end.is_never() && f.bytes_acked == f.size_bytes, "not done: {f:?}\n{text}");
                // Sprayed packets overtake each other on slow links: several carry a message at a time, and the ideal time assumes one path. So they
                // do after a failure, which moves the rest of a window to another path.
                let faults = &v.config.network.faults;
                let one_path = faults.balance != Balance::Packet && faults.failures.is_empty();
                let bound = if one_path { f.ideal } else { Time::ZERO };
                prop_assert!(f.end.ps() >= Some(f.start.0 + bound.0), "faster than light: {f:?}\n{text}");
            }
            let counted: u32 = r.flows.iter().map(|f| f.rtos + f.syn_rtos + f.tlps).sum();
            // A FIN in its own packet, as in Linux, belongs to no message: all of it has been acknowledged.
            let alone = v.config.groups.iter().any(|g| g.tcp.fin && g.tcp.quickack);
            let (all, counted) = (r.timeouts.len(), counted as usize);
            prop_assert!(all == counted || (alone && all > counted), "{all} timeouts and probes, {counted} counted\n{text}");
            let lost: u64 = r.ports.iter().map(|p| p.cut_waiting + p.cut_flying).sum();
            let reported = r.events.iter().filter(|e| e.kind == EventKind::LinkDown).filter_map(|e| e.packets).sum::<u64>();
            prop_assert!(lost == reported, "{lost} packets lost by failures, {reported} in the timeline\n{text}");
            for p in &r.ports {
                let asked = p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early + p.cut_waiting;
                prop_assert!(p.arrived_pkts == asked && p.cut_flying + p.corrupted <= p.sent_pkts, "{p:?}\n{text}");
                prop_assert!((0.0..=1.0).contains(&p.busy) && p.queue_mean_pkts <= f64::from(p.queue_max_pkts) + 1e-9, "{p:?}\n{text}");
            }
        }
    }
}
