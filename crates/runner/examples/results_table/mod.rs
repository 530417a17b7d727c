//! A table of results in a file, with a row for each family of scenarios. Rows that the file has are not computed again, so that a command continues where
//! the one before it ended.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of a program: file, first seed, number of seeds, and a part of the names of the families to run. Defaults for the first and the third.
pub(crate) struct Arguments {
    path: PathBuf,
    /// First seed, and number of seeds.
    pub(crate) seeds: (u64, u64),
    part: Option<String>,
}

impl Arguments {
    /// Reads those of this process.
    pub(crate) fn read(path: &str, seeds: u64) -> Arguments {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let number = |i: usize, default: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
        Arguments {
            path: PathBuf::from(args.first().map_or(path, String::as_str)),
            seeds: (number(1, 1), number(2, seeds).max(1)),
            part: args.get(3).cloned(),
        }
    }

    /// Adds the rows of `families` with these names to the table, and prints them. `name`: begin of a row, `results`: its rest.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn fill<F>(
        &self,
        head: &str,
        families: &[F],
        name_of: impl Fn(&F) -> &str,
        name: impl Fn(&F) -> String,
        results: impl Fn(&F) -> String,
    ) -> std::io::Result<()> {
        let written = fs::read_to_string(&self.path).unwrap_or_default();
        if written.is_empty() {
            append(&self.path, head)?;
        }
        for family in families.iter().filter(|f| self.part.as_ref().is_none_or(|part| name_of(f).contains(part.as_str()))) {
            let name = name(family);
            if written.lines().any(|line| line.starts_with(&name)) {
                continue;
            }
            let row = format!("{name}{}\n", results(family));
            append(&self.path, &row)?;
            print!("{row}");
        }
        Ok(())
    }
}

/// Adds text to a file, which is created if it does not exist.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}
