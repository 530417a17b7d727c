//! ProBoSCIS in a guest: whole runs against the simulator, packet by packet, and what their tables say of the shim.

use crate::packets::{both, same_packets};
use forebay_experiment::report::Report;

/// Servers that send over a port, under the shim. The guest's kernel cuts segments in half where it has never seen a window of two
/// (tcp_bound_to_half_wnd), the simulator does not: the least window is two segments.
fn scenario(senders: u32, access: &str, port: &str, shim: &str, traffic: &str) -> String {
    format!(
        r#"
[topology]
kind = "many-to-one"
senders = {senders}
access     = {{ rate = "{access}", delay = "25us" }}
bottleneck = {{ rate = "1Gbps", delay = "25us", {port} }}
[transport]
stack = "linux"
host = "bare"
mss = 1460
fin = false
ack-every = 1
cc = {{ kind = "newreno", shim = {{ kind = "proboscis", floor = 2{shim} }} }}
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

#[test]
fn windows_match_simulator_to_the_nanosecond() {
    let port = r#"buffer = "400pkt", queue = { kind = "dctcp-step", k = "16pkt" }"#;
    let traffic = "sizes = \"64KB\"\nload = 0.5\nflows-per-source = 8";
    let Some(runs) = both(&scenario(4, "1Gbps", port, "", traffic)) else { return };
    same_packets(&runs, 0);
    let [linux, sim] = runs.each_ref().map(shim_summaries);
    assert_eq!(linux, sim);
    assert!(linux.iter().any(|m| m.1 == "severe") && linux.iter().any(|m| m.2 == Some(14_600)), "{linux:?}");
    assert!(linux.iter().all(|m| m.0 == Some(10) && m.4 > Some(0)), "{linux:?}");
}

#[test]
fn lost_probes_repeated_held_packets_released() {
    // The port takes four packets: trains lose most of their probes, and the SYN behind them. The host may repeat one train (4 ms), so that its SYN
    // (16 ms) goes alone and its answer is held for 8 ms.
    let shim = ", probe-budget = 0.000001, probe-burst = 10";
    let traffic = "sizes = \"3KB\"\nload = 0.001\nflows-per-source = 1";
    let Some(runs) = both(&scenario(3, "10Gbps", r#"buffer = "4pkt""#, shim, traffic)) else { return };
    // The timer's phase is drawn in picoseconds, the guest sends at whole nanoseconds, and a link makes ten of one at a tenth of the rate.
    same_packets(&runs, 20);
    let [linux, sim] = runs.each_ref().map(shim_summaries);
    assert_eq!(linux, sim);
    for (probes, verdict, window, held_ms, _) in linux {
        assert_eq!((probes, verdict, window), (Some(20), "insufficient", Some(2_920)));
        assert!(held_ms == Some(8) || held_ms == Some(9), "{held_ms:?} ms");
    }
}

/// Messages on persistent connections: a message that starts after a pause of more than the least RTO has a train ahead of it, others have none.
#[test]
fn restarts_match_simulator_to_the_nanosecond() {
    let port = r#"buffer = "400pkt", queue = { kind = "dctcp-step", k = "16pkt" }"#;
    let traffic = "sizes = \"60KB\"\nrate = 12\nflows = 40\npersistent = true";
    let Some(runs) = both(&scenario(2, "1Gbps", port, ", icwnd = 10", traffic)) else { return };
    same_packets(&runs, 0);
    let [linux, sim] = runs.each_ref().map(shim_summaries);
    assert_eq!(linux, sim);
    let mut last = std::collections::BTreeMap::new();
    let (mut restarts, mut continuing) = (0, 0);
    let mut flows: Vec<_> = runs[1].flows.iter().collect();
    flows.sort_by_key(|f| f.start);
    for f in flows {
        let pause = last.insert(f.conn_id, f.acked.or_never()).map(|end| f.start - end);
        let probes = f.shim.as_deref().and_then(|s| s.int("probes"));
        // From the last data to its ACK it takes less than a millisecond.
        match pause {
            None => assert_eq!(probes, Some(10)),
            Some(pause) if pause > forebay_types::Time::from_ms(200) => {
                restarts += 1;
                assert_eq!(probes, Some(10), "a pause of {pause}");
            }
            Some(pause) => {
                assert!(pause < forebay_types::Time::from_ms(199), "too near to decide: {pause}");
                continuing += 1;
                assert_eq!(probes, None, "a pause of {pause}");
            }
        }
    }
    assert!(restarts > 3 && continuing > 10, "{restarts}, {continuing}");
}

/// Half of the trains of restarts is marked: the second flight has the window of the verdict.
#[test]
fn marked_restart_limits_second_flight() {
    // Two hosts restart together: the trains of one find those of the other, because the mark is at 6 packets.
    let port = r#"buffer = "400pkt", queue = { kind = "dctcp-step", k = "6pkt" }"#;
    let text = scenario(2, "1Gbps", port, "", "sizes = \"1KB\"\nload = 0.0001\nflows-per-source = 1").replace(
        "[[workload]]\nkind = \"poisson\"\nsizes = \"1KB\"\nload = 0.0001\nflows-per-source = 1",
        "[[workload]]\nkind = \"on-off\"\nsizes = \"100KB\"\ngaps = \"300ms\"\ntrains = 3",
    );
    let Some(runs) = both(&text) else { return };
    same_packets(&runs, 0);
    let [linux, sim] = runs.each_ref().map(shim_summaries);
    assert_eq!(linux, sim);
    // The connection opens long before its first message: each message restarts.
    assert!(linux.iter().all(|m| m.0 >= Some(10)), "{linux:?}");
}

/// Answers of servers on connections with data in both directions: trains ahead of SYN-ACKs, first windows of answers, marks, and late answers.
#[test]
fn answers_match_simulator_to_the_nanosecond() {
    // Processing times are drawn in picoseconds, and the guest sends at whole nanoseconds.
    for (queue, workload, within) in [
        ("k = \"16pkt\"", "rounds = 1", 0),
        ("k = \"6pkt\"", "rounds = 2\ngap = \"300ms\"", 0),
        ("k = \"400pkt\"", "rounds = 3\njitter = \"50us\"", 20),
    ] {
        let port = format!("buffer = \"400pkt\", queue = {{ kind = \"dctcp-step\", {queue} }}");
        let text = scenario(4, "1Gbps", &port, "", "").replace(
            "kind = \"poisson\"",
            &format!("kind = \"incast\"\nblock = \"40KB\"\nrequest = \"100B\"\ntwo-way = true\n{workload}"),
        );
        let Some(runs) = both(&text) else { return };
        println!("{queue} {workload}: {} packets", runs[0].packets.len());
        same_packets(&runs, within);
        let [linux, sim] = runs.each_ref().map(shim_summaries);
        assert_eq!(linux, sim, "{queue}");
        assert!(linux.iter().filter(|m| m.0 == Some(10)).count() >= 8, "{linux:?}");
    }
}
