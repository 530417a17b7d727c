//! Files for the user.

use crate::files::{random, remove_unfinished};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Stands between the name of a file and the ID of the process that writes it, in temporary names.
pub const TEMPORARY: &str = ".tmp-";

/// Attempts to find a free random name.
const ATTEMPTS: u32 = 100;

/// Options of [`replace`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Permission bits of the file, whatever the umask; without them the umask applies. Ignored on systems without them.
    pub mode: Option<u32>,
    /// Wait until the contents are on disk.
    pub sync: bool,
}

/// Writes a file and, once it is complete, replaces the plain file at `path`, if there is one. Before, removes the temporary files of killed processes
/// that were to have the same name.
///
/// # Errors
/// Errors of the system, and `AlreadyExists` if `path` is a symbolic link, a directory or a device.
pub fn replace(path: &Path, contents: &[u8], options: Options) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            let message = "not a plain file; only plain files are replaced";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    remove_unfinished_at(path);
    let (mut file, temporary) = create_beside(path, options.mode)?;
    let mut write = || -> io::Result<()> {
        file.write_all(contents)?;
        if options.sync {
            file.sync_all()?;
        }
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        // The first failure is the one to report.
        let _ = fs::remove_file(&temporary);
    })
}

/// Reads a plain file. A pipe, which another user may have made there, is not waited for.
///
/// # Errors
/// Errors of the system; it is not a plain file, or not text.
pub fn read_plain(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file");
    if cfg!(not(target_os = "linux")) && !fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(refused());
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map(|_| text)
}

/// Largest input that [`read_text`] reads, in bytes.
pub const MAX_TEXT: u64 = 16_000_000;

/// Reads a file that a user names: a plain file of at most `limit` bytes. The open standard input and the pipes of a shell's `<(command)` are read as
/// well; a named pipe may have no writer, so it is not waited for.
///
/// # Errors
/// Errors of the system; it is a directory, a pipe, a socket or a device, or too large.
pub fn read_input(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(refused("it is a directory".into()));
    }
    let open = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|p| path.starts_with(p));
    if !found.is_file() && !open {
        return Err(refused("it is a pipe, a socket or a device: copy it to a file".into()));
    }
    let mut bytes = Vec::new();
    // Pipes have no length.
    if found.len() <= limit {
        File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if found.len() > limit || bytes.len() as u64 > limit {
        return Err(refused(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Reads a text file of at most [`MAX_TEXT`] bytes, as [`read_input`].
///
/// # Errors
/// As there, and a file that is not UTF-8 text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_input(path, MAX_TEXT)?).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8 text"))
    })
}

/// Writes a file that must not exist yet. A file that could not be written to its end is removed.
///
/// # Errors
/// Errors of the system; `AlreadyExists` if anything is at `path`, including a dangling symbolic link.
pub fn write_new(path: &Path, contents: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mut file = create(path, mode)?;
    file.write_all(contents).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Removes the temporary files of killed processes that were to have the name `path`.
pub fn remove_unfinished_at(path: &Path) {
    if let Some(wanted) = path.file_name().and_then(|name| name.to_str()) {
        remove_unfinished(path.parent().unwrap_or(Path::new("")), |name| name == wanted);
    }
}

/// Creates a temporary file in the directory of `path`: `NAME.tmp-PID-RANDOM`. It is locked, which marks it as in use, until it is closed. On file
/// systems without locks, the process ID in the name does.
///
/// # Errors
/// Errors of the system.
pub fn create_beside(path: &Path, mode: Option<u32>) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().map_or_else(OsString::new, OsString::from);
    let mut attempt = 0;
    loop {
        let mut name = name.clone();
        name.push(format!("{TEMPORARY}{}-{}", std::process::id(), random::number()));
        let temporary = path.with_file_name(name);
        match create(&temporary, mode) {
            // Another process may have taken it for a left one, and removes it, before it was locked.
            Ok(file) => {
                let taken = match file.try_lock() {
                    Err(TryLockError::WouldBlock) => true,
                    Ok(()) => !temporary.exists(),
                    Err(TryLockError::Error(_)) => false,
                };
                if !taken || attempt >= ATTEMPTS {
                    return Ok((file, temporary));
                }
                attempt += 1;
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => attempt += 1,
            Err(e) => return Err(e),
        }
    }
}

/// Creates a file that must not exist, with exactly these permission bits. `create_new` is `O_EXCL`, which follows no symbolic link.
///
/// # Errors
/// Errors of the system; `AlreadyExists` if anything is at `path`, including a dangling symbolic link.
pub fn create(path: &Path, mode: Option<u32>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let file = options.mode(mode).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        return Ok(file);
    }
    let _ = mode;
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Options, create_beside, read_plain, replace, write_new};
    use crate::files::TempDir;
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch() -> TempDir {
        TempDir::create(&std::env::temp_dir(), "forebay-test-write").unwrap()
    }

    #[test]
    fn existing_file_is_never_overwritten() {
        let (dir, file) = (scratch(), "list.csv");
        let path = dir.path().join(file);
        write_new(&path, b"mine", Some(0o600)).unwrap();
        assert_eq!(write_new(&path, b"other", None).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn only_plain_files_are_read() {
        let dir = scratch();
        let (file, link, pipe) = (dir.path().join("file"), dir.path().join("link"), dir.path().join("pipe"));
        fs::write(&file, "text").unwrap();
        assert_eq!(read_plain(&file).unwrap(), "text");
        // Without an end.
        symlink("/dev/zero", &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for other in [&link, &pipe] {
            assert_eq!(read_plain(other).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn links_are_not_followed() {
        let dir = scratch();
        let (victim, link) = (dir.path().join("victim"), dir.path().join("link"));
        symlink(&victim, &link).unwrap();
        // A dangling link first, then one to a file.
        for _ in 0..2 {
            assert_eq!(write_new(&link, b"x", None).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(replace(&link, b"x", Options::default()).unwrap_err().kind(), ErrorKind::AlreadyExists);
            fs::write(&victim, "untouched").unwrap();
        }
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
    }

    #[test]
    fn replaced_file_has_the_given_mode() {
        let dir = scratch();
        let path = dir.path().join("metrics");
        for (text, mode) in [("one", 0o644), ("two", 0o600)] {
            replace(&path, text.as_bytes(), Options { mode: Some(mode), sync: true }).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn temporary_names_are_all_different() {
        let dir = scratch();
        let path = dir.path().join("x");
        let (first, second) = (create_beside(&path, None).unwrap().1, create_beside(&path, None).unwrap().1);
        assert_ne!(first, second);
        let name = first.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.starts_with(&format!("x.tmp-{}-", std::process::id())), "{name}");
    }
}
