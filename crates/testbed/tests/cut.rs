//! Runs in real time that are ended early. Without the right to create namespaces these tests print that and pass.

use forebay_experiment::report::{Cut, Report, RunError};
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_testbed::namespace::Namespace;
use forebay_testbed::world::Testbed;
use forebay_units::Time;
use std::ops::ControlFlow;
use std::sync::OnceLock;
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

/// Runs `BULK` and ends it with `cut` after a second; returns the time that this took. `None` without network namespaces.
fn ended_after_a_second(cut: Cut) -> Option<(Result<Report, RunError>, Duration)> {
    if let Err(e) = Namespace::create() {
        eprintln!("not tested: no network namespaces here ({e})");
        return None;
    }
    static ALL: OnceLock<Worlds> = OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&Simulator, &Testbed]));
    let scenario = Scenario::from_text(worlds, BULK, "case", "".as_ref(), &["world=testbed".to_owned()], None);
    let e = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone();
    let mut asked = None;
    let outcome = Testbed.run(e.check().expect("checked"), e.seed, &mut |p| {
        if p.now < Time::from_secs(1) {
            return ControlFlow::Continue(());
        }
        asked.get_or_insert_with(Instant::now);
        ControlFlow::Break(cut)
    });
    let took = asked.expect("the run reports progress").elapsed();
    Some((outcome, took))
}

#[test]
fn cut_run_keeps_its_results() {
    // Runs are invalid on a machine that is too busy for real time; they are repeated.
    for _ in 0..10 {
        let Some((outcome, took)) = ended_after_a_second(Cut::Keep) else { return };
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
    let Some((outcome, took)) = ended_after_a_second(Cut::Abandon) else { return };
    assert!(matches!(outcome, Err(RunError::Interrupted)), "{outcome:?}");
    assert!(took < Duration::from_secs(60), "the run continued for {took:?}");
}
