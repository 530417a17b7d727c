//! Nodes, ports, connections, transports, workloads and queries are named by types of their own (`forebay_units`), not by bare numbers. The
//! same holds for times and rates in the simulator.

use forebay_checks::{repository, sources};
use std::collections::BTreeSet;

/// Names of parameters and of public fields that stand for an identifier.
const NAMES: [&str; 12] = ["node", "port", "conn", "slot", "group", "app", "workload", "query", "host", "src", "dst", "receiver"];
/// Types that say nothing about what they number, alone, in an `Option` or in a list.
const BARE: [&str; 4] = ["u16", "u32", "u64", "usize"];

/// Places below `crates` where bare numbers are right, and why.
const EXCEPTIONS: [(&str, &str); 10] = [
    ("cores/src", "the numbers of the C core, which is held against what it is a copy of"),
    ("hosts/src", "numbers of the running kernel"),
    ("linux/src/plan.rs", "the guest's own numbers of transports: datagrams have one for each workload"),
    ("linux/src/protocol.rs", "records of the conversation with the guest, in the guest's own numbers"),
    ("testbed/src", "the guest's side of that conversation"),
    ("py/src", "numbers as Python passes them"),
    ("verdict/src", "places in the tables that were read"),
    ("exec/src/ways.rs", "the connection's number in the tables that were read"),
    ("sim/src/net/packet.rs", "an address of 16 bits in a packet of 32 bytes"),
    ("sim/src/tcp/common/seq.rs", "the same address, before it is in a packet"),
];

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

/// Parameters of a signature, or a field, that are an identifier as a bare integer.
fn bare(signature: &str) -> Vec<String> {
    let parameters = signature.split(['(', ',', ')']).filter_map(|p| p.split_once(':'));
    let innermost = |of: &str| {
        of.trim().trim_start_matches("Option<").trim_start_matches("Vec<").trim_matches(['&', '[', ']', '>']).to_owned()
    };
    let named = parameters.map(|(name, of)| (name.trim(), of.trim()));
    let wrong = named.filter(|(name, of)| NAMES.contains(name) && BARE.contains(&innermost(of).as_str()));
    wrong.map(|(name, of)| format!("{name}: {of}")).collect()
}

/// The public fields in a file, one a line.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["pub ", "pub(crate) ", "pub(super) "];
    let field = move |line: &'_ str| starts.iter().find_map(|start| line.trim_start().strip_prefix(start).map(str::len));
    text.lines().filter_map(move |line| Some(&line[line.len() - field(line)?..])).filter(|rest| !rest.contains('('))
}

#[test]
fn the_search_finds_what_it_is_for() {
    assert_eq!(bare("    pub fn uses(&self, group: usize, kind: &WorkloadKind) -> bool {"), ["group: usize"]);
    assert_eq!(
        bare("    pub fn of(&self, port: Option<u32>, hosts: u32, node: &[usize]) {"),
        ["port: Option<u32>", "node: &[usize]"]
    );
    assert!(bare("    pub fn pick(&mut self, src: NodeId, group: GroupId, number: u32) -> usize {").is_empty());
    assert_eq!(
        fields("    pub port: u32,\n    flow: u64,\n    pub fn f(group: usize)\n").flat_map(bare).collect::<Vec<_>>(),
        ["port: u32"]
    );
}

#[test]
fn public_signatures_name_no_identifier_by_a_bare_integer() {
    let mut files = Vec::new();
    let crates = repository().join("crates");
    for of in std::fs::read_dir(&crates).unwrap() {
        let folder = of.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    assert!(files.len() > 300, "sources are looked for in the wrong place");
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for path in &files {
        let shown = path.strip_prefix(&crates).unwrap().to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(path).unwrap();
        if let Some((place, _)) = EXCEPTIONS.iter().find(|(place, _)| shown.starts_with(place)) {
            used.insert(place);
            continue;
        }
        found.extend(fields(&text).flat_map(bare).map(|p| format!("{shown}: {p}, a field")));
        // A signature may go over several lines; it ends with its body.
        let functions = ["pub fn ", "pub(super) fn ", "pub(crate) fn "].iter().flat_map(|start| text.split(start).skip(1));
        for signature in functions.map(|s| s.split('{').next().unwrap_or("")) {
            found.extend(bare(signature).into_iter().map(|p| format!("{shown}: {p}, in `{}`", signature.trim())));
        }
    }
    assert!(found.is_empty(), "bare integers name identifiers:\n{}", found.join("\n"));
    assert_eq!(used.len(), EXCEPTIONS.len(), "an exception names a place that is not there");
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
