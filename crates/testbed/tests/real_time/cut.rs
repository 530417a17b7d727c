//! Runs in real time that are ended early. Without the right to create namespaces these tests print that and pass.

use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_testbed::namespace::Namespace;
use forebay_testbed::tap::NAME;
use forebay_testbed::world::Testbed;
use forebay_types::Time;
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bulk transfers, during which applications have nothing to do until the end.
const BULK: &str = r#"
duration = "5min"
[topology]
kind = "many-to-one"
senders = 2
access     = { rate = "20Mbps", delay = "500us" }
bottleneck = { rate = "20Mbps", delay = "500us", buffer = "50pkt" }
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "long"
"#;

/// Runs `BULK`; `progress` is called several times a second. `None` where there are no namespaces.
fn run(progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>) -> Option<Result<Report, RunError>> {
    if let Err(e) = Namespace::create() {
        forebay_platform::doctor::requirements::skip("netns", &e.to_string());
        return None;
    }
    static ALL: OnceLock<Worlds> = OnceLock::new();
    // One run at a time: a test changes what it finds in this process.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let worlds = ALL.get_or_init(|| Worlds::new(&[&Simulator, &Testbed]));
    let scenario = Scenario::from_text(worlds, BULK, "case", "".as_ref(), &["world=testbed".to_owned()], None);
    let e = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone();
    Some(Testbed.run(e.check().expect("checked"), e.seed, progress))
}

/// Runs `BULK` and ends it so after a second; how long that took.
fn ended_after_a_second(cut: EarlyEnd) -> Option<(Result<Report, RunError>, Duration)> {
    let mut asked = None;
    let outcome = run(&mut |p| {
        if p.now < Time::from_secs(1) {
            return ControlFlow::Continue(());
        }
        asked.get_or_insert_with(Instant::now);
        ControlFlow::Break(cut)
    })?;
    let took = asked.expect("it was asked").elapsed();
    Some((outcome, took))
}

#[test]
fn cut_run_keeps_its_results() {
    // Runs are invalid on a machine that is too busy for real time; they are repeated.
    for _ in 0..10 {
        let Some((outcome, took)) = ended_after_a_second(EarlyEnd::WithReport) else { return };
        assert!(took < Duration::from_secs(60), "the run continued for {took:?}");
        match outcome {
            Ok(report) => {
                let delivered: u64 = report.acked.iter().sum();
                // A second of 20 Mbit/s, without the start.
                assert!(report.cut && report.flows.len() == 2 && report.end >= Time::from_secs(1), "{report:?}");
                assert!(report.end < Time::from_secs(100) && delivered > 500_000, "{:?}, {delivered} bytes", report.end);
                assert!(report.remark.contains("tolerated"), "{}", report.remark);
                return;
            }
            Err(e) if e.to_string().contains("invalid") => {}
            Err(e) => panic!("{e}"),
        }
    }
    panic!("the machine was too busy for real time in every attempt");
}

#[test]
fn abandoned_run_ends_at_once() {
    let Some((outcome, took)) = ended_after_a_second(EarlyEnd::Discard) else { return };
    assert!(matches!(outcome, Err(RunError::Interrupted)), "{outcome:?}");
    assert!(took < Duration::from_secs(60), "the run continued for {took:?}");
}

/// Removes the device of one host, as an administrator can; whether there was one. The other end of the device fails from then on.
fn remove_a_device() -> bool {
    let namespaces = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut namespaces =
        namespaces.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|l| l.to_string_lossy().starts_with("net:[")));
    namespaces.any(|fd| {
        let number = fd.file_name().into_string().unwrap();
        let enter = format!("--net=/proc/{}/fd/{number}", std::process::id());
        let removed = Command::new("nsenter").args([&enter, "ip", "link", "delete", "dev", NAME]).output();
        removed.is_ok_and(|out| out.status.success())
    })
}

#[test]
fn failed_device_ends_the_run() {
    let (mut removed, begin) = (false, Instant::now());
    let outcome = run(&mut |_| {
        removed = removed || remove_a_device();
        if begin.elapsed() < Duration::from_secs(60) { ControlFlow::Continue(()) } else { ControlFlow::Break(EarlyEnd::Discard) }
    });
    match outcome {
        None => {}
        Some(_) if !removed => forebay_platform::doctor::requirements::skip("netns", "this test needs nsenter and ip"),
        Some(Err(RunError::World(why))) => assert!(why.contains("the testbed failed"), "{why}"),
        Some(other) => panic!("it goes on: {other:?}"),
    }
}
