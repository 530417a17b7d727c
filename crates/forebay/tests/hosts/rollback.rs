//! `--rollback-on`: attachments that detach themselves, for each condition.

use crate::check::{check, equal, wait_until};
use crate::lab::{Lab, command};
use crate::traffic::Transfer;
use crate::{fails, forebay, nothing_left, traces, works};
use std::path::Path;
use std::time::Duration;

/// Detaches itself when connections get much less than before.
pub(crate) fn at_once() {
    let lab = Lab::new();
    let before = traces(&lab);
    fails(&lab, "attach rns --default --rollback-on throughput>2", &["throughput>2", "not a condition"]);
    let stream = Transfer::start(&lab, u64::MAX);
    let printed = std::thread::scope(|scope| {
        let attach = scope
            .spawn(|| forebay(&lab, "attach rns --name fbt_cli --default --live --rollback-on throughput<0.5 --watch-for 600"));
        // Until the state before is measured and it is attached.
        wait_until(|| Path::new("/run/forebay/fbt_cli.json").exists());
        // At least some lines with the state as before.
        std::thread::sleep(Duration::from_secs(1));
        lab.bottleneck(5, 400);
        attach.join().expect("it ends")
    });
    check(printed.code == 1, &format!("ends with exit code 1: {} {}", printed.code, printed.err));
    check(printed.err.contains("rolled back fbt_cli: throughput<0.5 for 3 s"), "says why");
    check(printed.out.contains("before "), "and what was before");
    check(works(&lab, "status").contains("nothing is attached"), "nothing is attached any more");
    command("tc", &format!("-n {} qdisc del dev eth0 root", lab.left.name));
    check(stream.finish().intact, "the stream is intact");
    nothing_left(&lab, &before, "rolling back");
}

/// The other conditions, by `watch`, which prints an alarm first.
pub(crate) fn later() {
    for (condition, rate, queue, why) in [
        ("rtt-p99>2", 20, 400, "the 99th percentile of the RTT is"),
        ("retransmissions>3", 60, 8, "of the segments are sent again"),
    ] {
        let lab = Lab::new();
        // The receive window fits into the queue: nothing is lost.
        lab.right.sysctl("net.ipv4.tcp_rmem", "4096 131072 262144");
        lab.bottleneck(100, 400);
        let before = traces(&lab);
        let stream = Transfer::start(&lab, u64::MAX);
        // Long enough for the stream to fill the path.
        std::thread::sleep(Duration::from_millis(500));
        works(&lab, "attach rns --name fbt_cli --default --live");
        lab.bottleneck(rate, queue);
        let printed = forebay(&lab, &format!("watch fbt_cli --rollback-on {condition} --seconds 600"));
        check(printed.code == 1, &format!("watch ends with exit code 1: {}", printed.code));
        let says = printed.err.contains(&format!("rolled back fbt_cli: {condition} for 3 s")) && printed.err.contains(why);
        check(says, &format!("says why: {}", printed.err.trim()));
        let alarms = printed.out.lines().filter(|l| l.contains("ALARM") && l.contains(why)).count();
        check(alarms >= 3, &format!("{alarms} lines have an alarm before"));
        lab.bottleneck(100, 400);
        check(stream.finish().intact, "the stream is intact");
        // A qdisc that was replaced has another handle.
        let (now, was) = (traces(&lab), before);
        let rest = |t: Vec<String>| t.into_iter().filter(|l| !l.contains("qdisc")).collect::<Vec<_>>();
        equal(rest(now), rest(was), "nothing is left behind by rolling back");
    }
}
