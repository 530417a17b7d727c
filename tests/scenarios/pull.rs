//! ProBoSCIS on connections whose answers come from the host that accepts (pull traffic): lost first bursts, throttling, losses, and partitions.

use forebay_experiment::rows::{FlowRow, PacketRow};
use forebay_sim::run::{Cores, run_seeded};
use forebay_tests::{Outcome, execute, resolve, rows, run};
use std::ops::ControlFlow;

/// A client that requests a block of ten segments from each of 40 servers at once, on new connections. The port of its link has 100 packets and marks above
/// 20.
const INCAST: &str = r#"
duration = "5s"
[topology]
kind = "many-to-one"
senders = 40
access = { rate = "10Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "ns2"
init-cwnd = 10
rto-initial = "1s"
cc = "newreno"
shim = "proboscis"
[[workload]]
kind = "incast"
block = "14600B"
request = "100B"
rounds = 1
two-way = true
"#;

/// The same beside long flows of DCTCP, which hold the queue near the threshold from the first round trip on.
const BESIDE_LONG_FLOWS: &str = r#"
duration = "5s"
[topology]
kind = "many-to-one"
senders = 44
access = { rate = "10Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[[transport.group]]
name = "web"
stack = "ns2"
init-cwnd = 10
rto-initial = "1s"
cc = "newreno"
shim = "proboscis"
[[transport.group]]
name = "long"
stack = "ns2"
init-cwnd = 10
handshake = false
cc = "dctcp"
[[workload]]
kind = "incast"
from = "s0..s39"
block = "14600B"
request = "100B"
rounds = 1
two-way = true
transport = "web"
[[workload]]
kind = "long"
from = "s40..s43"
to = "recv"
transport = "long"
"#;

const NO_SHIM: &str = "transport.shim=[]";
const NO_SHIM_BESIDE: &str = "transport.group.0.shim=[]";
const OPENER_ONLY: &str = "transport.group.0.shim={ kind = \"proboscis\", answers = false }";

fn watched(text: &str, sets: &[&str]) -> Outcome {
    let mut variant = resolve(text, sets, None).remove(0);
    variant.config.observe.packets = true;
    let report = execute(&variant.config);
    Outcome { variant, report }
}

fn answers(o: &Outcome) -> Vec<&FlowRow> {
    o.report.flows.iter().filter(|f| !f.request && f.size_bytes > 0).collect()
}

fn int(f: &FlowRow, column: &str) -> Option<i64> {
    f.shim.as_ref()?.int(column)
}

/// Retransmitted segments and timeouts of answers, and the time of the last one, ms.
fn harm(o: &Outcome) -> (u64, u32, f64) {
    let all = answers(o);
    let last = all.iter().map(|f| f.end.ps().expect("every answer arrives")).max().unwrap_or(0);
    (all.iter().map(|f| f.segs_retx).sum(), all.iter().map(|f| f.rtos).sum(), last as f64 * 1e-9)
}

/// Without a shim, and with one for the opener's data only, the first windows of 40 answers overflow the port. Trains ahead of the SYN-ACKs are marked by the
/// queue of the long flows, and the answers begin with one segment.
#[test]
fn first_bursts_of_answers_are_absorbed() {
    let [shim, plain, opener] = [&[][..], &[NO_SHIM_BESIDE], &[OPENER_ONLY]].map(|sets| run(BESIDE_LONG_FLOWS, sets).remove(0));
    let [(retx, rtos, last), (retx_plain, rtos_plain, last_plain), (_, rtos_opener, last_opener)] =
        [&shim, &plain, &opener].map(harm);
    println!("shim {:?}, none {:?}, opener's data {:?}", harm(&shim), harm(&plain), harm(&opener));
    assert_eq!((retx, rtos), (0, 0));
    assert!(retx_plain > 100 && rtos_plain > 10 && rtos_opener > 10, "{retx_plain} {rtos_plain} {rtos_opener}");
    assert!(
        last * 4.0 < last_plain && last * 4.0 < last_opener,
        "{last} ms, without {last_plain}, opener's data only {last_opener}"
    );
    for f in answers(&shim) {
        // A SYN that the shim sends again after 16 ms has another train ahead of its SYN-ACK.
        assert!(int(f, "probes") >= Some(10) && int(f, "syn_ack_delay_ns") == Some(0), "{f:?}");
        assert!(int(f, "syn_ack_window_bytes").is_some_and(|w| (1_460..=14_624).contains(&w)), "{f:?}");
    }
    assert!(answers(&opener).iter().all(|f| int(f, "probes").is_none()));
}

/// The client's packets have the window of the verdict until the first data of the answer is acknowledged, and the first flight is no larger.
#[test]
fn third_packet_limits_first_flight() {
    let o = watched(BESIDE_LONG_FLOWS, &[]);
    for f in answers(&o) {
        let window = int(f, "syn_ack_window_bytes").unwrap();
        let data: Vec<PacketRow> =
            o.report.packets.iter().filter(|p| p.conn_id == f.conn_id && p.payload > 0 && !p.back).collect();
        // A round trip takes 200 us at least.
        let first =
            data.iter().take_while(|p| p.time_ps < data[0].time_ps + 200_000_000).map(|p| i64::from(p.payload)).sum::<i64>();
        assert!(first > 0 && first <= window, "connection {}: {first} bytes in the first flight, window {window}", f.conn_id);
    }
}

/// With one server and an empty port the shim changes nothing that a guest sees: the same windows and times, 20 probes beside them.
#[test]
fn idle_path_costs_only_probes() {
    let [shim, plain] = [&["topology.senders=1"][..], &["topology.senders=1", NO_SHIM]].map(|sets| run(INCAST, sets).remove(0));
    let (with, without) = (harm(&shim).2, harm(&plain).2);
    // Two trains of ten packets of 40 bytes take 3.2 us each at 1 Gbps and 0.3 at 10 Gbps.
    assert!(with >= without && with < without + 0.01, "{with} ms, without {without}");
    // Rounded up to the scale of 32 bytes.
    assert_eq!(int(answers(&shim)[0], "syn_ack_window_bytes"), Some(14_624));
    assert_eq!(shim.report.flows.iter().filter_map(|f| int(f, "probes")).sum::<i64>(), 20);
}

/// Long answers hold the queue at the threshold, as data of openers does: their guests have no ECN.
#[test]
fn marked_answers_are_throttled() {
    let long = ["topology.senders=4", "workload.0.block=4MB", "duration=100ms"];
    let [shim, plain] = [&long[..], &[&long[..], &[NO_SHIM]].concat()].map(|sets| run(INCAST, sets).remove(0));
    let queue = |o: &Outcome| o.port("bottleneck").queue_mean_pkts;
    assert!(queue(&shim) < 35.0 && queue(&plain) > 50.0, "{} packets, without {}", queue(&shim), queue(&plain));
    assert_eq!(answers(&shim).iter().map(|f| f.segs_retx + f.ce_acked_bytes).sum::<u64>(), 0);
    assert!(answers(&shim).iter().all(|f| int(f, "acks_throttled") > Some(20)));
}

/// An answer after a pause of more than the least RTO has a train ahead of it; one without a pause has none.
#[test]
fn late_answers_are_probed() {
    let rounds = |gap: &str| run(INCAST, &["topology.senders=2", "workload.0.rounds=3", gap]).remove(0);
    for (gap, trains) in [("workload.0.gap=300ms", 3), ("workload.0.gap=20ms", 1)] {
        let o = rounds(gap);
        let probed = answers(&o).iter().filter(|f| int(f, "probes") == Some(10)).count();
        assert_eq!((probed, answers(&o).len()), (2 * trains, 6), "{gap}");
    }
}

/// Lost packets of every kind, on every stack, with large requests and answers: every message arrives, and the simulator asserts that all packets are
/// accounted for.
#[test]
fn losses_are_repaired_in_both_directions() {
    for stack in [
        "stack = \"ns2\"\nrto-min = \"20ms\"\nrto-initial = \"50ms\"",
        "stack = \"linux\"",
        "stack = \"linux\"\nhost = \"bare\"",
        "stack = \"rfc\"\nrto-min = \"50ms\"",
    ] {
        for own in [
            "",
            ", answers = false",
            ", ends = \"opener\"",
            ", ends = \"acceptor\", peer-has-shim = false",
            ", ecn-mode = \"guest\", hold-on = \"any\"",
        ] {
            let text = format!(
                "duration = \"20s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"2Gbps\", delay = \"20us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"12pkt\", queue = {{ kind = \"dctcp-step\", k = \"4pkt\" }} }}\n\
                 [transport]\n{stack}\ncc = \"cubic\"\nshim = {{ kind = \"proboscis\", gamma = 3{own} }}\n\
                 [[workload]]\nkind = \"requests\"\nrequest = {{ uniform = [\"100B\", \"30KB\"] }}\nresponse = {{ uniform = [\"100B\", \"60KB\"] }}\n\
                 count = 30\nthink = \"100us\"\ntwo-way = true\n"
            );
            let o = run(&text, &[]).remove(0);
            assert_eq!(o.report.queries.len(), 120, "{text}");
            assert!(o.report.flows.iter().all(|f| !f.acked.is_never()), "{text}");
            assert!(o.drops() > 0, "{text}");
        }
    }
}

/// The hosts of a connection may run on different cores.
#[test]
fn pull_traffic_divides() {
    for sets in [&[][..], &["transport.stack=linux", "workload.0.rounds=3", "workload.0.jitter=20us"]] {
        let config = resolve(INCAST, sets, None).remove(0).config;
        let alone = execute(&config);
        assert!(alone.flows.iter().any(|f| int(f, "probes") == Some(10)));
        let parts =
            run_seeded(config.check().unwrap(), config.seed, Cores::exactly(3), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(rows(&parts), rows(&alone), "{sets:?} on three cores");
    }
}
