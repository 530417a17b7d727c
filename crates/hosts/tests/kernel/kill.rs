//! Processes that are killed while they attach, in the middle of traffic.

use crate::check::{check, equal};
use crate::child;
use crate::lab::Lab;
use crate::snapshot;
use crate::traffic::Transfer;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::{detach, detach_all};
use forebay_hosts::status::status;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(lab: &Lab, what: &str, who: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let args = [child::WORD, &lab.left.name, what, "fbt_kill", who];
    Command::new(program).args(args).stderr(Stdio::null()).spawn().expect("this program starts again")
}

/// Ten times at ten moments: the stream is intact and what is left is found and removed.
pub(crate) fn while_attaching() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    for i in 0..10_u32 {
        let who = if i % 2 == 0 { "default" } else { "10.77.0.0/24" };
        let transfer = Transfer::start(&lab, u64::MAX);
        let mut process = start(&lab, "dctcp", who);
        // The moment of the kill; a delay of this process makes it a later one.
        std::thread::sleep(Duration::from_millis(u64::from(i) * 12));
        process.kill().expect("it can be killed");
        process.wait().expect("it ends");
        // A killed process either got to the end or left something that is not complete.
        let left = lab.left.run(status).unwrap_or_else(|e| panic!("{e}"));
        let how = match left.first().map(|s| s.complete) {
            None => "before it changed anything",
            Some(true) => "after it was complete",
            Some(false) => "half-way",
        };
        lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
        let outcome = transfer.finish();
        check(
            outcome.intact && outcome.bytes > 0,
            &format!("killed after {} ms ({how}): {} bytes arrived as they were sent", i * 12, outcome.bytes),
        );
        snapshot::unchanged(&before, &[&lab], &format!("a kill after {} ms and `detach --all`", i * 12));
    }
}

/// A process that takes an attachment off is killed, ten times at ten moments: the next one does the rest.
pub(crate) fn while_detaching() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    for i in 0..10_u32 {
        let default = i % 2 == 0;
        let prefixes = if default { Vec::new() } else { vec!["10.77.0.0/24".parse().expect("a prefix")] };
        let request = Request {
            program: "dctcp".into(),
            name: Some("fbt_kill".into()),
            default,
            prefixes,
            live: true,
            ..Request::default()
        };
        let transfer = Transfer::start(&lab, u64::MAX);
        lab.left.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
        let mut process = start(&lab, child::DETACH, "-");
        // As above.
        std::thread::sleep(Duration::from_millis(u64::from(i) * 4));
        process.kill().expect("it can be killed");
        process.wait().expect("it ends");
        let left = lab.left.run(status).unwrap_or_else(|e| panic!("{e}")).len();
        lab.left.run(if left > 0 && i % 4 < 2 { || detach("fbt_kill") } else { detach_all }).unwrap_or_else(|e| panic!("{e}"));
        equal(transfer.socket(&lab).map(|s| s.cc), Some("reno".into()), "the connection has its own congestion control back");
        let outcome = transfer.finish();
        check(
            outcome.intact && outcome.bytes > 0,
            &format!("killed after {} ms ({left} left): {} bytes arrived as they were sent", i * 4, outcome.bytes),
        );
        snapshot::unchanged(&before, &[&lab], &format!("a detach that was killed after {} ms, and the next one", i * 4));
    }
}

/// An attachment stays when its files are lost, and `detach --all` finds it.
pub(crate) fn lost_state() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    for who in ["default", "10.77.0.0/24"] {
        let done = start(&lab, "dctcp", who).wait().expect("it ends");
        check(done.success(), &format!("attached ({who})"));
        let transfer = Transfer::start(&lab, u64::MAX);
        std::fs::remove_file("/run/forebay/fbt_kill.json").expect("the file of the attachment");
        check(lab.left.run(|| detach("fbt_kill")).is_err(), "without its file an attachment has no name");
        let said = lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
        check(said.iter().any(|l| l.contains("without a state file")), "`detach --all` says what it found");
        check(transfer.finish().intact, "the stream is intact");
        if who == "default" {
            // The previous value is lost with the file.
            lab.left.sysctl("net.ipv4.tcp_congestion_control", "reno");
        }
        snapshot::unchanged(&before, &[&lab], &format!("`detach --all` with the file lost ({who})"));
    }
}
