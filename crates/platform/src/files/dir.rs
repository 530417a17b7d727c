//! Directories of privileged files.

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, RawMode};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Permission bits that let other users change a file.
const WRITABLE_BY_OTHERS: RawMode = 0o022;
/// In a directory with this bit only the owner of a file renames or removes it.
const STICKY: RawMode = 0o1000;
/// Largest file that [`Dir::read`] reads, in bytes.
const MAX_SIZE: u64 = 16 << 20;

/// Why a privileged file cannot be used.
#[derive(Debug)]
pub enum Error {
    /// Error of the system.
    Io(PathBuf, io::Error),
    /// Another user could have created it or can change it; the text has the reason.
    Untrusted(PathBuf, String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(path, e) => write!(f, "{}: {e}", path.display()),
            Error::Untrusted(path, why) => write!(f, "{} {why}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// An open directory. All operations are relative to it, and none follows a symbolic link.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory by its absolute path, in which no component may be a symbolic link; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the system; a component of the path is a link or no directory.
    pub fn open(path: &Path) -> Result<Option<Dir>, Error> {
        let root = fs::open("/", directory(), Mode::empty()).map_err(|e| Error::Io("/".into(), e.into()))?;
        let mut dir = Dir { fd: root, path: "/".into() };
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => match dir.subdir(name)? {
                    Some(below) => dir = below,
                    None => return Ok(None),
                },
                _ => return Err(Error::Untrusted(path.to_owned(), "is not an absolute path without `..`".into())),
            }
        }
        Ok(Some(dir))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory in this one; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the system; it is a link or no directory.
    pub fn subdir(&self, name: &OsStr) -> Result<Option<Dir>, Error> {
        let path = self.path.join(name);
        match fs::openat(&self.fd, name, directory(), Mode::empty()) {
            Ok(fd) => Ok(Some(Dir { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            // Linux reports a link as ENOTDIR where O_DIRECTORY is given as well.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Error::Untrusted(path, "is not a directory (links are not followed)".into())),
            // Root without CAP_DAC_OVERRIDE cannot open directories that others have closed; the error must name their owner, not missing rights.
            Err(Errno::ACCESS) => match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => Err(owned(&path, &found).err().unwrap_or_else(|| Error::Io(path, Errno::ACCESS.into()))),
                Err(e) => Err(Error::Io(path, e.into())),
            },
            Err(e) => Err(Error::Io(path, e.into())),
        }
    }

    /// Opens a directory in this one, or creates it, and gives it exactly these permission bits. An existing one must be
    /// [trusted](Dir::require_trusted).
    ///
    /// # Errors
    /// Errors of the system; it is a link, no directory, or not trusted.
    pub fn create_subdir(&self, name: &OsStr, mode: u32) -> Result<Dir, Error> {
        let failed = |e: Errno| Error::Io(self.path.join(name), e.into());
        let mode = Mode::from_raw_mode(mode);
        // The umask only removes bits: between the two calls the directory never has more permissions than `mode`.
        let made = match fs::mkdirat(&self.fd, name, mode) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(failed(e)),
        };
        let dir = self.subdir(name)?.ok_or_else(|| failed(Errno::NOENT))?;
        dir.require_trusted()?;
        if made {
            fs::fchmod(&dir.fd, mode).map_err(failed)?;
        }
        Ok(dir)
    }

    /// Checks that only root or this user can change what is in the directory.
    ///
    /// # Errors
    /// It belongs to another user, or others may write to it.
    pub fn require_trusted(&self) -> Result<(), Error> {
        let found = fs::fstat(&self.fd).map_err(|e| self.failed(e))?;
        trusted(&self.path, &found)
    }

    /// As [`Dir::require_trusted`], but allows a directory in which other users can create files and cannot change those of root (mode 1777).
    ///
    /// # Errors
    /// It belongs to another user, or others may remove files of root in it.
    pub fn require_trusted_or_sticky(&self) -> Result<(), Error> {
        let found = fs::fstat(&self.fd).map_err(|e| self.failed(e))?;
        if found.st_mode & STICKY != 0 { owned(&self.path, &found) } else { trusted(&self.path, &found) }
    }

    /// The type of its file system, as in `linux/magic.h`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn file_system(&self) -> Result<u64, Error> {
        // The type of the field differs between architectures.
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "it is i64 here and u32 elsewhere")]
        fs::fstatfs(&self.fd).map(|s| s.f_type as u64 & 0xffff_ffff).map_err(|e| self.failed(e))
    }

    /// The names in it, in order.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn names(&self) -> Result<Vec<OsString>, Error> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd).map_err(|e| self.failed(e))? {
            let entry = entry.map_err(|e| self.failed(e))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Reads a file that only root or this user can change; `None` where there is none.
    ///
    /// # Errors
    /// Errors of the system; it is a link, no plain file, owned by another user, writable by others, or too large.
    pub fn read(&self, name: &OsStr) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path.join(name);
        // A pipe must not block the caller.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Error::Untrusted(path, "is a symbolic link".into())),
            Err(e) => return Err(Error::Io(path, e.into())),
        };
        plain(&path, &fd)?;
        let mut text = Vec::new();
        let read = File::from(fd).take(MAX_SIZE + 1).read_to_end(&mut text);
        read.map_err(|e| Error::Io(path.clone(), e))?;
        if text.len() as u64 > MAX_SIZE {
            return Err(Error::Untrusted(path, format!("is larger than {MAX_SIZE} bytes")));
        }
        Ok(Some(text))
    }

    /// Writes a file atomically, with exactly these permission bits. Callers hold the lock of the directory: the temporary file,
    /// `NAME.new`, belongs to one process at a time.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write(&self, name: &OsStr, contents: &[u8], mode: u32) -> Result<(), Error> {
        let mut new = name.to_owned();
        new.push(".new");
        let failed = |e: io::Error| Error::Io(self.path.join(name), e);
        self.remove_file(&new)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let fd = fs::openat(&self.fd, &new, flags, mode).map_err(|e| failed(e.into()))?;
        fs::fchmod(&fd, mode).map_err(|e| failed(e.into()))?;
        File::from(fd).write_all(contents).map_err(failed)?;
        fs::renameat(&self.fd, &new, &self.fd, name).map_err(|e| failed(e.into()))
    }

    /// Takes the lock of a file that other users cannot open (mode 0600); `None` while another process has it. The lock is released with the
    /// returned file.
    ///
    /// # Errors
    /// Errors of the system; it is a link, no plain file, or owned by another user.
    pub fn try_lock(&self, name: &OsStr) -> Result<Option<File>, Error> {
        let path = self.path.join(name);
        let failed = |e: Errno| Error::Io(path.clone(), e.into());
        let private = Mode::from_raw_mode(0o600);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        loop {
            let fd = match fs::openat(&self.fd, name, flags, private) {
                Ok(fd) => fd,
                Err(Errno::LOOP) => return Err(Error::Untrusted(path, "is a symbolic link".into())),
                Err(e) => return Err(failed(e)),
            };
            let found = fs::fstat(&fd).map_err(failed)?;
            if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
                return Err(Error::Untrusted(path, "is not a plain file".into()));
            }
            owned(&path, &found)?;
            if found.st_mode & 0o077 != 0 {
                // Another user may have it open and locked: replace it by a new file.
                self.remove_file(name)?;
                continue;
            }
            fs::fchmod(&fd, private).map_err(failed)?;
            match fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(e) => return Err(failed(e)),
            }
            // The file may have been replaced before it was locked.
            let now = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
            if now.is_ok_and(|now| (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino)) {
                return Ok(Some(File::from(fd)));
            }
        }
    }

    /// Removes a file or a link; a missing one is no error.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove_file(&self, name: &OsStr) -> Result<(), Error> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty directory; a missing one is no error.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove_subdir(&self, name: &OsStr) -> Result<(), Error> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &OsStr, flags: AtFlags) -> Result<(), Error> {
        match fs::unlinkat(&self.fd, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(Error::Io(self.path.join(name), e.into())),
        }
    }

    fn failed(&self, e: Errno) -> Error {
        Error::Io(self.path.clone(), e.into())
    }
}

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// An open file that is a plain one and trusted.
fn plain(path: &Path, fd: &OwnedFd) -> Result<(), Error> {
    let found = fs::fstat(fd).map_err(|e| Error::Io(path.to_owned(), e.into()))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Error::Untrusted(path.to_owned(), "is not a plain file".into()));
    }
    trusted(path, &found)
}

