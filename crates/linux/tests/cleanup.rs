//! A run whose process is killed: the guest's processes end with it, and the next run removes the guest's folder.

mod guest;

use forebay_linux::world::Linux;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const SCENARIO: &str = r#"
duration = "10000s"
[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "20Mbps", delay = "500us" }
bottleneck = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
[transport]
cc = "newreno"
[[workload]]
kind = "long"
"#;

/// Limit of every wait.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
#[ignore = "run by another test, to be killed"]
fn run_until_killed() {
    guest::run_in(&Linux, &guest::experiment(SCENARIO));
    panic!("it ended by itself");
}

/// Folders of guests that a process has started.
fn folders(of: u32) -> Vec<PathBuf> {
    // The second where the first has too little space, as in a container.
    let places = [PathBuf::from("/dev/shm"), env::temp_dir()];
    let all = places.iter().flat_map(fs::read_dir).flatten().flatten().map(|e| e.path());
    let own = format!("forebay-guest-{of}-");
    all.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&own))).collect()
}

/// Processes that work in one of these folders and have not ended.
fn processes(folders: &[PathBuf]) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|p| p.path());
    let works_there = |p: &PathBuf| fs::read_link(p.join("cwd")).is_ok_and(|cwd| folders.contains(&cwd));
    all.filter(works_there).map(|p| p.display().to_string()).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_runs_leave_no_guests() {
    if !guest::kernel() {
        return;
    }
    for round in 0..5_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "run_until_killed", "--ignored"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        // The kernel and the process that runs its user space.
        wait_until("a guest runs", || processes(&folders(pid)).len() >= 2);
        let left = folders(pid);
        thread::sleep(Duration::from_millis(37 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("its processes end with it", || processes(&left).is_empty());
        // Start another run, which cleans up.
        let short = SCENARIO.replace("10000s", "10ms");
        guest::run_in(&Linux, &guest::experiment(&short));
        wait_until("its folder is removed", || left.iter().all(|f| !f.exists()));
    }
    assert_eq!(folders(std::process::id()), Vec::<PathBuf>::new(), "those of this process as well");
}
