//! Link failures, bit errors and packet spraying with whole connections. Every run asserts that packets sent are those that arrived, were dropped or
//! lost, or are in flight.

use forebay_experiment::rows::{EventKind, EventRow};
use forebay_tests::{Outcome, one, resolve};
use forebay_types::Time;

/// Two leaves, four spines, four hosts a leaf: 1 Gbps everywhere, 60 us of propagation between the leaves' hosts.
const FABRIC: &str = r#"
duration = "4s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts-per-leaf = 4
host   = { rate = "1Gbps", delay = "10us", buffer = "200pkt" }
fabric = { rate = "1Gbps", delay = "20us", buffer = "200pkt" }
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "long"
from = "rack0"
to = "rack1"
pattern = "pairwise"
per-pair = 4
size = "2MB"
"#;

fn with(more: &str) -> String {
    FABRIC.replace("[transport]", &format!("{more}\n[transport]"))
}

fn events(o: &Outcome, kind: EventKind) -> Vec<EventRow> {
    o.report.events.iter().filter(|e| e.kind == kind).copied().collect()
}

/// All data is delivered exactly once.
fn complete(o: &Outcome) {
    for f in &o.report.flows {
        assert!(!f.end.is_never() && f.bytes_acked == f.size_bytes && f.bytes_measured == f.size_bytes, "{f:?}");
    }
}

fn retransmitted(o: &Outcome) -> u64 {
    o.report.flows.iter().map(|f| f.segs_retx).sum()
}

#[test]
fn a_link_fails_and_comes_back() {
    let calm = one(FABRIC, &["transport.host=bare"]);
    complete(&calm);
    assert!(calm.report.events.is_empty());
    let o = one(&with("failure = { link = \"leaf0->spine1\", down = \"5ms\", up = \"20ms\" }"), &["transport.host=bare"]);
    complete(&o);
    let (down, up) = (events(&o, EventKind::LinkDown)[0], events(&o, EventKind::LinkUp)[0]);
    assert_eq!((down.time_ps, down.until_ps), (5_000_000_000, Some(20_000_000_000)));
    assert_eq!((up.time_ps, up.until_ps, down.pairs), (20_000_000_000, None, Some(0)));
    let lost: u64 = ["leaf0->spine1", "spine1->leaf0"].map(|p| o.port(p).cut_waiting + o.port(p).cut_flying).iter().sum();
    assert_eq!(down.packets, Some(lost));
    assert!(lost > 5 && lost < 500, "{lost}");
    let elsewhere = o.report.ports.iter().map(|p| p.cut_waiting + p.cut_flying).sum::<u64>();
    assert_eq!(elsewhere, lost);
    // Of 16 connections, with data over one of four spines and ACKs over another: some were rerouted, not all, and returned or completed.
    let (there, back) = (down.flows.unwrap(), up.flows.unwrap());
    assert!((2..14).contains(&there) && back <= there, "{there} {back}");
    assert!(retransmitted(&o) >= lost / 2, "{}", retransmitted(&o));
    for p in &o.report.ports {
        assert_eq!(p.arrived_pkts, p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early + p.cut_waiting);
    }
    // While it was down the link carried nothing.
    assert!(o.port("leaf0->spine1").sent_pkts < calm.port("leaf0->spine1").sent_pkts);
}

/// Until switches reroute, packets are sent into the dead link; flows on other paths are not affected.
#[test]
fn switches_know_later() {
    let failure = |reroute| with(&format!("failure = {{ link = \"leaf0->spine1\", down = \"5ms\", reroute = \"{reroute}\" }}"));
    let (soon, late) = (one(&failure("0s"), &[]), one(&failure("30ms"), &[]));
    complete(&soon);
    complete(&late);
    let lost = |o: &Outcome| events(o, EventKind::LinkDown)[0].packets.unwrap();
    assert!(lost(&late) > lost(&soon), "{} {}", lost(&late), lost(&soon));
    let rtos = |o: &Outcome| o.report.flows.iter().map(|f| f.rtos).sum::<u32>();
    assert!(rtos(&late) > rtos(&soon), "{} {}", rtos(&late), rtos(&soon));
    assert!(events(&late, EventKind::LinkUp).is_empty() && events(&late, EventKind::LinkDown)[0].until_ps.is_none());
}

