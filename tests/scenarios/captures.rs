//! Captured packets, as tshark reads them: its counts of retransmissions, duplicate ACKs, SACK blocks and marks equal those of the simulator, all checksums
//! are valid, and a capture changes no result.

use forebay_experiment::capture::{CapturePlace, CapturePoint, PacketEvent, tcp_flag};
use forebay_platform::doctor::requirements;
use forebay_sim::run::{Cores, run_seeded};
use forebay_store::capture::{FlowEventKind, FlowTrace, Interface, PacketFile};
use forebay_tests::{Outcome, execute, resolve, rows};
use forebay_types::{NodeId, PortId};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::process::Command;

const STAR: &str = "[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n";

/// Four senders on one switch, with this queue and transport.
pub(crate) fn star(bottleneck: &str, transport: &str, workload: &str) -> String {
    format!(
        "duration = \"400ms\"\n{STAR}bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", {bottleneck} }}\n[transport]\n{transport}\n[[workload]]\n{workload}\n"
    )
}

pub(crate) const SHALLOW: &str = "buffer = \"24pkt\"";
pub(crate) const INCAST: &str = "kind = \"incast\"\nblock = \"200KB\"\nrounds = 3";
pub(crate) const LONG: &str = "kind = \"long\"\nsize = \"2MB\"";

/// A scenario, and the port or host where its packets are captured.
fn scenarios() -> Vec<(&'static str, String, &'static str)> {
    let rto = "rto-min = \"20ms\"\nrto-initial = \"50ms\"";
    let rfc = |cc: &str, more: &str| format!("stack = \"rfc\"\ncc = \"{cc}\"\n{rto}\n{more}");
    let linux = |cc: &str| format!("stack = \"linux\"\nhost = \"bare\"\ncc = \"{cc}\"");
    let step = "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"10pkt\" }";
    let red = "buffer = \"100pkt\", queue = { kind = \"red\", min = \"10pkt\", max = \"30pkt\" }";
    let codel = "buffer = \"200pkt\", queue = { kind = \"fq-codel\", target = \"100us\", interval = \"1ms\" }";
    let udp = "kind = \"udp\"\nfrom = \"s0\"\nrate = \"900Mbps\"\nstop = \"20ms\"\n[[workload]]\nkind = \"incast\"\nblock = \"50KB\"\nrounds = 2";
    let two_way = "kind = \"incast\"\nblock = \"40KB\"\nrounds = 5\ntwo-way = true";
    let requests =
        "kind = \"requests\"\nclients = \"recv\"\nservers = \"senders\"\nresponse = \"30KB\"\ncount = 20\nthink = \"100us\"";
    let lossy = |text: &str| text.replace("[transport]", "[[topology.loss]]\nport = \"s0->sw\"\np = 0.02\n[transport]");
    vec![
        ("newreno-sender", star(SHALLOW, &rfc("newreno", ""), INCAST), "s0"),
        ("newreno-port", star(SHALLOW, &rfc("newreno", ""), INCAST), "bottleneck"),
        ("ns2-sender", star(SHALLOW, &format!("stack = \"ns2\"\ncc = \"newreno\"\n{rto}"), INCAST), "s0"),
        ("ns2-receiver", star(SHALLOW, &format!("stack = \"ns2\"\ncc = \"newreno\"\n{rto}"), INCAST), "recv"),
        ("sack-sender", star(SHALLOW, &rfc("newreno", "recovery = \"sack\""), INCAST), "s1"),
        ("rack-sender", star(SHALLOW, &rfc("cubic", "recovery = \"rack\""), INCAST), "s2"),
        ("linux-cubic-sender", star(SHALLOW, &linux("cubic"), INCAST), "s0"),
        ("linux-cubic-receiver", star(SHALLOW, &linux("cubic"), LONG), "recv"),
        ("linux-dctcp-sender", star(step, &linux("dctcp"), INCAST), "s0"),
        ("linux-dctcp-port", star(step, &linux("dctcp"), LONG), "bottleneck"),
        ("rfc-dctcp-port", star(step, &rfc("dctcp", ""), LONG), "bottleneck"),
        ("red-port", star(red, &rfc("newreno", "ecn = \"classic\""), LONG), "bottleneck"),
        ("codel-port", star(codel, &linux("dctcp"), LONG), "bottleneck"),
        ("linux-bbr-sender", star(SHALLOW, &linux("bbr"), LONG), "s3"),
        ("udp-port", star(SHALLOW, &rfc("newreno", ""), udp), "bottleneck"),
        ("udp-host", star(SHALLOW, &rfc("newreno", ""), udp), "s0"),
        ("two-way-client", star(SHALLOW, &linux("cubic"), two_way), "recv"),
        ("requests-server", star(SHALLOW, &linux("cubic"), requests), "s0"),
        ("lossy-sender", lossy(&star("buffer = \"100pkt\"", &linux("cubic"), LONG)), "s0"),
        ("lossy-port", lossy(&star("buffer = \"100pkt\"", &rfc("newreno", ""), LONG)), "s0->sw"),
        ("shared-buffer-port", shared("down = \"2ms\""), "leaf0->h0"),
        ("failed-link-port", shared("down = \"2ms\"\nup = \"6ms\""), "leaf0->spine0"),
        ("offload-sender", star(SHALLOW, "stack = \"linux\"\ncc = \"cubic\"", LONG), "s0"),
        (
            "pfabric-port",
            star(
                "buffer = \"24pkt\", queue = { kind = \"pfabric\" }",
                "stack = \"ns2\"\ncc = \"newreno\"\nshim = \"srpt\"",
                INCAST,
            ),
            "bottleneck",
        ),
    ]
}

