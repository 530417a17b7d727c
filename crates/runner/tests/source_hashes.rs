//! Inputs of the source hash that is part of result keys.

#[path = "../build/sources.rs"]
mod sources;

use serde_json::Value as Json;
use sources::Sources;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A workspace of three crates, in which `top` depends on `low`, and not on `other`; removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let root = std::env::temp_dir().join(format!("forebay-sources-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let tree = Tree(root);
        tree.write("crates/top/Cargo.toml", "[package]\nname = \"forebay-top\"\n[dependencies]\nforebay-low.workspace = true\n");
        tree.write("crates/low/Cargo.toml", "[package]\nname = \"forebay-low\"\n[dependencies]\nsha2 = \"0.11\"\n");
        tree.write("crates/other/Cargo.toml", "[package]\nname = \"forebay-other\"\n");
        tree.write("crates/top/src/lib.rs", "mod a;\n");
        tree.write("crates/top/src/deep/a.rs", "fn a() {}\n");
        tree.write("crates/low/src/lib.rs", "fn b() {}\n");
        tree.write("crates/other/src/lib.rs", "fn c() {}\n");
        tree.write("data/cdf/sizes.cdf", "1 0\n2 1\n");
        tree
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn digest(&self) -> String {
        Sources::of(&self.0, &["top"]).unwrap().digest().unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn source_changes_change_digest() {
    let tree = Tree::new("changed");
    let mut seen = vec![tree.digest()];
    let mut differs = |what: &str| {
        let now = tree.digest();
        assert!(!seen.contains(&now), "{what} went unnoticed");
        seen.push(now);
    };
    tree.write("crates/top/src/deep/a.rs", "fn a() { }\n");
    differs("a change");
    tree.write("crates/low/src/lib.rs", "fn d() {}\n");
    differs("a change of a dependency");
    tree.write("crates/low/src/new.rs", "");
    differs("a new file");
    fs::rename(tree.0.join("crates/top/src/deep"), tree.0.join("crates/top/src/deeper")).unwrap();
    differs("another name");
    tree.write("data/cdf/sizes.cdf", "1 0\n3 1\n");
    differs("a change of built-in data");
    tree.write("crates/low/Cargo.toml", "[dependencies]\nforebay-other = { path = \"../other\" }\n");
    differs("a new dependency");
}

/// A table's columns have their own hash, so that a new column changes only the keys of units that keep the table.
#[test]
fn columns_of_tables_are_apart() {
    let tree = Tree::new("tables");
    tree.write("crates/low/Cargo.toml", "[dependencies]\nforebay-store.workspace = true\n");
    tree.write("crates/store/Cargo.toml", "[package]\nname = \"forebay-store\"\n");
    tree.write("crates/store/src/lib.rs", "mod schema;\n");
    for (file, text) in [("mod", "mod flows; mod ports;"), ("common", "fn ns() {}"), ("flows", "a, b"), ("ports", "c")] {
        tree.write(&format!("crates/store/src/schema/{file}.rs"), text);
    }
    let tables = || Sources::of(&tree.0, &["top"]).unwrap().table_digests().unwrap();
    let hash =
        |all: &str, table: &str| all.split(' ').find_map(|t| t.strip_prefix(&format!("{table}=")).map(str::to_owned)).unwrap();
    let (base, before) = (tree.digest(), tables());
    tree.write("crates/store/src/schema/flows.rs", "a, b, new");
    let after = tables();
    assert_eq!(tree.digest(), base, "the other sources");
    assert_ne!(hash(&after, "flows"), hash(&before, "flows"));
    assert_eq!(hash(&after, "ports"), hash(&before, "ports"));
    tree.write("crates/store/src/schema/common.rs", "fn ns() { }");
    assert_ne!(tree.digest(), base, "what all tables share");
    assert_eq!(tables(), after);
}

#[test]
fn location_and_line_ends_ignored() {
    let (a, b) = (Tree::new("here"), Tree::new("there"));
    b.write("crates/top/src/lib.rs", "mod a;\r\n");
    b.write("crates/other/src/lib.rs", "fn unrelated() {}\n");
    b.write("crates/low/README.md", "no source\n");
    b.write("crates/low/src/.lib.rs.swp", "an editor's\n");
    assert_eq!(a.digest(), b.digest());
}

/// The workspace dependencies of `name`, itself included, as Cargo lists them.
fn built_from(root: &Path, name: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let (mut found, mut left) = (BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = left.pop() {
        let package = packages.iter().find(|p| p["name"] == name.as_str());
        let Some(package) = package.filter(|_| found.insert(name)) else { continue };
        for d in package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"].is_null() && d["path"].is_string()) {
            left.push(d["name"].as_str().unwrap().to_owned());
        }
    }
    found
}

/// All sources between a scenario and its summary are included, and the program was built from the current files.
#[test]
fn program_has_hash_of_its_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = Sources::of(&root, &["runner", "backends"]).unwrap();
    let names: Vec<&str> = sources.roots.iter().map(|r| r.0.as_str()).collect();
    let trajectory = built_from(&root, "forebay-backends");
    assert!(trajectory.len() > 4, "{trajectory:?}");
    for package in trajectory.union(&built_from(&root, "forebay-runner")) {
        let folder = format!("crates/{}/src", package.trim_start_matches("forebay-"));
        assert!(names.contains(&folder.as_str()), "{package} can change numbers: {names:?}");
    }
    assert_eq!(sources.manifests.len() + 1, names.len(), "every crate by its manifest, and the data");
    assert_eq!(sources.digest().unwrap(), forebay_runner::sweep::key::SOURCES);
}
