//! Embeds what goes into a kernel: the C files of `driver`, `init` and `bpf`, and the data of `um`. A file that is added there is in; nothing
//! needs a line elsewhere.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders whose files are embedded.
const FOLDERS: [&str; 4] = ["bpf", "driver", "init", "um"];

/// Readmes, licences, tests and what BPF programs alone are made of stay outside: a kernel is known by the hash of all that goes into it.
fn wanted(name: &str) -> bool {
    let c = (name.ends_with(".c") || name.ends_with(".h")) && !name.contains(".bpf.") && !name.contains("_test.");
    c || name.ends_with(".toml") || name == "config"
}

/// The wanted files below `folder`, in order of their names.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.file_name().and_then(|n| n.to_str()).is_some_and(wanted) {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("no CARGO_MANIFEST_DIR"))?);
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(&root.join(folder), &mut found)?;
    }
    let name = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    found.sort_by_key(|path| name(path));
    let mut list = String::from("&[\n");
    for path in &found {
        println!("cargo::rerun-if-changed={}", path.display());
        let _ = writeln!(list, "    Source {{ path: {:?}, text: include_bytes!({path:?}) }},", name(path));
    }
    list.push_str("]\n");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    fs::write(out.join("embedded.rs"), list)
}
