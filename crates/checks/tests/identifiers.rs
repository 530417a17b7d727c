//! Nodes, ports, connections, transports, workloads and queries are named by types of their own (`forebay_units`), not by bare integers.

use forebay_checks::repository;
use std::path::{Path, PathBuf};

/// Names of parameters that stand for an identifier.
const NAMES: [&str; 9] = ["node", "port", "conn", "slot", "group", "app", "workload", "query", "host"];
/// Types that say nothing about what they number.
const BARE: [&str; 4] = ["u16", "u32", "u64", "usize"];

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
