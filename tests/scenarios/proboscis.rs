//! ProBoSCIS against the loss of first bursts: the event trace of its publication (specification 8.4), and every congestion control under it.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_experiment::rows::FlowRow;
use forebay_sim::{cc, tcp::profile};
use forebay_tests::{Outcome, execute, repository, resolve, run};

fn int(f: &FlowRow, column: &str) -> Option<i64> {
    f.shim.as_ref()?.int(column)
}

fn probes(f: &FlowRow) -> u32 {
    int(f, "probes").map_or(0, |n| n as u32)
}

fn verdict(f: &FlowRow) -> &str {
    f.shim.as_ref().map_or("", |s| s.text("syn_ack_verdict"))
}

/// Measurements of the trace.
#[derive(Debug)]
struct Trace {
    label: String,
    /// Drops at the bottleneck in the two milliseconds from the first SYN on: handshakes and first bursts.
    burst: u64,
    /// Retransmitted segments of the short flows.
    retx: u64,
    /// Timeouts of the short flows, SYNs included.
    rtos: u32,
    /// Completion times of the short flows, ms.
    mean: f64,
    max: f64,
    queue: f64,
    /// Verdicts: proportional, severe, insufficient.
    verdicts: [usize; 3],
    /// Mean window in the SYN-ACKs of the short flows, segments.
    window: f64,
    probes: u32,
}

impl Trace {
    fn of(o: &Outcome) -> Trace {
        let short = o.class("short");
        let n = short.len() as f64;
        let fct: Vec<f64> =
            short.iter().map(|f| f.end.ps().map_or(f64::INFINITY, |end| (end - f.start.0) as f64 * 1e-9)).collect();
        let drops = |ms: u64| o.report.queue.iter().rfind(|r| r.time_ps <= ms * 1_000_000_000).map_or(0, |r| r.drops);
        let count = |v: &str| short.iter().filter(|f| verdict(f) == v).count();
        let plain = |f: &&FlowRow| verdict(f).is_empty();
        let window = |f: &&FlowRow| {
            if plain(f) { 10.0 } else { int(f, "syn_ack_window_bytes").map_or(f64::NAN, |w| w as f64 / 1460.0) }
        };
        Trace {
            label: o.variant.label.clone(),
            burst: drops(302) - drops(300),
            retx: short.iter().map(|f| f.segs_retx).sum(),
            rtos: short.iter().map(|f| f.rtos + f.syn_rtos).sum(),
            mean: fct.iter().sum::<f64>() / n,
            max: fct.iter().copied().fold(0.0, f64::max),
            queue: o.port("bottleneck").queue_mean_pkts,
            verdicts: ["proportional", "severe", "insufficient"].map(count),
            window: short.iter().map(window).sum::<f64>() / n,
            probes: short.iter().map(|f| probes(f)).sum(),
        }
    }
}

/// The scenario with `n` short flows, by variant: NewReno and CUBIC without and with the shim, DCTCP.
fn traces(n: u32, seed: u32, sets: &[&str]) -> [Trace; 5] {
    let text = std::fs::read_to_string(repository().join("scenarios/proboscis.toml")).unwrap();
    let own = [
        format!("seed={seed}"),
        format!("topology.senders={}", n + 1),
        format!("workload.1.from=\"s1..s{n}\""),
        // The last flow without shim waits for two timeouts of its SYN.
        "duration=5s".to_owned(),
    ];
    let sets: Vec<&str> = ["runs=1"].into_iter().chain(own.iter().map(String::as_str)).chain(sets.iter().copied()).collect();
    let traces: Vec<Trace> = run(&text, &sets).iter().map(Trace::of).collect();
    for t in &traces {
        println!("N {n} seed {seed} {t:?}");
    }
    let labels: Vec<&str> = traces.iter().map(|t| t.label.as_str()).collect();
    assert_eq!(labels, ["newreno", "newreno+proboscis", "cubic", "cubic+proboscis", "dctcp"]);
    traces.try_into().unwrap()
}

