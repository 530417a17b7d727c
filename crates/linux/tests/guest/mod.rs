//! Scenarios in a guest, for tests.

use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_linux::world::Linux;
use forebay_scenario::Scenario;
use std::ops::ControlFlow;
use std::sync::OnceLock;

fn worlds() -> &'static Worlds {
    static ALL: OnceLock<Worlds> = OnceLock::new();
    ALL.get_or_init(|| Worlds::new(&[&forebay_sim::world::Simulator, &Linux]))
}

/// The experiment of a scenario on the backend `linux`.
pub(crate) fn experiment(text: &str) -> Experiment {
    let scenario = Scenario::from_text(worlds(), text, "case", "".as_ref(), &["world=linux".to_owned()], None);
    let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    resolved.variants[0].config.clone()
}

/// Runs an experiment in `world`.
pub(crate) fn run_in(world: &dyn World, e: &Experiment) -> Report {
    let checked = e.check().unwrap_or_else(|e| panic!("{e}"));
    world.run(checked, e.seed, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns true if there is a kernel; fails if there should be one.
pub(crate) fn kernel() -> bool {
    if !Linux.version().is_empty() {
        return true;
    }
    let failing = |c: &forebay_platform::doctor::Check| match (c.look)() {
        forebay_platform::doctor::Finding::Fails { wrong, .. } if c.title != "kernel" => Some(format!("{}: {wrong}", c.title)),
        _ => None,
    };
    let lacks: Vec<String> = forebay_kernel::doctor::PART.checks.iter().filter_map(failing).collect();
    assert!(!lacks.is_empty(), "there is no kernel for the backend linux, and this machine can build one: forebay kernel build");
    forebay_platform::doctor::requirements::skip("kernel", &format!("this machine cannot build one ({})", lacks.join("; ")));
    false
}
