//! Where links and maps stay when the process that made them ends: files in a BPF file system, below a folder `forebay`.

use crate::Error;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where one is mounted if the machine has none.
const OWN: &str = "/run/forebay/bpf";

/// The BPF file systems of this mount namespace, in the order in which they were mounted.
fn mounted() -> Result<Vec<PathBuf>, Error> {
    let path = "/proc/self/mounts";
    let mounts = fs::read_to_string(path).map_err(|e| Error::io(path, &e))?;
    let is_bpf = |line: &str| -> Option<PathBuf> {
        let mut words = line.split(' ');
        let (_, place, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "bpf").then(|| PathBuf::from(place.replace("\\040", " ")))
    };
    Ok(mounts.lines().filter_map(is_bpf).collect())
}

/// The folder of ours in each BPF file system that has one.
pub(crate) fn folders() -> Result<Vec<PathBuf>, Error> {
    Ok(mounted()?.into_iter().map(|m| m.join("forebay")).filter(|d| d.is_dir()).collect())
}

/// Our folder in the first BPF file system, or in the one that has to be mounted.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    if let Some(first) = mounted()?.into_iter().next() {
        return Ok(first.join("forebay"));
    }
    // In a mount namespace of its own (`ip netns exec` makes one) the file system would vanish with the command, and all pins with it.
    let of = |who: u32| fs::metadata(format!("/proc/{who}/ns/mnt")).map(|m| m.ino()).ok();
    // Not everyone may look at the parent's: of the first process of a machine, which inherits those whose parent has ended.
    let parent = of(std::os::unix::process::parent_id());
    if parent.is_some() && parent != of(std::process::id()) {
        return Err(Error::new(
            "no BPF file system is mounted, and this process has a mount namespace of its own, in which one would not last",
        )
        .fix("mount one outside first: mount -t bpf bpf /sys/fs/bpf (then enter network namespaces with nsenter --net)"));
    }
    Ok(Path::new(OWN).join("forebay"))
}

/// What has to be mounted before something can be pinned in the folder.
pub(crate) fn missing_mount(folder: &Path) -> Result<Option<PathBuf>, Error> {
    Ok((folder.starts_with(OWN) && !mounted()?.iter().any(|m| m == Path::new(OWN))).then(|| OWN.into()))
}

/// Mounts a BPF file system there.
pub(crate) fn mount(place: &Path) -> Result<(), Error> {
    fs::create_dir_all(place).map_err(|e| Error::io(place.display(), &e))?;
    let target = CString::new(place.as_os_str().as_encoded_bytes()).map_err(|_| Error::new("a path with a zero byte"))?;
    // SAFETY: all arguments are strings that end in zero and live through the call.
    let done = unsafe { libc::mount(c"bpf".as_ptr(), target.as_ptr(), c"bpf".as_ptr(), 0, c"mode=0700".as_ptr().cast()) };
    if done == 0 {
        Ok(())
    } else {
        Err(Error::io(format!("mounting a BPF file system at {}", place.display()), &io::Error::last_os_error()))
    }
}

/// Takes ours off again, unless something is still pinned there.
fn unmount(place: &Path) -> Result<(), Error> {
    if !mounted()?.iter().any(|m| m == place) {
        // Whoever made the folder was killed before it mounted anything there.
        let _ = fs::remove_dir(place);
        return Ok(());
    }
    // The kernel's own two files are in every BPF file system.
    let own = |name: &OsStr| name == "maps.debug" || name == "progs.debug";
    if fs::read_dir(place).map_err(|e| Error::io(place.display(), &e))?.flatten().any(|e| !own(&e.file_name())) {
        return Ok(());
    }
    let target = CString::new(place.as_os_str().as_encoded_bytes()).map_err(|_| Error::new("a path with a zero byte"))?;
    // SAFETY: the path ends in zero and lives through the call.
    if unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) } != 0 {
        return Err(Error::io(format!("unmounting {}", place.display()), &io::Error::last_os_error()));
    }
    let _ = fs::remove_dir(place);
    Ok(())
}

/// Removes a folder of pins, and with the last reference what was pinned.
pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io(dir.display(), &e)),
    }
    // The folder above, if this was the last.
    if let Some(above) = dir.parent() {
        let _ = fs::remove_dir(above);
    }
    if dir.starts_with(OWN) { unmount(Path::new(OWN)) } else { Ok(()) }
}