/// Claims prob-trace-burst and prob-trace-elephant. From ten flows on plain TCP loses bursts and waits for timeouts, and so does DCTCP, whose
/// first window is the same burst. The buffer counts bytes, as the specification has it.
///
/// With the shim no short flow loses data, as long as the granted windows fit above the threshold at which it holds the long flow: 80 segments.
/// Usually they fit. Trains do not see each other, however. When the long flow's queue is below the threshold while nine of ten trains pass, nearly
/// all flows get ten segments, a few too many.
#[test]
fn first_bursts_are_absorbed() {
    let mut full = 0;
    for n in [10, 20, 40] {
        for seed in 1..=4 {
            let [newreno, newreno_p, cubic, cubic_p, dctcp] = traces(n, seed, &[]);
            for plain in [&newreno, &cubic] {
                assert!(plain.burst >= 50 && plain.rtos >= n / 2, "{plain:?}");
            }
            assert!(dctcp.burst >= 20 && dctcp.rtos > 0, "{dctcp:?}");
            for (shimmed, plain) in [(&newreno_p, &newreno), (&cubic_p, &cubic)] {
                let granted = shimmed.window * f64::from(n);
                if granted <= 80.0 {
                    assert_eq!((shimmed.burst, shimmed.retx, shimmed.rtos), (0, 0, 0), "{shimmed:?}");
                    assert!(shimmed.max < 10.0, "{shimmed:?}");
                } else {
                    full += 1;
                    assert!(shimmed.burst as f64 <= granted - 80.0 && shimmed.rtos <= 4, "{shimmed:?}");
                }
                // On DCTCP's level or better, and far below the guest's own; N * 10 segments are what plain TCP injects.
                assert!(shimmed.mean < dctcp.mean && shimmed.mean * 5.0 < plain.mean, "{shimmed:?} {dctcp:?} {plain:?}");
                assert!(n < 20 || shimmed.window <= 5.0, "{shimmed:?}");
                // No retransmissions, and the verdicts are the two kinds of step marking.
                assert_eq!((shimmed.probes, shimmed.verdicts[0] + shimmed.verdicts[1]), (10 * n, n as usize), "{shimmed:?}");
                // The long flow is held at the threshold of 20 packets, not at the end of the buffer.
                assert!((15.0..25.0).contains(&shimmed.queue) && shimmed.queue * 2.0 < plain.queue, "{shimmed:?} {plain:?}");
            }
        }
    }
    // Of 24 runs with the shim (NewReno and CUBIC see the same trains).
    assert!(full <= 8, "{full} runs granted more than there was room for");
}

/// With few flows the probes cost at most one or two round trips compared with DCTCP.
#[test]
fn few_flows_lose_little_throughput() {
    for n in [1, 5] {
        for seed in 1..=3 {
            let [_, newreno_p, cubic, cubic_p, dctcp] = traces(n, seed, &[]);
            for shimmed in [&newreno_p, &cubic_p] {
                assert_eq!((shimmed.retx, shimmed.rtos, shimmed.burst), (0, 0, 0), "{shimmed:?}");
                assert!(shimmed.mean < dctcp.mean + 1.5, "{shimmed:?} {dctcp:?}");
            }
            // CUBIC's long flow leaves no room even for one first window.
            assert!(cubic.rtos > 0, "{cubic:?}");
        }
    }
}

/// With a buffer in packets (the specification covers both) trains and SYNs displace each other. The shim repeats them, and the flows are still far
/// faster than without.
#[test]
fn packet_buffers() {
    let bottleneck = "topology.bottleneck={ rate = \"1Gbps\", delay = \"50us\", buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }";
    for seed in 1..=3 {
        let [newreno, newreno_p, _, cubic_p, dctcp] = traces(20, seed, &[bottleneck]);
        for shimmed in [&newreno_p, &cubic_p] {
            // SYNs were lost, and trains grew before they were sent again.
            assert!(shimmed.burst > 100 && shimmed.probes > 1000, "{shimmed:?}");
            assert!(shimmed.retx * 5 < newreno.retx && shimmed.rtos * 4 < newreno.rtos, "{shimmed:?} {newreno:?}");
            assert!(shimmed.mean < dctcp.mean && shimmed.mean * 3.0 < newreno.mean, "{shimmed:?} {dctcp:?} {newreno:?}");
        }
    }
}

