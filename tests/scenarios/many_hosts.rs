//! More hosts than 16 bits can address: hosts with larger numbers send and receive like others, and are not confused.

use forebay_experiment::Experiment;
use forebay_experiment::topology::Fib;
use forebay_sim::run::{Cores, Report, run_seeded};
use forebay_tests::resolve;
use forebay_types::NodeId;
use std::ops::ControlFlow;

/// 70 000 hosts in two racks. Of the numbers below, pairs differ in bit 16 alone: 1 and 65 537, 100 and 65 636, 4 463 and 69 999.
const TEXT: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts-per-leaf = 35000
host = { rate = "10Gbps", delay = "1us", buffer = "200pkt", queue = QUEUE }
fabric = { rate = "40Gbps", delay = "1us", buffer = "200pkt" }
[transport]
stack = "linux"
cc = ["dctcp"]
[[workload]]
kind = "long"
from = ["h0", "h1", "h65537", "h69999", "h65536", "h4463", "h100", "h65636", "h34999"]
to   = ["h65537", "h69999", "h1", "h4463", "h0", "h69998", "h65636", "h34999", "h65535"]
size = "200KB"
[observe]
occupancy = "none"
"#;

fn run(config: &Experiment, cores: usize) -> Report {
    run_seeded(config.check().unwrap(), config.seed, Cores::exactly(cores), &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn hosts_beyond_16_bit_addresses() {
    let variants = |queue: &str, sets: &[&str]| resolve(&TEXT.replace("QUEUE", queue), sets, None).remove(0);
    // Switches in groups and single switches; each packet on its own path.
    let cases = [
        ("{ kind = \"dctcp-step\", k = \"65pkt\" }", &[][..]),
        ("{ kind = \"strict-priority\" }", &[]),
        ("{ kind = \"dctcp-step\", k = \"65pkt\" }", &["topology.balance=packet"]),
    ];
    for (queue, sets) in cases {
        let variant = variants(queue, sets);
        let config = &variant.config;
        let report = run(config, 1);
        let sizes: Vec<(u64, bool)> = report.flows.iter().map(|f| (f.bytes_acked, f.end.is_never())).collect();
        assert_eq!(sizes, [(200_000, false); 9], "{queue} {sets:?}");
        // Payload of each host's own port: the port to it carries its data, and otherwise at most ACKs of 1 500 B.
        let mut received = vec![0; config.network.nodes.len()];
        for (id, port) in config.network.ports.enumerate().filter(|(_, p)| config.network.nodes[p.to].host) {
            received[port.to.index()] = report.ports[id.index()].sent_bytes;
        }
        for f in &report.flows {
            assert!(received[f.dst.index()] >= 200_000, "{queue}: host {} received {} B", f.dst, received[f.dst.index()]);
        }
        let touched = report.flows.iter().flat_map(|f| [f.src, f.dst]).collect::<std::collections::BTreeSet<NodeId>>();
        let others = received.iter().enumerate().filter(|(n, bytes)| **bytes > 0 && !touched.contains(&NodeId::from_index(*n)));
        assert_eq!(others.count(), 0, "{queue}: packets went to hosts that have no connection");
        if sets.is_empty() {
            // Paths in the results are those of the packets.
            let fib = Fib::with_seed(&config.network, config.seed).unwrap();
            for f in &report.flows {
                assert_eq!(f.ecmp, fib.flow_hash(f.conn_id, f.src, f.dst));
                for port in fib.path(&config.network, f.src, f.dst, f.ecmp.into()) {
                    assert!(report.ports[port.index()].sent_bytes >= 200_000, "{queue}: flow {} left its way", f.flow_id);
                }
            }
            let parts = run(config, 3);
            assert_eq!((parts.fingerprint, parts.flows), (report.fingerprint, report.flows), "{queue}: on three cores");
        }
    }
}