/// With a single path the connection waits for its timer and continues when the link is back.
#[test]
fn packets_lost_without_alternate_path() {
    let text = "duration = \"5s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"1Gbps\", delay = \"10us\" }\n\
        bottleneck = { rate = \"1Gbps\", delay = \"50us\", buffer = \"50pkt\" }\n\
        failure = [{ link = \"bottleneck\", down = \"10ms\", up = \"900ms\" }]\n\
        [[workload]]\nkind = \"long\"\nsize = \"10MB\"\n";
    let o = one(text, &[]);
    complete(&o);
    let down = events(&o, EventKind::LinkDown)[0];
    // Both senders to the receiver, and back.
    assert_eq!(down.pairs, Some(4));
    assert_eq!(down.flows, Some(0));
    assert!(o.rtos() >= 4, "{}", o.rtos());
    let bottleneck = o.port("bottleneck");
    assert!(bottleneck.cut_waiting > 0 && bottleneck.cut_flying > 0, "{bottleneck:?}");
    // Nothing arrived during the failure: the intervals of retransmissions double from 200 ms.
    let end = o.report.flows.iter().map(|f| f.end.or_never()).max().unwrap();
    assert!(end > Time::from_ms(900 + 100) && end < Time::from_ms(2_200), "{end}");
}

/// The same with the link of a host, a queue with a backlog, shared memory, and several failures.
#[test]
fn failures_conserve_packets() {
    let queues = [
        "\"drop-tail\"",
        "{ kind = \"red\", min = \"20pkt\", max = \"60pkt\" }",
        "{ kind = \"strict-priority\", k = \"20pkt\" }",
        "{ kind = \"dwrr\" }",
        "{ kind = \"fq-codel\" }",
        "{ kind = \"pfabric\" }",
        "{ kind = \"pie\" }",
        "{ kind = \"lossy\", p = 0.001 }",
    ];
    for queue in queues {
        for shared in ["", "shared-buffer = \"400KB\"\n"] {
            let text = with(&format!(
                "{shared}failure = [{{ link = \"leaf0->spine1\", down = \"3ms\", up = \"9ms\" }}, \
                 {{ link = \"leaf0->spine1\", down = \"9ms\", up = \"12ms\" }}, {{ link = \"h5->leaf1\", down = \"4ms\", up = \"6ms\" }}, \
                 {{ link = \"leaf1->h6\", down = \"4.0001ms\", up = \"6ms\" }}, {{ link = \"leaf1->spine2\", down = \"7ms\", reroute = \"2ms\" }}]"
            ));
            let queued = format!("buffer = \"200pkt\", queue = {queue}");
            let o = one(&text.replace("buffer = \"200pkt\"", &queued), &[]);
            complete(&o);
            let down = events(&o, EventKind::LinkDown);
            assert_eq!((down.len(), events(&o, EventKind::LinkUp).len()), (5, 4), "{queue}");
            let lost: u64 = o.report.ports.iter().map(|p| p.cut_waiting + p.cut_flying).sum();
            assert_eq!(down.iter().map(|e| e.packets.unwrap()).sum::<u64>(), lost, "{queue} {shared}: {down:?}");
        }
    }
}

/// Exactly the packets whose last bit has not arrived are lost: one every 20 us over a link of 15 us.
#[test]
fn failure_keeps_arrived_packets() {
    let text = |down: &str| {
        format!(
            "duration = \"2ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"1Gbps\", delay = \"1us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"15us\" }}\nfailure = {{ link = \"bottleneck\", down = \"{down}\" }}\n\
             [transport]\nhost = \"bare\"\n[[workload]]\nkind = \"udp\"\nrate = \"500Mbps\"\npacket = \"1250B\"\n"
        )
    };
    // The first leaves the host at 0, is at the switch at 11 us, and at the receiver at 36 us; the n-th 20 us n later.
    let arrived = |down: &str| one(&text(down), &[]).report.flows[0].bytes_acked / (1250 - 28);
    for (down, packets) in [("35.999us", 0), ("36.001us", 1), ("55.9us", 1), ("56.1us", 2), ("1036.001us", 51)] {
        assert_eq!(arrived(down), packets, "{down}");
    }
    let o = one(&text("1050us"), &[]);
    // The one that left at 1020 is on its way, and those from 1040 on are refused.
    let port = o.port("bottleneck");
    assert_eq!((port.cut_flying, port.cut_waiting), (1, 48));
}

