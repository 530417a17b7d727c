//! Congestion controls on real connections over a link that marks and loses by a script.

use crate::capture::{Capture, ECE, Packet, SYN, Script, script, script_arrivals};
use crate::check::{check, equal, undisturbed, wait_until};
use crate::lab::{Host, Lab};
use crate::snapshot;
use crate::traffic::Transfer;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::catalog::{Kind, PROGRAMS, Program};
use forebay_hosts::detach::detach_all;
use forebay_hosts::status::status;
use std::time::Duration;

fn on(host: &Host, program: &str, name: &str, params: &[&str]) {
    let request = Request {
        program: program.into(),
        name: Some(name.into()),
        default: true,
        params: params.iter().map(|p| (*p).to_owned()).collect(),
        ..Request::default()
    };
    host.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
}

fn counter(host: &Host, name: &str, what: &str) -> u64 {
    let all = host.run(status).unwrap_or_else(|e| panic!("{e}"));
    let one = all.iter().find(|s| s.name == name).expect("it is attached");
    one.counters.as_ref().expect("root reads counters").iter().find(|(n, _)| n == what).map_or(0, |(_, v)| *v)
}

/// A pair of hosts with the congestion control at both ends, and packets of one segment.
fn lab_with(program: &str, params: &[&str]) -> Lab {
    let lab = Lab::new();
    for host in [&lab.left, &lab.right] {
        host.ip("link set eth0 gso_max_segs 1");
    }
    on(&lab.left, program, "fbt_left", params);
    on(&lab.right, program, "fbt_right", params);
    lab
}

fn congestion_controls() -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(|p| p.kind == Kind::CongestionControl)
}

fn off(lab: &Lab) {
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Counts the pure ACKs at the sender that end at the end of a segment, and those whose echo equals that segment's mark.
fn echoes(packets: &[Packet]) -> (usize, usize) {
    let mut marks = std::collections::BTreeMap::new();
    let (mut right, mut wrong) = (0, 0);
    for p in packets.iter().filter(|p| p.protocol == 6 && p.flags & SYN == 0) {
        if p.outgoing && p.payload > 0 {
            // A segment that was sent twice may have been marked once: its ACK says nothing.
            marks.entry(p.seq.wrapping_add(p.payload)).and_modify(|m| *m = None).or_insert(Some(p.ecn() == 3));
        } else if !p.outgoing && p.payload == 0 {
            match marks.get(&p.ack) {
                Some(Some(marked)) if *marked == (p.flags & ECE != 0) => right += 1,
                Some(Some(_)) => wrong += 1,
                _ => {}
            }
        }
    }
    (right, wrong)
}

/// RFC 8257, section 3.2: the echo of every ACK is the mark of the last segment that it covers, for several patterns of marks.
pub(crate) fn echo() {
    for cc in congestion_controls().filter(|l| l.needs_ecn) {
        for every in [1, 2, 3, 5, 17] {
            let lab = lab_with(cc.name, &[]);
            script(&lab.left, Script { mark_every: every, ..Script::default() });
            let capture = Capture::start(&lab.left);
            let intact = Transfer::start(&lab, 1_000_000).wait().intact;
            let packets = capture.finish();
            check(intact, &format!("{}, every {every}. packet marked: bytes arrive as they were sent", cc.name));
            check(packets.iter().filter(|p| p.outgoing && p.payload > 0).all(|p| p.ecn() >= 2), "data leaves ECN-capable");
            let (right, wrong) = echoes(&packets);
            check(
                wrong == 0 && right > 100,
                &format!("the echo of each of {right} ACKs is the mark of what it ends with ({wrong} wrong)"),
            );
            off(&lab);
        }
    }
}

/// Counters of the congestion control at the sender after the connection is closed, by name.
fn counted(lab: &Lab) -> impl Fn(&str) -> u64 + use<> {
    let mut counters = Vec::new();
    let value = |all: &[(String, u64)], what: &str| all.iter().find(|(n, _)| n == what).map_or(0, |(_, v)| *v);
    wait_until(|| {
        let all = lab.left.run(status).unwrap_or_else(|e| panic!("{e}"));
        let one = all.into_iter().find(|s| s.name == "fbt_left").expect("it is attached");
        counters = one.counters.expect("root reads counters");
        value(&counters, "sockets_closed") == value(&counters, "sockets_opened")
    });
    move |what| value(&counters, what)
}

/// A congestion control over a link that loses and re-orders nothing, with windows that no backlog of the kernel is too short for, and senders that no wait
/// makes retransmit.
fn without_retransmissions(params: &[&str], every: u32) -> (Lab, impl Fn(&str) -> u64 + use<>) {
    undisturbed("a segment was sent again", || {
        let lab = lab_with("dctcp", params);
        lab.patient();
        lab.right.sysctl("net.ipv4.tcp_rmem", "4096 131072 262144");
        script(&lab.left, Script { mark_every: every, ..Script::default() });
        check(Transfer::start(&lab, 3_000_000).wait().intact, &format!("{params:?}, every {every}. packet marked: bytes arrive"));
        let counted = counted(&lab);
        if lab.left.snmp("Tcp", "RetransSegs") == 0 {
            return Some((lab, counted));
        }
        off(&lab);
        None
    })
}

/// Alpha goes down without marks exactly as the congestion control's whole numbers do, up with them, and there is one cut in a window at most.
pub(crate) fn alpha() {
    for shift in [3, 4, 6] {
        let (lab, counted) = without_retransmissions(&[&format!("shift_g={shift}")], 0);
        // RFC 8257, section 3.3, in 1/1024; what the shift would leave for ever goes at once (dctcp_update_alpha).
        let (mut alpha, mut must) = (1024_u64, 0);
        for _ in 0..counted("windows") {
            alpha -= if alpha >> shift == 0 { alpha } else { alpha >> shift };
            must += alpha;
        }
        equal(
            counted("alpha_sum"),
            must,
            &format!("the sum of alpha over {} windows is the congestion control's to the bit", counted("windows")),
        );
        equal(counted("cuts"), 0, "without marks nothing is cut");
        off(&lab);
    }
    let mut last = 1.1;
    for every in [1, 2, 4, 20] {
        let (lab, counted) = without_retransmissions(&[], every);
        let (windows, cuts) = (counted("windows").max(1), counted("cuts"));
        let mean = counted("alpha_sum") as f64 / windows as f64 / 1024.0;
        // The mean over windows, not over packets. A window with marks is reduced, and so the longer of two: if they have three packets and one in
        // turn, and every second packet is marked, their shares are 2/3 and 0. Their mean is two thirds of the marked share of all packets. (1088
        // windows of a real transfer had 0.449.) If all packets are marked, all windows have the same share.
        let least = if every == 1 { 0.9 } else { 2.0 / 3.0 / f64::from(every) };
        check(mean > least, &format!("mean alpha of {windows} windows is {mean:.3}"));
        check(mean < last, "and less with fewer marks");
        check(cuts > 0 && cuts <= windows + 1, &format!("{cuts} cuts in {windows} windows: at most one a window"));
        last = mean;
        off(&lab);
    }
}

/// Over a link that loses packets every congestion control finishes, with no connection stuck.
pub(crate) fn losses() {
    for cc in congestion_controls() {
        let lab = Lab::new();
        let before = snapshot::take(&[&lab]);
        for host in [&lab.left, &lab.right] {
            host.ip("link set eth0 gso_max_segs 1");
        }
        on(&lab.left, cc.name, "fbt_left", &[]);
        on(&lab.right, cc.name, "fbt_right", &[]);
        for lose in [100, 10, 4] {
            script_arrivals(&lab.right, Script { lose_every: lose, ..Script::default() });
            let transfer = Transfer::start(&lab, if lose > 10 { 2_000_000 } else { 100_000 });
            let mut least = u32::MAX;
            // Samples of the window while it sends, as many as there are.
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(5));
                least = least.min(transfer.socket(&lab).map_or(u32::MAX, |s| s.info.cwnd));
            }
            check(transfer.wait().intact, &format!("{}, every {lose}. packet lost: bytes arrive as they were sent", cc.name));
            check(least >= 1, "the window is never below one segment");
            crate::lab::command("tc", &format!("-n {} qdisc del dev eth0 clsact", lab.right.name));
        }
        off(&lab);
        snapshot::unchanged(&before, &[&lab], &format!("{} on a link that loses", cc.name));
    }
}

