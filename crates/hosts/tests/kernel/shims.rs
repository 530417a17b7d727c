//! Shims, packet by packet.

use crate::capture::{ACK, Capture, ECE, Packet, SYN, Script, script};
use crate::check::{check, equal, refuses};
use crate::lab::{Host, Lab};
use crate::snapshot;
use crate::traffic::{Transfer, acknowledged, connect, connect_from};
use forebay_hosts::attach::{Request, attach, dry_run};
use forebay_hosts::detach::{detach, detach_all};
use forebay_hosts::status::status;
use forebay_hosts::tune::tune;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

pub(crate) fn request(program: &str, name: &str, params: &[&str]) -> Request {
    Request {
        program: program.into(),
        name: Some(name.into()),
        prefixes: vec!["10.77.0.0/24".parse().expect("a prefix")],
        params: params.iter().map(|p| (*p).to_owned()).collect(),
        ..Request::default()
    }
}

pub(crate) fn on(host: &Host, request: &Request) {
    host.run(|| attach(request)).unwrap_or_else(|e| panic!("{e}"));
}

pub(crate) fn counter(host: &Host, name: &str, what: &str) -> u64 {
    let all = host.run(status).unwrap_or_else(|e| panic!("{e}"));
    let one = all.iter().find(|s| s.name == name).expect("it is attached");
    one.counters
        .as_ref()
        .expect("root reads counters")
        .iter()
        .find(|(n, _)| n == what)
        .unwrap_or_else(|| panic!("{name} counts no {what}"))
        .1
}

fn small_packets(lab: &Lab) {
    for host in [&lab.left, &lab.right] {
        host.ip("link set eth0 gso_max_segs 1");
    }
}

/// The class of each packet follows from the bytes sent before it.
pub(crate) fn pias() {
    let lab = Lab::new();
    small_packets(&lab);
    let before = snapshot::take(&[&lab]);
    let r = request("pias", "fbt_pias", &["threshold1=20000", "threshold2=60000", "threshold3=200000", "silence=0"]);
    let commands = lab.left.run(|| dry_run(&r)).unwrap_or_else(|e| panic!("{e}"));
    check(commands.iter().any(|c| c == "tc qdisc add dev eth0 clsact"), "a dry run shows the qdisc");
    check(commands.iter().any(|c| c.starts_with("tc filter add dev eth0 egress")), "and the filter");
    on(&lab.left, &r);
    let capture = Capture::start(&lab.left);
    let outcome = Transfer::start(&lab, 400_000).wait();
    check(outcome.intact, "bytes arrive as they were sent");
    let data: Vec<Packet> = capture.finish().into_iter().filter(|p| p.outgoing && p.payload > 0).collect();
    let (mut high, mut wrong, mut classes) = (None, 0, [0_u32; 4]);
    let first = data.first().map_or(0, |p| p.seq);
    for p in &data {
        // Bytes of the message that were sent before this packet.
        let sent: u32 = high.map_or(0, |h: u32| h.wrapping_sub(first));
        let class = [20_000, 60_000, 200_000].iter().filter(|t| sent >= **t).count();
        classes[class] += 1;
        wrong += u32::from(p.dscp() != [32, 24, 16, 8][class]);
        let end = p.seq.wrapping_add(p.payload);
        high = Some(high.map_or(end, |h: u32| if end.wrapping_sub(h) < 1 << 31 { end } else { h }));
    }
    equal(wrong, 0, &format!("the class of each of {} packets is that of the bytes sent before it", data.len()));
    check(classes.iter().all(|c| *c > 0), &format!("all four classes occur: {classes:?}"));
    equal(counter(&lab.left, "fbt_pias", "class1"), u64::from(classes[1]), "status counts the packets of a class");
    lab.left.run(|| tune("fbt_pias", &["dscp0=46".into()])).unwrap_or_else(|e| panic!("{e}"));
    let capture = Capture::start(&lab.left);
    check(Transfer::start(&lab, 5_000).wait().intact, "bytes arrive after tuning");
    let tuned = capture.finish().into_iter().filter(|p| p.outgoing && p.payload > 0).all(|p| p.dscp() == 46);
    check(tuned, "a tuned class has effect on the next connection");
    refuses(
        lab.left.run(|| attach(&Request { live: true, ..request("pias", "fbt_p2", &[]) })),
        &["shim", "--live"],
        "--live of a shim",
    );
    refuses(
        lab.left.run(|| attach(&Request { devices: vec!["nodev0".into()], ..request("pias", "fbt_p2", &[]) })),
        &["nodev0", "ip link"],
        "an interface that does not exist",
    );
    refuses(lab.left.run(|| attach(&request("pias", "fbt_p2", &[]))), &["eth0", "already"], "a second one at the interface");
    lab.left.run(|| detach("fbt_pias")).unwrap_or_else(|e| panic!("{e}"));
    snapshot::unchanged(&before, &[&lab], "a shim at an interface");
    // Without its file.
    on(&lab.left, &r);
    std::fs::remove_file("/run/forebay/fbt_pias.json").expect("the file of the attachment");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    snapshot::unchanged(&before, &[&lab], "`detach --all` of a shim with the file lost");
}

