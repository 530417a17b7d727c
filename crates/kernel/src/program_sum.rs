//! SHA-256 of a built kernel, in a file beside it.

use crate::error::{At, Error};
use crate::source::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// File with the sum.
const FILE: &str = "linux.sha256";

/// Programs that this process has checked: a sweep chooses its kernel for each point, and a program has tens of megabytes.
static CHECKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Writes the sum of the program into its folder.
pub(crate) fn record(program: &Path) -> Result<(), Error> {
    let path = program.with_file_name(FILE);
    fs::write(&path, sum(program)? + "\n").at(&path)
}

/// Compares the program of the kernel `name` with its recorded sum, once in a process. A build without a sum is accepted: other versions of forebay write none.
pub(crate) fn check(name: &str, program: PathBuf) -> Result<(), Error> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if checked.contains(&program) {
        return Ok(());
    }
    match fs::read_to_string(program.with_file_name(FILE)) {
        Ok(recorded) if recorded.trim() != sum(&program)? => {
            return Err(Error::new(format!(
                "`{}` was changed: its SHA-256 differs from the one of its build; remove it with `forebay kernel remove {}` and build it again",
                program.display(),
                name
            )));
        }
        _ => {}
    }
    checked.insert(program);
    Ok(())
}

fn sum(program: &Path) -> Result<String, Error> {
    Ok(hex(&Sha256::digest(fs::read(program).at(program)?)))
}