#[test]
fn damaged_packets_end_at_the_checksum() {
    let text =
        with("corruption = [{ port = \"leaf0->spine1\", bit-errors = 1e-6 }, { port = \"leaf1->h4\", bit-errors = 1e-7 }]");
    let o = one(&text, &[]);
    complete(&o);
    let damaged = |name: &str| o.port(name).corrupted;
    let (fabric, host) = (damaged("leaf0->spine1"), damaged("leaf1->h4"));
    // 1 - (1 - p)^bits of some thousand packets of 1500 bytes, within five standard deviations.
    for (name, p, seen) in [("leaf0->spine1", 1e-6f64, fabric), ("leaf1->h4", 1e-7, host)] {
        let port = o.port(name);
        let mean = p * 8.0 * port.sent_bytes as f64;
        assert!((seen as f64 - mean).abs() < 5.0 * mean.sqrt() + 1.0, "{name}: {seen}, not {mean}");
        assert_eq!(port.dropped_early + port.dropped_overflow, 0);
    }
    assert!(fabric > 20 && o.report.ports.iter().map(|p| p.corrupted).sum::<u64>() == fabric + host);
    let rows = events(&o, EventKind::Corruption);
    assert_eq!(rows.iter().map(|e| e.packets.unwrap()).collect::<Vec<_>>(), [fabric, host]);
    assert!(retransmitted(&o) >= fabric + host, "{}", retransmitted(&o));
    // Damaged packets occupy the link like others.
    let sent: u64 = o.port("spine1->leaf1").arrived_pkts;
    assert_eq!(o.port("leaf0->spine1").sent_pkts - fabric, sent);
}

/// A loss belongs to the link: its queue drops nothing, marks as before, and may be any other.
#[test]
fn link_loss_keeps_its_queue() {
    let loss = "queue = QUEUE, loss = { p = \"1%\" }";
    for queue in ["\"drop-tail\"", "{ kind = \"fq-codel\" }", "{ kind = \"dctcp-step\", k = \"10pkt\" }"] {
        let loss = loss.replace("QUEUE", queue);
        let text = FABRIC.replace("fabric = { rate = \"1Gbps\",", &format!("fabric = {{ {loss}, rate = \"1Gbps\","));
        let o = one(&text.replace("newreno", "dctcp"), &[]);
        complete(&o);
        let fabric: Vec<_> = o.report.ports.iter().filter(|p| p.corrupted > 0).collect();
        let sum = |of: fn(&forebay_experiment::rows::PortRow) -> u64| fabric.iter().map(|p| of(p)).sum::<u64>() as f64;
        let (sent, lost) = (sum(|p| p.sent_pkts), sum(|p| p.corrupted));
        // Five standard deviations of a binomial distribution.
        assert!((lost - 0.01 * sent).abs() < 5.0 * (0.01 * sent).sqrt(), "{queue}: {lost} of {sent}");
        assert_eq!(fabric.len(), 16, "both directions of eight links");
        let rows = events(&o, EventKind::LinkLoss);
        assert_eq!(rows.iter().filter_map(|e| e.packets).sum::<u64>() as f64, lost);
    }
}

/// The fifth data packet of one connection, and its retransmission, which is the last of the ten and one.
#[test]
fn listed_data_packets_are_lost() {
    let text = |packets: &str| {
        with(&format!("[[topology.loss]]\nport = \"h1->leaf0\"\ndrop = {{ connection = 5, packets = {packets} }}"))
            .replace("size = \"2MB\"", "size = \"14KB\"")
    };
    let o = one(&text("[5, 11]"), &[]);
    complete(&o);
    for f in &o.report.flows {
        assert_eq!(f.segs_retx > 0, f.conn_id == 5, "{f:?}");
    }
    assert_eq!(o.port("h1->leaf0").corrupted, 2);
    // A retransmission timeout ends the second loss.
    let time = |o: &Outcome, conn| o.report.flows.iter().find(|f| f.conn_id == conn).map(|f| f.end.or_never()).unwrap();
    assert!(time(&o, 5) > Time::from_ms(200) && time(&o, 4) < Time::from_ms(20), "{:?} {:?}", time(&o, 5), time(&o, 4));
    let single = one(&text("[5]"), &[]);
    assert!(time(&single, 5) < Time::from_ms(20));
    assert_eq!(single.port("h1->leaf0").corrupted, 1);
}

/// Equal means, other bursts.
#[test]
fn bursts_of_loss_lose_neighbours() {
    let run = |loss: &str| one(&with(&format!("[[topology.loss]]\nport = \"leaf0->spine1\"\n{loss}")), &[]);
    for loss in ["p = 0.02\nburst = 10", "to-bad = 0.002\nto-good = 0.1", "to-bad = 0.01\nto-good = 0.1\nloss-bad = 0.2"] {
        let o = run(loss);
        complete(&o);
        let port = o.port("leaf0->spine1");
        let share = port.corrupted as f64 / port.sent_pkts as f64;
        assert!((0.002..0.06).contains(&share), "{loss}: {share}");
        assert_eq!(events(&o, EventKind::LinkLoss).len(), 1);
    }
}

