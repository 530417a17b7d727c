//! Files that commands create: scenarios, and the lists beside them.

use crate::terminal::failure::Failure;
use forebay_platform::files;
use forebay_store::replaceable;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The failure of writing to `path`.
pub(crate) fn failed(path: &Path, e: &io::Error) -> Failure {
    match e.kind() {
        ErrorKind::NotFound => Failure::Usage(format!(
            "`{}` cannot be written: there is no such directory; create it, or choose another file",
            path.display()
        )),
        _ => Failure::Machine(format!("`{}` cannot be written: {e}", path.display())),
    }
}

/// Fails if something is at `path` that may not be replaced.
pub(crate) fn free(path: &Path, force: bool) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        // The message of the error names the kind of file.
        Ok(found) if !found.is_file() => Err(replaceable(path).map_or_else(
            |is| Failure::Usage(format!("{is}; only plain files are replaced: move it away, or choose another path")),
            |()| Failure::Taken(path.to_owned()),
        )),
        Ok(_) if force => Ok(()),
        Ok(_) => Err(Failure::Taken(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(path, &e)),
    }
}

/// Writes a file with the permission bits `mode`, by default those of other new files.
pub(crate) fn put(path: &Path, text: &str, mode: Option<u32>) -> Result<(), Failure> {
    files::replace(path, text.as_bytes(), files::Options { mode, sync: false }).map_err(|e| failed(path, &e))
}

/// Name of the scenario in the file `path`, from the name of the file; `None` if a scenario cannot name files beside it.
pub(crate) fn scenario_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    if file.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return None;
    }
    Some(path.file_stem()?.to_str()?.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-"))
}

/// The failure of a file name that no scenario can have.
pub(crate) fn illegal_name(path: &Path) -> Failure {
    Failure::Usage(format!("`{}` is not a valid name for the scenario; name a file with the extension .toml", path.display()))
}
