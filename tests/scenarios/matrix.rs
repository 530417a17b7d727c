//! Combinations of all registry entries in small runs. The simulator asserts conservation; the tests check that all finite work completes without
//! loss.

use forebay_experiment::topology;
use forebay_experiment::workload;
use forebay_sim::{cc, tcp::profile};
use forebay_tests::{execute, resolve};

/// Parameters of every topology, small enough for a test. A new kind needs a line here.
pub(crate) fn topology_text(kind: &str, queue: &str) -> String {
    let link = |rate: &str| format!("{{ rate = \"{rate}\", delay = \"5us\", buffer = \"30pkt\", queue = {queue} }}");
    let (fast, slow) = (link("1Gbps"), link("500Mbps"));
    let body = match kind {
        "many-to-one" => format!("senders = 6\naccess = {fast}\nbottleneck = {slow}"),
        "dumbbell" => format!("left = 4\nright = 3\naccess = {fast}\nbottleneck = {slow}"),
        "multi-hop" => format!("a = 2\nb = 2\nc = 3\naccess = {fast}\nlink1 = {slow}\nlink2 = {slow}"),
        "leaf-spine" => format!("leaves = 2\nspines = 2\nhosts-per-leaf = 3\nhost = {fast}\nfabric = {slow}"),
        "fat-tree" => format!("k = 4\nhost = {fast}\nfabric = {slow}"),
        "custom" => {
            let l = |a: &str, b: &str, rate: &str| {
                format!(
                    "{{ from = \"{a}\", to = \"{b}\", rate = \"{rate}\", delay = \"5us\", buffer = \"30pkt\", queue = {queue} }}"
                )
            };
            let links = [
                l("x", "w", "1Gbps"),
                l("y", "w", "1Gbps"),
                l("w", "v", "500Mbps"),
                l("w", "v", "300Mbps"),
                l("v", "z", "1Gbps"),
            ];
            format!("hosts = [\"x\", \"y\", \"z\"]\nswitches = [\"w\", \"v\"]\nlinks = [{}]", links.join(", "))
        }
        other => panic!("no small example of the topology `{other}`: add one"),
    };
    format!("[topology]\nkind = \"{kind}\"\n{body}\n")
}

/// A finite amount of traffic of every kind, between the first host and the others where the topology has no natural ends.
pub(crate) fn workload_text(kind: &str) -> &'static str {
    match kind {
        "long" => "size = \"200KB\"\nfrom = \"all\"\nto = \"all\"\npattern = \"permutation\"",
        "incast" => "senders = [\"FIRST\", \"SECOND\"]\nreceiver = \"LAST\"\nblock = \"40KB\"\nrounds = 3\njitter = \"20us\"",
        "poisson" => "from = \"all\"\nto = \"all\"\nsizes = { uniform = [\"1B\", \"100KB\"] }\nload = 0.6\nflows = 30",
        "on-off" => {
            "from = \"all\"\nto = \"all\"\npattern = \"permutation\"\nsizes = { exponential = \"20KB\" }\ngaps = { exponential = \"50us\" }\ntrains = 4"
        }
        "requests" => {
            "clients = \"all\"\nservers = \"all\"\npattern = \"permutation\"\nresponse = { log-uniform = [\"100B\", \"50KB\"] }\nthink = { uniform = [\"0s\", \"90us\"] }\ncount = 4"
        }
        "queries" => {
            "aggregators = \"all\"\nworkers = \"all\"\nfan-out = 2\nresponse = { uniform = [\"1KB\", \"20KB\"] }\njitter = \"40us\"\ncount = 3"
        }
        "udp" => "from = \"FIRST\"\nto = \"LAST\"\nrate = \"600Mbps\"\nstop = \"3ms\"\npacket-jitter = \"5us\"",
        "replay" => "file = \"../tests/scenarios/data/flows.csv\"",
        other => panic!("no small example of the workload `{other}`: add one"),
    }
}

/// Two hosts that send, and one that receives, of each small topology.
pub(crate) fn ends(kind: &str) -> (&'static str, &'static str, &'static str) {
    match kind {
        "many-to-one" => ("s0", "s1", "recv"),
        "dumbbell" => ("l0", "l1", "r0"),
        "multi-hop" => ("a0", "a1", "front-end"),
        "leaf-spine" => ("h0", "h1", "h5"),
        "fat-tree" => ("pod0-h0", "pod0-h1", "pod3-h3"),
        _ => ("x", "y", "z"),
    }
}

/// Runs all variants and checks that all messages are complete.
fn finish(text: &str) {
    for v in resolve(text, &[], None) {
        let r = execute(&v.config);
        assert!(!r.flows.is_empty() && r.packet_hops > 0, "{text}");
        for f in &r.flows {
            if f.size_bytes == 0 {
                // Datagrams are not retransmitted, and may be incomplete.
                assert!(f.segs_sent > 0 && f.bytes_acked > 0 && f.bytes_acked <= f.segs_sent * 1_472, "{f:?}\n{text}");
                continue;
            }
            assert!(
                !f.end.is_never() && f.acked.ps() >= f.end.ps() && f.bytes_acked == f.size_bytes,
                "{}: {f:?}\n{text}",
                v.label
            );
            assert!(f.end.ps() >= Some(f.start.0 + f.ideal.0), "faster than light: {f:?}\n{text}");
        }
        for p in &r.ports {
            assert_eq!(p.arrived_pkts, p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early, "{text}");
        }
    }
}

