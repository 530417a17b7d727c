//! ProBoSCIS as a BPF program at the hosts' devices, in real time, against the same scenarios in virtual time. Where no namespaces may be made these
//! tests say so and pass: there is nothing to test.

use super::worlds::{self, attempts};
use forebay_experiment::report::Report;
use forebay_experiment::world::World;
use forebay_linux::world::Linux;
use forebay_testbed::world::Testbed;

/// Messages, each on a connection of its own, over a port.
fn scenario(access: &str, port: &str, shim: &str, traffic: &str) -> String {
    format!(
        r#"
[topology]
kind = "many-to-one"
senders = 4
access     = {{ rate = "{access}", delay = "500us" }}
bottleneck = {{ delay = "500us", {port} }}
[transport]
stack = "linux"
host = "bare"
cc = {{ kind = "newreno", shim = {{ kind = "proboscis"{shim} }} }}
[[workload]]
kind = "poisson"
{traffic}
"#
    )
}

/// Shim data of a message: probes, verdict, first window, hold time in ms, ACKs lowered.
type ShimSummary = (Option<i64>, &'static str, Option<i64>, Option<i64>, Option<i64>);

fn shim_summaries(report: &Report) -> Vec<ShimSummary> {
    let mut flows: Vec<_> = report.flows.iter().collect();
    flows.sort_by_key(|f| f.flow_id);
    let row = |f: &&forebay_experiment::rows::FlowRow| {
        let shim = f.shim.as_deref().expect("the transport has a shim");
        let held = shim.int("syn_ack_delay_ns").map(|ns| ns / 1_000_000);
        (shim.int("probes"), shim.text("syn_ack_verdict"), shim.int("syn_ack_window_bytes"), held, shim.int("acks_throttled"))
    };
    flows.iter().map(row).collect()
}

/// In a kernel in virtual time, where there is one.
fn linux(text: &str) -> Option<Report> {
    if Linux.version().is_empty() {
        eprintln!("not compared with a kernel in virtual time: there is none (forebay kernel build)");
        return None;
    }
    let mut e = worlds::experiment(text);
    e.observe.packets = true;
    Some(worlds::run(&Linux, &e).unwrap_or_else(|e| panic!("{e}")))
}

/// 32 messages that share a port which marks. One packet more in the queue changes a mark, so that single connections differ. Together they behave as
/// in virtual time: in the simulator, and in a kernel if one is built.
#[test]
fn windows_follow_marks_like_virtual_time() {
    attempts(|| {
        let port = r#"rate = "50Mbps", buffer = "100pkt", queue = { kind = "dctcp-step", k = "16pkt" }"#;
        let text = scenario("50Mbps", port, "", "sizes = \"200KB\"\nload = 0.6\nflows-per-source = 8");
        if refused(&text) {
            return;
        }
        let Some([real, exact]) = worlds::both(&text, true) else { return };
        let near = |what: &str, a: f64, b: f64, within: f64| {
            assert!(b > 0.0 && (a / b - 1.0).abs() <= within, "{what}: {a} for {b}");
        };
        let sum = |r: &Report, of: fn(&ShimSummary) -> Option<i64>| shim_summaries(r).iter().filter_map(of).sum::<i64>() as f64;
        let end = |r: &Report| r.flows.iter().map(|f| f.end.or_never().0).max().unwrap_or(0) as f64;
        let times = |r: &Report| r.flows.iter().map(|f| (f.end.or_never() - f.start).0 as f64).sum();
        let marked = |r: &Report| r.packets.iter().filter(|p| p.ce).count() as f64;
        assert!(real.flows.len() == 32 && real.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
        for exact in [Some(exact), linux(&text)].into_iter().flatten() {
            near("the last message", end(&real), end(&exact), 0.02);
            near("times of messages", times(&real), times(&exact), 0.05);
            near("ACKs lowered", sum(&real, |m| m.4), sum(&exact, |m| m.4), 0.05);
            near("packets marked", marked(&real), marked(&exact), 0.05);
            assert!(
                real.timeouts.len().abs_diff(exact.timeouts.len()) <= 2,
                "{} timeouts for {}",
                real.timeouts.len(),
                exact.timeouts.len()
            );
        }
        let probes: i64 = shim_summaries(&real).iter().filter_map(|m| m.0).sum();
        assert!(real.remark.contains(&format!("probes_sent {probes}, ")), "{probes} probes: {}", real.remark);
        assert!(
            shim_summaries(&real).iter().all(|m| m.0 >= Some(10)) && shim_summaries(&real).iter().any(|m| m.1 == "severe"),
            "{:?}",
            shim_summaries(&real)
        );
    });
}

/// The port takes four packets: trains lose most of their probes, and the SYN behind them. The host may repeat one train (4 ms), so that its SYN
/// (16 ms) goes alone and its answer is held for 8 ms: by the timers of the process beside the program. A probe takes the port 0.1 ms, a kernel that
/// sends it some us.
#[test]
fn lost_probes_repeated_held_packets_released() {
    attempts(|| {
        let shim = ", probe-budget = 0.000001, probe-burst = 10";
        let text =
            scenario("1Gbps", r#"rate = "5Mbps", buffer = "4pkt""#, shim, "sizes = \"3KB\"\nload = 0.001\nflows-per-source = 1");
        if refused(&text) {
            return;
        }
        let Some(runs) = worlds::both(&text, false) else { return };
        let [real, exact] = runs.each_ref().map(shim_summaries);
        for (a, b) in real.iter().zip(&exact) {
            assert_eq!((a.0, a.1, a.2), (b.0, b.1, b.2), "{real:?}");
            // For 8 ms, looked at every millisecond, and until the thread that lets it go has run.
            assert!((8..40).contains(&a.3.unwrap_or(0)), "{real:?}");
        }
        assert_eq!((real.len(), real[0].0, real[0].1), (4, Some(20), "insufficient"));
    });
}

/// Messages on persistent connections: one that starts after a pause of more than the least RTO has a train ahead of it, others have none.
#[test]
fn restarts_are_probed() {
    attempts(|| {
        let traffic = "sizes = \"60KB\"\nrate = 12\nflows = 36\npersistent = true";
        let text = scenario(
            "50Mbps",
            r#"rate = "50Mbps", buffer = "100pkt", queue = { kind = "dctcp-step", k = "16pkt" }"#,
            "",
            traffic,
        );
        if refused(&text) {
            return;
        }
        let Some(runs) = worlds::both(&text, false) else { return };
        for run in &runs {
            let mut flows: Vec<_> = run.flows.iter().collect();
            flows.sort_by_key(|f| f.start);
            let (mut last, mut seen) = (std::collections::BTreeMap::new(), [0, 0, 0]);
            for f in flows {
                let before = last.insert(f.conn_id, (f.start, f.acked.or_never()));
                let probes = f.shim.as_deref().and_then(|s| s.int("probes"));
                let ms = |since: forebay_types::Time| (f.start - since).as_ns() / 1_000_000;
                // The last data before leaves between the start of its message and its ACK.
                let kind = match before.map(|(start, acked)| (ms(start), ms(acked))) {
                    None => {
                        assert!(probes >= Some(10), "the first message of a connection: {probes:?}");
                        0
                    }
                    Some((_, least)) if least >= 205 => {
                        assert_eq!(probes, Some(10), "a pause of at least {least} ms");
                        1
                    }
                    Some((most, _)) if most < 150 => {
                        assert_eq!(probes, None, "a pause of at most {most} ms");
                        2
                    }
                    Some(_) => continue,
                };
                seen[kind] += 1;
            }
            assert!(seen.iter().all(|&n| n > 1), "{seen:?}");
        }
    });
}

/// Answers of servers on connections with data in both directions: both handshake packets have a train ahead of them, and both directions a verdict.
#[test]
fn answers_are_probed() {
    attempts(|| {
        let port = r#"rate = "50Mbps", buffer = "100pkt", queue = { kind = "dctcp-step", k = "16pkt" }"#;
        let incast = "kind = \"incast\"\nblock = \"40KB\"\nrequest = \"100B\"\nrounds = 2\ntwo-way = true";
        let text = scenario("50Mbps", port, "", "").replace("kind = \"poisson\"", incast);
        if refused(&text) {
            return;
        }
        let Some(runs) = worlds::both(&text, false) else { return };
        for run in &runs {
            assert!(run.flows.len() == 16 && run.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
            for f in &run.flows {
                let shim = f.shim.as_deref().expect("the transport has a shim");
                let expected = if f.opens { shim.int("probes") >= Some(10) } else { shim.int("probes").is_none() };
                assert!(expected && f.opens != shim.text("syn_ack_verdict").is_empty(), "{f:?}");
            }
        }
    });
}

/// Transports that share hosts: one without the shim, two with it and with different parameters, each identified by its port.
#[test]
fn each_transport_has_its_own_shim() {
    attempts(|| {
        let text = r#"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "50Mbps", delay = "500us" }
bottleneck = { rate = "50Mbps", delay = "500us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "16pkt" } }
[[transport.group]]
name = "plain"
cc = "newreno"
share = 0.33
[[transport.group]]
name = "ten"
cc = { kind = "newreno", shim = "proboscis" }
share = 0.33
[[transport.group]]
name = "five"
cc = { kind = "newreno", shim = { kind = "proboscis", gamma = 5 } }
share = 0.34
[[workload]]
kind = "poisson"
sizes = "100KB"
load = 0.3
flows-per-source = 12
"#;
        let why = Testbed.supports(&worlds::experiment(text));
        if !why.is_empty() {
            return assert!(!cfg!(feature = "bpf") && why.len() == 2, "{why:?}");
        }
        let Some([real, exact]) = worlds::both(text, true) else { return };
        let probes = |r: &Report, group: u32| {
            let of = r.flows.iter().filter(|f| f.group.get() == group);
            of.map(|f| f.shim.as_deref().and_then(|s| s.int("probes"))).collect::<Vec<_>>()
        };
        for r in [&real, &exact] {
            assert!(probes(r, 0).len() >= 7 && probes(r, 0).iter().all(Option::is_none), "{:?}", probes(r, 0));
            assert!(probes(r, 1).iter().all(|n| n.is_some_and(|n| n >= 10 && n % 10 == 0)), "{:?}", probes(r, 1));
            assert!(probes(r, 2).iter().all(|n| n.is_some_and(|n| n >= 5 && n % 5 == 0)), "{:?}", probes(r, 2));
            assert!(probes(r, 2).contains(&Some(5)), "{:?}", probes(r, 2));
            let plain: Vec<u64> = r.flows.iter().filter(|f| f.group.get() == 0).map(|f| f.conn_id).collect();
            let (marked, others): (Vec<_>, Vec<_>) =
                r.packets.iter().filter(|p| p.ce).map(|p| plain.contains(&p.conn_id)).partition(|p| *p);
            assert!(marked.is_empty() && others.len() > 20, "{} and {} packets are marked", marked.len(), others.len());
        }
        assert!(real.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
    });
}

/// Unsupported values are refused by their key; a build without the programs refuses all, with this reason.
fn refused(text: &str) -> bool {
    let why = Testbed.supports(&worlds::experiment(text));
    assert_eq!(why.is_empty(), cfg!(feature = "bpf"), "{why:?}");
    assert!(why.iter().all(|w| w.key == "transport.shim" && w.reason.contains("the feature `bpf`")), "{why:?}");
    !why.is_empty()
}

#[test]
fn unsupported_parameters_are_refused() {
    let traffic = "sizes = \"3KB\"\nload = 0.001\nflows-per-source = 1";
    if refused(&scenario("50Mbps", r#"rate = "50Mbps", buffer = "100pkt""#, "", traffic)) {
        return;
    }
    for (shim, key) in [(", kappa1 = 0.5", "`kappa1`"), (", ends = \"opener\"", "`ends`"), (", g = 0.3", "`g`")] {
        let why =
            Testbed.supports(&worlds::experiment(&scenario("50Mbps", r#"rate = "50Mbps", buffer = "100pkt""#, shim, traffic)));
        assert!(why.len() == 1 && why[0].key == "transport.shim" && why[0].reason.starts_with(key), "{why:?}");
    }
}
