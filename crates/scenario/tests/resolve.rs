//! Results of resolving valid files.

use crate::common::{VALID, marking_cc, resolve, resolve_with};
use forebay_experiment::assign::Assign;
use forebay_experiment::profile::PARAMS;
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::{Profile, Recovery};
use forebay_scenario::{Scenario, load};
use forebay_types::{GroupId, NodeId, PortId, Time, WorkloadId};
use std::path::Path;

#[test]
fn the_base_scenario() {
    let r = resolve(VALID).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!((r.name.as_str(), r.seed, r.runs, r.variants.len()), ("base", 7, 2, 1));
    assert_eq!((r.run_seed(0), r.run_seed(1)), (7, 8));
    assert_eq!(r.notes, [""; 0], "a built-in table needs no note");
    let v = &r.variants[0];
    assert_eq!(v.label, "newreno");
    assert_eq!(v.class_names, ["incast", "web"]);
    assert_eq!((v.node_names.len(), v.port_names.len()), (v.config.network.nodes.len(), v.config.network.ports.len()));
    let port = |name: &str| v.port_names.iter().position(|n| n == name).map(PortId::from_index).unwrap();
    let bottleneck = port("bottleneck");
    assert!(v.port_names.contains(&"s0->sw".to_owned()));
    let observe = &v.config.observe;
    assert_eq!(observe.queue_series, [(bottleneck, Time::from_ms(1))]);
    assert_eq!(observe.tcp_series, [(0, Time::ZERO), (4, Time::ZERO)]);
    // Eight ports towards the senders and one to the receiver.
    assert_eq!(observe.occupancy.len(), 9);
    assert_eq!(observe.warmup, Time::from_ms(100));
    let WorkloadKind::Poisson { from, to, .. } = &v.config.workloads[WorkloadId::new(1)].kind else { panic!() };
    assert_eq!((from.len(), to.len()), (4, 1));
}

#[test]
fn the_echo_is_the_same_scenario() {
    let groups =
        "[[transport.group]]\nname = \"a\"\ninit-cwnd = 5\n[[transport.group]]\nname = \"b\"\nstack = \"linux\"\nisn = 9\n";
    let with_groups = VALID
        .replace("[[workload]]\nkind = \"incast\"", &format!("{groups}[[workload]]\nkind = \"incast\"\ntransport = \"a\""))
        .replace("class = \"web\"", "class = \"we\\\"b\\\\\"\ntransport = \"b\"");
    let shared = VALID.replace("[transport]", "[topology.shared-buffer]\ntotal = \"4MB\"\nalpha = 2\n[transport]");
    let by_host = two_groups("hosts = [\"s0..s2\"]", "hosts = \"s3..s7\"");
    let by_share = two_groups("share = 0.25", "share = 0.75");
    for text in [VALID, &with_groups, &shared, &by_host, &by_share] {
        let first = resolve(text).unwrap_or_else(|e| panic!("{}", e.render()));
        let toml = first.variants[0].toml();
        let second = resolve(&toml).unwrap_or_else(|e| panic!("{}\n{toml}", e.render()));
        let (a, b) = (&first.variants[0], &second.variants[0]);
        assert_eq!(a.echo, b.echo);
        assert_eq!(format!("{:?}", a.config), format!("{:?}", b.config));
    }
}

#[test]
fn groups_inherit_and_override() {
    let text = VALID.replace(
        "[[workload]]\nkind = \"incast\"",
        "[[transport.group]]\nname = \"a\"\nrto-min = \"10ms\"\n[[transport.group]]\nname = \"b\"\nstack = \"linux\"\n\
         [[workload]]\nkind = \"incast\"\ntransport = \"b\"",
    );
    let r = resolve_with(&text, &["workload.1.transport=b"]).unwrap_or_else(|e| panic!("{}", e.render()));
    let groups = &r.variants[0].config.groups;
    assert_eq!(
        (groups[GroupId::new(0)].tcp.rto_min, groups[GroupId::new(0)].tcp.recovery),
        (Time::from_ms(10), Recovery::NewReno)
    );
    // `[transport]` sets rto-min and mss for all groups, the profile of the group everything else.
    assert_eq!(
        (groups[GroupId::new(1)].tcp.rto_min, groups[GroupId::new(1)].tcp.mss, groups[GroupId::new(1)].tcp.recovery),
        (Time::from_ms(200), 1460, Recovery::Rack)
    );
    assert_eq!(r.variants[0].config.workloads[WorkloadId::new(0)].transport, Assign::One(GroupId::new(1)));
    assert!(r.notes.iter().any(|n| n.contains("`a` is not used")), "{:?}", r.notes);
}

