//! Scenarios in real and in virtual time.

use forebay_experiment::Experiment;
use forebay_experiment::report::{Report, RunError};
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_linux::world::Linux;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_testbed::namespace::Namespace;
use forebay_testbed::world::Testbed;
use std::ops::ControlFlow;

/// The first experiment of a scenario.
pub(crate) fn experiment(text: &str) -> Experiment {
    static ALL: std::sync::OnceLock<Worlds> = std::sync::OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&Simulator, &Linux, &Testbed]));
    let scenario = Scenario::from_text(worlds, text, "case", "".as_ref(), &[], None);
    scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone()
}

/// Runs an experiment in `world`.
pub(crate) fn run(world: &dyn World, e: &Experiment) -> Result<Report, RunError> {
    world.run(e.check().expect("checked"), e.seed, &mut |_| ControlFlow::Continue(()))
}

/// Largest number of attempts of a run in real time. A run whose deadline misses exceed the scenario's tolerance is invalid and has no numbers.
const TRIES: u32 = 20;

/// Largest number of attempts of a test in a row.
const ATTEMPTS: u32 = 2;

/// Repeats a comparison of a run in real time once if it fails. A valid run may still contain a delay at an instant that matters, e.g. in a train of
/// probes that lasts a millisecond. The failed attempt is printed with its reason.
pub(crate) fn attempts(test: impl Fn()) {
    for attempt in 1..ATTEMPTS {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(&test)) {
            Ok(()) => return,
            Err(_) => eprintln!("attempt {attempt} of {ATTEMPTS} failed"),
        }
    }
    test();
}

/// In real time, until a run is valid, and in virtual time; `None` where there are no namespaces.
pub(crate) fn both(text: &str, packets: bool) -> Option<[Report; 2]> {
    if let Err(e) = Namespace::create() {
        forebay_platform::doctor::requirements::skip("netns", &e.to_string());
        return None;
    }
    let mut e = experiment(text);
    e.observe.packets = packets;
    assert_eq!(Testbed.supports(&e), []);
    let expected = run(&Simulator, &e).unwrap_or_else(|e| panic!("{e}"));
    for attempt in 1..=TRIES {
        match run(&Testbed, &e) {
            Ok(report) => return Some([report, expected]),
            Err(e) if e.to_string().contains("invalid") => eprintln!("attempt {attempt} of {TRIES}: {e}"),
            Err(e) => panic!("{e}"),
        }
    }
    panic!("this machine was late in {TRIES} runs: see above");
}
