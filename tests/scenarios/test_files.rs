//! Crates with a single test program list its files by hand: all files must be listed.

use forebay_tests::repository;
use std::fs;

/// Names in `tests/` of a crate: of files, without their ending, and of folders with a `mod.rs`.
fn files(folder: &std::path::Path) -> Vec<String> {
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

#[test]
fn every_test_file_is_compiled() {
    let mut crates_in_one = 0;
    for entry in fs::read_dir(repository().join("crates")).expect("crates") {
        let folder = entry.expect("an entry").path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if !manifest.contains("autotests = false") {
            continue;
        }
        crates_in_one += 1;
        let main = fs::read_to_string(folder.join("tests/main.rs")).expect("tests/main.rs");
        for name in files(&folder.join("tests")) {
            let module = main.lines().any(|line| line == format!("mod {name};"));
            let program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(module || program, "{}: tests/{name}.rs is not compiled: tests/main.rs has no line for it", folder.display());
        }
    }
    assert!(crates_in_one >= 4, "{crates_in_one}");
}
