//! Invalid requests are refused with a message that names the fix, and leave no change behind.

use crate::check::{check, equal, refuses};
use crate::child;
use crate::lab::{Lab, command};
use crate::snapshot;
use crate::traffic::Transfer;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::{detach, detach_all};
use std::process::Command;

fn request(program: &str) -> Request {
    Request { program: program.into(), name: Some("fbt_ref".into()), default: true, ..Request::default() }
}

pub(crate) fn wrong_requests() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    let with = |change: &dyn Fn(&mut Request)| {
        let mut r = request("dctcp");
        change(&mut r);
        lab.left.run(|| attach(&r))
    };
    refuses(with(&|r| r.program = "dctpc".into()), &["dctpc", "did you mean `dctcp`"], "a program that does not exist");
    refuses(with(&|r| r.name = Some("sixteen_letters_".into())), &["sixteen_letters_", "15"], "a name that is too long");
    refuses(with(&|r| r.name = Some("a b".into())), &["letters, digits"], "a name with a blank");
    refuses(with(&|r| r.name = Some("../x".into())), &["letters, digits"], "a name that is a path");
    refuses(
        with(&|r| r.name = Some("cubic".into())),
        &["cubic", "registered", "--name"],
        "the name of a congestion control of the kernel",
    );
    refuses(with(&|r| r.default = false), &["--dst", "--cgroup", "--default"], "an attachment without a target");
    refuses(
        with(&|r| r.prefixes = vec!["10.77.0.0/24".parse().expect("a prefix")]),
        &["--default", "leave one"],
        "default and prefix at once",
    );
    refuses(with(&|r| r.params = vec!["shift_g".into()]), &["name=value"], "a parameter without a value");
    refuses(
        with(&|r| r.params = vec!["shift=4".into()]),
        &["no parameter `shift`", "shift_g"],
        "a parameter that it does not have",
    );
    refuses(with(&|r| r.params = vec!["shift_g=11".into()]), &["0 to 10"], "a value out of range");
    refuses(with(&|r| r.params = vec!["shift_g=-1".into()]), &["0 to 10"], "a negative value");
    let unreachable = |r: &mut Request| {
        r.default = false;
        r.prefixes = vec!["192.0.2.0/24".parse().expect("a prefix")];
    };
    refuses(with(&unreachable), &["192.0.2.0/24", "no route"], "a prefix that the host has no route to");
    refuses(lab.left.run(|| detach("fbt_ref")), &["not attached", "detach --all"], "detaching what is not attached");
    snapshot::unchanged(&before, &[&lab], "requests that were refused");
}

pub(crate) fn second_attach() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    lab.left.run(|| attach(&request("dctcp"))).unwrap_or_else(|e| panic!("{e}"));
    let attached = snapshot::take(&[&lab]);
    refuses(
        lab.left.run(|| attach(&request("dctcp"))),
        &["fbt_ref is attached already", "tune", "--name"],
        "a second attach of the same name",
    );
    refuses(lab.left.run(|| attach(&request("rns"))), &["fbt_ref is attached already (dctcp)"], "another program under the name");
    refuses(
        lab.right.run(|| attach(&request("rns"))),
        &["fbt_ref is attached already"],
        "the name in another namespace: names are the machine's",
    );
    snapshot::unchanged(&attached, &[&lab], "second attaches");
    lab.left.run(|| detach("fbt_ref")).unwrap_or_else(|e| panic!("{e}"));

    // Two prefixes that overlap cannot both have a congestion control.
    let mut routed = request("dctcp");
    routed.default = false;
    routed.prefixes = vec!["10.77.0.0/24".parse().expect("a prefix")];
    lab.left.run(|| attach(&routed)).unwrap_or_else(|e| panic!("{e}"));
    let other = Request { name: Some("fbt_two".into()), program: "rns".into(), ..routed.clone() };
    refuses(lab.left.run(|| attach(&other)), &["10.77.0.0/24", "already has a route"], "a prefix that has one already");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    snapshot::unchanged(&before, &[&lab], "second attaches and detaching");
}

