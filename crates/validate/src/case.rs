//! Scripts in files, with their variants.

use crate::outcome::{Options, Outcome};
use crate::run::run_text;
use crate::script::Problem;
use crate::variants::variants;
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A script to run: a file, or one variant of it.
#[derive(Debug, Clone)]
pub struct Case {
    name: String,
    text: Result<String, Problem>,
}

impl Case {
    /// Path of the file; of a variant other than `plain` with its name at the end of the stem.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The script.
    ///
    /// # Errors
    /// The file cannot be read, or names a variant that does not exist.
    pub fn text(&self) -> Result<&str, Outcome> {
        self.text.as_deref().map_err(|problem| Outcome::Invalid(problem.clone()))
    }

    /// Runs it.
    pub fn run(&self, options: &Options) -> Outcome {
        self.text().map_or_else(|outcome| outcome, |text| run_text(text, options))
    }

    /// All variants of the script in `file`.
    fn of(file: &Path) -> Vec<Case> {
        let text = forebay_platform::files::read_text(file).map_err(|e| Problem::new(1, format!("cannot be read: {e}")));
        let plain = || file.display().to_string();
        let name = |variant: &str| match file.extension() {
            Some(extension) if variant != "plain" => {
                format!("{}-{variant}.{}", file.with_extension("").display(), extension.to_string_lossy())
            }
            _ => plain(),
        };
        match text.and_then(|text| variants(&text)) {
            Ok(all) => all.into_iter().map(|(variant, text)| Case { name: name(&variant), text: Ok(text) }).collect(),
            Err(problem) => vec![Case { name: plain(), text: Err(problem) }],
        }
    }
}

/// The scripts that `paths` name: files as they are, folders with all their `*.pkt`, in the order of their names, each once.
///
/// # Errors
/// A folder that cannot be read.
pub fn cases(paths: &[PathBuf]) -> Result<Vec<Case>, String> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.append(&mut Walk::default().scripts(path).map_err(|e| format!("{}: {e}", path.display()))?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files.iter().flat_map(|file| Case::of(file)).collect())
}

/// Walk through a folder and the folders in it. Links can form circles, so each folder is read once, and each script is found once.
#[derive(Default)]
struct Walk {
    /// Folders and scripts so far, by their paths without links.
    seen: HashSet<PathBuf>,
    /// Symbolic links. They are followed last, so that a script has a name without links if there is one.
    links: VecDeque<PathBuf>,
    found: Vec<PathBuf>,
}

impl Walk {
    fn scripts(mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.folder(folder)?;
        while let Some(link) = self.links.pop_front() {
            self.add(link)?;
        }
        self.found.sort();
        Ok(self.found)
    }

    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        if !self.seen.insert(fs::canonicalize(folder)?) {
            return Ok(());
        }
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_type()?.is_symlink() {
                self.links.push_back(entry.path());
            } else {
                self.add(entry.path())?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf) -> io::Result<()> {
        if path.is_dir() {
            return self.folder(&path);
        }
        // A link to a missing script is reported when the script is read.
        let is_new = |seen: &mut HashSet<PathBuf>| fs::canonicalize(&path).map_or(true, |real| seen.insert(real));
        if path.extension().is_some_and(|e| e == "pkt") && is_new(&mut self.seen) {
            self.found.push(path);
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use forebay_platform::files::TempDir;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_do_not_repeat_scripts() {
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-case").unwrap();
        let (tree, other) = (place.path().join("tree"), place.path().join("other"));
        fs::create_dir_all(tree.join("b/c")).unwrap();
        fs::create_dir(&other).unwrap();
        for file in ["tree/b/1.pkt", "tree/b/c/2.pkt", "tree/b/notes.txt", "other/3.pkt"] {
            fs::write(place.path().join(file), "").unwrap();
        }
        symlink("..", tree.join("b/c/up")).unwrap();
        symlink(&tree, tree.join("a")).unwrap();
        symlink("b/1.pkt", tree.join("0.pkt")).unwrap();
        symlink(&other, tree.join("outside")).unwrap();
        symlink("nowhere", tree.join("missing.pkt")).unwrap();
        let found = Walk::default().scripts(&tree).unwrap();
        let expected = ["b/1.pkt", "b/c/2.pkt", "missing.pkt", "outside/3.pkt"];
        assert_eq!(found, expected.map(|name| tree.join(name)));
    }
}
