//! Guests of killed runs, with a script instead of a kernel: the next process removes files that a killed one left outside of its output folder.

use crate::scratch::{Scratch, command, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

const SCENARIO: &str = r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "20Mbps", delay = "500us" }
bottleneck = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
[transport]
cc = "newreno"
[[workload]]
kind = "long"
"#;

/// Starts a process that outlives it, as a process traced by a guest may, and then does nothing.
const GUEST: &str =
    "#!/bin/sh\nsleep 1000 </dev/null >/dev/null 2>&1 3<&- 4>&- &\necho $! > child.new; mv child.new child\nexec sleep 1000\n";

fn start(s: &Scratch) -> Child {
    let mut run = command(&s.0, &["run", "s.toml", "--world", "linux", "--yes", "--quiet", "--no-report", "--out", "r"]);
    run.env("FOREBAY_KERNEL", s.0.join("kernel")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    run.spawn().unwrap()
}

/// The folder of the guest of a process, once it has started its own process, and that one.
fn guest(of: &mut Child) -> (PathBuf, String) {
    let own = format!("forebay-guest-{}-", of.id());
    // The second where the first has too little space, as in a container.
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let mut found = None;
    wait_until("the guest starts", || {
        assert!(of.try_wait().unwrap().is_none(), "the run goes on");
        found = places.iter().flat_map(fs::read_dir).flatten().flatten().map(|e| e.path()).find_map(|p| {
            let is_own = p.file_name().unwrap().to_string_lossy().starts_with(&own);
            let child = fs::read_to_string(p.join("child")).ok().filter(|_| is_own)?;
            Some((p, child.trim().to_owned()))
        });
        found.is_some()
    });
    found.unwrap()
}

fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

#[test]
fn next_run_ends_orphaned_guests() {
    let s = Scratch::new("guests");
    s.file("s.toml", SCENARIO);
    s.file("kernel", GUEST);
    fs::set_permissions(s.0.join("kernel"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut left = Vec::new();
    for _ in 0..3 {
        let mut run = start(&s);
        left.push(guest(&mut run));
        run.kill().unwrap();
        run.wait().unwrap();
    }
    assert!(left.last().is_some_and(|(folder, child)| folder.exists() && runs(child)), "this is what kill -9 leaves");
    let mut next = start(&s);
    let (own, child) = guest(&mut next);
    // By this run, or by another one of this user that starts at the same time.
    wait_until(&format!("they are gone: {left:?}"), || !left.iter().any(|(folder, child)| folder.exists() || runs(child)));
    assert!(own.exists() && runs(&child), "a guest in use stays");
    let mut another = start(&s);
    guest(&mut another);
    assert!(own.exists() && runs(&child), "also when another run starts");
    for run in [&mut next, &mut another] {
        run.kill().unwrap();
        run.wait().unwrap();
    }
    // Removes the leftovers as a user would: by one more run.
    let mut last = start(&s);
    let (folder, child) = guest(&mut last);
    wait_until(&format!("{} is removed", own.display()), || !own.exists());
    last.kill().unwrap();
    last.wait().unwrap();
    let _ = std::process::Command::new("kill").args(["-9", &child]).status();
    let _ = fs::remove_dir_all(folder);
}
