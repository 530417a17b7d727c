//! Every congestion control over a bad path, for a few seconds: packets are lost, duplicated, reordered and marked at random, and the receiver stops
//! reading until its window is zero. FOREBAY_SOAK=600 runs each congestion control for ten minutes (`make soak`); FOREBAY_SOAK_CC selects some.

use crate::capture::{Script, script, script_arrivals};
use crate::check::check;
use crate::lab::Lab;
use crate::shims::counter;
use crate::traffic::connect;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::catalog::{Kind, PROGRAMS};
use forebay_hosts::detach::detach_all;
use forebay_hosts::inet_diag;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Connections at once.
const FLOWS: usize = 4;

/// Time between two looks at a connection.
const LOOK: Duration = Duration::from_millis(2);

/// A connection that so many looks in a row find without progress is stuck: 20 s. Timeouts double: four in a row are 0.2 + 0.4 + 0.8 + 1.6 s. Looks
/// are counted, not seconds, because a machine that stands still does not look either.
const STUCK: u32 = 10_000;

/// A byte of the stream.
fn content(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

fn send(mut socket: TcpStream, stop: &AtomicBool) {
    let mut at = 0;
    while !stop.load(Relaxed) {
        // Trains of all sizes, with silences.
        let size = 1 + (at * 7919 + 13) % 150_000;
        let train: Vec<u8> = (at..at + size).map(content).collect();
        socket.write_all(&train).expect("a train leaves within the timeout of the socket");
        at += size;
        if at % 5 == 0 {
            std::thread::sleep(Duration::from_millis(at % 60));
        }
    }
}

/// Reads and compares; returns how many bytes were wrong.
fn receive(mut socket: TcpStream, got: &AtomicU64) -> u64 {
    let (mut buffer, mut at, mut wrong, mut reads) = (vec![0; 30_000], 0, 0, 0_u32);
    loop {
        let n = match socket.read(&mut buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            n => n.expect("a train arrives within the timeout of the socket"),
        };
        if n == 0 {
            return wrong;
        }
        wrong += buffer[..n].iter().zip(at..).filter(|(b, at)| **b != content(*at)).count() as u64;
        at += n as u64;
        got.store(at, Relaxed);
        reads += 1;
        // Until the window is zero; longer is as good.
        if reads % 400 == 0 {
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

pub(crate) fn soak() {
    let time =
        std::env::var("FOREBAY_SOAK").ok().and_then(|s| s.parse().ok()).map_or(Duration::from_secs(3), Duration::from_secs);
    let words = std::env::var("FOREBAY_SOAK_CC").unwrap_or_default();
    let wanted = |name: &str| words.trim().is_empty() || words.split_whitespace().any(|w| w == name);
    for cc in PROGRAMS.iter().filter(|p| p.kind == Kind::CongestionControl && wanted(p.name)) {
        let lab = Lab::new();
        for (host, name) in [(&lab.left, format!("fbs_{}_l", cc.name)), (&lab.right, format!("fbs_{}_r", cc.name))] {
            host.ip("link set eth0 gso_max_segs 1");
            host.sysctl("net.ipv4.tcp_rmem", "4096 65536 131072");
            let r = Request { program: cc.name.into(), name: Some(name), default: true, ..Request::default() };
            host.run(|| attach(&r)).unwrap_or_else(|e| panic!("{e}"));
        }
        lab.slow_way();
        script(&lab.left, Script { mark_every: 30, double_every: 90, delay_every: 120, by_chance: true, ..Script::default() });
        script_arrivals(&lab.right, Script { lose_every: 60, by_chance: true, ..Script::default() });
        let stop = AtomicBool::new(false);
        let (mut least, mut looks, mut below) = (i32::MAX, 0_u64, 0_u64);
        let got: Vec<AtomicU64> = (0..FLOWS).map(|_| AtomicU64::new(0)).collect();
        let (mut wrong, mut longest) = (0, 0);
        std::thread::scope(|scope| {
            let pairs: Vec<_> = (0..FLOWS).map(|_| connect(&lab)).collect();
            let receivers: Vec<_> = pairs
                .into_iter()
                .zip(&got)
                .map(|((near, far), got)| {
                    let stop = &stop;
                    scope.spawn(move || send(near, stop));
                    scope.spawn(move || receive(far, got))
                })
                .collect();
            let begin = Instant::now();
            let mut last: Vec<(u64, u32)> = got.iter().map(|_| (0, 0)).collect();
            while begin.elapsed() < time {
                std::thread::sleep(LOOK);
                for s in lab.left.run(inet_diag::sockets).unwrap_or_default() {
                    least = least.min(s.info.cwnd as i32);
                    looks += 1;
                    below += u64::from((s.info.cwnd as i32) < 1);
                }
                for ((bytes, quiet), got) in last.iter_mut().zip(&got) {
                    let now = got.load(Relaxed);
                    *quiet = if now == *bytes { *quiet + 1 } else { 0 };
                    *bytes = now;
                    longest = longest.max(*quiet);
                }
            }
            stop.store(true, Relaxed);
            wrong = receivers.into_iter().map(|r| r.join().expect("the receiver ends")).sum();
        });
        let (bytes, again) = (got.iter().map(|g| g.load(Relaxed)).sum::<u64>(), lab.left.snmp("Tcp", "RetransSegs"));
        let what = format!("{}, {} s, {bytes} bytes, {again} segments sent again", cc.name, time.as_secs());
        check(
            wrong == 0 && got.iter().all(|g| g.load(Relaxed) > 0),
            &format!("{what}: every connection's bytes arrive as they were sent"),
        );
        // Only a kernel that skips programs has windows that no congestion control set (`cc_sanitized` in `cc.bpf.h`), and few. Read as a signed
        // number, as in the kernel (tcp_snd_cwnd_set).
        let count = |what| counter(&lab.left, &format!("fbs_{}_l", cc.name), what);
        let sanitized = count("sanitized");
        check(
            below == 0 || (sanitized > 0 && below * 100 < looks),
            &format!(
                "no congestion control sets a window below one segment (least {least}, {below} of {looks} samples, {sanitized} sanitized)"
            ),
        );
        // Counted where the congestion control itself answers, so that this holds whatever the kernel skips.
        check(count("wrong") == 0, "every threshold the congestion control gives is two segments or more");
        check(longest < STUCK, &format!("no connection is stuck (longest silence {:.1} s)", (LOOK * longest).as_secs_f64()));
        check(again > 0, "the path was a bad one");
        lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    }
}
