//! The changes that an attachment makes, each with its undoing. Undoing is safe at any time: before the change, after it, and twice.

use crate::route::Route;
use crate::sockets::{Whom, swap};
use crate::tc::Filter;
use crate::{Error, loader, pins, sysctl};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Links and maps are pinned in a folder of a BPF file system (`pins.rs`): without the pin they end with the process.
    Pins { folder: PathBuf },
    /// Sockets use the congestion control, or will: they leave it before it goes. What each used before is in the map at `memory`.
    Sockets { law: String, memory: PathBuf },
    /// Processes of a cgroup use it when they open connections; the link is pinned at `link`.
    Cgroup { cgroup: PathBuf, link: PathBuf },
    /// Processes of a cgroup announce messages to it by socket option; the link is pinned at `link`.
    Option { cgroup: PathBuf, link: PathBuf },
    /// A route gives connections to a prefix the congestion control.
    Route(Route),
    /// A program is at an interface.
    Filter(Filter),
    /// A setting of the kernel was changed.
    Sysctl { key: String, before: String, after: String },
}

impl Step {
    /// Takes it back.
    pub(crate) fn undo(&self) -> Result<(), Error> {
        match self {
            Step::Pins { folder } => pins::remove(folder),
            Step::Sockets { law, memory } => leave(law, memory),
            Step::Cgroup { link, .. } | Step::Option { link, .. } => match fs::remove_file(link) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(link.display(), &e)),
                _ => Ok(()),
            },
            Step::Route(route) => route.remove(),
            Step::Filter(filter) => filter.remove(),
            // It was changed since, on purpose: it stays as it is.
            Step::Sysctl { key, before, after } if sysctl::get(key)? == *after => sysctl::set(key, before),
            Step::Sysctl { .. } => Ok(()),
        }
    }

    /// Whether it stays when its network namespace ends.
    pub(crate) fn outlives_namespace(&self) -> bool {
        matches!(self, Step::Pins { .. })
    }
}

/// Gives the sockets that use the congestion control what they used before, or what new connections use.
fn leave(law: &str, memory: &Path) -> Result<(), Error> {
    // A program without this pin is not in use; a folder without pins was never filled.
    if !loader::registered()?.iter().any(|n| n == law) || !memory.parent().is_some_and(Path::exists) {
        return Ok(());
    }
    let default = sysctl::get("net.ipv4.tcp_congestion_control")?;
    let next = if default == law { "reno" } else { &default };
    swap(&Whom { law: next, only: Some(law), back: true, ..Whom::default() }, memory).map(|_| ())
}
