//! Scenario files, overrides, and the files that a scenario names.

use crate::fuzz::{folder, text};
use forebay_scenario::{Errors, Resolved, Scenario};
use forebay_types::SizeTable;
use std::path::Path;

/// A legal scenario, without a topology.
const REST: &str = r#"name = "fuzz"
duration = "10ms"
[transport]
cc = "newreno"
[[workload]]
kind = "long"
"#;

/// A topology of many senders.
const TOPOLOGY: &str = r#"[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "100pkt" }
"#;

fn parse(text: &str, base: &Path, sets: &[String]) -> Result<Scenario, Errors> {
    Scenario::from_text(forebay_backends::all(), text, "fuzz.toml", base, sets, None)
}

/// Resolves, and checks that an accepted scenario can be explained and a refused one names its fault.
fn resolve(text: &str, base: &Path, sets: &[String]) -> Option<Resolved> {
    match parse(text, base, sets).and_then(|s| s.resolve()) {
        Ok(resolved) => {
            assert!(!resolved.explain().is_empty(), "an accepted scenario has an explanation");
            Some(resolved)
        }
        Err(errors) => {
            assert!(!errors.list().is_empty() && errors.render().contains("error: "), "a refused scenario has an error");
            None
        }
    }
}

/// A scenario file. An accepted scenario, written out with all defaults, is accepted again.
pub(crate) fn scenario(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let nowhere = Path::new("/nonexistent");
    if let Ok(scenario) = parse(text, nowhere, &[]) {
        let _ = scenario.sweep();
    }
    let Some(resolved) = resolve(text, nowhere, &[]) else { return };
    for variant in &resolved.variants {
        if let Err(errors) = parse(&variant.toml(), nowhere, &[]).and_then(|s| s.resolve()) {
            panic!("a resolved scenario is refused: {}\n{}", errors.render(), variant.toml());
        }
    }
}

/// Overrides of `--set` and axes of `--sweep`, one a line.
pub(crate) fn set(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let base = format!("{REST}{TOPOLOGY}");
    let lines: Vec<String> = text.lines().take(8).map(str::to_owned).collect();
    resolve(&base, Path::new("/nonexistent"), &lines);
    let Ok(mut scenario) = parse(&base, Path::new("/nonexistent"), &[]) else { panic!("the base is legal") };
    for line in &lines {
        let _ = scenario.add_axis(line);
    }
    let _ = scenario.sweep();
}

/// The table `[topology]`.
pub(crate) fn topology(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    resolve(&format!("{REST}{text}"), Path::new("/nonexistent"), &[]);
}

/// A table of flow sizes. Sizes grow with their probability, and the mean is between the smallest and the largest.
pub(crate) fn size_table(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match SizeTable::parse(text, "fuzz.cdf") {
        Ok(table) => {
            let sizes = [0.0, 0.25, 0.5, 0.75, 1.0 - f64::EPSILON].map(|u| table.sample(u));
            assert!(sizes.is_sorted(), "{sizes:?}");
            let (mean, largest) = (table.mean(), table.points().last().map_or(0.0, |p| p.0));
            assert!(mean.is_finite() && mean > 0.0 && mean <= largest, "{mean} and {largest}");
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

/// A list of flows, CSV or HPCC.
pub(crate) fn flow_list(bytes: &[u8]) {
    replay(&[("flows", bytes)], "file = \"flows\"");
}

/// The topology file of HPCC that gives hosts their numbers.
pub(crate) fn node_ids(bytes: &[u8]) {
    replay(&[("flows", b"1\n0 1 3 100 1000 2.0\n"), ("nodes", bytes)], "file = \"flows\"\nnodes = \"nodes\"");
}

/// Resolves a scenario that replays a list, with these files beside it.
fn replay(files: &[(&str, &[u8])], keys: &str) {
    let folder = folder();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("a temporary file");
    }
    let text = format!("name = \"fuzz\"\n[transport]\ncc = \"newreno\"\n{TOPOLOGY}[[workload]]\nkind = \"replay\"\n{keys}\n");
    resolve(&text, folder.path(), &[]);
}
