//! What is attached, written down before anything is changed: one file an attachment in `/run/forebay`. One process at a time
//! changes anything (a lock), so that an attachment that is not complete while the lock is free was left by a process that was killed.

use crate::step::Step;
use crate::{Error, Health, NetNs, Prefix};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the files are.
pub(crate) const FOLDER: &str = "/run/forebay";
/// How long a command waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// One attachment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attachment {
    /// The name under which a congestion control is registered, or a shim is known; unique on the machine.
    pub(crate) name: String,
    /// The program, of the catalogue.
    pub(crate) program: String,
    /// The network namespace whose routes, settings and interfaces are concerned.
    pub(crate) namespace: NetNs,
    pub(crate) prefixes: Vec<Prefix>,
    pub(crate) cgroup: Option<PathBuf>,
    pub(crate) default: bool,
    /// How the connections that it is for did before.
    pub(crate) before: Health,
    /// All that is or was to be done, in order.
    pub(crate) steps: Vec<Step>,
    /// Whether all of it was done.
    pub(crate) complete: bool,
}

impl Attachment {
    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("{}.json", self.name))
    }

    /// Writes it down, in one piece.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let path = self.path();
        let new = path.with_extension("new");
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::new(format!("{}: {e}", path.display())))?;
        fs::write(&new, text + "\n").and_then(|()| fs::rename(&new, &path)).map_err(|e| Error::io(path.display(), &e))
    }

    /// Forgets it.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        match fs::remove_file(self.path()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(self.path().display(), &e)),
            _ => Ok(()),
        }
    }

    /// Where its links and maps are pinned.
    pub(crate) fn pins(&self) -> Option<&Path> {
        self.steps.iter().find_map(|s| match s {
            Step::Pins { folder } => Some(folder.as_path()),
            _ => None,
        })
    }

    /// Undoes all of it, in the opposite order, and forgets it. Goes on after an error and returns the first.
    pub(crate) fn undo(&self) -> Result<(), Error> {
        let undone = self.namespace.run(|| {
            let mut first = Ok(());
            for step in self.steps.iter().rev() {
                first = first.and(step.undo());
            }
            first
        })?;
        if undone.is_none() {
            // The namespace has ended, and its routes, settings and filters with it; what is left belongs to the machine.
            for step in self.steps.iter().rev().filter(|s| s.outlives_namespace()) {
                step.undo()?;
            }
        }
        self.forget()
    }
}

/// What is attached, by name; files that cannot be read are named in the error.
pub(crate) fn all() -> Result<Vec<Attachment>, Error> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(FOLDER) {
        Ok(entries) => entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(FOLDER, &e)),
    };
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // Detached in between.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(Error::io(path.display(), &e)),
        };
        let damaged = |e| {
            Error::new(format!("{}: {e}", path.display()))
                .fix("remove the file; `forebay detach --all` finds what was attached without it")
        };
        found.push(serde_json::from_str(&text).map_err(damaged)?);
    }
    Ok(found)
}

/// The right to change what is attached; given back when dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for it for some seconds, and undoes what killed processes left half-done.
    pub(crate) fn take() -> Result<Lock, Error> {
        fs::create_dir_all(FOLDER).map_err(|e| Error::io(FOLDER, &e))?;
        let path = Path::new(FOLDER).join("lock");
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(|e| Error::io(path.display(), &e))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(format!(
                        "another forebay process has been attaching or detaching for {} s",
                        PATIENCE.as_secs()
                    ))
                    .fix(format!("wait for it; `fuser {}` names it", path.display())));
                }
                Err(TryLockError::Error(e)) => return Err(Error::io(path.display(), &e)),
            }
        }
    }

    /// Undoes what processes that were killed left half-done; returns the names.
    pub(crate) fn tidy(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for left in all()?.into_iter().filter(|a| !a.complete) {
            left.undo()?;
            names.push(left.name);
        }
        Ok(names)
    }
}