/// `VALID` with two groups, each with its own keys.
fn two_groups(a: &str, b: &str) -> String {
    let group = |name: &str, cc: &str, keys: &str| format!("[[transport.group]]\nname = \"{name}\"\ncc = \"{cc}\"\n{keys}\n");
    let groups = group("a", "newreno", a) + &group("b", "cubic", b);
    VALID.replace("cc = \"newreno\"\n", "").replacen("[[workload]]", &(groups + "[[workload]]"), 1)
}

#[test]
fn groups_divide_the_traffic() {
    let r = |text: &str| resolve(text).unwrap_or_else(|e| panic!("{}", e.render()));
    // By host, one of them named twice in its group.
    let hosts = r(&two_groups("hosts = [\"s0..s2\", \"s1\"]", "hosts = \"s3..s7\""));
    let v = &hosts.variants[0];
    assert_eq!((v.label.as_str(), hosts.notes.len()), ("a + b", 0));
    let pick = |host: &str| {
        let id = v.node_names.iter().position(|n| n == host).unwrap() as u32;
        v.config.workloads[WorkloadId::new(0)].transport.clone().pick(NodeId::new(id)).get()
    };
    assert_eq!(["s0", "s2", "s3", "s7"].map(pick), [0, 0, 1, 1]);
    assert!(hosts.explain().contains("traffic `incast` over `a` and `b` by host"), "{}", hosts.explain());
    // By share: 8 senders at 1 : 3.
    let shares = r(&two_groups("share = 0.25", "share = 0.75"));
    let mut rule = shares.variants[0].config.workloads[WorkloadId::new(0)].transport.clone();
    let picks: Vec<usize> = (0..8).map(|_| rule.pick(NodeId::new(0)).index()).collect();
    assert_eq!(picks.iter().sum::<usize>(), 6, "{picks:?}");
    assert!(shares.explain().contains("over `a` (0.25) and `b` (0.75)"), "{}", shares.explain());
    // The rule is for workloads that name no group; a group without a share is for those that do.
    let named = r(&two_groups("share = 1", "").replace("class = \"web\"", "class = \"web\"\ntransport = \"b\""));
    let w = &named.variants[0].config.workloads;
    assert_eq!(
        (w[WorkloadId::new(0)].transport.clone().pick(NodeId::new(0)).get(), &w[WorkloadId::new(1)].transport),
        (0, &Assign::One(GroupId::new(1)))
    );
    // Thirds are written with three decimals.
    let third = "share = 0.333\n[[transport.group]]\nname = \"c\"\ncc = \"reno\"\nshare = 0.333";
    assert_eq!(r(&two_groups("share = 0.333", third)).variants[0].config.groups.len(), 3);
}

/// Traffic without transport is reported under its own name, after the transports.
#[test]
fn datagrams_have_their_own_group() {
    let udp = format!("{}\n[[workload]]\nkind = \"udp\"\nrate = \"10Mbps\"\n", VALID.replace("duration = \"2s\"\n", ""));
    // It ends with the other work.
    let text = udp.replace("load = 0.25", "load = 0.25\nflows = 10").replace("every = \"1ms\"", "every = \"100ms\"");
    let r = resolve(&text).unwrap_or_else(|e| panic!("{}", e.render()));
    let v = &r.variants[0];
    assert_eq!(v.transports, ["newreno", "udp"]);
    assert_eq!(v.config.groups[GroupId::new(1)].name, "udp");
    assert_eq!((v.class_names.as_slice(), r.notes.len()), (["incast", "web", "udp"].map(str::to_owned).as_slice(), 0));
    assert!(r.explain().contains("traffic `udp` over `udp`: 8 sources of 10Mbps each"), "{}", r.explain());
}

