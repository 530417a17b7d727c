//! Laws that the running kernel has from us as BPF programs: what the testbed says of them before it runs.

use forebay_experiment::Experiment;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::Scenario;
use forebay_testbed::world::Testbed;

fn experiment(cc: &str) -> Experiment {
    static ALL: std::sync::OnceLock<Worlds> = std::sync::OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&forebay_sim::world::Simulator, &Testbed]));
    let text = format!(
        "duration = \"1s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"20Mbps\", delay = \"500us\" }}\n\
         bottleneck = {{ rate = \"20Mbps\", delay = \"500us\", buffer = \"50pkt\" }}\n[transport]\nstack = \"linux\"\ncc = {cc}\n\
         [[workload]]\nkind = \"long\"\n"
    );
    let scenario = Scenario::from_text(worlds, &text, "case", "".as_ref(), &[], None);
    scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone()
}

/// A program cannot hold packets back, so that TRIM has no random waits there; how a law gets into the kernel is said.
#[test]
fn trim_is_a_program_without_random_waits() {
    let plain = experiment("\"trim\"");
    assert!(Testbed.supports(&plain).is_empty());
    let says = Testbed.explain(&plain).join("\n");
    assert!(says.contains("forebay attach trim --name forebay_trim --default"), "{says}");
    for at in ["on", "ad", "as"] {
        let waits = Testbed.supports(&experiment(&format!("{{ kind = \"trim\", at = \"{at}\" }}")));
        assert!(
            waits.iter().any(|w| w.key == "transport.cc" && w.reason.contains("without random waits")),
            "{at}: {}",
            waits.len()
        );
    }
    // What a kernel has by itself needs no words.
    assert!(!Testbed.explain(&experiment("\"cubic\"")).iter().any(|l| l.contains("forebay attach")));
}
