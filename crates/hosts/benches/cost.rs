//! Cost of the programs: time per ACK and per packet (the kernel's run-time statistics of BPF programs). Also processor time and throughput of whole
//! transfers beside the kernel's congestion controls, at 1 to 32 connections over a virtual link.
//!
//!     make bench-hosts        cargo bench -p forebay-hosts --features forebay-hosts/bpf --bench cost -- [--rounds N] [--ms N] [--out FILE]

#![allow(clippy::print_stdout)]
#![allow(dead_code, reason = "the tests' laboratory has more than this needs")]

#[path = "../tests/kernel/lab.rs"]
mod lab;

#[path = "cost/load.rs"]
mod load;
#[path = "cost/programs.rs"]
mod programs;
#[path = "cost/table.rs"]
mod table;

use forebay_hosts::attach::{Request, attach};
use forebay_hosts::catalog::{Kind, PROGRAMS};
use forebay_hosts::detach::detach_all;
use lab::Lab;
use load::Load;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

/// Connections at once.
pub(crate) const FLOWS: [usize; 4] = [1, 4, 16, 32];

/// Subject of a measurement: a congestion control of the kernel, or one of our programs at both ends; shims run below Reno.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) ours: bool,
    pub(crate) kind: Kind,
    /// The kernel's own, chosen by socket option: namespaces take only some as their default.
    pub(crate) kernel: Option<String>,
}

/// The kernel's congestion controls, if available, then all our programs.
fn subjects(lab: &Lab) -> Vec<Subject> {
    let available = lab.left.read_sysctl("net.ipv4.tcp_available_congestion_control");
    let there = |n: &&str| available.split_whitespace().any(|a| a == *n);
    let kernel = ["reno", "cubic", "dctcp"].into_iter().filter(there);
    let mut all: Vec<Subject> =
        kernel.map(|n| Subject { name: n.into(), ours: false, kind: Kind::CongestionControl, kernel: Some(n.into()) }).collect();
    all.extend(PROGRAMS.iter().map(|p| Subject { name: p.name.into(), ours: true, kind: p.kind, kernel: None }));
    all.sort_by_key(|s| (s.kind != Kind::CongestionControl, s.ours));
    all
}

/// A lab with the subject at both ends, and the numbers of the sender's programs; packets of one segment, so that every one passes programs
/// by itself, and a window that memory does not limit.
fn ready(subject: &Subject) -> (Lab, BTreeSet<u32>) {
    let lab = Lab::new();
    let (before, mut at_sender) = (programs::ids(), BTreeSet::new());
    for host in [&lab.left, &lab.right] {
        host.ip("link set eth0 gso_max_segs 1");
        if subject.ours {
            let shim = subject.kind == Kind::Shim;
            let request = Request {
                program: subject.name.clone(),
                name: Some(if host.address == lab.left.address { "fbc_left" } else { "fbc_right" }.into()),
                default: !shim,
                prefixes: if shim { vec!["10.77.0.0/24".parse().expect("a prefix")] } else { Vec::new() },
                ..Request::default()
            };
            host.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
        }
        if at_sender.is_empty() {
            at_sender = programs::ids().difference(&before).copied().collect();
        }
    }
    (lab, at_sender)
}

fn take_off(lab: &Lab) {
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// A number behind a word of the command line.
fn number(args: &[String], word: &str, default: u64) -> u64 {
    let at = args.iter().position(|a| a == word);
    at.and_then(|i| args.get(i + 1)).and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(reason) = lab::lacks() {
        forebay_platform::doctor::requirements::skip("bpf", &reason);
        return ExitCode::SUCCESS;
    }
    let (rounds, time) = (number(&args, "--rounds", 5), Duration::from_millis(number(&args, "--ms", 1000)));
    let subjects = subjects(&Lab::new());
    let mut loads: Vec<Vec<Vec<Load>>> = vec![vec![Vec::new(); FLOWS.len()]; subjects.len()];
    let mut connects = vec![Vec::new(); subjects.len()];
    // All subjects run in each round, so that other load on the machine affects all of them.
    for round in 1..=rounds {
        for (i, subject) in subjects.iter().enumerate() {
            eprintln!("round {round} of {rounds}: {}", subject.name);
            let (lab, _) = ready(subject);
            for (j, flows) in FLOWS.iter().enumerate() {
                loads[i][j].push(load::transfer(&lab, subject.kernel.as_deref(), *flows, time));
            }
            connects[i].push(load::connections(&lab, 500));
            take_off(&lab);
        }
    }
    let mut inside = Vec::new();
    for subject in subjects.iter().filter(|s| s.ours) {
        eprintln!("time inside: {}", subject.name);
        let (lab, at_sender) = ready(subject);
        inside.push((subject.clone(), programs::cost(&lab, &at_sender, || load::transfer(&lab, None, 4, 2 * time))));
        take_off(&lab);
    }
    let text = table::text(&subjects, &loads, &connects, &inside);
    print!("{text}");
    if let Some(path) = args.iter().position(|a| a == "--out").and_then(|i| args.get(i + 1)) {
        std::fs::write(path, text).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    ExitCode::SUCCESS
}