/// Probes, the window of the SYN-ACK, and what the guest does not see.
pub(crate) fn proboscis() {
    for marked in [0, 4, 8] {
        let lab = Lab::new();
        small_packets(&lab);
        let before = snapshot::take(&[&lab]);
        on(&lab.left, &request("proboscis", "fbt_near", &[]));
        on(&lab.right, &request("proboscis", "fbt_far", &[]));
        script(&lab.left, Script { mark_probes: marked, ..Script::default() });
        let (near, far) = (Capture::start(&lab.left), Capture::start(&lab.right));
        let transfer = Transfer::start(&lab, 300_000);
        check(transfer.wait().intact, &format!("{marked} of 8 probes marked: bytes arrive as they were sent"));
        let (near, far) = (near.finish(), far.finish());
        let probes: Vec<&Packet> = near.iter().filter(|p| p.outgoing && p.protocol == 253).collect();
        equal(probes.len(), 8, "eight probes leave");
        equal(probes.iter().filter(|p| p.ecn() == 3).count(), marked as usize, "as many are marked as the link says");
        let syn = near.iter().position(|p| p.outgoing && p.protocol == 6 && p.flags & SYN != 0);
        let last = near.iter().rposition(|p| p.outgoing && p.protocol == 253);
        check(last < syn, "all of them are ahead of the SYN");
        let syn_ack = near.iter().find(|p| !p.outgoing && p.flags & (SYN | ACK) == SYN | ACK).copied();
        let segments = (10 * (8 - marked) / 8).max(2);
        equal(syn_ack.map(|p| u32::from(p.window)), Some(segments * 1448), &format!("the SYN-ACK allows {segments} segments"));
        // Packets that leave before the first ACK of data arrives.
        let first = near.iter().position(|p| p.outgoing && p.protocol == 6 && p.payload > 0).unwrap_or(0);
        let begin = near.get(first).map_or(0, |p| p.seq);
        let answer = near
            .iter()
            .position(|p| !p.outgoing && p.flags & SYN == 0 && p.ack.wrapping_sub(begin) as i32 > 0)
            .unwrap_or(near.len());
        let flight: u32 = near[first..answer].iter().filter(|p| p.outgoing).map(|p| p.payload).sum();
        check(flight > 0 && flight <= segments * 1448, &format!("the first flight obeys it: {flight} bytes"));
        check(
            near.iter().filter(|p| p.outgoing && p.protocol == 6 && p.payload > 0).all(|p| p.ecn() == 2),
            "data leaves ECN-capable",
        );
        check(near.iter().filter(|p| p.flags & SYN != 0 && p.protocol == 6).all(|p| p.flags & ECE == 0), "no SYN negotiates ECN");
        equal(counter(&lab.right, "fbt_far", "probes_received"), 8, "the other end counts the probes");
        equal(counter(&lab.right, "fbt_far", "probes_marked"), u64::from(marked), "and their marks");
        check(!far.is_empty(), "the far end was watched");
        for (host, name) in [(&lab.left, "fbt_near"), (&lab.right, "fbt_far")] {
            host.run(|| detach(name)).unwrap_or_else(|e| panic!("{e}"));
        }
        // The scripted link keeps its own filter, and with it the qdisc that the shim made.
        crate::lab::command("tc", &format!("-n {} qdisc del dev eth0 clsact", lab.left.name));
        snapshot::unchanged(&before, &[&lab], "ProBoSCIS at both ends");
    }
}

