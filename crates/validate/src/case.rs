//! Scripts in files, with their variants.

use crate::outcome::{Options, Outcome};
use crate::run::run_text;
use crate::script::Problem;
use crate::variants::variants;
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
        let text = std::fs::read_to_string(file).map_err(|e| Problem::new(1, format!("cannot be read: {e}")));
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

/// The scripts that `paths` name: files as they are, folders with all their `*.pkt`, in the order of their names.
///
/// # Errors
/// A folder that cannot be read.
pub fn cases(paths: &[PathBuf]) -> Result<Vec<Case>, String> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            collect(path, &mut found).map_err(|e| format!("{}: {e}", path.display()))?;
            found.sort();
            files.append(&mut found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files.iter().flat_map(|file| Case::of(file)).collect())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "pkt") {
            found.push(path);
        }
    }
    Ok(())
}
