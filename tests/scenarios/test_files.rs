//! Crates with a single test program list its files by hand: all files must be listed.

use forebay_tests::repository;
use std::fs;
use std::path::Path;

/// Names in `tests/` of a crate: of files, without their ending, and of folders with a `mod.rs`.
fn files(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(folder)
        .expect("a folder of tests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").is_file())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .filter(|name| name != "main")
        .collect();
    found.sort();
    found
}

/// Checks that each file in `folder` is a test program of `manifest`, or a module of one.
fn check(manifest: &str, folder: &Path) {
    let text = |name: String| {
        let text = fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap_or_default();
        (name, text)
    };
    let programs: Vec<(String, String)> = files(folder).into_iter().chain(["main".to_owned()]).map(text).collect();
    for name in files(folder) {
        let program = |name: &str| manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
        let module = programs.iter().any(|(of, text)| program(of) && text.lines().any(|line| line == format!("mod {name};")));
        assert!(module || program(&name), "{name}.rs is not compiled: no program in {} has a line for it", folder.display());
    }
}

#[test]
fn every_test_file_is_compiled() {
    let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let own = repository().join("tests");
    check(&manifest(&own), &own.join("scenarios"));
    let mut programs = 0;
    for entry in fs::read_dir(repository().join("crates")).expect("crates") {
        let folder = entry.expect("an entry").path();
        let manifest = manifest(&folder);
        if manifest.contains("autotests = false") {
            check(&manifest, &folder.join("tests"));
            programs += 1;
        }
    }
    assert!(programs >= 3, "{programs}");
}
