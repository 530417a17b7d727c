//! Shared memory and ECMP: buffer share of a hot port, and spreading of flows.

use forebay_tests::one;
use std::collections::BTreeMap;

/// Two senders overload one port of a switch whose memory is shared.
#[test]
fn hot_port_gets_alpha_share() {
    for alpha in [0.2, 0.5, 1.0, 2.0, 8.0] {
        let text = format!(
            "duration = \"150ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\nshared-buffer = \"1MB\"\nshared-alpha = {alpha}\n\
             access = {{ rate = \"10Gbps\", delay = \"5us\" }}\nbottleneck = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
             [transport]\nstack = \"ns2\"\ninit-cwnd = 2000\nrcv-wnd = \"3MB\"\nhandshake = false\n[[workload]]\nkind = \"long\"\n\
             [observe]\nqueue = {{ port = \"bottleneck\", every = \"100us\" }}\n"
        );
        let o = one(&text, &[]);
        let held = o.report.queue.iter().map(|r| r.bytes).max().unwrap_or(0) as f64;
        let limit = 1e6 * alpha / (1.0 + alpha);
        println!("alpha {alpha}: {held} of {limit:.0}");
        assert!((held - limit).abs() < 2.0 * 1500.0, "alpha {alpha}: {held} against {limit}");
        assert!(o.port("bottleneck").dropped_shared > 0 && o.port("bottleneck").dropped_overflow == 0);
    }
}

/// Every path between pods is used, and no uplink by many more flows than its share.
#[test]
fn flows_spread_over_the_fat_tree() {
    let text = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost = { rate = \"10Gbps\", delay = \"1us\" }\n\
                [[workload]]\nkind = \"long\"\nfrom = \"all\"\nto = \"all\"\npattern = \"all-pairs\"\nper-pair = 4\nsize = \"1B\"\nstagger = \"1us\"\n";
    let o = one(text, &[]);
    assert_eq!((o.report.flows.len(), o.drops()), (16 * 15 * 4, 0));
    // Data segments and the ACKs of other flows go up; every edge switch has two uplinks, every aggregation switch two.
    let mut up: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (name, port) in o.variant.port_names.iter().zip(&o.report.ports) {
        let Some((from, to)) = name.split_once("->") else { continue };
        let tier = |n: &str| ["core", "agg", "edge"].iter().position(|t| n.contains(t)).unwrap_or(3);
        if tier(from) > tier(to) && tier(from) < 3 {
            up.entry(from.to_owned()).or_default().push(port.sent_pkts);
        }
    }
    println!("{up:?}");
    assert_eq!(up.len(), 16, "{:?}", o.variant.port_names);
    for (switch, ports) in up {
        let (a, b) = (ports[0] as f64, ports[1] as f64);
        // Each flow is four packets or so up; several hundred flows are split evenly up to five standard deviations.
        let flows = (a + b) / 4.0;
        assert!((a - b).abs() / 4.0 < 5.0 * flows.sqrt(), "{switch}: {ports:?}");
    }
}
