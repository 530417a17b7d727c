//! Nodes, ports, connections, transports, workloads and queries are named by types of their own (`forebay_units`), not by bare numbers. The
//! same holds for times and rates in the simulator.

use forebay_checks::repository;
use std::path::{Path, PathBuf};

/// Names of parameters that stand for an identifier.
const NAMES: [&str; 9] = ["node", "port", "conn", "slot", "group", "app", "workload", "query", "host"];
/// Types that say nothing about what they number.
const BARE: [&str; 4] = ["u16", "u32", "u64", "usize"];

/// Names of arguments and fields that stand for a time or a rate.
const QUANTITIES: [&str; 25] = [
    "now",
    "time",
    "deadline",
    "rtt",
    "srtt",
    "min_rtt",
    "newest_rtt",
    "idle_rtt",
    "rto",
    "due",
    "idle",
    "wait",
    "delay",
    "timeout",
    "interval",
    "period",
    "since",
    "left",
    "forward",
    "back",
    "departure",
    "alarm",
    "last_tx",
    "rate",
    "pacing_rate",
];
/// Types that say nothing about their unit.
const NUMBERS: [&str; 4] = ["u64", "f64", "Option<u64>", "Option<f64>"];
/// Folders of `crates/sim/src` in which times and rates have types.
const TYPED: [&str; 5] = ["tcp", "cc", "shim", "engine", "net"];

fn sources(dir: &Path, list: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, list);
        } else if path.extension().is_some_and(|e| e == "rs") {
            list.push(path);
        }
    }
}

/// Parameters of a signature that are an identifier as a bare integer.
fn bare(signature: &str) -> Vec<String> {
    let parameters = signature.split(['(', ',', ')']).filter_map(|p| p.split_once(':'));
    let wrong = parameters.map(|(name, of)| (name.trim(), of.trim())).filter(|p| NAMES.contains(&p.0) && BARE.contains(&p.1));
    wrong.map(|(name, of)| format!("{name}: {of}")).collect()
}

#[test]
fn the_search_finds_what_it_is_for() {
    assert_eq!(bare("    pub fn uses(&self, group: usize, kind: &WorkloadKind) -> bool {"), ["group: usize"]);
    assert!(bare("    pub fn pick(&mut self, src: NodeId, group: GroupId, number: u32) -> usize {").is_empty());
}

#[test]
fn public_signatures_name_no_identifier_by_a_bare_integer() {
    let mut files = Vec::new();
    for of in ["experiment", "sim"] {
        sources(&repository().join("crates").join(of).join("src"), &mut files);
    }
    assert!(files.len() > 50, "sources are looked for in the wrong place");
    let mut found = Vec::new();
    for path in &files {
        let shown = path.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(path).unwrap();
        // A signature may go over several lines; it ends with its body.
        let functions = ["pub fn ", "pub(super) fn ", "pub(crate) fn "].iter().flat_map(|start| text.split(start).skip(1));
        for signature in functions.map(|s| s.split('{').next().unwrap_or("")) {
            found.extend(bare(signature).into_iter().map(|p| format!("{shown}: {p}, in `{}`", signature.trim())));
        }
    }
    assert!(found.is_empty(), "bare integers name identifiers:\n{}", found.join("\n"));
}

/// Times and rates in `line` that are bare numbers: arguments, fields, and results of functions named like them.
fn unitless(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or("");
    let pairs = code.split(['(', ',', ')', '{', '|', ';']).filter_map(|p| p.split_once(':'));
    let named = pairs.map(|(name, of)| (name.rsplit(' ').next().unwrap_or("").trim(), of.trim()));
    let mut found: Vec<String> =
        named.filter(|p| QUANTITIES.contains(&p.0) && NUMBERS.contains(&p.1)).map(|(n, t)| format!("{n}: {t}")).collect();
    if let Some((name, result)) = code.split_once("fn ").and_then(|(_, f)| Some((f.split('(').next()?, f.split("-> ").nth(1)?)))
        && QUANTITIES.contains(&name)
        && NUMBERS.contains(&result.trim_end_matches([' ', '{', ';']))
    {
        found.push(format!("fn {name}"));
    }
    found
}

#[test]
fn the_search_finds_times_and_rates() {
    assert_eq!(unitless("    fn update(&mut self, now: u64, rate: f64) -> bool {"), ["now: u64", "rate: f64"]);
    assert_eq!(unitless("    pub(super) deadline: Option<u64>,"), ["deadline: Option<u64>"]);
    assert_eq!(unitless("    pub fn rto(&self, c: &TcpConfig) -> u64 {"), ["fn rto"]);
    assert!(unitless("    fn update(&mut self, now: Time, rate: Rate) -> u64 {").is_empty());
}

#[test]
fn times_and_rates_of_the_simulator_have_types() {
    let (mut files, mut found) = (Vec::new(), Vec::new());
    for folder in TYPED {
        sources(&repository().join("crates/sim/src").join(folder), &mut files);
    }
    assert!(files.len() > 60, "sources are looked for in the wrong place");
    for path in files.iter().filter(|p| !p.to_string_lossy().ends_with("tests.rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        for (number, line) in text.lines().enumerate().take_while(|(_, l)| *l != "mod tests {") {
            found.extend(unitless(line).into_iter().map(|what| format!("{}:{}: {what}", path.display(), number + 1)));
        }
    }
    assert!(found.is_empty(), "write `Time` or `Rate`, or name the unit (`us`, `bytes_per_s`):\n{}", found.join("\n"));
}