#[test]
fn every_workload_on_every_topology() {
    for t in topology::REGISTRY {
        for w in workload::REGISTRY {
            let (first, second, last) = ends(t.entry.name);
            let traffic = workload_text(w.entry.name).replace("FIRST", first).replace("SECOND", second).replace("LAST", last);
            let text = format!(
                "{}[transport]\nstack = \"ns2\"\nrto-min = \"5ms\"\nrto-initial = \"10ms\"\n[[workload]]\nkind = \"{}\"\n{traffic}\n",
                topology_text(t.entry.name, "\"drop-tail\""),
                w.entry.name
            );
            finish(&text);
        }
    }
}

#[test]
fn all_cc_stack_queue_combinations() {
    let congestion_controls: Vec<String> = cc::REGISTRY.iter().map(|l| format!("\"{}\"", l.entry.name)).collect();
    for stack in profile::PROFILES {
        for queue in forebay_queues::REGISTRY {
            let queue_text = queue.example;
            // Congestion controls that need marks are refused without a marking queue.
            let marks = queue.marking != forebay_queues::Marking::Never;
            for recovery in ["reno", "newreno", "sack", "rack"] {
                let sack = matches!(recovery, "sack" | "rack");
                let usable = cc::REGISTRY
                    .iter()
                    .zip(&congestion_controls)
                    .filter(|(l, _)| (marks || !l.needs_marks) && (sack || !l.needs_sack));
                let usable: Vec<&str> = usable.map(|(_, name)| name.as_str()).collect();
                for ack_every in [1, 2, 5] {
                    let text = format!(
                        "{}[transport]\nstack = \"{stack}\"\ncc = [{}]\nrecovery = \"{recovery}\"\nack-every = {ack_every}\nrto-min = \"20ms\"\n\
                         rto-initial = \"20ms\"\nack-delay = \"1ms\"\n\
                         [[workload]]\nkind = \"incast\"\nblock = \"40KB\"\nrounds = 2\n[[workload]]\nkind = \"long\"\nsize = \"150KB\"\n",
                        topology_text("many-to-one", queue_text),
                        usable.join(", ")
                    );
                    finish(&text);
                }
            }
        }
    }
}

#[test]
fn every_queue_on_every_topology() {
    for t in topology::REGISTRY {
        for queue in forebay_queues::REGISTRY {
            for shared in ["", "[topology.shared-buffer]\ntotal = \"80KB\"\nalpha = 0.7\n"] {
                // Classes and ranks for queues that use them.
                let shim = match (queue.entry.name, shared.is_empty()) {
                    ("pfabric", _) => "shim = \"srpt\"\n",
                    (_, true) => "shim = \"prin\"\n",
                    (_, false) => {
                        "shim = { kind = \"pias\", demotion-thresholds = [\"3KB\", \"6KB\", \"12KB\", \"24KB\", \"48KB\", \"96KB\", \"150KB\"] }\n"
                    }
                };
                let text = format!(
                    "{}{shared}[transport]\nstack = \"ns2\"\n{shim}ecn = \"classic\"\nrto-min = \"5ms\"\nrto-initial = \"10ms\"\n\
                     [[workload]]\nkind = \"poisson\"\nfrom = \"all\"\nto = \"all\"\nsizes = {{ uniform = [\"1B\", \"200KB\"] }}\n\
                     load = 0.9\nflows = 60\n",
                    topology_text(t.entry.name, queue.example)
                );
                finish(&text);
            }
        }
    }
}

/// Shims with every congestion control and stack that supports them, on queues with priorities and on one without.
#[test]
fn every_shim_on_every_stack() {
    for shim in forebay_sim::shim::REGISTRY {
        let text = match shim.entry.name {
            "pias" => "{ kind = \"pias\", demotion-thresholds = [\"10KB\", \"30KB\"] }".to_owned(),
            name => format!("\"{name}\""),
        };
        for stack in profile::PROFILES {
            for queue in ["\"drop-tail\"", "{ kind = \"strict-priority\", k = \"8pkt\" }", "\"protect\"", "\"pfabric\""] {
                // PRIN ends a block with segments that are not full. Store and forward delays them less, so that a short block that is alone is faster
                // than its ideal. Blocks that are requested out of band are never alone.
                finish(&format!(
                    "{}[transport]\nstack = \"{stack}\"\ncc = [\"newreno\", \"cubic\", \"pfabric\"]\nshim = {text}\n\
                     rto-min = \"20ms\"\nrto-initial = \"20ms\"\nack-delay = \"1ms\"\n[[workload]]\nkind = \"incast\"\nblock = \"60KB\"\n\
                     rounds = 3\n[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"2001B\"\nrounds = 5\n[[workload]]\nkind = \"long\"\nsize = \"300KB\"\n",
                    topology_text("many-to-one", queue)
                ));
            }
        }
    }
}
