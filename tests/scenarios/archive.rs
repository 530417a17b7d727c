//! Contents of the source archive (`make archive`): files outside of a crate that sources include are listed in `pyproject.toml`.

use forebay_tests::{repository, sources};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Files that a source file includes, as paths from the repository's root.
fn included(file: &Path, text: &str) -> Vec<PathBuf> {
    let calls = ["include_str!(\"", "include_bytes!(\""]
        .into_iter()
        .flat_map(|call| text.match_indices(call).map(move |m| m.0 + call.len()));
    let paths = calls.filter_map(|at| text[at..].split('"').next());
    paths.map(|path| plain(&file.parent().expect("a folder").join(path))).collect()
}

/// Removes `..` from a path.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            out.pop();
        } else {
            out.push(part);
        }
    }
    out
}

#[test]
fn archive_holds_included_files() {
    let root = fs::canonicalize(repository()).expect("the repository");
    let listed = fs::read_to_string(root.join("pyproject.toml")).expect("pyproject.toml");
    let patterns: Vec<&str> = listed
        .lines()
        .filter(|l| l.contains("format = \"sdist\""))
        .filter_map(|l| l.split("path = \"").nth(1)?.split('"').next())
        .collect();
    assert!(patterns.contains(&"data/cdf/*"), "{patterns:?}");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut outside = 0;
    for file in files {
        for path in included(&file, &fs::read_to_string(&file).expect("a source file")) {
            let path = path.strip_prefix(&root).expect("inside of the repository");
            if path.starts_with("crates") {
                continue;
            }
            outside += 1;
            let name = path.to_string_lossy();
            let known = patterns
                .iter()
                .any(|p| name == *p || p.strip_suffix('*').is_some_and(|p| name.starts_with(p.trim_end_matches('*'))));
            assert!(known, "{}: {name} is not in the source archive: name it in pyproject.toml, [tool.maturin]", file.display());
            assert!(root.join(path).is_file(), "{name}");
        }
    }
    assert!(outside > 5, "{outside} files");
}

/// Crates in the manifest of `name`, including optional ones, which cargo reads too.
fn named_by(root: &Path, name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root.join("crates").join(name).join("Cargo.toml")).expect("a manifest");
    let dependencies = manifest.split("\n[").filter(|s| s.starts_with("dependencies]") || s.starts_with("dev-dependencies]"));
    let lines = dependencies.flat_map(str::lines).filter_map(|l| l.strip_prefix("forebay-")?.split(['.', ' ']).next());
    lines.map(str::to_owned).collect()
}

/// Returns true if a crate is an optional dependency, which maturin leaves out.
fn optional(root: &Path, by: &str, name: &str) -> bool {
    let manifest = fs::read_to_string(root.join("crates").join(by).join("Cargo.toml")).expect("a manifest");
    manifest.lines().any(|l| l.starts_with(&format!("forebay-{name} ")) && l.contains("optional = true"))
}

#[test]
fn optional_crates_are_in_the_archive() {
    let root = fs::canonicalize(repository()).expect("the repository");
    let listed = fs::read_to_string(root.join("pyproject.toml")).expect("pyproject.toml");
    let found: Vec<String> = named_by(&root, "forebay").into_iter().filter(|name| optional(&root, "forebay", name)).collect();
    assert!(!found.is_empty(), "no part of the command is optional any more: this test and a line of pyproject.toml can go");
    for name in found {
        let line = format!("{{ path = \"crates/{name}/**/*\", format = \"sdist\" }}");
        assert!(
            listed.contains(&line),
            "cargo cannot read the workspace of the source archive without crates/{name}: {line} in pyproject.toml"
        );
    }
}
