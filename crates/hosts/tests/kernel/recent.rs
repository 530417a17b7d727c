//! ProBoSCIS's recent estimates: connections that open soon after a train have none of their own, and its window.

use crate::capture::{ACK, Capture, Packet, SYN, Script, script, script_arrivals};
use crate::check::{check, equal};
use crate::helper::Helper;
use crate::lab::Lab;
use crate::shims::{counter, on, request};
use crate::traffic::{Transfer, connect_from, connect_to};
use forebay_hosts::attach::Request;
use forebay_hosts::detach::detach_all;
use forebay_hosts::tune::tune;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const SEGMENT: u32 = 1448;

/// A connection that opened.
#[derive(Debug)]
struct Opened {
    probes: usize,
    /// What its SYN-ACK allowed.
    window: u32,
    took: Duration,
}

fn open(lab: &Lab) -> Opened {
    let capture = Capture::start(&lab.left);
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let begin = Instant::now();
    let (near, far) = connect_to(lab, &listener);
    let took = begin.elapsed();
    check(Transfer::over(near, far, 50_000).wait().intact, "bytes arrive as they were sent");
    let packets = capture.finish();
    let syn_ack = packets.iter().find(|p| !p.outgoing && p.protocol == 6 && p.flags & (SYN | ACK) == SYN | ACK);
    Opened {
        probes: packets.iter().filter(|p| p.outgoing && p.protocol == 253).count(),
        window: syn_ack.map_or(0, |p| u32::from(p.window)),
        took,
    }
}

/// So long an estimate counts here, ms; and what the processes need to write it down.
const RECENT: u64 = 1000;
const SOON: Duration = Duration::from_millis(30);

fn lab(recent: u64, mark_probes: u32) -> Lab {
    let lab = Lab::new();
    let recent = format!("recent={recent}");
    on(&lab.left, &request("proboscis", "fbt_near", &[&recent]));
    on(&lab.right, &request("proboscis", "fbt_far", &[&recent]));
    script(&lab.left, Script { mark_probes, ..Script::default() });
    lab
}

