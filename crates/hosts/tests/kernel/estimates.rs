//! ProBoSCIS's recent estimates: connections that open soon after a train have none of their own, and its window.

use crate::capture::{ACK, Capture, Packet, SYN, Script, script, script_arrivals};
use crate::check::{check, equal, undisturbed, wait_until};
use crate::helper::Helper;
use crate::lab::Lab;
use crate::shims::{counter, on, request};
use crate::traffic::{Transfer, connect_from, connect_to};
use forebay_hosts::attach::Request;
use forebay_hosts::detach::detach_all;
use forebay_hosts::tune::tune;
use libbpf_rs::{MapCore, MapHandle};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

const SEGMENT: u32 = 1448;

/// A connection that opened.
#[derive(Debug)]
struct Opened {
    probes: usize,
    /// Window of its SYN-ACK.
    window: u32,
}

fn open(lab: &Lab) -> Opened {
    let capture = Capture::start(&lab.left);
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let (near, far) = connect_to(lab, &listener);
    check(Transfer::over(near, far, 50_000).wait().intact, "bytes arrive as they were sent");
    let packets = capture.finish();
    let syn_ack = packets.iter().find(|p| !p.outgoing && p.protocol == 6 && p.flags & (SYN | ACK) == SYN | ACK);
    Opened {
        probes: packets.iter().filter(|p| p.outgoing && p.protocol == 253).count(),
        window: syn_ack.map_or(0, |p| u32::from(p.window)),
    }
}

/// Validity of an estimate where it must run out, ms, and where it must not.
const RECENT: u64 = 2_000;
const FOR_LONG: u64 = 10_000;

/// Estimates in the table of an attachment.
fn estimates_of(name: &str) -> usize {
    let state = std::fs::read_to_string(format!("/run/forebay/{name}.json")).expect("the file of the attachment");
    let folder = state.split_once("\"folder\": \"").and_then(|s| s.1.split_once('"')).expect("the folder of its pins").0;
    MapHandle::from_pinned_path(Path::new(folder).join("recent")).expect("its table of estimates").keys().count()
}

/// Waits until the processes of both ends have written an estimate down.
fn written_down() {
    let both = wait_until(|| estimates_of("fbt_near") == 1 && estimates_of("fbt_far") == 1);
    check(both, "both ends keep an estimate");
}

/// With `answers` both ends send trains, and no estimates are kept.
fn lab(recent: u64, mark_probes: u32) -> Lab {
    let lab = Lab::new();
    let recent = format!("recent={recent}");
    on(&lab.left, &request("proboscis", "fbt_near", &["answers=0", &recent]));
    on(&lab.right, &request("proboscis", "fbt_far", &["answers=0", &recent]));
    script(&lab.left, Script { mark_probes, ..Script::default() });
    lab
}

