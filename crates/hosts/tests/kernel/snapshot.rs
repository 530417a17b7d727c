//! State that an attachment could leave behind, as text: compared before and after.

use crate::check::{PATIENCE, check};
use crate::lab::Lab;
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Waits until only that is there; what is too much will be said by the next check. The kernel frees namespaces in the background, and programs some
/// grace periods later.
pub(crate) fn settle(wanted: &BTreeSet<String>) {
    let begin = Instant::now();
    while look(&[]) != *wanted && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// State after the kernel has freed removed objects: two equal snapshots, some time apart.
pub(crate) fn take(labs: &[&Lab]) -> BTreeSet<String> {
    let mut last = look(labs);
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(100));
        let now = look(labs);
        if now == last {
            break;
        }
        last = now;
    }
    last
}

/// A line for each link, map, program, route, filter, qdisc, setting, mount and file.
fn look(labs: &[&Lab]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    all.extend(LinkInfoIter::default().map(|l| format!("link {} of program {}", l.id, l.prog_id)));
    all.extend(MapInfoIter::default().map(|m| format!("map {} {:?}", m.id, m.name)));
    all.extend(ProgInfoIter::default().map(|p| format!("program {} {:?}", p.id, p.name)));
    all.extend(lines(
        "mount",
        std::fs::read_to_string("/proc/self/mounts").unwrap_or_default().lines().filter(|l| l.contains("bpf")),
    ));
    all.extend(files(Path::new("/run/forebay")));
    all.extend(files(Path::new("/sys/fs/bpf")));
    network(&mut all, "machine", output);
    for host in labs.iter().flat_map(|l| [&l.left, &l.right]) {
        network(&mut all, &host.name, |program, args| output(program, &format!("-n {} {args}", host.name)));
        host.run(|| settings(&mut all, &host.name));
    }
    settings(&mut all, "machine");
    all
}

fn lines<'a>(what: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    all.map(|l| format!("{what}: {}", l.trim())).collect()
}

fn output(program: &str, args: &str) -> String {
    let out = Command::new(program).args(args.split_whitespace()).output();
    out.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}

fn network(all: &mut BTreeSet<String>, place: &str, run: impl Fn(&str, &str) -> String) {
    for args in ["-4 route show table all", "-6 route show table all"] {
        all.extend(lines(
            &format!("{place} route"),
            run("ip", args).lines().filter(|l| !l.contains("expires") && !l.contains("linkdown")),
        ));
    }
    all.extend(lines(&format!("{place} qdisc"), run("tc", "qdisc show").lines()));
    for link in run("ip", "-o link show").lines() {
        let Some(device) = link.split(": ").nth(1).and_then(|d| d.split('@').next()) else { continue };
        for side in ["ingress", "egress"] {
            all.extend(lines(
                &format!("{place} filter {device} {side}"),
                run("tc", &format!("filter show dev {device} {side}")).lines(),
            ));
        }
    }
}

/// Every setting of TCP in the namespace of the calling thread.
fn settings(all: &mut BTreeSet<String>, place: &str) {
    for entry in std::fs::read_dir("/proc/sys/net/ipv4").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("tcp_")
            && let Ok(value) = std::fs::read_to_string(entry.path())
        {
            all.insert(format!("{place} setting {name} = {}", value.trim()));
        }
    }
}

/// All files and folders below; the lock file is no trace of an attachment.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path != Path::new("/run/forebay/lock") {
            found.push(format!("file {}", path.display()));
        }
        if path.is_dir() {
            found.extend(files(&path));
        }
    }
    found
}

/// Checks that nothing was added and nothing taken away; the kernel frees some things a little later.
pub(crate) fn unchanged(before: &BTreeSet<String>, labs: &[&Lab], after_what: &str) {
    let begin = Instant::now();
    loop {
        let after = look(labs);
        let added: Vec<&String> = after.difference(before).collect();
        let missing: Vec<&String> = before.difference(&after).collect();
        let same = added.is_empty() && missing.is_empty();
        if same || begin.elapsed() > PATIENCE {
            let what =
                format!("nothing is left behind by {after_what} (links, maps, programs, routes, filters, settings, files)");
            check(same, &if same { what } else { format!("{what}: added {added:#?}, missing {missing:#?}") });
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