/// Eight processes at once: one attaches, the others say why they do not.
pub(crate) fn at_once() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    let program = std::env::current_exe().expect("this program");
    let start = |name: &str| {
        let args = [child::WORD, &lab.left.name, "rns", name, "10.77.0.0/24"];
        Command::new(&program).args(args).stderr(std::process::Stdio::piped()).spawn().expect("this program starts again")
    };
    let same: Vec<_> = (0..8).map(|_| start("fbt_once")).collect();
    let ended: Vec<_> = same.into_iter().map(|c| c.wait_with_output().expect("it ends")).collect();
    equal(ended.iter().filter(|o| o.status.success()).count(), 1, "of eight processes at once one attaches");
    let clear = |o: &&std::process::Output| String::from_utf8_lossy(&o.stderr).contains("attached already");
    equal(ended.iter().filter(|o| !o.status.success()).filter(clear).count(), 7, "the others say that it is attached already");
    let ours = command("ip", &format!("-n {} route show proto 251", lab.left.name));
    equal(ours.lines().count(), 1, "there is one route");
    check(lab.left.run(detach_all).is_ok(), "`detach --all` takes it off");
    snapshot::unchanged(&before, &[&lab], "eight processes at once");
}

/// Runs `attach` in a process that lacks something; returns what it said, or that it worked.
fn lacking(lab: &Lab, program: &str, what: &str) -> Result<(), String> {
    let this = std::env::current_exe().expect("this program");
    let args = [child::WORD, &lab.left.name, program, "fbt_lack", "default", what];
    let out = Command::new(this).args(args).output().expect("this program starts again");
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

/// A kernel without type information: said before anything is changed.
pub(crate) fn no_type_information() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    for program in ["dctcp", "prin"] {
        let text = lacking(&lab, program, child::NO_BTF).err().unwrap_or_default();
        check(
            text.contains("no type information") && text.contains("CONFIG_DEBUG_INFO_BTF=y"),
            &format!("{program} without BTF: {}", text.trim()),
        );
        snapshot::unchanged(&before, &[&lab], "an attach without type information");
    }
}

/// The last step of several fails: what was done before is undone, in the middle of a stream.
pub(crate) fn half_way() {
    for program in ["dctcp", "prin"] {
        let lab = Lab::new();
        let before = snapshot::take(&[&lab]);
        let stream = Transfer::start(&lab, u64::MAX);
        let text = lacking(&lab, program, child::NO_SETTINGS).err().unwrap_or_default();
        check(
            text.contains("net.ipv4.tcp_congestion_control") || text.contains("tcp_congestion_control"),
            &format!("{program} where settings cannot be changed: {}", text.trim()),
        );
        snapshot::unchanged(&before, &[&lab], "an attach whose last step failed");
        check(stream.finish().intact, "the stream is intact");
    }
}

/// An interface at which `clsact` has no place.
pub(crate) fn no_clsact() {
    let lab = Lab::new();
    command("tc", &format!("-n {} qdisc add dev eth0 ingress", lab.left.name));
    let before = snapshot::take(&[&lab]);
    let shim = Request { default: false, prefixes: vec!["10.77.0.0/24".parse().expect("a prefix")], ..request("pias") };
    let words = &["eth0", "`ingress`", "clsact", "tc qdisc del dev eth0 ingress"];
    refuses(lab.left.run(|| attach(&shim)), words, "a shim where the qdisc ingress is");
    refuses(lab.left.run(|| attach(&request("prin"))), words, "a congestion control with a filter there");
    snapshot::unchanged(&before, &[&lab], "attaching where clsact has no place");
    command("tc", &format!("-n {} qdisc del dev eth0 ingress", lab.left.name));
    check(lab.left.run(|| attach(&shim)).is_ok(), "without it the shim attaches");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}
