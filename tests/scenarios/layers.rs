//! Layers of the workspace: allowed dependencies of crates, and no cycles between the modules of a folder.

use forebay_tests::sources;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Direct dependencies of crate `name` in the workspace, without those of tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("\n[dependencies]\n").nth(1).and_then(|s| s.split("\n[").next()).unwrap_or("");
    let names = section.lines().filter_map(|l| l.strip_prefix("forebay-")?.split(['.', ' ']).next());
    names.map(str::to_owned).collect()
}

/// All dependencies of crate `name` in the workspace, without those of tests.
fn transitive(name: &str) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), dependencies(name));
    while let Some(name) = left.pop_first() {
        if found.insert(name.clone()) {
            left.extend(dependencies(&name));
        }
    }
    found
}

#[test]
fn experiment_and_apps_depend_on_values() {
    assert!(dependencies("experiment").iter().eq(["queues", "types"]));
    assert!(dependencies("apps").iter().eq(["experiment", "types"]));
}

/// The command passes the list of backends, so that these crates build without any.
#[test]
fn core_crates_build_without_backends() {
    for name in ["scenario", "store", "runner", "analysis", "report"] {
        let found = transitive(name);
        assert!(found.contains("experiment"), "{found:?}");
        for backend in ["sim", "model", "linux", "testbed", "backends"] {
            assert!(!found.contains(backend), "{name} depends on {backend}, through one of {found:?}");
        }
    }
}

/// Modules that `text` names after `prefix`, alone or in braces.
fn named<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let word = |s: &'a str| s.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    let mut list = Vec::new();
    for (i, _) in text.match_indices(prefix) {
        let rest = &text[i + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(inside) => list.extend(inside.split('}').next().unwrap_or("").split(',').map(|s| word(s.trim()))),
            None => list.push(word(rest)),
        }
    }
    list
}

/// Source text without its tests, which may use any module.
fn without_tests(mut text: String) -> String {
    text.truncate(text.find("#[cfg(test)]\nmod ").unwrap_or(text.len()));
    text
}

/// Name and text of the modules of a folder; a folder in it is one module.
fn modules(folder: &Path) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mut files = Vec::new();
        if path.is_dir() {
            sources(&path, &mut files)
        } else {
            files.push(path.clone())
        }
        files.retain(|f| !f.to_string_lossy().ends_with("tests.rs"));
        let text = files.iter().map(|f| without_tests(fs::read_to_string(f).expect("a source file"))).collect();
        list.push((path.file_stem().expect("a name").to_string_lossy().into_owned(), text));
    }
    list.retain(|m| !["mod", "lib", "main"].contains(&m.0.as_str()));
    list
}

/// Modules in or above a cycle: the rest after repeated removal of modules without dependencies.
fn cycle(modules: &[(String, String)], prefixes: &[String]) -> Vec<String> {
    let mut left: Vec<&(String, String)> = modules.iter().collect();
    loop {
        let names: Vec<&str> = left.iter().map(|m| m.0.as_str()).collect();
        let before = left.len();
        left.retain(|(name, text)| prefixes.iter().flat_map(|p| named(text, p)).any(|n| n != name && names.contains(&n)));
        if left.len() == before {
            return left.iter().map(|m| m.0.clone()).collect();
        }
    }
}

/// Paths by which the modules of `folder` name each other: absolute, and `super` below the root of a crate.
fn prefixes(folder: &str) -> Vec<String> {
    let below = folder.split_once("/src").expect("a folder of sources").1.replace('/', "::");
    let absolute = format!("crate{below}::");
    if below.is_empty() { vec![absolute] } else { vec![absolute, "super::".to_owned()] }
}

/// Appends `folder` and all folders below it, as paths below `crates`.
fn folders(folder: &str, list: &mut Vec<String>) {
    list.push(folder.to_owned());
    for entry in fs::read_dir(crates().join(folder)).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            folders(&format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy()), list);
        }
    }
}

#[test]
fn modules_have_no_cycles() {
    let mut list = Vec::new();
    for entry in fs::read_dir(crates()).expect("crates") {
        let name = entry.expect("an entry").file_name();
        folders(&format!("{}/src", name.to_string_lossy()), &mut list);
    }
    assert!(list.len() > 50, "no sources in: {list:?}");
    let found: Vec<String> = list
        .iter()
        .map(|folder| (folder, cycle(&modules(&crates().join(folder)), &prefixes(folder))))
        .filter(|(_, left)| !left.is_empty())
        .map(|(folder, left)| format!("{folder}: {left:?}"))
        .collect();
    assert!(found.is_empty(), "modules in a cycle, or with a dependency on one:\n{}", found.join("\n"));
}

#[test]
fn detects_module_cycle() {
    let module = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let list =
        [module("a", "use crate::x::b::B;"), module("b", "use super::{c, d};"), module("c", "crate::x::a::f()"), module("d", "")];
    assert_eq!(cycle(&list, &prefixes("some/src/x")), ["a", "b", "c"]);
    assert!(cycle(&list[1..], &prefixes("some/src/x")).is_empty());
}
