//! Sockets that are open: given a congestion control and taken from it again while they work; cgroups.

use crate::check::{check, equal, refuses};
use crate::lab::Lab;
use crate::snapshot;
use crate::traffic::{Transfer, connect_to};
use forebay_hosts::attach::{Attached, Request, attach};
use forebay_hosts::detach::detach;
use forebay_hosts::inet_diag;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

fn live(program: &str, name: &str) -> Request {
    Request { program: program.into(), name: Some(name.into()), default: true, live: true, ..Request::default() }
}

fn on(lab: &Lab, request: &Request) -> Attached {
    lab.left.run(|| attach(request)).unwrap_or_else(|e| panic!("{e}"))
}

fn off(lab: &Lab, name: &str) {
    lab.left.run(|| detach(name)).unwrap_or_else(|e| panic!("{e}"));
}

fn congestion_controls(lab: &Lab) -> Vec<String> {
    let mut all: Vec<String> =
        lab.left.run(inet_diag::sockets).unwrap_or_else(|e| panic!("{e}")).into_iter().map(|s| s.cc).collect();
    all.sort();
    all
}

/// Ten times on and off in the middle of a stream.
pub(crate) fn in_the_middle() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    for program in ["dctcp", "rns"] {
        let transfer = Transfer::start(&lab, u64::MAX);
        for i in 0..10 {
            on(&lab, &live(program, "fbt_live"));
            let used = transfer.socket(&lab).map(|s| s.cc);
            off(&lab, "fbt_live");
            let after = transfer.socket(&lab).map(|s| s.cc);
            check(
                (used.as_deref(), after.as_deref()) == (Some("fbt_live"), Some("reno")),
                &format!("swap {i} to {program} and back in the middle of a stream ({used:?}, {after:?})"),
            );
        }
        let outcome = transfer.finish();
        check(outcome.intact && outcome.bytes > 0, &format!("{} bytes arrived as they were sent", outcome.bytes));
        snapshot::unchanged(&before, &[&lab], "swapping ten times");
    }
}

/// A socket gets back what it had, not what is the default.
pub(crate) fn back_to_what_it_was() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    let transfer = Transfer::start(&lab, u64::MAX);
    // The default changes behind its back.
    lab.left.sysctl("net.ipv4.tcp_congestion_control", "bbr");
    let other = Transfer::start(&lab, u64::MAX);
    on(&lab, &live("dctcp", "fbt_back"));
    equal(
        congestion_controls(&lab),
        vec!["fbt_back".into(), "fbt_back".into()],
        "sockets of two congestion controls use the new one",
    );
    off(&lab, "fbt_back");
    equal(congestion_controls(&lab), vec!["bbr".into(), "reno".to_owned()], "each has its own back");
    equal(lab.left.read_sysctl("net.ipv4.tcp_congestion_control"), "bbr".into(), "and the default is what it was");
    check(transfer.finish().intact & other.finish().intact, "both streams are intact");
    lab.left.sysctl("net.ipv4.tcp_congestion_control", "reno");
    snapshot::unchanged(&before, &[&lab], "swapping sockets of two congestion controls");
}

/// Processor time of this process, ms.
fn processor_ms() -> u64 {
    let time = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID.now().expect("processor time");
    time.tv_sec() as u64 * 1000 + time.tv_nsec() as u64 / 1_000_000
}

/// Ten thousand sockets in less than a second of processor time, and every one of them still works.
pub(crate) fn ten_thousand() {
    const SOCKETS: usize = 10_000;
    raise_file_limit();
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    // Both ends of 5000 connections, because a process may often have no more than 20 000 files.
    let mut pairs: Vec<_> = lab.left.run(|| {
        let listener = TcpListener::bind((lab.left.address, 0)).expect("a port");
        let address = listener.local_addr().expect("the listener has an address");
        let pair = |_| (TcpStream::connect(address).expect("left reaches itself"), listener.accept().expect("a connection").0);
        (0..SOCKETS / 2).map(pair).collect()
    });
    let begin = processor_ms();
    on(&lab, &live("rns", "fbt_many"));
    let there = processor_ms() - begin;
    let using = congestion_controls(&lab).iter().filter(|l| *l == "fbt_many").count();
    equal(using, SOCKETS, "all sockets use it");
    let begin = processor_ms();
    off(&lab, "fbt_many");
    let back = processor_ms() - begin;
    equal(congestion_controls(&lab).iter().filter(|l| *l == "reno").count(), SOCKETS, "all sockets have their own back");
    // Measured: 190 to 350 ms.
    check(
        there + back < 1000,
        &format!("attaching to {SOCKETS} sockets takes {there} ms of processor time and detaching {back} ms"),
    );
    let mut broken = 0;
    for (i, (near, far)) in pairs.iter_mut().enumerate() {
        let sent = (i as u32).to_le_bytes();
        let mut got = [0; 4];
        let worked = near.write_all(&sent).and_then(|()| far.read_exact(&mut got));
        broken += usize::from(worked.is_err() || got != sent);
    }
    equal(broken, 0, "none was reset, and each carries bytes afterwards");
    drop(pairs);
    snapshot::unchanged(&before, &[&lab], "swapping ten thousand sockets");
}

fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain structure that lives through the calls.
    let done = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit)
    };
    assert_eq!(done, 0, "the limit on open files: {}", std::io::Error::last_os_error());
}

/// Only sockets to a prefix; others keep theirs.
pub(crate) fn of_a_prefix() {
    let lab = Lab::new();
    lab.right.ip("address add 10.78.1.2/32 dev lo");
    lab.left.ip("route add 10.78.0.0/16 via 10.77.0.2");
    let before = snapshot::take(&[&lab]);
    let listener = lab.right.run(|| TcpListener::bind(("10.78.1.2", 0)).expect("a port"));
    let (near, far) = connect_to(&lab, &listener);
    let inside = Transfer::over(near, far, u64::MAX);
    let outside = Transfer::start(&lab, u64::MAX);
    let request =
        Request { default: false, prefixes: vec!["10.78.0.0/16".parse().expect("a prefix")], ..live("rns", "fbt_some") };
    on(&lab, &request);
    equal(inside.socket(&lab).map(|s| s.cc), Some("fbt_some".into()), "an open socket to the prefix uses it");
    equal(outside.socket(&lab).map(|s| s.cc), Some("reno".into()), "another one does not");
    off(&lab, "fbt_some");
    equal(inside.socket(&lab).map(|s| s.cc), Some("reno".into()), "detaching gives it back");
    check(inside.finish().intact & outside.finish().intact, "both streams are intact");
    snapshot::unchanged(&before, &[&lab], "swapping sockets to a prefix");
}

/// Processes of a cgroup use it; others do not. With prefixes only towards those.
pub(crate) fn of_a_cgroup() {
    let mount = std::fs::read_to_string("/proc/self/mounts")
        .expect("mounts")
        .lines()
        .find(|l| l.contains(" cgroup2 "))
        .and_then(|l| l.split(' ').nth(1).map(str::to_owned));
    let Some(mount) = mount else { return println!("    no cgroup file system of version 2 is mounted") };
    let folder = Path::new(&mount).join(format!("fbt{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new cgroup");
    let lab = Lab::new();
    lab.right.ip("address add 10.78.1.2/32 dev lo");
    lab.left.ip("route add 10.78.0.0/16 via 10.77.0.2");
    let before = snapshot::take(&[&lab]);
    let request = Request { default: false, live: false, cgroup: Some(folder.clone()), ..live("dctcp", "fbt_group") };
    let cc_of = |address: &str, join: bool| {
        let listener = lab.right.run(|| TcpListener::bind((address, 0)).expect("a port"));
        let threads = folder.join("cgroup.procs");
        if join {
            std::fs::write(&threads, std::process::id().to_string()).expect("a process joins the cgroup");
        }
        let (near, far) = connect_to(&lab, &listener);
        std::fs::write(Path::new(&mount).join("cgroup.procs"), std::process::id().to_string()).expect("and leaves it");
        let transfer = Transfer::over(near, far, 1_000_000);
        let cc = transfer.socket(&lab).map(|s| s.cc).unwrap_or_default();
        check(transfer.wait().intact, "the stream is intact");
        cc
    };
    on(&lab, &request);
    equal(cc_of(lab.right.address, true), "fbt_group".into(), "a connection of a process in the cgroup uses it");
    equal(cc_of(lab.right.address, false), "reno".into(), "one of a process outside does not");
    off(&lab, "fbt_group");
    equal(cc_of(lab.right.address, true), "reno".into(), "nor does one after detaching");
    let both = Request { prefixes: vec!["10.78.0.0/16".parse().expect("a prefix")], ..request.clone() };
    on(&lab, &both);
    equal(cc_of("10.78.1.2", true), "fbt_group".into(), "with a prefix: a connection of the cgroup to it uses it");
    equal(cc_of(lab.right.address, true), "reno".into(), "one to elsewhere does not");
    equal(cc_of("10.78.1.2", false), "reno".into(), "nor one of another process");
    off(&lab, "fbt_group");
    let nowhere = Request { cgroup: Some("no/such/group".into()), ..request };
    refuses(lab.left.run(|| attach(&nowhere)), &["no/such/group", "not a cgroup"], "a cgroup that does not exist");
    snapshot::unchanged(&before, &[&lab], "attaching to a cgroup");
    std::fs::remove_dir(&folder).expect("the cgroup can be removed: nothing is attached to it");
    check(true, "the cgroup can be removed");
}
