//! Which crates may know which: an experiment knows nothing of what runs it, and nobody but the list of worlds names a world.

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Crates of the workspace that `name` depends on, tests not counted.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("\n[dependencies]\n").nth(1).expect("dependencies").split("\n[").next().unwrap_or("");
    let names = section.lines().filter_map(|l| l.strip_prefix("forebay-")?.split(['.', ' ']).next());
    names.map(str::to_owned).collect()
}

/// Every source file below `folder`.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn an_experiment_depends_on_values_alone() {
    let mut found = dependencies("experiment");
    found.sort();
    assert_eq!(found, ["param", "queues", "sampling", "units"]);
}

#[test]
fn scenarios_stores_and_executors_name_no_world() {
    for name in ["scenario", "store", "exec"] {
        let known = dependencies(name);
        for world in ["sim", "model", "predict"] {
            assert!(!known.contains(&world.to_owned()), "{name} depends on the world {world}");
        }
        let mut files = Vec::new();
        sources(&crates().join(name).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            for word in ["forebay_sim", "forebay_model", "forebay_predict", "\"sim\""] {
                assert!(!text.contains(word), "{} names a world: {word}", file.display());
            }
        }
    }
}