#[test]
fn cc_list_makes_variants() {
    let congestion_controls: Vec<String> = forebay_backends::all()
        .congestion_controls()
        .iter()
        .filter(|l| l.entry.params.iter().all(|p| p.default.is_some()))
        .map(|l| format!("\"{}\"", l.entry.name))
        .collect();
    let r = resolve_with(VALID, &[&format!("transport.cc=[{}]", congestion_controls.join(", "))])
        .unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(r.variants.len(), congestion_controls.len());
    for (v, cc) in r.variants.iter().zip(&congestion_controls) {
        assert_eq!(format!("\"{}\"", v.label), *cc);
        assert_eq!(v.transports, std::slice::from_ref(&v.label));
    }
    if let Some(cc) = marking_cc() {
        let set = format!("transport.cc=[\"newreno\", {{ kind = \"{cc}\" }}]");
        assert_eq!(resolve_with(VALID, &[&set]).unwrap().variants[1].label, cc);
    }
}

#[test]
fn overrides_reach_everything() {
    let r = resolve_with(
        VALID,
        &[
            "topology.senders=64",
            "topology.bottleneck.rate=10Gbps",
            "topology.bottleneck.queue.k=30pkt",
            "workload.0.block=1KB",
            "workload.1.sizes={ exponential = \"10KB\" }",
            "transport.stack=rfc",
            "observe.occupancy=none",
            "name=other",
            "seed=3",
        ],
    )
    .unwrap_or_else(|e| panic!("{}", e.render()));
    let c = &r.variants[0].config;
    assert_eq!((r.name.as_str(), r.seed, c.network.nodes.len()), ("other", 3, 66));
    assert!(c.network.ports.iter().any(|p| p.rate.0 == 10_000_000_000));
    let WorkloadKind::Incast { block, .. } = c.workloads[WorkloadId::new(0)].kind else { panic!() };
    assert_eq!((block, c.groups[GroupId::new(0)].tcp.profile, c.observe.occupancy.len()), (1_000, Profile::Rfc, 0));
    // A short form becomes a table with a parameter; a missing section is created.
    let text = VALID.replace("{ kind = \"dctcp-step\", k = \"20pkt\" }", "\"dctcp-step\"");
    assert!(resolve_with(&text, &["topology.bottleneck.queue.k=30pkt"]).is_ok());
    let text = &VALID[..VALID.find("[observe]").unwrap()];
    assert_eq!(resolve_with(text, &["observe.warmup=5ms"]).unwrap().variants[0].config.observe.warmup, Time::from_ms(5));
}

#[test]
fn command_line_seed_has_precedence() {
    let s =
        Scenario::from_text(forebay_backends::all(), VALID, "test.toml", Path::new("."), &["seed=4".to_owned()], Some(u64::MAX))
            .unwrap();
    let r = s.resolve().unwrap();
    assert_eq!((r.seed, r.run_seed(1)), (u64::MAX, 0));
}

#[test]
fn names_without_a_name() {
    let text = VALID.replace("name = \"base\"\n", "");
    assert_eq!(resolve(&text).unwrap().name, "test");
    // Classes of the same kind stay apart.
    let twice = format!("{VALID}[[workload]]\nkind = \"incast\"\nblock = \"1KB\"\nrounds = 1\n");
    assert_eq!(resolve(&twice).unwrap().variants[0].class_names, ["incast", "web", "incast-2"]);
    // A byte order mark and Windows line ends are accepted.
    assert!(resolve(&format!("\u{feff}{}", VALID.replace('\n', "\r\n"))).is_ok());
}