/// One train for several connections, until its time is over.
pub(crate) fn estimates() {
    // Of the first train every second probe is marked, of later ones none.
    let lab = lab(RECENT, 4);
    let helpers = (Helper::start(&lab.left, "fbt_near"), Helper::start(&lab.right, "fbt_far"));
    let begin = Instant::now();
    let first = open(&lab);
    equal(
        (first.probes, first.window),
        (8, 5 * SEGMENT),
        "the first connection has a train, of which half is marked: its window",
    );
    std::thread::sleep(SOON);
    for i in 2..=3 {
        let next = open(&lab);
        check(
            (next.probes, next.window) == (0, 5 * SEGMENT) || begin.elapsed() >= Duration::from_millis(RECENT),
            &format!("connection {i} has none, and the same window: {next:?}"),
        );
    }
    equal(counter(&lab.left, "fbt_near", "trains_spared"), 2, "status counts trains that were spared");
    equal(counter(&lab.right, "fbt_far", "estimates_used"), 2, "and SYN-ACKs that followed an estimate");
    equal(counter(&lab.right, "fbt_far", "probes_received"), 8, "the other end has seen one train");
    std::thread::sleep(Duration::from_millis(RECENT + 50).saturating_sub(begin.elapsed()));
    let later = open(&lab);
    equal((later.probes, later.window), (8, 10 * SEGMENT), "when its time is over there is a new train, of which none is marked");
    equal(counter(&lab.right, "fbt_far", "estimates"), 2, "whose estimate is kept in its turn");
    std::thread::sleep(SOON);
    // The acceptor's shim sees the SYN that relies on it, and its guest does not: a train comes after all, as nobody answers.
    script_arrivals(&lab.right, Script { lose_syns: 1, ..Script::default() });
    let lost = open(&lab);
    check(lost.probes >= 8 && lost.window == 10 * SEGMENT, &format!("a SYN without a train that is lost: {lost:?}"));
    check(lost.took < Duration::from_millis(500), "it is sent again by the timer of the process");
    lab.left.run(|| tune("fbt_near", &["recent=0".into()])).unwrap_or_else(|e| panic!("{e}"));
    equal(open(&lab).probes, 8, "with `recent` tuned to 0 a SYN has its train");
    drop(helpers);
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// A guest behind a bridge: what the shims say to each other is for them alone.
pub(crate) fn guest() {
    let lab = Lab::new();
    let guest = lab.guest();
    let recent = format!("recent={RECENT}");
    on(&lab.left, &Request { devices: vec!["eth0".into()], ..request("proboscis", "fbt_near", &[&recent]) });
    on(&lab.right, &request("proboscis", "fbt_far", &[&recent]));
    script(&lab.left, Script { mark_probes: 4, ..Script::default() });
    let helpers = (Helper::start(&lab.left, "fbt_near"), Helper::start(&lab.right, "fbt_far"));
    let (wire, inside) = (Capture::start(&lab.right), Capture::start(&guest.0));
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    for _ in 0..2 {
        let (near, far) = connect_from(&guest.0, &listener);
        check(Transfer::over(near, far, 50_000).wait().intact, "a guest's bytes arrive as they were sent");
        std::thread::sleep(SOON);
    }
    let (wire, inside) = (wire.finish(), inside.finish());
    let urgent = |all: &[Packet], flags: u8| -> Vec<u16> {
        all.iter().filter(|p| p.protocol == 6 && p.flags & (SYN | ACK) == flags).map(|p| p.urgent).collect()
    };
    equal(urgent(&wire, SYN), vec![0, 1], "on the wire the second SYN says that it relies on the first one's train");
    equal(urgent(&wire, SYN | ACK), vec![RECENT as u16, 0], "and the first SYN-ACK for how long that is kept");
    check(inside.iter().all(|p| p.urgent == 0 && p.protocol == 6 && p.ecn() == 0), "the guest sees nothing of it");
    let windows = inside.iter().filter(|p| p.flags & (SYN | ACK) == SYN | ACK).map(|p| u32::from(p.window));
    equal(windows.collect::<Vec<_>>(), vec![5 * SEGMENT; 2], "but its two windows");
    drop(helpers);
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Nobody relies on what nobody keeps.
pub(crate) fn not_kept() {
    let unset = lab(0, 0);
    let helpers = (Helper::start(&unset.left, "fbt_near"), Helper::start(&unset.right, "fbt_far"));
    equal(open(&unset).probes, 8, "without the parameter the first connection has a train");
    std::thread::sleep(SOON);
    equal(open(&unset).probes, 8, "and so has the second");
    drop(helpers);
    unset.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    drop(unset);
    let lab = lab(RECENT, 4);
    let near = Helper::start(&lab.left, "fbt_near");
    equal(open(&lab).probes, 8, "where the acceptor has no process the first connection has a train");
    std::thread::sleep(SOON);
    equal(open(&lab).probes, 8, "and so has the second");
    let far = Helper::start(&lab.right, "fbt_far");
    let begin = Instant::now();
    equal(open(&lab).window, 10 * SEGMENT, "with one there is an estimate");
    // Killed, it is taken for dead after 50 ms; the opener still relies on it.
    far.kill();
    std::thread::sleep(Duration::from_millis(70));
    let alone = open(&lab);
    check(
        (alone.probes, alone.window) == (0, 2 * SEGMENT) || begin.elapsed() >= Duration::from_millis(RECENT),
        &format!("an estimate that the acceptor's process took with it allows the least: {alone:?}"),
    );
    equal(counter(&lab.right, "fbt_far", "estimates_missed"), 1, "status counts it");
    near.kill();
    std::thread::sleep(Duration::from_millis(70));
    equal(open(&lab).probes, 8, "without a process of its own an opener has its train");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}
