//! Messages that applications announce by socket option: deadlines of D2TCP, blocks of PRIN.

use crate::capture::{Capture, Packet, Script, script};
use crate::check::{check, equal, refuses, undisturbed};
use crate::lab::{Host, Lab};
use crate::snapshot;
use crate::traffic::{Transfer, acknowledged, connect};
use forebay_hosts::attach::{Request, attach, dry_run};
use forebay_hosts::detach::{detach, detach_all};
use forebay_hosts::status::status;
use forebay_hosts::tune::tune;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// SOL_FOREBAY and FOREBAY_MESSAGE of `crates/kernel/bpf/include/messages.bpf.h`.
const OPTION: (libc::c_int, libc::c_int) = (0x4642, 1);

/// Gives the option so many words of four bytes.
fn say(socket: &TcpStream, words: &[u32]) -> io::Result<()> {
    // SAFETY: the words live through the call and have the size that is given.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), OPTION.0, OPTION.1, words.as_ptr().cast(), size_of_val(words) as libc::socklen_t)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A message of so many bytes that is to arrive within so many us; 0: no matter when.
fn announce(socket: &TcpStream, bytes: u32, deadline_us: u32) {
    say(socket, &[bytes, deadline_us]).expect("the option is taken");
}

fn errno(result: io::Result<()>) -> Option<i32> {
    result.err().and_then(|e| e.raw_os_error())
}

fn request(program: &str, name: &str, params: &[&str]) -> Request {
    let params = params.iter().map(|p| (*p).to_owned()).collect();
    Request { program: program.into(), name: Some(name.into()), default: true, params, ..Request::default() }
}

fn on(host: &Host, request: &Request) {
    host.run(|| attach(request)).unwrap_or_else(|e| panic!("{e}"));
}

fn off(lab: &Lab) {
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

fn counter(host: &Host, name: &str, what: &str) -> u64 {
    let all = host.run(status).unwrap_or_else(|e| panic!("{e}"));
    let one = all.iter().find(|s| s.name == name).expect("it is attached");
    one.counters.as_ref().expect("root reads counters").iter().find(|(n, _)| n == what).map_or(0, |(_, v)| *v)
}

/// Packets of one segment.
fn lab() -> Lab {
    let lab = Lab::new();
    for host in [&lab.left, &lab.right] {
        host.ip("link set eth0 gso_max_segs 1");
        host.sysctl("net.ipv4.tcp_slow_start_after_idle", "0");
    }
    lab
}

/// Programs that take the option, and values that are refused.
pub(crate) fn option() {
    let lab = lab();
    let before = snapshot::take(&[&lab]);
    let (plain, _far) = connect(&lab);
    equal(
        errno(say(&plain, &[1000, 0])),
        Some(libc::ENOPROTOOPT),
        "without a congestion control that takes messages the kernel knows no such option",
    );
    for cc in ["d2tcp", "prin"] {
        let r = request(cc, "fbt_msg", &[]);
        let commands = lab.left.run(|| dry_run(&r)).unwrap_or_else(|e| panic!("{e}"));
        check(
            commands.iter().any(|c| c.contains("cgroup_setsockopt")),
            &format!("{cc}: a dry run shows the program at the cgroup"),
        );
        on(&lab.left, &r);
        let (near, _far) = connect(&lab);
        equal(
            errno(say(&plain, &[1000, 0])),
            Some(libc::ENOPROTOOPT),
            "a socket that does not use the congestion control has no such option",
        );
        equal(errno(say(&near, &[1000, 0])), None, "one that uses it has");
        for (words, what) in [
            (&[0, 0][..], "a message of no bytes"),
            (&[1000][..], "a value that is too short"),
            (&[1000, 0, 0][..], "one that is too long"),
            (&[1 << 31, 0][..], "a message of 2 GiB"),
        ] {
            equal(errno(say(&near, words)), Some(libc::EINVAL), &format!("{what} is refused"));
        }
        let left = setsockopt(&near, TcpCongestion, &"reno".into());
        equal(left, Ok(()), "a socket leaves the congestion control by its own choice");
        equal(errno(say(&near, &[1000, 0])), Some(libc::ENOPROTOOPT), "and has no such option any more");
        let counted = counter(&lab.left, "fbt_msg", if cc == "prin" { "blocks" } else { "messages" });
        equal(counted, 1, "status counts the message, and none that was refused");
        lab.left.run(|| detach("fbt_msg")).unwrap_or_else(|e| panic!("{e}"));
        equal(errno(say(&near, &[1000, 0])), Some(libc::ENOPROTOOPT), "the option is gone after detaching");
    }
    drop((plain, _far));
    snapshot::unchanged(&before, &[&lab], "congestion controls that take messages");
    // Without its file: the program at the cgroup goes with its pin, the filter is known by its handle.
    on(&lab.left, &request("prin", "fbt_msg", &[]));
    std::fs::remove_file("/run/forebay/fbt_msg.json").expect("the file of the attachment");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    lab.left.sysctl("net.ipv4.tcp_congestion_control", "reno");
    snapshot::unchanged(&before, &[&lab], "`detach --all` of a congestion control that takes messages, with the file lost");
    refuses(
        lab.left.run(|| attach(&Request { devices: vec!["eth0".into()], ..request("d2tcp", "fbt_msg", &[]) })),
        &["d2tcp", "--dev"],
        "an interface for a congestion control that marks no packets",
    );
}

/// A mark cuts alpha^d / 2 of the window (section 3.1): d is 2 after the deadline, 1 without one, 1/2 when it is far away.
pub(crate) fn deadlines() {
    let lab = lab();
    // An estimate that hardly moves: from 0.68 on by 1/1024 a window. Marks are rare, so that windows are large against their whole
    // segments.
    on(&lab.left, &request("d2tcp", "fbt_left", &["alpha_on_init=700", "shift_g=9", "d_max=1500"]));
    on(&lab.right, &request("d2tcp", "fbt_right", &[]));
    script(&lab.left, Script { mark_every: 100, ..Script::default() });
    // Of 2 GB in half a second most is left when the 2 MB that are sent have arrived: far more than this link has would be needed, and the
    // exponent is d_max.
    let all = [
        (2_000_000, 1, "cuts_late", 2.0, "late"),
        (2_000_000, 0, "", 1.0, "no deadline"),
        (2_000_000, 1_800_000_000, "cuts_relaxed", 0.5, "far away"),
        ((1 << 31) - 1, 500_000, "cuts_urgent", 1.5, "near"),
    ];
    for (bytes, deadline, counted_as, d, name) in all {
        let names = ["cuts", "cut_from", "cut_to", "cut_alpha", "cuts_late", "cuts_relaxed", "cuts_urgent"];
        let count = || names.map(|what| counter(&lab.left, "fbt_left", what));
        let one = || {
            let before = count();
            let (near, far) = connect(&lab);
            announce(&near, bytes, deadline);
            check(Transfer::over(near, far, 2_000_000).wait().intact, &format!("{name}: bytes arrive as they were sent"));
            count().iter().zip(before).map(|(n, b)| n - b).collect::<Vec<u64>>()
        };
        // Where a busy machine keeps windows small there are many, and from 1/2 on alpha falls to 0 at once: that says nothing. Nor does a
        // transfer that lasted until its deadline had passed.
        let says = |g: &Vec<u64>| g[0] > 5 && g[3] > 600 * g[0] && (deadline == 1 || g[4] == 0);
        let grown = undisturbed("a transfer of more than 100 windows, or not in time", || Some(one()).filter(says));
        let which = names.iter().zip(&grown).skip(4).filter(|(_, n)| **n > 0).map(|(n, _)| *n).collect::<Vec<_>>();
        let must: Vec<&str> = Some(counted_as).filter(|c| !c.is_empty()).into_iter().collect();
        equal(which, must, &format!("{name}: all of {} cuts are such", grown[0]));
        // Each cut is rounded down to whole segments.
        let (cuts, from, taken) = (grown[0] as f64, grown[1] as f64, (grown[1] - grown[2]) as f64);
        let cc = from * (grown[3] as f64 / cuts / 1024.0).powf(d) / 2.0;
        check(
            taken > cc * 0.97 - cuts && taken < cc * 1.03,
            &format!(
                "{name}: {taken} segments of {from} are cut, and the congestion control says {cc:.0}, rounded down {cuts} times"
            ),
        );
    }
    // A message is over when it is acknowledged: what comes later has no deadline.
    let (near, far) = connect(&lab);
    announce(&near, 1000, 1);
    check(Transfer::over(near, far, 1_000_000).wait().intact, "a short message ahead of a long one: bytes arrive");
    let late = counter(&lab.left, "fbt_left", "cuts_late");
    let (near, far) = connect(&lab);
    announce(&near, 1000, 1);
    // Until the deadline of a microsecond has passed.
    std::thread::sleep(Duration::from_millis(5));
    let mut near = near;
    let mut far = far;
    let mut got = vec![0; 1000];
    near.write_all(&[1; 1000]).and_then(|()| far.read_exact(&mut got)).expect("the short message");
    acknowledged(&near);
    let after_short = counter(&lab.left, "fbt_left", "cuts_late");
    check(Transfer::over(near, far, 1_000_000).wait().intact, "a long one after it: bytes arrive");
    equal(counter(&lab.left, "fbt_left", "cuts_late"), after_short, "a deadline does not outlast its message");
    check(after_short >= late, "counters only grow");
    off(&lab);
}

/// Blocks, one after the other: writes each and waits until it has arrived. Returns how many packets of each carry the mark, and which.
fn blocks(lab: &Lab, sizes: &[usize], dscp: u8) -> Vec<(usize, bool)> {
    let (mut near, mut far) = connect(lab);
    let mut marked = Vec::new();
    for size in sizes {
        let capture = Capture::start(&lab.left);
        announce(&near, *size as u32, 0);
        let mut got = vec![0; *size];
        std::thread::scope(|scope| {
            scope.spawn(|| near.write_all(&vec![5; *size]).expect("the block leaves"));
            far.read_exact(&mut got).expect("the block arrives");
        });
        // Also what the sender still repeats.
        acknowledged(&near);
        let data: Vec<Packet> = capture.finish().into_iter().filter(|p| p.outgoing && p.payload > 0).collect();
        let (mut all, mut tagged) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        let begin = data.first().map_or(0, |p| p.seq);
        for p in &data {
            let at = p.seq.wrapping_sub(begin);
            all.insert(at);
            if p.dscp() == dscp {
                tagged.insert(at);
            }
        }
        let last: std::collections::BTreeSet<u32> = all.iter().rev().take(tagged.len()).copied().collect();
        marked.push((tagged.len(), last == tagged));
    }
    marked
}

/// Exactly three segments of a block are marked, and they are its last.
pub(crate) fn tail() {
    let lab = lab();
    let before = snapshot::take(&[&lab]);
    on(&lab.left, &request("prin", "fbt_left", &[]));
    // Bytes of a segment of this path, with timestamps.
    let mss = 1448;
    let sizes = [65_536, 65_536, 10 * mss, 10 * mss + 1, 3 * mss, 2 * mss, 300, 200_000, 65_536, 65_536];
    let marked = blocks(&lab, &sizes, 46);
    for (size, (count, are_last)) in sizes.iter().zip(&marked) {
        let must = size.div_ceil(mss).min(3);
        equal(*count, must, &format!("{must} segments of a block of {size} bytes are marked"));
        check(*are_last, "they are its last");
    }
    equal(counter(&lab.left, "fbt_left", "blocks"), sizes.len() as u64, "status counts the blocks");
    lab.left.run(|| tune("fbt_left", &["tail=5".into(), "dscp=10".into()])).unwrap_or_else(|e| panic!("{e}"));
    equal(blocks(&lab, &[100_000, 100_000], 10), vec![(5, true), (5, true)], "a tuned tail has effect at once");
    lab.left.run(|| tune("fbt_left", &["tail=0".into()])).unwrap_or_else(|e| panic!("{e}"));
    equal(blocks(&lab, &[100_000], 10), vec![(0, true)], "and so has none");
    // Connections that announce nothing.
    lab.left.run(|| tune("fbt_left", &["tail=3".into()])).unwrap_or_else(|e| panic!("{e}"));
    let capture = Capture::start(&lab.left);
    check(Transfer::start(&lab, 200_000).wait().intact, "a connection that announces nothing: bytes arrive as they were sent");
    equal(capture.finish().iter().filter(|p| p.outgoing && p.dscp() != 0).count(), 0, "none of its packets is marked");
    off(&lab);
    snapshot::unchanged(&before, &[&lab], "PRIN at a sender");
}

/// The window is halved before each block but the first.
pub(crate) fn halving() {
    let lab = lab();
    on(&lab.left, &request("prin", "fbt_left", &["cap=1"]));
    lab.bottleneck(50, 60);
    let (mut near, mut far) = connect(&lab);
    let address = near.local_addr().expect("a connected socket");
    let window = || {
        let all = lab.left.run(forebay_hosts::inet_diag::sockets).expect("sockets are listed");
        all.into_iter().find(|s| s.local == address).map_or(0, |s| s.info.cwnd)
    };
    let mut one = |size: usize| {
        announce(&near, size as u32, 0);
        let mut got = vec![0; size];
        std::thread::scope(|scope| {
            scope.spawn(|| near.write_all(&vec![5; size]).expect("the block leaves"));
            far.read_exact(&mut got).expect("the block arrives");
        });
        // Until its last ACK is there.
        acknowledged(&near);
    };
    one(300_000);
    equal(counter(&lab.left, "fbt_left", "halved"), 0, "not before the first block");
    for block in 1..=3 {
        let was = window();
        one(500);
        equal(window(), (was / 2).max(2), &format!("block {block}: {was} segments become half, before it is sent"));
    }
    equal(counter(&lab.left, "fbt_left", "halved"), 3, "status counts what was halved");
    lab.left.run(|| tune("fbt_left", &["floor=9".into()])).unwrap_or_else(|e| panic!("{e}"));
    one(400_000);
    one(400_000);
    one(500);
    one(500);
    one(500);
    equal(window(), 9, "never below the floor");
    lab.left.run(|| tune("fbt_left", &["halve=0".into()])).unwrap_or_else(|e| panic!("{e}"));
    let was = window();
    one(500);
    equal(window(), was, "and not at all where it is switched off");
    off(&lab);
}
