//! A testbed that is killed at any moment leaves nothing: ten times in the middle of traffic, then a look at what the machine has. Where no
//! namespaces may be made this says so and passes: there is nothing to test.

use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_testbed::namespace::Namespace;
use forebay_testbed::tap::NAME;
use forebay_testbed::world::Testbed;
use nix::libc;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const SCENARIO: &str = r#"
duration = "60s"
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

/// Runs the scenario; says so when its connections have been open for some tenths of a second.
#[test]
#[ignore = "run by another test, to be killed"]
fn run_until_killed() {
    static ALL: std::sync::OnceLock<Worlds> = std::sync::OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&forebay_sim::world::Simulator, &Testbed]));
    // With its BPF programs, where the build has them.
    let shim = r#"{ kind = "newreno", shim = "proboscis" }"#;
    let text = if cfg!(feature = "bpf") { SCENARIO.replace("\"newreno\"", shim) } else { SCENARIO.to_owned() };
    let scenario = Scenario::from_text(worlds, &text, "case", "".as_ref(), &["world=testbed".to_owned()], None);
    let experiment = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone();
    let mut looks = 0;
    let outcome = Testbed.run(experiment.check().unwrap(), 1, &mut |_| {
        // Ten times a second while the kernel has nothing to say, as in a bulk transfer.
        looks += 1;
        if looks == 3 {
            fs::write(env::var_os("FOREBAY_RUNNING").unwrap(), "").unwrap();
        }
        ControlFlow::Continue(())
    });
    panic!("it ended by itself: {:?}", outcome.map(|r| r.end));
}

/// Numbers of the kernel's BPF programs and maps (bpf(2): `BPF_PROG_GET_NEXT_ID`, `BPF_MAP_GET_NEXT_ID`).
fn bpf() -> BTreeSet<(i64, u32)> {
    let mut all = BTreeSet::new();
    for kind in [11, 12] {
        // start_id, next_id, open_flags
        let mut attributes = [0_u32; 3];
        // SAFETY: the kernel reads and writes the three numbers, which live until the call returns.
        while unsafe { libc::syscall(libc::SYS_bpf, kind, attributes.as_mut_ptr(), size_of_val(&attributes)) } == 0 {
            all.insert((kind, attributes[1]));
            attributes[0] = attributes[1];
        }
    }
    all
}

/// Longest wait for what the kernel does in its own time.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(20));
    }
}

/// State that a testbed could leave behind: network namespaces of processes, pinned namespaces, and settings of TCP.
fn machine() -> (BTreeSet<String>, Vec<(String, String)>) {
    let links = fs::read_dir("/proc").unwrap().flatten().filter_map(|p| fs::read_link(p.path().join("ns/net")).ok());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let pinned = mounts.lines().filter(|l| l.contains(" - nsfs ")).filter_map(|l| l.split(' ').nth(3).map(str::to_owned));
    let spaces = links.map(|l| l.display().to_string()).chain(pinned).collect();
    let mut settings: Vec<(String, String)> = fs::read_dir("/proc/sys/net/ipv4")
        .unwrap()
        .flatten()
        .filter(|f| f.file_name().to_string_lossy().starts_with("tcp_"))
        // Congestion controls change when other processes attach them, and keys of Fast Open are created on first read.
        .filter(|f| !f.file_name().to_string_lossy().ends_with("congestion_control") && f.file_name() != "tcp_fastopen_key")
        .map(|f| (f.file_name().to_string_lossy().into(), fs::read_to_string(f.path()).unwrap_or_default()))
        .collect();
    settings.sort();
    (spaces, settings)
}

/// The right to look at what the whole machine has attached (`lab::alone` in the tests of `crates/hosts`).
fn alone() -> Option<fs::File> {
    let file = fs::File::options().create(true).append(true).open("/run/lock/forebay-tests").ok()?;
    file.lock().ok()?;
    Some(file)
}

#[test]
fn killed_testbed_leaves_nothing() {
    if let Err(e) = Namespace::create() {
        return forebay_platform::doctor::requirements::skip("netns", &e.to_string());
    }
    let _alone = alone();
    let running = env::temp_dir().join(format!("forebay-killed-{}", std::process::id()));
    let (_, settings) = machine();
    for round in 0..10_u64 {
        let _ = fs::remove_file(&running);
        let programs = bpf();
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "real_time::killed::run_until_killed", "--ignored"])
            .env("FOREBAY_RUNNING", &running)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let pid = child.id().to_string();
        while !running.exists() {
            assert!(child.try_wait().unwrap().is_none(), "round {round}: it ended before packets were carried");
            thread::sleep(Duration::from_millis(10));
        }
        // Its own namespaces, each of a thread of its own.
        let own: BTreeSet<String> = fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .filter_map(|fd| fs::read_link(fd.path()).ok())
            .map(|l| l.display().to_string())
            .filter(|l| l.starts_with("net:["))
            .collect();
        assert!(own.len() >= 5, "round {round}: it has a namespace for each host: {own:?}");
        // Its programs and maps; or another process's that come and go.
        let programs: BTreeSet<_> = bpf().difference(&programs).copied().collect();
        assert!(!cfg!(feature = "bpf") || programs.len() >= 2, "round {round}: it has programs");
        // Another moment each time; a delay of this thread makes it a later one.
        thread::sleep(Duration::from_millis(7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        // Children get the signal when their parent ends, and end in their own time.
        wait_until(&format!("round {round}: no process of its group"), || {
            let mut processes = fs::read_dir("/proc").unwrap().flatten();
            !processes.any(|p| fs::read_to_string(p.path().join("stat")).is_ok_and(|s| s.split(' ').nth(4) == Some(pid.as_str())))
        });
        let (spaces, set) = machine();
        assert!(spaces.is_disjoint(&own), "round {round}: {:?}", spaces.intersection(&own));
        assert_eq!(set, settings, "round {round}");
        // A kernel frees them when none can be running any more.
        wait_until(&format!("round {round}: programs and maps {programs:?}"), || bpf().is_disjoint(&programs));
        assert!(!fs::exists(format!("/sys/class/net/{NAME}")).unwrap(), "round {round}: its device is gone with the namespace");
    }
    let _ = fs::remove_file(&running);
}
