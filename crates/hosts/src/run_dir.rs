//! The folder `/run/forebay`: only root can change what is in it.

use crate::Error;
use forebay_platform::files::Dir;
use std::path::Path;

/// Folder of the state of attachments.
pub(crate) const FOLDER: &str = "/run/forebay";
/// Its permission bits: every user sees what is attached.
const MODE: u32 = 0o755;

/// The error of a privileged file, with its fix.
pub(crate) fn distrust(e: forebay_platform::files::Error) -> Error {
    match e {
        forebay_platform::files::Error::Io(path, e) => Error::io(path.display(), &e),
        untrusted => Error::new(untrusted.to_string()).fix(format!(
            "only root may own and write {FOLDER} and its files: inspect them, then remove them with `rm -r {FOLDER}` (`forebay detach --all` finds \
             attachments without them)"
        )),
    }
}

/// The folder, where there is one.
pub(crate) fn folder() -> Result<Option<Dir>, Error> {
    let found = Dir::open(Path::new(FOLDER)).map_err(distrust)?;
    found.map(|f| f.require_trusted().map(|()| f).map_err(distrust)).transpose()
}

/// The folder, which is created where there is none.
pub(crate) fn folder_or_new() -> Result<Dir, Error> {
    let path = Path::new(FOLDER);
    let (above, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let above = Dir::open(above).map_err(distrust)?.ok_or_else(|| Error::new(format!("{}: no such folder", above.display())))?;
    above.create_subdir(name, MODE).map_err(distrust)
}
