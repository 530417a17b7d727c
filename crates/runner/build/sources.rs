//! Hash of the sources of a crate and of all workspace crates that it depends on. Shared by the build script and its test.

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder with one file of columns per table. A change there matters only to sweeps that keep the table.
const TABLES: &str = "crates/store/src/schema";
/// Files of that folder that are not tables.
const NO_TABLES: [&str; 2] = ["mod.rs", "common.rs"];

/// Hashed folders and files, by names that do not depend on the location of the workspace.
pub(crate) struct Sources {
    /// Names and paths, sorted by name.
    pub roots: Vec<(String, PathBuf)>,
    /// Files of the tables, by table name.
    pub tables: BTreeMap<String, PathBuf>,
    /// Manifests that list the crates.
    pub manifests: Vec<PathBuf>,
}

impl Sources {
    /// Sources of each `crates/NAME` with its workspace dependencies, and the built-in data.
    pub(crate) fn of(root: &Path, names: &[&str]) -> io::Result<Sources> {
        let (mut found, mut left) = (BTreeSet::new(), names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>());
        let mut manifests = Vec::new();
        while let Some(name) = left.pop() {
            if found.insert(name.clone()) {
                let manifest = root.join("crates").join(name).join("Cargo.toml");
                left.extend(dependencies(&read(&manifest)?));
                manifests.push(manifest);
            }
        }
        let mut roots: Vec<(String, PathBuf)> =
            found.into_iter().map(|n| (format!("crates/{n}/src"), root.join("crates").join(n).join("src"))).collect();
        roots.push(("data/cdf".into(), root.join("data/cdf")));
        let mut tables = BTreeMap::new();
        if roots.iter().any(|r| TABLES.starts_with(&r.0)) && root.join(TABLES).is_dir() {
            let mut files = Vec::new();
            walk(&root.join(TABLES), "", &mut files)?;
            let table = |(name, place): (String, PathBuf)| {
                let name = name.trim_start_matches('/');
                (!NO_TABLES.contains(&name)).then(|| (name.trim_end_matches(".rs").to_owned(), place))
            };
            tables.extend(files.into_iter().filter_map(table));
        }
        Ok(Sources { roots, tables, manifests })
    }

    /// Hash of the columns of each table, as `NAME=HASH` separated by spaces.
    pub(crate) fn table_digests(&self) -> io::Result<String> {
        let one = |(name, place): (&String, &PathBuf)| Ok(format!("{name}={}", digest([(name.clone(), place.clone())])?));
        Ok(self.tables.iter().map(one).collect::<io::Result<Vec<_>>>()?.join(" "))
    }

    /// Hash of everything but the columns of tables, 32 hexadecimal digits.
    pub(crate) fn digest(&self) -> io::Result<String> {
        let mut all = Vec::new();
        for (name, place) in &self.roots {
            let mut files = Vec::new();
            walk(place, name, &mut files)?;
            files.sort();
            all.extend(files.into_iter().filter(|(_, place)| !self.tables.values().any(|t| t == place)));
        }
        digest(all)
    }
}

/// Hash of files by their names. Line ends do not count: version control may have changed them.
fn digest(files: impl IntoIterator<Item = (String, PathBuf)>) -> io::Result<String> {
    let mut h = Sha256::new();
    for (name, place) in files {
        let text = read(&place)?.replace("\r\n", "\n");
        for part in [&name, &text] {
            h.update((part.len() as u64).to_le_bytes());
            h.update(part);
        }
    }
    Ok(h.finalize()[..16].iter().map(|b| format!("{b:02x}")).collect())
}

/// The files under `place`, each with its name, which starts with `name`.
fn walk(place: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(place).map_err(|e| at(place, e))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name}/{file}");
        if path.is_dir() {
            walk(&path, &name, files)?;
        } else if !file.starts_with('.') && !file.ends_with('~') {
            // Editor backup files are not sources.
            files.push((name, path));
        }
    }
    Ok(())
}

/// The workspace crates that a manifest depends on. Dev-dependencies do not change results.
fn dependencies(manifest: &str) -> Vec<String> {
    let name = |line: &str| {
        let rest = line.trim_start_matches("[dependencies.").strip_prefix("forebay-")?;
        rest.split(['.', ' ', '=', ']']).next().map(str::to_owned)
    };
    let mut for_tests = false;
    let mut lines = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            for_tests = line.contains("dev-dependencies");
        }
        if !for_tests {
            lines.extend(name(line));
        }
    }
    lines
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map_err(|e| at(path, e))
}

fn at(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