/// Hosts behind two switches with shared buffers, and a link that fails.
fn shared(failure: &str) -> String {
    format!(
        "duration = \"20ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n\
         host = {{ rate = \"1Gbps\", delay = \"1us\" }}\nfabric = {{ rate = \"2Gbps\", delay = \"1us\" }}\n\
         shared-buffer = \"60KB\"\n[[topology.failure]]\nlink = \"leaf0->spine0\"\n{failure}\n\
         [transport]\nstack = \"linux\"\nhost = \"bare\"\ncc = \"cubic\"\nrto-min = \"5ms\"\n\
         [[workload]]\nkind = \"incast\"\nsenders = \"h1..h7\"\nreceiver = \"h0\"\nblock = \"30KB\"\nrounds = 20\n\
         [[workload]]\nkind = \"long\"\nfrom = \"rack0\"\nto = \"rack1\"\n"
    )
}

/// Runs a scenario with a capture at one interface, or at all of `hosts`.
pub(crate) fn captured(text: &str, at: &str) -> Outcome {
    let at = if at == "hosts" { format!("\"{at}\"") } else { format!("[\"{at}\"]") };
    let mut variant = resolve(text, &[&format!("observe.capture={at}")], None).remove(0);
    variant.config.observe.capture.frame_bytes = Some(65_535);
    let report = execute(&variant.config);
    Outcome { variant, report }
}

/// The pcapng file of a run.
pub(crate) fn file(o: &Outcome) -> Vec<u8> {
    let capture = &o.variant.config.observe.capture;
    let interface = |p: &CapturePoint| Interface { name: p.name.clone(), description: String::new(), speed: None };
    let interfaces: Vec<Interface> = capture.points.iter().map(interface).collect();
    let mut out = PacketFile::create(Vec::new(), "a test", &interfaces, (capture.ip, capture.kept_bytes())).expect("memory");
    o.report.captured.iter().for_each(|p| out.write(&p).expect("memory"));
    out.finish().expect("memory")
}

