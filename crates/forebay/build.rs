//! Commit from which the program is built, and its date, from FOREBAY_COMMIT or git; "unknown" in an archive of the sources. Results do not depend
//! on it: their keys are hashes of the sources themselves (`crates/runner/build.rs`).

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../..");
    let git = |words: &[&str]| {
        let out = Command::new("git").arg("-C").arg(&root).args(words).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).trim().to_owned()).filter(|t| !t.is_empty())
    };
    // Another repository around an unpacked archive is not ours.
    let ours = git(&["rev-parse", "--show-cdup"]).is_none() && git(&["rev-parse", "--git-dir"]).is_some();
    // A release builds wheels from an archive without git (packaging/release.mk). Cargo identifies this script by its path in the workspace, so the
    // command that is built after the wheels would get the output of the archive.
    let named = std::env::var("FOREBAY_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(|| git(&["log", "-1", "--abbrev=12", "--format=%h, %cs"]).filter(|_| ours));
    println!("cargo::rustc-env=FOREBAY_BUILT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-env-changed=FOREBAY_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // Git writes this file at every commit, and at every change of branch.
    if let Some(file) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|_| ours) {
        let path = root.join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}