/// Without ECN at the other end connections of a congestion control that wants it are ordinary ones.
pub(crate) fn without_ecn() {
    for cc in congestion_controls().filter(|l| l.needs_ecn) {
        let lab = Lab::new();
        on(&lab.left, cc.name, "fbt_left", &[]);
        let transfer = Transfer::start(&lab, 2_000_000);
        equal(
            transfer.socket(&lab).map(|s| (s.cc, s.info.ecn)),
            Some(("fbt_left".into(), false)),
            &format!("{} without ECN at the other end", cc.name),
        );
        let capture = Capture::start(&lab.left);
        check(transfer.wait().intact, "bytes arrive as they were sent");
        equal(counter(&lab.left, "fbt_left", "sockets_without_ecn"), 1, "status counts the connection");
        drop(capture.finish());
        off(&lab);
    }
}

/// After a silence TRIM sends two packets and waits for them, then goes on.
pub(crate) fn trim_probes() {
    use std::io::{Read, Write};
    let lab = lab_with("trim", &[]);
    lab.patient();
    lab.left.sysctl("net.ipv4.tcp_slow_start_after_idle", "0");
    // Packets of 0.6 ms: round trips of some milliseconds, so that a busy machine makes no gaps of its own.
    lab.bottleneck(20, 200);
    let (mut near, mut far) = crate::traffic::connect(&lab);
    let mut buffer = vec![0; 60_000];
    near.write_all(&buffer).and_then(|()| far.read_exact(&mut buffer)).expect("a first train");
    for train in 1..=5 {
        // The silence; a longer one is one, too.
        std::thread::sleep(Duration::from_millis(300));
        let capture = Capture::start(&lab.left);
        near.write_all(&buffer).and_then(|()| far.read_exact(&mut buffer)).expect("another train");
        let packets = capture.finish();
        let first = packets.iter().position(|p| p.outgoing && p.payload > 0).unwrap_or(0);
        let begin = packets.get(first).map_or(0, |p| p.seq);
        let answer = packets.iter().position(|p| !p.outgoing && p.ack.wrapping_sub(begin) as i32 > 0).unwrap_or(0);
        let ahead = packets[first..answer.max(first)].iter().filter(|p| p.outgoing && p.payload > 0).count();
        check((1..=2).contains(&ahead), &format!("train {train}: {ahead} packets leave before the first ACK"));
    }
    let (episodes, probes) = (counter(&lab.left, "fbt_left", "episodes"), counter(&lab.left, "fbt_left", "probes"));
    // A delayed ACK inside a train makes a gap, too.
    check(episodes >= 5, &format!("five trains after a silence: {episodes} episodes"));
    check(probes >= episodes && probes <= 2 * episodes, &format!("{probes} probes, one or two an episode"));
    off(&lab);
}
