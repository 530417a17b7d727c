//! The changes that an attachment makes, each with its undoing. Undoing is safe at any time: before the change, after it, and twice.

use crate::route::Route;
use crate::sockets::{Swapped, Target, swap};
use crate::tc::Filter;
use crate::time_limit::with_time_limit_or_in_place;
use crate::{Error, loader, pins, sysctl};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The only setting that an attachment changes.
pub(crate) const DEFAULT_CC: &str = "net.ipv4.tcp_congestion_control";

/// A change of an attachment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Links and maps are pinned in a folder of a BPF file system (`pins.rs`): without the pin they end with the process.
    Pins { folder: PathBuf },
    /// Sockets that use the congestion control, or will: they leave it before it is removed. The map at `memory` stores their previous congestion
    /// controls.
    Sockets { cc: String, memory: PathBuf },
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
    /// Takes it back. Returns what the user should know, if anything.
    pub(crate) fn undo(&self) -> Result<Option<String>, Error> {
        match self {
            Step::Sockets { cc, memory } => leave(cc, memory),
            other => other.undo_alone().map(|()| None),
        }
    }

    fn undo_alone(&self) -> Result<(), Error> {
        match self {
            Step::Pins { folder } => pins::remove(folder),
            Step::Sockets { .. } => Ok(()),
            Step::Cgroup { link, .. } | Step::Option { link, .. } => pins::remove_pin(link),
            Step::Route(route) => route.remove(),
            Step::Filter(filter) => filter.remove(),
            // It was changed since, on purpose: it stays as it is.
            Step::Sysctl { key, before, after } if sysctl::get(key)? == *after => sysctl::set(key, before),
            Step::Sysctl { .. } => Ok(()),
        }
    }

    /// Checks that it is a step of the attachment `name` of `program` with the folder of pins `pins`, so that undoing it with root's rights
    /// changes nothing else. Routes and filters are also identified by forebay's protocol number and handle.
    pub(crate) fn check(&self, name: &str, program: &str, pins: &Path) -> Result<(), String> {
        let pinned = |what: &str, path: &Path, file: &str| {
            if path == pins.join(file) {
                Ok(())
            } else {
                Err(format!("{what} `{}`: not {file} in the folder of pins", path.display()))
            }
        };
        match self {
            Step::Pins { folder } if folder == pins => Ok(()),
            Step::Pins { folder } => Err(format!("a second folder, `{}`", folder.display())),
            Step::Sockets { cc, .. } if cc != name => Err(format!("congestion control `{cc}`: not `{name}`")),
            Step::Sockets { memory, .. } => pinned("memory", memory, "earlier"),
            Step::Cgroup { link, .. } => pinned("link", link, "cgroup"),
            Step::Option { link, .. } => pinned("link", link, "option"),
            Step::Route(route) => route.check(),
            Step::Filter(filter) => filter.check(program),
            Step::Sysctl { key, .. } if key != DEFAULT_CC => Err(format!("key `{key}`: attach changes {DEFAULT_CC} only")),
            Step::Sysctl { after, .. } if after != name => Err(format!("after `{after}`: not `{name}`")),
            Step::Sysctl { before, .. } if !loader::may_be_cc(before) => {
                Err(format!("before `{}`: not a name of a congestion control", before.escape_default()))
            }
            Step::Sysctl { .. } => Ok(()),
        }
    }

    /// Returns true if the change stays when its network namespace ends.
    pub(crate) fn outlives_namespace(&self) -> bool {
        matches!(self, Step::Pins { .. })
    }
}

/// Gives the sockets that use the congestion control what they used before, or what new connections use. Sockets whose lock a process does not
/// release are not waited for.
fn leave(cc: &str, memory: &Path) -> Result<Option<String>, Error> {
    // A program without this pin is not in use; a folder without pins was never filled.
    if !loader::registered()?.iter().any(|n| n == cc) || !memory.parent().is_some_and(Path::exists) {
        return Ok(None);
    }
    let default = sysctl::get(DEFAULT_CC)?;
    let next = if default == cc { "reno".to_owned() } else { default };
    let (only, path) = (cc.to_owned(), memory.to_owned());
    let swapped = with_time_limit_or_in_place(move || {
        swap(&Target { cc: &next, only: Some(&only), back: true, ..Target::default() }, &path)
    })?;
    Ok(match swapped {
        None => Some(format!(
            "a process holds the lock of a socket: connections may use {cc} until the process releases it, or they close"
        )),
        Some(Swapped { refused: 0, .. }) => None,
        Some(Swapped { refused, .. }) => {
            Some(format!("the kernel refused to change {refused} connections: they use {cc} until they close"))
        }
    })
}