/// Marks on the way: the shim cuts, and the guest's window follows; the guest knows nothing of ECN.
pub(crate) fn proboscis_window() {
    let lab = Lab::new();
    small_packets(&lab);
    on(&lab.left, &request("proboscis", "fbt_near", &[]));
    on(&lab.right, &request("proboscis", "fbt_far", &[]));
    script(&lab.left, Script { mark_every: 2, ..Script::default() });
    let capture = Capture::start(&lab.left);
    check(Transfer::start(&lab, 2_000_000).wait().intact, "every second packet marked: bytes arrive as they were sent");
    let packets = capture.finish();
    let marked = packets.iter().filter(|p| p.outgoing && p.payload > 0 && p.ecn() == 3).count();
    let echoes = packets.iter().filter(|p| !p.outgoing && p.flags & ECE != 0).count();
    check(marked > 100, &format!("{marked} packets were marked"));
    check(echoes > 50, &format!("{echoes} ACKs carry the echo"));
    check(counter(&lab.right, "fbt_far", "marks_hidden") == marked as u64, "every mark was taken off before the guest");
    check(counter(&lab.left, "fbt_near", "cuts") > 10, "the shim cut its window many times");
    // In the end about half is marked: the window hovers near its floor.
    let tail = &packets[packets.len() / 2..];
    let (mut high, mut una, mut most) = (0_u32, 0_u32, 0_u32);
    for p in tail.iter().filter(|p| p.protocol == 6) {
        if p.outgoing && p.payload > 0 {
            high = p.seq.wrapping_add(p.payload);
            if una != 0 {
                most = most.max(high.wrapping_sub(una));
            }
        } else if !p.outgoing {
            una = p.ack;
        }
    }
    check(
        most > 0 && most <= 20 * 1448,
        &format!("never more than 20 segments are under way in the second half ({} bytes, {high})", most),
    );
    let guest = lab.left.run(forebay_hosts::inet_diag::sockets).unwrap_or_default();
    check(guest.iter().all(|s| !s.info.ecn), "the guest has no ECN");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Every packet is marked: a connection is limited until it has had so many bytes acknowledged as make an elephant, and not after that.
pub(crate) fn proboscis_elephant() {
    let lab = Lab::new();
    small_packets(&lab);
    on(&lab.left, &request("proboscis", "fbt_near", &["elephant=100000"]));
    on(&lab.right, &request("proboscis", "fbt_far", &[]));
    script(&lab.left, Script { mark_every: 1, ..Script::default() });
    let limited = || counter(&lab.left, "fbt_near", "acks_limited");
    check(Transfer::start(&lab, 90_000).wait().intact, "a mouse: bytes arrive as they were sent");
    let mouse = limited();
    check(mouse > 10, &format!("{mouse} of its ACKs have a lower window"));
    check(Transfer::start(&lab, 2_000_000).wait().intact, "an elephant: bytes arrive as they were sent");
    // Of 1 400 segments it is limited for 70, each of which could be acknowledged alone.
    let elephant = limited() - mouse;
    check((10..=75).contains(&elephant), &format!("{elephant} of an elephant's ACKs have one: those of its first 100 000 bytes"));
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Writes `bytes` at one end, reads them at the other, and waits until they are acknowledged.
fn message(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    let mut reader = to.try_clone().expect("a second handle of a socket");
    let all = std::thread::spawn(move || reader.read_exact(&mut vec![0; bytes]).is_ok());
    from.write_all(&vec![7; bytes]).expect("bytes are written");
    check(all.join().expect("the reader ends"), "bytes arrive");
    acknowledged(from);
}

/// A persistent connection: data after a pause has a train ahead of it, and the first ACK of that data has the window of the verdict. Data without a pause has
/// no train.
pub(crate) fn proboscis_restart() {
    let lab = Lab::new();
    small_packets(&lab);
    on(&lab.left, &request("proboscis", "fbt_near", &[]));
    on(&lab.right, &request("proboscis", "fbt_far", &[]));
    // All probes ahead of the SYN, and half of the train of the restart.
    script(&lab.left, Script { mark_probes: 12, ..Script::default() });
    let capture = Capture::start(&lab.left);
    let (mut near, mut far) = connect(&lab);
    message(&mut near, &mut far, 20_000);
    std::thread::sleep(Duration::from_millis(60));
    message(&mut near, &mut far, 20_000);
    equal(counter(&lab.left, "fbt_near", "restarts"), 0, "data without a pause does not restart");
    equal(counter(&lab.left, "fbt_near", "probes_sent"), 8, "and has no probes");
    std::thread::sleep(Duration::from_millis(320));
    message(&mut near, &mut far, 60_000);
    let packets = capture.finish();
    equal(counter(&lab.left, "fbt_near", "restarts"), 1, "data after a pause restarts");
    equal(counter(&lab.left, "fbt_near", "probes_sent"), 16, "with a second train");
    equal(counter(&lab.right, "fbt_far", "restarts_answered"), 1, "the other end answers it");
    equal(counter(&lab.right, "fbt_far", "restarts_limited"), 1, "with a lower window");
    let probe = |p: &&Packet| p.outgoing && p.protocol == 253;
    let probes: Vec<&Packet> = packets.iter().filter(probe).collect();
    equal(probes.len(), 16, "both trains leave");
    check(probes.iter().all(|p| p.seq == probes[0].seq && p.payload == 0), "probes are headers that name the connection");
    equal(probes[8..].iter().filter(|p| p.ecn() == 3).count(), 4, "half of the second train is marked");
    let last = packets.iter().rposition(|p| probe(&p)).unwrap_or(0);
    let behind = packets.get(last + 1);
    check(behind.is_some_and(|p| p.outgoing && p.payload > 0), "data follows at once");
    let begin = behind.map_or(0, |p| p.seq);
    let acks: Vec<&Packet> =
        packets.iter().filter(|p| !p.outgoing && p.protocol == 6 && p.ack.wrapping_sub(begin) as i32 > 0).collect();
    let before = packets[..last].iter().rev().find(|p| !p.outgoing && p.protocol == 6).map_or(0, |p| p.window);
    check(acks.first().is_some_and(|p| p.window < before / 2), "the first ACK of the restart has a lower window");
    check(acks.last().is_some_and(|p| p.window >= before / 2), "the last one has that of the receiver");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Answers of a server: a train goes ahead of its SYN-ACK, and the client's third packet has the window. Later the server's end throttles, and probes a restart.
pub(crate) fn proboscis_answers() {
    for marked in [0, 4] {
        let lab = Lab::new();
        small_packets(&lab);
        on(&lab.left, &request("proboscis", "fbt_client", &[]));
        on(&lab.right, &request("proboscis", "fbt_server", &[]));
        script(&lab.right, Script { mark_probes: marked, ..Script::default() });
        let capture = Capture::start(&lab.right);
        let (mut client, mut server) = connect(&lab);
        message(&mut client, &mut server, 100);
        message(&mut server, &mut client, 60_000);
        equal(counter(&lab.right, "fbt_server", "restarts"), 0, "the first answer follows its handshake");
        std::thread::sleep(Duration::from_millis(320));
        message(&mut client, &mut server, 100);
        message(&mut server, &mut client, 60_000);
        let packets = capture.finish();
        let probe = |p: &&Packet| p.outgoing && p.protocol == 253;
        equal(
            packets.iter().filter(probe).count(),
            16,
            "the server sends a train ahead of its SYN-ACK and one ahead of the second answer",
        );
        let syn_ack = packets.iter().position(|p| p.outgoing && p.flags & SYN != 0 && p.protocol == 6);
        let ahead = packets[..syn_ack.unwrap_or(0)].iter().filter(probe).count();
        equal(ahead, 8, "eight probes are ahead of the SYN-ACK");
        equal(counter(&lab.right, "fbt_server", "answer_trains"), 1, "the server counts its train");
        equal(counter(&lab.left, "fbt_client", "probes_marked"), u64::from(marked), "the client's end counts their marks");
        let data = |p: &&Packet| p.outgoing && p.protocol == 6 && p.payload > 0;
        let first = packets.iter().find(data).map_or(0, |p| p.seq);
        let from_client = |p: &&Packet| !p.outgoing && p.protocol == 6 && p.flags & (SYN | ACK) == ACK;
        let acks: Vec<&Packet> = packets.iter().filter(from_client).collect();
        let early: Vec<u16> = acks.iter().take_while(|p| p.ack == first).map(|p| p.window).collect();
        let most = acks.iter().map(|p| p.window).max().unwrap_or(0);
        equal(
            counter(&lab.left, "fbt_client", "answers_limited"),
            early.len() as u64,
            "and lowers the window of the third packet and of those behind it that acknowledge no data",
        );
        let segments = if marked > 0 { 5 } else { 10 };
        // In units of the scale that the client announced.
        let windows: Vec<u16> = (0..15).map(|scale| (segments * 1448_u32).div_ceil(1 << scale) as u16).collect();
        check(
            early.len() >= 2 && windows.contains(&early[0]) && early.iter().all(|w| *w == early[0]) && early[0] < most / 2,
            &format!("{marked} marked: third packet and request allow {segments} segments ({early:?} of {most})"),
        );
        let begin = packets.iter().position(|p| data(&p)).unwrap_or(0);
        let answered = packets[begin..].iter().position(|p| from_client(&p) && p.ack != first).unwrap_or(0);
        let flight: u32 = packets[begin..begin + answered].iter().filter(data).map(|p| p.payload).sum();
        check(
            (1..=segments * 1448).contains(&flight),
            &format!("{flight} bytes are in the first flight, of {segments} segments"),
        );
        check(packets.iter().filter(data).all(|p| p.ecn() == 2), "answers leave ECN-capable");
        equal(counter(&lab.right, "fbt_server", "restarts"), 1, "the second answer restarts");
        lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    }
    throttled_answers();
    no_answers();
}

/// Marks on the way of an answer.
fn throttled_answers() {
    let lab = Lab::new();
    small_packets(&lab);
    on(&lab.left, &request("proboscis", "fbt_client", &[]));
    on(&lab.right, &request("proboscis", "fbt_server", &[]));
    script(&lab.right, Script { mark_every: 2, ..Script::default() });
    let (mut client, mut server) = connect(&lab);
    message(&mut client, &mut server, 100);
    message(&mut server, &mut client, 1_000_000);
    check(counter(&lab.right, "fbt_server", "cuts") > 5, "marks on the way cut the window of the answer");
    check(counter(&lab.left, "fbt_client", "marks_hidden") > 100, "and are hidden from the client");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Only data of the opener.
fn no_answers() {
    let lab = Lab::new();
    on(&lab.left, &request("proboscis", "fbt_client", &["answers=0"]));
    on(&lab.right, &request("proboscis", "fbt_server", &["answers=0"]));
    let (mut client, mut server) = connect(&lab);
    message(&mut client, &mut server, 100);
    message(&mut server, &mut client, 60_000);
    equal(counter(&lab.right, "fbt_server", "probes_sent"), 0, "with answers=0 the server sends none");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// A guest behind a bridge, with the shim at the bridge's uplink: the guest has no part in it, and neither have connections among guests
/// and host.
pub(crate) fn proboscis_guest() {
    for marked in [0, 4] {
        let lab = Lab::new();
        small_packets(&lab);
        let guest = lab.guest();
        let uplink = Request { devices: vec!["eth0".into()], ..request("proboscis", "fbt_near", &[]) };
        on(&lab.left, &uplink);
        on(&lab.right, &request("proboscis", "fbt_far", &[]));
        script(&lab.left, Script { mark_probes: marked, mark_every: 10, ..Script::default() });
        // At the other end, because at the bridge a packet passes several interfaces.
        let capture = Capture::start(&lab.right);
        let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
        let (near, far) = connect_from(&guest.0, &listener);
        check(
            Transfer::over(near, far, 500_000).wait().intact,
            &format!("a guest, {marked} of 8 probes marked: bytes arrive as they were sent"),
        );
        let packets = capture.finish();
        let probes: Vec<&Packet> = packets.iter().filter(|p| !p.outgoing && p.protocol == 253).collect();
        equal(probes.len(), 8, "eight probes come from behind the bridge");
        equal(probes.iter().filter(|p| p.ecn() == 3).count(), marked as usize, "as many are marked as the link says");
        let syn = packets.iter().position(|p| !p.outgoing && p.protocol == 6 && p.flags & SYN != 0);
        check(packets.iter().rposition(|p| !p.outgoing && p.protocol == 253) < syn, "all of them are ahead of the SYN");
        let segments = 10 * (8 - marked) / 8;
        let syn_ack = packets.iter().find(|p| p.outgoing && p.flags & (SYN | ACK) == SYN | ACK);
        equal(syn_ack.map(|p| u32::from(p.window)), Some(segments * 1448), &format!("the SYN-ACK allows {segments} segments"));
        let data = |p: &&Packet| !p.outgoing && p.protocol == 6 && p.payload > 0;
        check(packets.iter().filter(data).all(|p| p.ecn() >= 2), "its data leaves ECN-capable");
        let marks = packets.iter().filter(data).filter(|p| p.ecn() == 3).count() as u64;
        check(marks > 20, &format!("{marks} packets are marked on the way"));
        equal(counter(&lab.right, "fbt_far", "marks_hidden"), marks, "every mark is taken off at the other end");
        check(counter(&lab.left, "fbt_near", "cuts") > 0, "the shim at the uplink cuts for the guest");
        let ecn = guest.0.run(forebay_hosts::inet_diag::sockets).unwrap_or_default().iter().any(|s| s.info.ecn);
        check(!ecn, "the guest has no ECN");
        // Among guest and host nothing passes the uplink.
        let sent = counter(&lab.left, "fbt_near", "probes_sent");
        let inside = lab.left.run(|| TcpListener::bind((lab.left.address, 0)).expect("a port to listen on"));
        let (near, far) = connect_from(&guest.0, &inside);
        check(Transfer::over(near, far, 100_000).wait().intact, "from a guest to its host: bytes arrive as they were sent");
        equal(counter(&lab.left, "fbt_near", "probes_sent"), sent, "and no probes leave");
        lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// ACKs that the receiver's timer sent for 200 segments with a smallest window of `floor` segments, in three runs. `marked`: all probes were marked,
/// so that the window is small from the beginning. All data is marked.
fn with_floor(floor: u32, marked: bool) -> u64 {
    let lab = Lab::new();
    small_packets(&lab);
    let floor = format!("floor={floor}");
    on(&lab.left, &request("proboscis", "fbt_near", &[&floor]));
    on(&lab.right, &request("proboscis", "fbt_far", &[&floor]));
    script(&lab.left, Script { mark_probes: if marked { u32::MAX } else { 0 }, mark_every: 1, ..Script::default() });
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    for _ in 0..3 {
        let (near, far) = connect_from(&lab.left, &listener);
        check(Transfer::over(near, far, 200 * 1448).wait().intact, "bytes arrive as they were sent");
    }
    let delayed = lab.right.snmp("TcpExt", "DelayedACKs");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    delayed
}

/// Why the least window is two segments: with one the receiver's timer waits for a second one. Not at the beginning: of a window that never was
/// more than a segment the kernel sends two halves (tcp_bound_to_half_wnd), which are acknowledged at once.
pub(crate) fn proboscis_floor() {
    let (one, two) = (with_floor(1, false), with_floor(2, false));
    check(one > 10 * two.max(3), &format!("a window cut to one segment waits for {one} delayed ACKs, of two segments for {two}"));
    let (small, two) = (with_floor(1, true), with_floor(2, true));
    check(
        10 * small < one,
        &format!("one that is so small from the beginning does not: {small} delayed ACKs, two segments {two}"),
    );
}
