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

/// Checks that the program `main` of a package lists all files in `folder`; `manifest` may declare further programs.
fn check(manifest: &str, folder: &Path) {
    let main = fs::read_to_string(folder.join("main.rs")).expect("main.rs");
    for name in files(folder) {
        let module = main.lines().any(|line| line == format!("mod {name};"));
        let program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
        assert!(module || program, "{name}.rs is not compiled: {} has no line for it", folder.join("main.rs").display());
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
