//! Queue disciplines of the kernel at the interfaces of hosts, with byte queue limits and segmentation offload.

use crate::guest::{experiment, kernel, run_in};
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_experiment::world::World;
use forebay_linux::world::Linux;
use forebay_sim::world::Simulator;
use forebay_types::{Time, WorkloadId};

/// One host with `flows` bulk transfers, whose own interface is the slowest link, and about every 10 ms an answer of 10 KB.
fn bulk(rate: &str, host_queue: &str, flows: u32) -> String {
    format!(
        "duration = \"2s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"{rate}\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"10Gbps\", delay = \"20us\", buffer = \"10000pkt\" }}\nhost-queue = \"{host_queue}\"\n\
         [transport]\ncc = \"cubic\"\nhost = \"linux-server\"\n\
         [[workload]]\nkind = \"long\"\nclass = \"bulk\"\nper-pair = {flows}\n\
         [[workload]]\nkind = \"on-off\"\nclass = \"answers\"\nsizes = \"10KB\"\ngaps = \"10ms\"\ngap-from = \"completion\"\nstart = \"200ms\"\n\
         [observe]\nwarmup = \"1s\"\n"
    )
}

/// The report of a scenario, and the row of its sending host's port.
fn run(text: &str) -> (Report, PortRow) {
    let e = experiment(text);
    let report = run_in(&Linux, &e);
    let port = e.network.ports.position(|p| p.from == report.flows[0].src).unwrap();
    let row = report.ports.iter().find(|r| r.port == port).unwrap().clone();
    (report, row)
}

/// Completion times of the answers after the warm-up, in ascending order.
fn answers(report: &Report) -> Vec<Time> {
    let of = report.flows.iter().filter(|f| f.workload == WorkloadId::new(1) && f.start > Time::from_secs(1));
    let mut times: Vec<Time> = of.filter_map(|f| f.end.get().map(|end| end - f.start)).collect();
    times.sort();
    assert!(times.len() > 50, "{} answers", times.len());
    times
}

/// Without a queue all that TCP small queues let out is in the ring, and an answer waits for it. With one the ring has what byte queue limits allow.
#[test]
fn answers_pass_bulk_with_fair_queue() {
    if !kernel() {
        return;
    }
    let (plain, plain_port) = run(&bulk("1Gbps", "drop-tail", 8));
    let median = |times: &[Time]| times[times.len() / 2];
    for queue in ["fq-codel", "fq"].into_iter().filter(|name| forebay_queues::find(name).is_some()) {
        let (fair, port) = run(&bulk("1Gbps", queue, 8));
        let times = answers(&fair);
        assert!(
            4 * median(&times).0 < median(&answers(&plain)).0,
            "{queue}: {:?}, {:?}",
            median(&times),
            median(&answers(&plain))
        );
        assert!(port.queue_mean_pkts < plain_port.queue_mean_pkts / 3.0, "{queue}: {port:?} {plain_port:?}");
        // The ring never runs dry: byte queue limits grow when it does.
        assert!(port.busy > 0.99 && plain_port.busy > 0.99, "{queue}: {port:?}");
    }
}

/// CoDel drops what waits for more than 5 ms for an interval of 100 ms. Every flow has up to two packets in the queue (TCP small queues). They have
/// 64 KB on so short a path (tcp_tso_autosize, `tcp_tso_rtt_log`). The packets of two flows take 2 ms at 1 Gbps, the packets of 40 flows 42 ms.
#[test]
fn codel_drops_standing_queues_only() {
    if !kernel() {
        return;
    }
    let drops = |queue, flows| run(&bulk("1Gbps", queue, flows)).1.dropped_early;
    assert_eq!(drops("fq-codel", 2), 0);
    assert!(drops("fq-codel", 40) > 0);
    assert_eq!(drops("drop-tail", 40), 0);
}

