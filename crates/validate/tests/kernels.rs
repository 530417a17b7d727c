//! A kernel compared with itself.

use crate::guest::has_kernel;
use forebay_validate::kernels::{Input, Kernel, Options, compare, json, text};
use std::ops::ControlFlow;
use std::path::PathBuf;

const SCENARIO: &str = "duration = \"30ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
    access = { rate = \"1Gbps\", delay = \"20us\" }\n\
    bottleneck = { rate = \"100Mbps\", delay = \"20us\", buffer = \"20pkt\" }\n\
    [transport]\nstack = \"linux\"\ncc = \"cubic\"\n[[workload]]\nkind = \"long\"\n";

/// Two runs of one kernel at the same time are equal in all packets and states.
#[test]
fn kernel_equals_itself() {
    if !has_kernel() {
        return;
    }
    let program = forebay_validate::kernel().unwrap();
    let name = program.display().to_string();
    let kernel = Kernel::named(&name).unwrap();
    let script = include_str!("../../../tests/connections/closed-window-write.pkt").to_owned();
    let inputs = [
        Input::Scenario { name: "cubic".into(), text: SCENARIO.into(), folder: PathBuf::new() },
        Input::Script { name: "closed window".into(), text: script },
    ];
    let options = Options { parallel: true, ..Options::default() };
    let found = compare([&kernel, &kernel], &inputs, &options, &|| false, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    let all = text::text(&found);
    assert!(all.starts_with(&format!("No difference between kernels {name} and {name} in 2 scenarios, ")), "{all}");
    assert!(found.same_program && found.changes.as_ref().is_some_and(Vec::is_empty), "{all}");
    let document = json::document(&found);
    assert_eq!((&document["results"][0]["differs"], &document["same_program"]), (&false.into(), &true.into()));
}

/// A run with states has the packets and results of one without.
#[test]
fn states_change_nothing() {
    if !has_kernel() {
        return;
    }
    let sets = ["world=linux".to_owned()];
    let scenario = forebay_scenario::Scenario::from_text(forebay_backends::all(), SCENARIO, "s", "".as_ref(), &sets, None);
    let resolved = scenario.unwrap().resolve().unwrap();
    let mut config = resolved.variants[0].config.clone();
    config.set_seed(7);
    config.observe.packets = true;
    let checked = config.check().unwrap();
    let watch = &mut |_: forebay_experiment::report::Progress| ControlFlow::Continue(());
    let plain = resolved.world.run(checked, 7, watch).unwrap();
    let name = forebay_validate::kernel().unwrap().display().to_string();
    let (recorded, states) = forebay_linux::states::run(&name, &config.check().unwrap(), 7, watch).unwrap();
    assert_eq!((recorded.fingerprint, recorded.packets.len()), (plain.fingerprint, plain.packets.len()));
    let [senders, receivers] = [false, true].map(|end| states.iter().filter(|s| s.receiver == end).count());
    assert!(senders > 50 && receivers > 50, "{senders} {receivers}");
    assert!(states.iter().all(|s| s.cc == "cubic" && s.values.len() == forebay_kernel::state::variables().len()));
}