fn owned(path: &Path, found: &fs::Stat) -> Result<(), Error> {
    if found.st_uid == 0 || found.st_uid == geteuid().as_raw() {
        return Ok(());
    }
    let whose = if geteuid().is_root() { "not to root" } else { "neither to root nor to you" };
    Err(Error::Untrusted(path.to_owned(), format!("belongs to user {}, {whose}", found.st_uid)))
}

fn trusted(path: &Path, found: &fs::Stat) -> Result<(), Error> {
    owned(path, found)?;
    if found.st_mode & WRITABLE_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(Error::Untrusted(path.to_owned(), format!("is writable by other users (mode {:04o})", found.st_mode & 0o7777)))
}

#[cfg(test)]
mod tests {
    use super::{Dir, Error};
    use crate::files::TempDir;
    use rustix::fs::Mode;
    use std::ffi::OsStr;
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn scratch() -> (TempDir, Dir) {
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-dir").unwrap();
        let dir = Dir::open(place.path()).unwrap().unwrap();
        (place, dir)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
        match result {
            Err(Error::Untrusted(_, why)) => assert!(why.contains(words), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn directories_others_can_change_are_refused() {
        let (place, dir) = scratch();
        let path = place.path().join("x");
        fs::create_dir(&path).unwrap();
        for bits in [0o777, 0o775, 0o757, 0o1777] {
            fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
            refused(dir.create_subdir(name("x"), 0o755), "writable by other users");
        }
        Dir::open(&path).unwrap().unwrap().require_trusted_or_sticky().unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        dir.create_subdir(name("x"), 0o700).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            refused(dir.create_subdir(name("x"), 0o755), "belongs to user 65534");
            refused(Dir::open(&path).unwrap().unwrap().require_trusted_or_sticky(), "belongs to user 65534");
        }
    }

    #[test]
    fn links_in_the_path_are_refused() {
        let (place, dir) = scratch();
        fs::create_dir_all(place.path().join("real/below")).unwrap();
        symlink("real", place.path().join("link")).unwrap();
        refused(Dir::open(&place.path().join("link/below")), "links are not followed");
        refused(Dir::open(&place.path().join("link")), "links are not followed");
        refused(dir.create_subdir(name("link"), 0o700), "links are not followed");
        refused(Dir::open(&place.path().join("real/../real")), "absolute path");
        assert!(Dir::open(&place.path().join("missing/below")).unwrap().is_none());
    }

    #[test]
    fn files_writable_by_others_not_read() {
        let (place, dir) = scratch();
        let path = place.path().join("state");
        assert!(dir.read(name("state")).unwrap().is_none());
        dir.write(name("state"), b"text", 0o644).unwrap();
        assert_eq!(dir.read(name("state")).unwrap().unwrap(), b"text");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        refused(dir.read(name("state")), "writable by other users (mode 0666)");
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        refused(dir.read(name("state")), "symbolic link");
        // Writing replaces the link and leaves the file that it names.
        dir.write(name("state"), b"new", 0o600).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file() && mode(&path) == 0o600);
        rustix::fs::mknodat(&dir.fd, "pipe", rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        refused(dir.read(name("pipe")), "not a plain file");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            refused(dir.read(name("state")), "belongs to user 65534");
        }
    }

    #[test]
    fn stale_temporary_link_is_not_followed() {
        let (place, dir) = scratch();
        let victim = place.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, place.path().join("state.new")).unwrap();
        dir.write(name("state"), b"text", 0o600).unwrap();
        assert_eq!(
            (fs::read(&victim).unwrap(), dir.names().unwrap()),
            (b"untouched".to_vec(), vec!["state".into(), "victim".into()])
        );
    }

    #[test]
    fn lock_held_by_reader_is_replaced() {
        let (place, dir) = scratch();
        let path = place.path().join("lock");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        // As any user could before: opened for reading, and locked.
        let reader = File::open(&path).unwrap();
        reader.try_lock().unwrap();
        let ours = dir.try_lock(name("lock")).unwrap();
        assert!(ours.is_some() && mode(&path) == 0o600);
        assert!(dir.try_lock(name("lock")).unwrap().is_none(), "it excludes a second one");
        drop(ours);
        assert!(dir.try_lock(name("lock")).unwrap().is_some());
    }
}
