//! The cgroup file system of version 2, wherever it is mounted.

use crate::Error;
use forebay_platform::mounts;
use libbpf_rs::ProgramMut;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where it is mounted: `/sys/fs/cgroup`, or `/sys/fs/cgroup/unified` beside version 1.
pub(crate) fn mount() -> Result<PathBuf, Error> {
    let found = mounts::mount_points("cgroup2").map_err(|e| Error::io(mounts::TABLE, &e))?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| Error::new("no cgroup file system of version 2 is mounted").fix("mount -t cgroup2 none /sys/fs/cgroup"))
}

/// The folder of a cgroup, given as a path or relative to where the file system is mounted.
pub(crate) fn folder(name: &Path) -> Result<PathBuf, Error> {
    let mount = mount()?;
    let path = if name.starts_with(&mount) { name.to_owned() } else { mount.join(name.strip_prefix("/").unwrap_or(name)) };
    if path.join("cgroup.procs").exists() {
        return Ok(path);
    }
    Err(Error::new(format!("{} is not a cgroup", path.display()))
        .fix(format!("name a folder below {}, as in `systemd-cgls`", mount.display())))
}

/// Returns true for the root cgroup, under any path.
pub(crate) fn is_root(folder: &Path) -> Result<bool, Error> {
    let number = |p: &Path| fs::metadata(p).map(|m| (m.dev(), m.ino())).map_err(|e| Error::io(p.display(), &e));
    Ok(number(folder)? == number(&mount()?)?)
}

/// Attaches a program to the cgroup beside those that are there; the link is pinned.
pub(crate) fn attach(program: &ProgramMut<'_>, cgroup: &Path, pin: &Path) -> Result<(), Error> {
    let folder = File::open(cgroup).map_err(|e| Error::io(cgroup.display(), &e))?;
    let mut link = program.attach_cgroup(folder.as_raw_fd()).map_err(|e| {
        Error::bpf(format!("attaching to the cgroup {}", cgroup.display()), &e)
            .fix("name a folder of a cgroup file system of version 2")
    })?;
    link.pin(pin).map_err(|e| Error::bpf(pin.display(), &e))
}