/// Counts of packets by tshark.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    packets: usize,
    retransmissions: usize,
    duplicate_acks: usize,
    sack_blocks: usize,
    ce: usize,
    marked_here: usize,
    dropped: usize,
    lost_on_link: usize,
}

const FIELDS: [&str; 12] = [
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.options.sack_le",
    "ip.dsfield.ecn",
    "frame.comment",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "_ws.malformed",
    "tcp.len",
    "frame.packet_flags_direction",
];

/// Direction of a packet that the host has sent.
const OUTBOUND: &str = "0x00000002";

/// Lines of the fields of all packets. Checksums are verified.
fn tshark(bytes: &[u8], name: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = std::env::temp_dir().join(format!("forebay-capture-{}-{name}.pcapng", std::process::id()));
    fs::write(&path, bytes).expect("a temporary file");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=;"]);
    for layer in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output();
    fs::remove_file(&path).expect("the temporary file");
    let output = match output {
        Ok(output) => output,
        Err(e) => {
            requirements::skip("tshark", &e.to_string());
            return None;
        }
    };
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

fn counted_by_tshark(lines: &[Vec<String>], name: &str) -> Counts {
    let mut counts = Counts { packets: lines.len(), ..Counts::default() };
    for line in lines {
        let [again, order, duplicate, sack, ecn, comment, ip, tcp, udp, malformed, length, direction] = line.as_slice() else {
            panic!("{name}: {line:?}")
        };
        // 1: the checksum is good.
        assert!(ip == "1" && (tcp == "1" || udp == "1") && malformed.is_empty(), "{name}: {line:?}");
        // No host sends packets out of order: tshark takes a fast retransmission for one.
        let (resent, outbound) = (!again.is_empty() || !order.is_empty(), direction == OUTBOUND);
        counts.retransmissions += usize::from(resent && outbound && length != "0");
        counts.duplicate_acks += usize::from(!duplicate.is_empty() && !outbound);
        counts.sack_blocks += if sack.is_empty() { 0 } else { sack.split(',').count() };
        counts.ce += usize::from(ecn == "3");
        counts.marked_here += usize::from(comment == "marked here");
        counts.dropped += usize::from(comment.starts_with("dropped"));
        counts.lost_on_link += usize::from(comment.starts_with("lost"));
    }
    counts
}

/// The same counts from rows of the simulator.
fn counted_by_simulator(o: &Outcome) -> Counts {
    let packets = o.report.captured.to_vec();
    let mut counts = Counts { packets: packets.len(), ..Counts::default() };
    // The sender's view of each direction of each connection.
    let mut ends: Vec<(u64, NodeId)> = packets.iter().map(|p| (p.conn_id, p.src)).collect();
    ends.sort_unstable();
    ends.dedup();
    for (conn, sender) in ends {
        let mut flow = FlowTrace::new(sender, 0);
        packets.iter().filter(|p| p.conn_id == conn).for_each(|p| flow.add(p));
        for e in flow.events() {
            counts.duplicate_acks += usize::from(matches!(e.kind, FlowEventKind::Received { duplicate: true, .. }));
        }
    }
    for p in &packets {
        counts.sack_blocks += p.tcp.map_or(0, |t| t.sack_blocks().count());
        counts.ce += usize::from(p.ecn == 3);
    }
    match o.variant.config.observe.capture.points[0].at {
        CapturePlace::Host(node) => {
            let own = o.report.flows.iter().filter(|f| f.src == node);
            counts.retransmissions = own.map(|f| f.segs_retx as usize).sum();
        }
        CapturePlace::Port(port) => count_port(o, port, &mut counts),
    }
    counts
}

fn count_port(o: &Outcome, port: PortId, counts: &mut Counts) {
    let p = &o.report.ports[port.index()];
    counts.marked_here = p.marked as usize;
    counts.dropped = (p.dropped_overflow + p.dropped_shared + p.dropped_early + p.cut_waiting) as usize;
    counts.lost_on_link = (p.corrupted + p.cut_flying) as usize;
    assert_eq!(counts.packets as u64, p.sent_pkts + counts.dropped as u64 - waiting_at_end(o, port));
}

/// Packets that wait at the end of the run.
fn waiting_at_end(o: &Outcome, port: PortId) -> u64 {
    let p = &o.report.ports[port.index()];
    let left = o.report.captured.iter().filter(|c| !c.event.is_drop()).count() as u64;
    let waiting = p.sent_pkts - left;
    assert!(waiting <= u64::from(p.queue_max_pkts), "{waiting} packets are missing");
    waiting
}

/// Counts that are defined at the interface only: retransmissions and duplicate ACKs at hosts of senders, decisions of queues at ports.
fn compared(o: &Outcome, mut counts: Counts) -> Counts {
    match o.variant.config.observe.capture.points[0].at {
        CapturePlace::Host(_) => (counts.marked_here, counts.dropped, counts.lost_on_link) = (0, 0, 0),
        CapturePlace::Port(_) => (counts.retransmissions, counts.duplicate_acks) = (0, 0),
    }
    counts
}

#[test]
fn tshark_counts_equal_simulator() {
    let (mut seen, mut wrong) = (Counts::default(), Vec::new());
    for (name, text, at) in scenarios() {
        let o = captured(&text, at);
        let Some(lines) = tshark(&file(&o), name, &FIELDS) else { return };
        let (theirs, ours) = (counted_by_tshark(&lines, name), counted_by_simulator(&o));
        let (theirs, ours) = (compared(&o, theirs), compared(&o, ours));
        if theirs != ours {
            wrong.push(format!("{name}: {theirs:?}, simulator {ours:?}"));
        }
        seen.retransmissions += ours.retransmissions;
        seen.duplicate_acks += ours.duplicate_acks;
        seen.sack_blocks += ours.sack_blocks;
        seen.ce += ours.ce;
        seen.marked_here += ours.marked_here;
        seen.dropped += ours.dropped;
        seen.lost_on_link += ours.lost_on_link;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each count is tested by many packets.
    let all =
        [seen.retransmissions, seen.duplicate_acks, seen.sack_blocks, seen.ce, seen.marked_here, seen.dropped, seen.lost_on_link];
    assert!(all.iter().all(|n| *n >= 20), "{seen:?}");
}

/// Accurate ECN as tshark decodes it: the flags of ACE, ECT(1), and the counters of the option, which count the payload of each codepoint.
#[test]
fn accecn_options_equal_simulator() {
    const FIELDS: [&str; 9] = [
        "tcp.options.acc_ecn.ee0b",
        "tcp.options.acc_ecn.eceb",
        "tcp.options.acc_ecn.ee1b",
        "tcp.flags",
        "ip.dsfield.ecn",
        "tcp.len",
        "tcp.stream",
        "tcp.checksum.status",
        "_ws.malformed",
    ];
    let step = "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"10pkt\" }";
    for (name, transport, ect) in [
        ("accurate", "stack = \"linux\"\nhost = \"bare\"\ncc = \"dctcp\"\necn = \"accurate\"", 2),
        ("prague", "stack = \"linux\"\nhost = \"bare\"\ncc = \"prague\"", 1),
    ] {
        let o = captured(&star(step, transport, LONG), "recv");
        let Some(lines) = tshark(&file(&o), name, &FIELDS) else { return };
        let packets = o.report.captured.to_vec();
        assert_eq!(lines.len(), packets.len());
        // Payload of each codepoint that each connection has received, counted from the packets that tshark prints.
        let mut counters: BTreeMap<String, [u32; 4]> = BTreeMap::new();
        let (mut options, mut flags) = (0, 0);
        for (line, p) in lines.iter().zip(&packets) {
            let [e0b, ceb, e1b, bits, ecn, length, stream, checksum, malformed] = line.as_slice() else { panic!("{line:?}") };
            assert!(checksum == "1" && malformed.is_empty(), "{name}: {line:?}");
            let counted = counters.entry(stream.clone()).or_default();
            let (ecn, length): (usize, u32) = (ecn.parse().unwrap(), length.parse().unwrap());
            counted[ecn] += length;
            let bits = u16::from_str_radix(bits.trim_start_matches("0x"), 16).expect("flags");
            let t = p.tcp.expect("a segment");
            let of = |bit: u16| bits & bit != 0;
            assert_eq!(
                [of(0x100), of(0x80), of(0x40)],
                [tcp_flag::AE, tcp_flag::CWR, tcp_flag::ECE].map(|flag| t.has(flag)),
                "{line:?}"
            );
            flags += usize::from(of(0x100));
            assert_eq!(t.accecn.is_some(), !ceb.is_empty(), "{name}: {line:?}");
            if let Some(fields) = t.accecn {
                options += 1;
                let theirs = [e0b, ceb, e1b].map(|text| text.parse::<u32>().expect("a counter"));
                assert_eq!(theirs, [fields.e0b, fields.ceb, fields.e1b]);
                // A counter of a codepoint begins with 1, that of CE with 0 (RFC 9768 section 3.2.1).
                assert_eq!(theirs, [counted[2] + 1, counted[3], counted[1] + 1], "{name}: {line:?}");
            }
        }
        let sums = counters.values().fold([0; 4], |all, c| [0, 1, 2, 3].map(|i| all[i] + c[i]));
        assert!(options > 1_000 && flags > 100, "{name}: {options} options, {flags} flags");
        assert!(sums[3] > 100_000 && sums[ect] > 1_000_000 && sums[3 - ect] == 0, "{name}: {sums:?}");
    }
}

#[test]
fn capture_changes_no_result() {
    for (name, text, at) in scenarios() {
        let with = captured(&text, at);
        assert!(!with.report.captured.is_empty(), "{name}");
        let mut variant = with.variant.clone();
        variant.config.observe.capture = Default::default();
        let without = execute(&variant.config);
        assert!(without.captured.is_empty());
        assert_eq!(rows(&with.report), rows(&without), "{name}");
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    for text in
        [star(SHALLOW, "stack = \"linux\"\ncc = \"cubic\"", INCAST), star(SHALLOW, "stack = \"rfc\"\ncc = \"newreno\"", INCAST)]
    {
        let mut one = captured(&text, "bottleneck");
        let (config, seed) = (one.variant.config.clone(), one.variant.config.seed);
        let before = file(&one);
        let checked = config.check().expect("a valid experiment");
        one.report = run_seeded(checked, seed, Cores::exactly(3), &mut |_| ControlFlow::Continue(())).expect("a report");
        assert!(file(&one) == before, "other bytes on three threads");
    }
}

/// A packet that leaves a port takes the time of its link to the host behind it.
#[test]
fn host_sees_packets_after_the_delay() {
    let text = star(SHALLOW, "stack = \"rfc\"\ncc = \"newreno\"", INCAST);
    let mut variant = resolve(&text, &["observe.capture=[\"bottleneck\", \"recv\"]"], None).remove(0);
    variant.config.observe.capture.connections = Some(vec![1]);
    let all = execute(&variant.config).captured.to_vec();
    assert!(all.iter().all(|p| p.conn_id == 1));
    let left: Vec<u64> = all.iter().filter(|p| p.interface == 0 && !p.event.is_drop()).map(|p| p.time_ps).collect();
    let arrived: Vec<u64> = all.iter().filter(|p| p.interface == 1 && p.inbound).map(|p| p.time_ps).collect();
    assert_eq!(left.iter().map(|t| t + 20_000_000).collect::<Vec<_>>(), arrived);
    assert!(all.iter().any(|p| p.event == PacketEvent::DroppedFull));
}