/// One train serves several connections until its estimate expires.
pub(crate) fn estimates() {
    let (lab, helpers, begin, [first, second, third]) =
        undisturbed("three connections took longer than an estimate counts", || {
            // Of the first train every second probe is marked, of later ones none.
            let lab = lab(RECENT, 4);
            let helpers = (Helper::start(&lab.left, "fbt_near"), Helper::start(&lab.right, "fbt_far"));
            let begin = Instant::now();
            let first = open(&lab);
            written_down();
            let opened = [first, open(&lab), open(&lab)];
            if begin.elapsed() < Duration::from_millis(RECENT) {
                return Some((lab, helpers, begin, opened));
            }
            drop(helpers);
            lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
            None
        });
    equal(
        (first.probes, first.window),
        (8, 5 * SEGMENT),
        "the first connection has a train, of which half is marked: its window",
    );
    for (i, next) in [(2, second), (3, third)] {
        equal((next.probes, next.window), (0, 5 * SEGMENT), &format!("connection {i} has none, and the same window"));
    }
    equal(counter(&lab.left, "fbt_near", "trains_spared"), 2, "status counts trains that were spared");
    equal(counter(&lab.right, "fbt_far", "estimates_used"), 2, "and SYN-ACKs that followed an estimate");
    equal(counter(&lab.right, "fbt_far", "probes_received"), 8, "the other end has seen one train");
    // The next one is to stay. The processes look at parameters every now and then.
    for (host, name) in [(&lab.left, "fbt_near"), (&lab.right, "fbt_far")] {
        host.run(|| tune(name, &[format!("recent={FOR_LONG}")])).unwrap_or_else(|e| panic!("{e}"));
    }
    // Until the time of the first is over, at both ends.
    std::thread::sleep(Duration::from_millis(2 * RECENT + 50).saturating_sub(begin.elapsed()));
    let later = open(&lab);
    equal((later.probes, later.window), (8, 10 * SEGMENT), "when its time is over there is a new train, of which none is marked");
    equal(counter(&lab.right, "fbt_far", "estimates"), 2, "whose estimate is kept in its turn");
    written_down();
    // The acceptor's shim sees the SYN that relies on the estimate, and its guest does not. A train follows after all, because no answer arrives.
    script_arrivals(&lab.right, Script { lose_syns: 1, ..Script::default() });
    let again = counter(&lab.left, "fbt_near", "syns_again");
    let lost = open(&lab);
    check(lost.probes >= 8 && lost.window == 10 * SEGMENT, &format!("a SYN without a train that is lost: {lost:?}"));
    check(counter(&lab.left, "fbt_near", "syns_again") > again, "it is sent again by the timer of the process");
    lab.left.run(|| tune("fbt_near", &["recent=0".into()])).unwrap_or_else(|e| panic!("{e}"));
    equal(open(&lab).probes, 8, "with `recent` tuned to 0 a SYN has its train");
    drop(helpers);
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// A guest behind a bridge: what the shims say to each other is for them alone.
pub(crate) fn guest() {
    let lab = Lab::new();
    let guest = lab.guest();
    let recent = format!("recent={FOR_LONG}");
    on(&lab.left, &Request { devices: vec!["eth0".into()], ..request("proboscis", "fbt_near", &["answers=0", &recent]) });
    on(&lab.right, &request("proboscis", "fbt_far", &["answers=0", &recent]));
    script(&lab.left, Script { mark_probes: 4, ..Script::default() });
    let helpers = (Helper::start(&lab.left, "fbt_near"), Helper::start(&lab.right, "fbt_far"));
    let (wire, inside) = (Capture::start(&lab.right), Capture::start(&guest.0));
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    for _ in 0..2 {
        let (near, far) = connect_from(&guest.0, &listener);
        check(Transfer::over(near, far, 50_000).wait().intact, "a guest's bytes arrive as they were sent");
        written_down();
    }
    let (wire, inside) = (wire.finish(), inside.finish());
    let urgent = |all: &[Packet], flags: u8| -> Vec<u16> {
        all.iter().filter(|p| p.protocol == 6 && p.flags & (SYN | ACK) == flags).map(|p| p.urgent).collect()
    };
    equal(urgent(&wire, SYN), vec![0, 1], "on the wire the second SYN says that it relies on the first one's train");
    equal(urgent(&wire, SYN | ACK), vec![FOR_LONG as u16, 0], "and the first SYN-ACK for how long that is kept");
    check(inside.iter().all(|p| p.urgent == 0 && p.protocol == 6 && p.ecn() == 0), "the guest sees nothing of it");
    let windows = inside.iter().filter(|p| p.flags & (SYN | ACK) == SYN | ACK).map(|p| u32::from(p.window));
    equal(windows.collect::<Vec<_>>(), vec![5 * SEGMENT; 2], "but its two windows");
    drop(helpers);
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// Estimates are not used if they are not stored.
pub(crate) fn not_kept() {
    let unset = lab(0, 0);
    let helpers = (Helper::start(&unset.left, "fbt_near"), Helper::start(&unset.right, "fbt_far"));
    equal(open(&unset).probes, 8, "without the parameter the first connection has a train");
    equal(open(&unset).probes, 8, "and so has the second");
    drop(helpers);
    unset.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    drop(unset);
    let lab = lab(FOR_LONG, 4);
    let near = Helper::start(&lab.left, "fbt_near");
    equal(open(&lab).probes, 8, "where the acceptor has no process the first connection has a train");
    equal(open(&lab).probes, 8, "and so has the second");
    let far = Helper::start(&lab.right, "fbt_far");
    equal(open(&lab).window, 10 * SEGMENT, "with one there is an estimate");
    written_down();
    // Killed, it is taken for dead after 50 ms; the opener still relies on it.
    far.kill();
    std::thread::sleep(Duration::from_millis(70));
    let alone = open(&lab);
    equal(
        (alone.probes, alone.window),
        (0, 2 * SEGMENT),
        "an estimate that the acceptor's process took with it allows the least",
    );
    equal(counter(&lab.right, "fbt_far", "estimates_missed"), 1, "status counts it");
    near.kill();
    // As above.
    std::thread::sleep(Duration::from_millis(70));
    equal(open(&lab).probes, 8, "without a process of its own an opener has its train");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}