#[test]
fn registry_entries_are_reachable() {
    let link = "{ rate = \"10Gbps\", delay = \"1us\", buffer = \"100pkt\" }";
    for t in forebay_experiment::topology::REGISTRY.iter().filter(|t| t.entry.name != "custom") {
        let mut text = format!("duration = \"1ms\"\n[topology]\nkind = \"{}\"\n", t.entry.name);
        for p in t.entry.params.iter().filter(|p| p.default.is_none()) {
            match p.kind {
                forebay_types::param::Kind::Link => text.push_str(&format!("{} = {link}\n", p.key)),
                forebay_types::param::Kind::Int(lo, hi) => text.push_str(&format!("{} = {}\n", p.key, (lo.max(4)).min(hi))),
                kind => panic!("{}: this test does not know how to fill `{}` ({kind:?})", t.entry.name, p.key),
            }
        }
        text.push_str("[[workload]]\nkind = \"long\"\nfrom = \"all\"\nto = \"all\"\npattern = \"permutation\"\n");
        let r = resolve(&text).unwrap_or_else(|e| panic!("{}\n{}\n{text}", t.entry.name, e.render()));
        assert!(r.explain().contains("network: "), "{}", r.explain());
    }
}

#[test]
fn a_custom_network() {
    let text = r#"
        duration = "1ms"
        [topology]
        kind = "custom"
        hosts = ["h0..h3"]
        switches = ["a", "b"]
        links = [
            { from = "h0", to = "a", rate = "1Gbps", delay = "1us" },
            { from = "h1", to = "a", rate = "1Gbps", delay = "1us" },
            { from = "h2", to = "b", rate = "1Gbps", delay = "1us" },
            { from = "h3", to = "b", rate = "1Gbps", delay = "1us" },
            { from = "a", to = "b", rate = "1Gbps", delay = "1us", buffer = "50pkt" },
            { from = "a", to = "b", rate = "1Gbps", delay = "1us", buffer = "50pkt" },
        ]
        [[workload]]
        kind = "long"
        from = "h0..h1"
        to = ["h2", "h3"]
        [observe]
        queue = [{ port = "a->b", every = "1us" }, { port = ["a->b#2", "b->a"], every = "2us" }]
    "#;
    let r = resolve(text).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(r.variants[0].config.network.ports.len(), 12);
    assert_eq!(r.variants[0].config.observe.queue_series.len(), 3);
    let errors = resolve(&text.replace("to = \"a\", rate", "to = \"c\", rate")).unwrap_err();
    assert!(errors.render().contains("no host or switch is called `c`"), "{}", errors.render());
}

#[test]
fn flow_list_relative_to_scenario() {
    let text = |file: &str| {
        VALID.replace(
            "kind = \"incast\"\nblock = \"64KB\"\nrounds = 50",
            &format!("kind = \"replay\"\nfile = \"tests/data/{file}\""),
        )
    };
    let r = resolve(&text("flows.csv")).unwrap_or_else(|e| panic!("{}", e.render()));
    assert!(r.notes.contains(&"replay: 2 flows, mean 1 500 B".to_owned()), "{:?}", r.notes);
    let errors = resolve(&text("missing-host.csv")).unwrap_err();
    assert!(errors.render().contains("test.toml:18:") && errors.render().contains("s99"), "{}", errors.render());
    let errors = resolve(&text("none.csv")).unwrap_err();
    assert!(errors.render().contains("test.toml:18:") && errors.render().contains("none.csv"), "{}", errors.render());
}

/// The examples of the repository are valid.
#[test]
fn examples_resolve() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let r = load(forebay_backends::all(), &path, &[], None)
            .and_then(|s| s.example()?.resolve())
            .unwrap_or_else(|e| panic!("{}", e.render()));
        assert!(!r.explain().is_empty());
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn registry_defaults_are_legal() {
    use forebay_types::param::{Kind, Param};
    fn check(owner: &str, params: &[Param]) {
        for p in params {
            let Some(default) = p.default.filter(|d| !d.is_empty()) else { continue };
            // Hosts depend on the network; all other defaults must be legal in any scenario.
            let ok = match p.kind {
                Kind::Time => default.parse::<Time>().is_ok(),
                Kind::Int(lo, hi) => default.parse::<i64>().is_ok_and(|v| (lo..=hi).contains(&v)),
                Kind::Float(lo, hi) => default.parse::<f64>().is_ok_and(|v| (lo..=hi).contains(&v)),
                Kind::Bool => default.parse::<bool>().is_ok(),
                Kind::Choice(words) => words.contains(&default),
                Kind::Bytes => default.parse::<forebay_types::Bytes>().is_ok(),
                Kind::QueueLen => default.parse::<forebay_types::QueueLen>().is_ok(),
                Kind::Rate => default.parse::<forebay_types::Rate>().is_ok(),
                _ => true,
            };
            assert!(ok, "{owner}: default of `{}`: {default}", p.key);
        }
    }
    forebay_backends::all().congestion_controls().iter().for_each(|e| check(e.entry.name, e.entry.params));
    forebay_queues::REGISTRY.iter().for_each(|e| check(e.entry.name, e.entry.params));
    forebay_experiment::topology::REGISTRY.iter().for_each(|e| check(e.entry.name, e.entry.params));
    forebay_experiment::workload::REGISTRY.iter().for_each(|e| check(e.entry.name, e.entry.params));
}

