//! Attaching and detaching: for a namespace, for a prefix.

use crate::check::{check, equal, wait_until};
use crate::lab::{Lab, command};
use crate::snapshot;
use crate::traffic::{Transfer, connect_to};
use forebay_hosts::attach::{Request, attach, dry_run};
use forebay_hosts::catalog::{Kind, PROGRAMS};
use forebay_hosts::detach::{detach, detach_all};
use forebay_hosts::status::status;
use std::net::TcpListener;

fn counter(counters: &[(String, u64)], name: &str) -> u64 {
    counters.iter().find(|(n, _)| n == name).map_or(0, |(_, v)| *v)
}

/// Attached as the default of a namespace: new connections use it, and detaching restores the previous default.
pub(crate) fn default() {
    for program in PROGRAMS.iter().filter(|p| p.kind == Kind::CongestionControl).map(|p| p.name) {
        let lab = Lab::new();
        let before = snapshot::take(&[&lab]);
        let name = format!("fbt_{program}");
        let request = Request { program: program.into(), name: Some(name.clone()), default: true, ..Request::default() };
        let attached = lab.left.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
        equal(attached.name.as_str(), name.as_str(), "attach says the name under which it is registered");
        equal(lab.left.read_sysctl("net.ipv4.tcp_congestion_control"), name.clone(), "it is the default of its namespace");
        equal(lab.right.read_sysctl("net.ipv4.tcp_congestion_control"), "reno".into(), "and of no other");
        let transfer = Transfer::start(&lab, u64::MAX);
        equal(transfer.socket(&lab).map(|s| s.cc), Some(name.clone()), "a new connection uses it");
        let look = || {
            let all = lab.left.run(status).unwrap_or_else(|e| panic!("{e}"));
            all.into_iter().find(|s| s.name == name).expect("status shows it")
        };
        wait_until(|| look().counters.is_ok_and(|c| counter(&c, "acks") > 0));
        let now = look();
        equal(now.sockets.len(), 1, "status shows the connection");
        let counters = now.counters.as_ref().expect("root reads counters");
        check(counter(counters, "acks") > 0, &format!("status shows counters ({} ACKs)", counter(counters, "acks")));
        equal(counter(counters, "sockets_opened"), 1, "one connection was counted");
        let outcome = transfer.finish();
        check(outcome.intact && outcome.bytes > 0, &format!("{} bytes arrived as they were sent", outcome.bytes));
        lab.left.run(|| detach(&name)).unwrap_or_else(|e| panic!("{e}"));
        snapshot::unchanged(&before, &[&lab], &format!("attaching and detaching {program}"));
    }
}

/// Attached for a prefix: connections to it use it and negotiate ECN; others do not.
pub(crate) fn prefix() {
    let lab = Lab::new();
    for i in 1..4 {
        lab.right.ip(&format!("address add 10.78.{i}.2/32 dev lo"));
    }
    lab.left.ip("route add 10.78.0.0/16 via 10.77.0.2");
    lab.left.ip("route add 10.78.2.0/24 via 10.77.0.2 metric 5 src 10.77.0.1");
    let before = snapshot::take(&[&lab]);
    let request = Request {
        program: "dctcp".into(),
        name: Some("fbt_pre".into()),
        prefixes: vec!["10.78.0.0/16".parse().expect("a prefix")],
        ..Request::default()
    };
    let commands = lab.left.run(|| dry_run(&request)).unwrap_or_else(|e| panic!("{e}"));
    let routes: Vec<&String> = commands.iter().filter(|c| c.starts_with("ip route")).collect();
    equal(routes.len(), 2, "a dry run shows two routes: the prefix has a part with a route of its own");
    snapshot::unchanged(&before, &[&lab], "a dry run");
    lab.left.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
    // A SYN of DCTCP is ECN-capable itself, and the kernel grants ECN to such a one only where it listens with DCTCP.
    let right = Request { program: "dctcp".into(), name: Some("fbt_right".into()), default: true, ..Request::default() };
    lab.right.run(|| attach(&right)).unwrap_or_else(|e| panic!("{e}"));
    for (address, cc, ecn) in [("10.78.1.2", "fbt_pre", true), ("10.78.2.2", "fbt_pre", true), ("10.77.0.2", "reno", false)] {
        let listener = lab.right.run(|| TcpListener::bind((address, 0)).expect("a port"));
        let (near, far) = connect_to(&lab, &listener);
        let transfer = Transfer::over(near, far, 3_000_000);
        let socket = transfer.socket(&lab);
        equal(socket.as_ref().map(|s| s.cc.as_str()), Some(cc), &format!("a connection to {address} uses {cc}"));
        equal(socket.map(|s| s.info.ecn), Some(ecn), &format!("ECN to {address}: {ecn}"));
        check(transfer.wait().intact, &format!("bytes to {address} arrive as they were sent"));
    }
    for (host, name) in [(&lab.left, "fbt_pre"), (&lab.right, "fbt_right")] {
        host.run(|| detach(name)).unwrap_or_else(|e| panic!("{e}"));
    }
    snapshot::unchanged(&before, &[&lab], "attaching to a prefix and detaching");
    // The commands of the dry run make the same routes.
    for c in &routes {
        lab.left.ip(&c.trim_start_matches("ip ").replace("congctl fbt_pre", "congctl reno"));
    }
    let ours = command("ip", &format!("-n {} route show proto 251", lab.left.name));
    equal(ours.lines().count(), 2, "`ip` takes the commands of the dry run");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    snapshot::unchanged(&before, &[&lab], "`detach --all` after routes without a state file");
}