/// Every congestion control on every stack with a shim below it, on a port that is far too small. All messages complete, and the simulator asserts
/// conservation with probes, repeated SYNs and held SYN-ACKs. This also holds if a run stops early.
#[test]
fn proboscis_below_every_cc_and_stack() {
    let options = [
        "",
        ", no-shrink = true, hold-on = \"any\", lost-as-marked = true, beta3 = \"1ms\"",
        ", ecn-mode = \"guest\", release-window = \"original\", probe-size = \"64B\"",
        ", ends = \"acceptor\", peer-has-shim = false",
        ", ends = \"opener\", elephant-bytes = \"20KB\"",
    ];
    let congestion_controls: Vec<String> = cc::REGISTRY.iter().map(|l| format!("\"{}\"", l.entry.name)).collect();
    let link = "{ rate = \"1Gbps\", delay = \"5us\", buffer = \"14pkt\", queue = { kind = \"dctcp-step\", k = \"5pkt\" } }";
    for stack in profile::PROFILES {
        for own in options {
            let text = format!(
                "[topology]\nkind = \"many-to-one\"\nsenders = 5\naccess = {link}\nbottleneck = {link}\n\
                 [transport]\nstack = \"{stack}\"\ncc = [{}]\ninit-cwnd = 10\nrto-min = \"20ms\"\nrto-initial = \"20ms\"\nack-delay = \"1ms\"\n\
                 shim = {{ kind = \"proboscis\"{own} }}\n\
                 [[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"30KB\"\nrounds = 2\n[[workload]]\nkind = \"poisson\"\n\
                 sizes = {{ uniform = [\"1B\", \"60KB\"] }}\nload = 0.8\nflows = 30\n",
                congestion_controls.join(", ")
            );
            for v in resolve(&text, &[], None) {
                let r = execute(&v.config);
                assert!(r.flows.iter().all(|f| !f.acked.is_never() && f.bytes_acked == f.size_bytes), "{} {text}", v.label);
                let probed = r.flows.iter().any(|f| probes(f) > 0);
                assert_eq!(probed, !own.contains("acceptor"), "{} {text}", v.label);
            }
            for ms in [1, 3] {
                let set = format!("duration={ms}ms");
                resolve(&text, &[&set], None).iter().for_each(|v| drop(execute(&v.config)));
            }
        }
    }
}

/// Beside shims of the other places, and beside traffic that is not TCP: PRIN or PIAS tag what ProBoSCIS sends on, ICTCP's windows are
/// lowered further, never raised, and datagrams of a shimmed transport pass.
#[test]
fn beside_other_shims() {
    for shims in [
        "\"proboscis\", \"ictcp\"",
        "\"prin\", \"proboscis\", \"ictcp\"",
        "{ kind = \"pias\", demotion-thresholds = [\"20KB\"] }, \"proboscis\"",
    ] {
        let text = format!(
            "duration = \"400ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 5\naccess = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"5us\", buffer = \"20pkt\", queue = {{ kind = \"dctcp-step\", k = \"5pkt\" }} }}\n\
             [transport]\nstack = \"ns2\"\ninit-cwnd = 10\nrto-min = \"5ms\"\nshim = [{shims}]\n\
             [[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"30KB\"\n[[workload]]\nkind = \"udp\"\nfrom = \"s0\"\nto = \"recv\"\nrate = \"50Mbps\"\n"
        );
        for v in resolve(&text, &[], None) {
            let r = execute(&v.config);
            let done = r.flows.iter().filter(|f| !f.acked.is_never()).count();
            assert!(done >= 25 && r.flows.iter().map(probes).sum::<u32>() >= 50, "{done} {text}");
        }
    }
}

/// With `recent` the connections of a host send one train in 4 ms, and those in between have its window; without, each sends its own.
#[test]
fn recent_trains_are_shared() {
    let text = r#"
        duration = "500ms"
        [topology]
        kind = "many-to-one"
        senders = 1
        access = { rate = "1Gbps", delay = "25us" }
        bottleneck = { rate = "1Gbps", delay = "25us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
        [transport]
        shim = "proboscis"
        [[workload]]
        kind = "poisson"
        sizes = "5KB"
        rate = 1000
        flows = 300
    "#;
    let flows = |sets: &[&str]| run(text, sets).remove(0).report.flows;
    let own = flows(&[]);
    assert_eq!(own.len(), 300);
    assert!(own.iter().all(|f| probes(f) == 10 && verdict(f) == "proportional"));
    let shared = flows(&["transport.shim={ kind = \"proboscis\", recent = \"4ms\" }"]);
    assert_eq!(shared.len(), 300);
    let trains: Vec<u64> = shared.iter().filter(|f| probes(f) == 10).map(|f| f.start.0).collect();
    // In 4 ms and the time until the next connection, 1 ms in the mean.
    assert!((50..80).contains(&trains.len()), "{}", trains.len());
    let ms = 1_000_000_000;
    for f in &shared {
        let newest = trains.iter().filter(|t| **t < f.start.0).max();
        if probes(f) == 0 {
            assert_eq!((verdict(f), int(f, "syn_ack_window_bytes")), ("recent", Some(14_480)));
            assert!(newest.is_some_and(|t| f.start.0 - t <= 4 * ms), "{f:?}");
        } else {
            // Or before the last one was answered.
            assert_eq!(verdict(f), "proportional");
            assert!(newest.is_none_or(|t| f.start.0 - t > 4 * ms || f.start.0 - t < ms), "{f:?}");
        }
    }
}