/// Keys of `[transport]` and shims can be set for one congestion control of a comparison.
#[test]
fn cc_table_sets_transport_keys() {
    let cc = r#"cc = ["newreno", { kind = "newreno", rto-min = "1ms" }, { kind = "cubic", shim = { kind = "pias", demotion-thresholds = ["10KB"] } },
        { kind = "dctcp", g = 0.5 }, { kind = "dctcp", g = 0.25, alpha = 1.0 }]"#;
    let text = format!(
        "[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"1Gbps\", delay = \"1us\" }}\nbottleneck = {{ rate = \"1Gbps\", delay = \"1us\", queue = {{ kind = \"dctcp-step\", k = \"20pkt\" }} }}\n[transport]\nstack = \"ns2\"\nrto-min = \"5ms\"\n{cc}\n[[workload]]\nkind = \"incast\"\nblock = \"64KB\"\nrounds = 1\n"
    );
    let r = crate::common::resolve(&text).unwrap();
    let labels: Vec<&str> = r.variants.iter().map(|v| v.label.as_str()).collect();
    assert_eq!(labels, ["newreno", "newreno rto-min=1ms", "cubic+pias", "dctcp g=0.5", "dctcp g=0.25"]);
    let tcp = |i: usize| &r.variants[i].config.groups[GroupId::new(0)].tcp;
    assert_eq!((tcp(0).rto_min.0, tcp(1).rto_min.0), (5_000_000_000, 1_000_000_000));
    assert_eq!((tcp(0).shims.len(), tcp(2).shims.len()), (0, 1));
    assert_eq!(r.variants[2].echo["transport"]["shim"]["kind"], "pias");
    assert_eq!(r.variants[1].echo["transport"]["rto-min"], "1ms");
}

/// Labels of two congestion controls show the differing parameters of their shims; a shim that a congestion control adds is in the echo.
#[test]
fn shims_are_named_and_echoed() {
    let text = crate::common::VALID.replace(
        "cc = \"newreno\"",
        "cc = [\"newreno\", { kind = \"newreno\", shim = \"prin\" }, { kind = \"newreno\", shim = { kind = \"prin\", halve = false } }, \"pfabric\", { kind = \"pfabric\", shim = \"none\" }]",
    );
    let r = crate::common::resolve(&text).unwrap();
    let labels: Vec<&str> = r.variants.iter().map(|v| v.label.as_str()).collect();
    let expected = ["newreno", "newreno+prin halve=true", "newreno+prin halve=false", "pfabric", "pfabric shim=none"];
    assert_eq!(labels, expected);
    let echo = |i: usize| &r.variants[i].echo["transport"];
    assert_eq!((&echo(3)["shim"], &echo(3)["dup-thresh"], &echo(3)["rto-rule"]), (&"srpt".into(), &0.into(), &"fixed".into()));
    assert_eq!((&echo(4)["shim"], echo(0).get("shim")), (&"none".into(), None));
    assert_eq!((&echo(0)["ecn-echo"], &echo(0)["probe-after"]), (&"exact".into(), &0.into()));
}

/// Keys of [transport] and parameters of a congestion control share a table, so their names must differ.
#[test]
fn cc_parameters_differ_from_transport_keys() {
    for cc in forebay_backends::all().congestion_controls() {
        for p in cc.entry.params {
            assert!(
                PARAMS.iter().all(|k| k.key != p.key) && p.key != "shim" && p.key != "stack",
                "{} of {}",
                p.key,
                cc.entry.name
            );
        }
    }
}