/// With ECN CoDel marks instead of drops.
#[test]
fn codel_marks_with_ecn() {
    if !kernel() {
        return;
    }
    let (report, port) = run(&bulk("100Mbps", "fq-codel", 40).replace("host =", "ecn = \"classic\"\nhost ="));
    assert!(port.marked > 0 && port.dropped_early == 0, "{port:?}");
    assert!(report.flows.iter().any(|f| f.ecn_reductions > 0));
}

/// Packets that a dead link drops leave the transmit ring, so that the queue goes on when the link returns.
#[test]
fn queue_resumes_after_link_failure() {
    if !kernel() {
        return;
    }
    let failure = "[[topology.failure]]\nlink = \"s0->sw\"\ndown = \"500ms\"\nup = \"600ms\"\n[transport]";
    let (report, port) = run(&bulk("1Gbps", "fq-codel", 4).replace("[transport]", failure));
    assert!(!report.events.is_empty(), "the link failed");
    // Retransmission timeouts of 200 and 400 ms: all flows send again before the last second, which is measured.
    assert!(port.busy > 0.9 && port.queue_mean_pkts > 1.0, "{port:?}");
}

/// Numbers of packets that arrive back to back on links of 1 Gbps, from a flow that BBR paces at 128 KB in 10 ms, which is its window.
fn trains(host: &str) -> Vec<usize> {
    let text = format!(
        "duration = \"1s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"1Gbps\", delay = \"2500us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"2500us\", buffer = \"1000pkt\" }}\nhost-queue = \"fq-codel\"\n\
         [transport]\ncc = \"bbr\"\nhost = \"{host}\"\nheader = 52\nrcv-wnd = \"128KB\"\n\
         [[workload]]\nkind = \"long\"\n"
    );
    let mut e = experiment(&text);
    e.observe.packets = true;
    let report = run_in(&Linux, &e);
    let from = Time::from_ms(500).0;
    let times: Vec<u64> = report.packets.iter().filter(|p| p.payload > 0 && p.time_ps > from).map(|p| p.time_ps).collect();
    // 1500 B take 12 us.
    times.chunk_by(|a, b| b - a < 12_100_000).map(<[u64]>::len).collect()
}

/// A packet of the sender is 1 ms at its pacing rate (tcp_tso_autosize): 13 KB or 9 segments, 6 to 12 with the gains of BBR. The card cuts it.
#[test]
fn tso_sends_trains_of_a_millisecond() {
    if !kernel() {
        return;
    }
    let (mut with, without) = (trains("linux-server"), trains("bare"));
    with.sort_unstable();
    assert!((6..=12).contains(&with[with.len() / 2]), "{with:?}");
    assert!(without.len() > 1_000 && without.iter().all(|&n| n <= 2), "{without:?}");
}

/// Datagrams and TCP share the queue of their host, where fq_codel serves the two flows in turn: each gets half of the link, in both backends.
#[test]
fn datagrams_share_queue_with_tcp() {
    if !kernel() {
        return;
    }
    let e = experiment(
        "duration = \"100ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n\
         bottleneck = { rate = \"1Gbps\", delay = \"20us\", buffer = \"100pkt\" }\n[transport]\nstack = \"linux\"\ncc = \"cubic\"\n\
         [[workload]]\nkind = \"udp\"\nrate = \"800Mbps\"\nfrom = \"s0\"\n[[workload]]\nkind = \"long\"\nfrom = \"s0\"\n",
    );
    let delivered = |world: &dyn World| run_in(world, &e).flows.iter().map(|f| f.bytes_acked as f64).collect::<Vec<_>>();
    let (simulated, found) = (delivered(&Simulator), delivered(&Linux));
    assert_eq!((simulated.len(), found.len()), (2, 2));
    for (a, b) in simulated.iter().zip(&found) {
        assert!((a / b - 1.0).abs() < 0.02, "{simulated:?} {found:?}");
    }
    assert!((found[0] / found[1] - 1.0).abs() < 0.05, "{found:?}");
}
