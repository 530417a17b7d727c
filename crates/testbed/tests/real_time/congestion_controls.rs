//! Congestion controls that the running kernel has from us as BPF programs: what the testbed says of them before it runs.

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

/// `explain` names the command that attaches a congestion control, and TRIM's requirement: 1538 bytes at 20 Mbps, a buffer of 50 packets.
#[test]
fn explain_names_the_attach_command() {
    let says = |cc: &str| {
        let e = experiment(cc);
        assert!(Testbed.supports(&e).is_empty(), "{cc}");
        Testbed.explain(&e).join("\n")
    };
    let trim = says("{ kind = \"trim\", at = \"on\" }");
    let command = "forebay attach trim --name forebay_trim --default --param packet_ps=615200000 --param buffer=30760 --param guard=1846 --param min_cwnd=2`";
    assert!(trim.contains(command), "{trim}");
    let explicit = says("{ kind = \"trim\", k = \"5ms\" }");
    assert!(explicit.contains(" --param k=5000 "), "{explicit}");
    // A congestion control of the kernel needs no explanation.
    assert!(!Testbed.explain(&experiment("\"cubic\"")).iter().any(|l| l.contains("forebay attach")));
}
