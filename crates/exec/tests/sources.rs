//! The hash of the sources that names results: what changes it, and what does not.

#[path = "../build/sources.rs"]
mod sources;

use sources::Sources;
use std::fs;
use std::path::{Path, PathBuf};

/// A workspace of three crates, of which `top` depends on `low` and nothing on `other`; removed at the end.
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
        Sources::of(&self.0, "top").unwrap().digest().unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_change_of_a_source_changes_it() {
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

#[test]
fn where_the_sources_lie_and_how_their_lines_end_does_not() {
    let (a, b) = (Tree::new("here"), Tree::new("there"));
    b.write("crates/top/src/lib.rs", "mod a;\r\n");
    b.write("crates/other/src/lib.rs", "fn unrelated() {}\n");
    b.write("crates/low/README.md", "no source\n");
    b.write("crates/low/src/.lib.rs.swp", "an editor's\n");
    assert_eq!(a.digest(), b.digest());
}

/// Everything between a scenario and the numbers of its summary, and the program was built from the files that lie here now.
#[test]
fn the_program_knows_its_own_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = Sources::of(&root, "exec").unwrap();
    let names: Vec<&str> = sources.roots.iter().map(|r| r.0.as_str()).collect();
    for part in ["exec", "param", "queues", "sampling", "scenario", "sim", "store", "units"] {
        assert!(names.contains(&format!("crates/{part}/src").as_str()), "{part} can change numbers: {names:?}");
    }
    assert_eq!(sources.manifests.len() + 1, names.len(), "every crate by its manifest, and the data");
    assert_eq!(sources.digest().unwrap(), forebay_exec::sweep::key::SOURCES);
}