/// A host's own link, both ways, and queues that hold a backlog.
#[test]
fn corruption_on_host_links_and_queues() {
    for queue in ["\"drop-tail\"", "{ kind = \"fq-codel\" }", "{ kind = \"red\", min = \"20pkt\", max = \"60pkt\" }"] {
        let text =
            with("corruption = [{ port = \"h0->leaf0\", bit-errors = 1e-6 }, { port = \"leaf0->h0\", bit-errors = 1e-5 }]");
        let o = one(&text.replace("buffer = \"200pkt\"", &format!("buffer = \"200pkt\", queue = {queue}")), &[]);
        complete(&o);
        assert!(o.port("h0->leaf0").corrupted > 20, "{queue}");
        assert!(o.port("leaf0->h0").corrupted > 5, "{queue}");
        assert_eq!(o.port("h0->leaf0").sent_pkts - o.port("h0->leaf0").corrupted, arrivals_from_h0(&o), "{queue}");
    }
}

/// Packets from h0 at the ports of its leaf towards the spines: all others of that leaf send to the same ports, less what they sent.
fn arrivals_from_h0(o: &Outcome) -> u64 {
    let up: u64 = (0..4).map(|s| o.port(&format!("leaf0->spine{s}")).arrived_pkts).sum();
    let others: u64 = (1..4).map(|h| o.port(&format!("h{h}->leaf0")).sent_pkts).sum();
    up - others
}

/// Packets of a connection are reordered, and the counters show it. The load is spread evenly, unlike that of hashes of 16 flows.
#[test]
fn spraying_reorders_and_uses_all_paths() {
    let flows = one(FABRIC, &[]);
    let sprayed = one(&with("balance = \"packet\""), &[]);
    complete(&sprayed);
    let spread = |o: &Outcome| {
        let sent: Vec<f64> = (0..4).map(|s| o.port(&format!("leaf0->spine{s}")).sent_pkts as f64).collect();
        sent.iter().fold(0.0f64, |a, b| a.max(*b)) / (sent.iter().sum::<f64>() / 4.0)
    };
    assert!(spread(&sprayed) < 1.06 && spread(&flows) > 1.2, "{} {}", spread(&sprayed), spread(&flows));
    assert_eq!(events(&sprayed, EventKind::Spraying).len(), 1);
    // Without losses, three duplicate ACKs still arrive.
    let roomy = with("balance = \"packet\"")
        .replace("200pkt", "20000pkt")
        .replace("cc = \"newreno\"", "cc = \"newreno\"\nrecovery = \"sack\"");
    let o = one(&roomy, &[]);
    complete(&o);
    assert_eq!(o.drops(), 0);
    assert!(retransmitted(&o) > 0, "no packet overtook three others");
    // All equal-cost paths have the same load, so transfers finish earlier than with hashes.
    let last = |o: &Outcome| o.report.flows.iter().map(|f| f.end.or_never()).max().unwrap();
    assert!(last(&o) < last(&one(&FABRIC.replace("200pkt", "20000pkt"), &[])));
}

/// Equal seeds give equal runs, different seeds different ones.
#[test]
fn results_are_deterministic() {
    let text = with(
        "balance = \"packet\"\nhost-queue = \"fq-codel\"\nfailure = { link = \"leaf0->spine1\", down = \"5ms\", up = \"20ms\" }\n\
         corruption = { port = \"leaf1->spine0\", bit-errors = 1e-6 }",
    );
    let run = |seed| {
        let variant = resolve(&text, &[], Some(seed)).remove(0);
        let report = forebay_tests::execute(&variant.config);
        (report.fingerprint, report.events)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

/// A short flow beside a bulk transfer of its own host: in the host's FIFO it waits for the bulk data, with fair queueing it is sent next.
#[test]
fn fair_host_queue_protects_short_flows() {
    let text = r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "10Gbps", delay = "10us", buffer = "1000pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "newreno"
tsq = false
rcv-wnd = "3MB"
[[workload]]
kind = "long"
[[workload]]
kind = "on-off"
sizes = "10KB"
gaps = "2ms"
gap-from = "completion"
trains = 40
start = "200ms"
"#;
    let with_queue = |queue: &str| {
        let o = one(&text.replace("[transport]", &format!("{queue}\n[transport]")), &[]);
        let took: Vec<f64> = o.class("on-off").iter().filter_map(|f| Some((f.end.get()? - f.start).as_secs_f64())).collect();
        assert!(took.len() >= 10, "{queue}: {}", took.len());
        (took.iter().sum::<f64>() / took.len() as f64, o)
    };
    let (fifo, _) = with_queue("");
    let (fair, o) = with_queue("host-queue = \"fq-codel\"");
    // 3 MB at 1 Gbps are 24 ms.
    assert!(fifo > 10e-3, "{fifo}");
    // Seven segments in alternation with the bulk transfer, and CoDel's target of 5 ms for the bulk transfer alone.
    assert!(fair < 1e-3, "{fair}");
    // The bulk transfer still has nearly all of the link.
    let elephant = o.class("long")[0].bytes_acked as f64 * 8.0;
    assert!(elephant > 0.85e9, "{elephant}");
}
