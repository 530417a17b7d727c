//! Where links and maps stay when the process that made them ends: files in a BPF file system, below a folder `forebay`.
//!
//! A user who can write to that folder can move a pin away, so that the program stays in the kernel when the attachment is undone.
//! Therefore the folder and its file system must belong to root.

use crate::{Error, run_dir};
use forebay_platform::files::Dir;
use forebay_platform::mounts;
use nix::mount::{MntFlags, MsFlags, umount2};
use nix::unistd::geteuid;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mount point for a BPF file system if the machine has none.
const OWN: &str = "/run/forebay/bpf";
/// Our folder in a BPF file system.
const NAME: &str = "forebay";
/// Type of a BPF file system (`BPF_FS_MAGIC` in linux/magic.h).
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;
/// Permission bits of folders.
const MODE: u32 = 0o700;
/// Command that mounts a BPF file system to which only root can write.
pub(crate) const MOUNT: &str = "mount -t bpf -o mode=0700 bpf /sys/fs/bpf";

/// The error of a folder of pins, with its fix.
fn distrust(e: forebay_platform::files::Error) -> Error {
    match e {
        forebay_platform::files::Error::Io(path, e) => Error::io(path.display(), &e),
        untrusted => Error::new(format!("{untrusted}: a user who can write there can keep programs in the kernel")).fix(format!(
            "remove it if you do not need it, and allow only root to write to the BPF file system: mount -o remount,mode=0700 /sys/fs/bpf, or, if \
             none is mounted: {MOUNT}"
        )),
    }
}

/// Where BPF file systems are mounted in this mount namespace, in the order in which they were mounted. A place where one is mounted over another
/// is named once: only the upper one can be reached.
fn mounted() -> Result<Vec<PathBuf>, Error> {
    let mut places = mounts::mount_points("bpf").map_err(|e| Error::io(mounts::TABLE, &e))?;
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    Ok(places)
}

/// A folder that is in a BPF file system; `None` where there is none.
fn open(path: &Path) -> Result<Option<Dir>, Error> {
    let Some(dir) = Dir::open(path).map_err(distrust)? else { return Ok(None) };
    if dir.file_system().map_err(distrust)? != BPF_FS_MAGIC {
        return Err(Error::new(format!("{} is not in a BPF file system, so forebay did not create it", path.display())));
    }
    Ok(Some(dir))
}

/// The folder of forebay in a BPF file system, which must belong to root; `None` where there is none.
fn trusted(mount: &Path) -> Result<Option<Dir>, Error> {
    let Some(above) = open(mount)? else { return Ok(None) };
    above.require_trusted_or_sticky().map_err(distrust)?;
    let Some(dir) = above.subdir(OsStr::new(NAME)).map_err(distrust)? else { return Ok(None) };
    dir.require_trusted().map_err(distrust)?;
    Ok(Some(dir))
}

/// The folder of forebay in each BPF file system that has one, or the reason why it is not used.
pub(crate) fn folders() -> Result<Vec<Result<PathBuf, Error>>, Error> {
    let one = |mount: PathBuf| trusted(&mount).map(|d| d.map(|d| d.path().to_owned())).transpose();
    Ok(mounted()?.into_iter().filter_map(one).collect())
}

/// Our folder in the first BPF file system, or in the one that has to be mounted.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    if let Some(first) = mounted()?.into_iter().next() {
        // Other users may not open the folder; attaching fails later with the list of capabilities that it needs.
        if geteuid().is_root() {
            trusted(&first)?;
        }
        return Ok(first.join(NAME));
    }
    // In a mount namespace of its own (`ip netns exec` makes one) the file system would vanish with the command, and all pins with it.
    let of = |who: u32| fs::metadata(format!("/proc/{who}/ns/mnt")).map(|m| m.ino()).ok();
    // Access to the parent's file may be denied: orphaned processes have the first process of the machine as their parent.
    let parent = of(std::os::unix::process::parent_id());
    if parent.is_some() && parent != of(std::process::id()) {
        return Err(Error::new(
            "no BPF file system is mounted, and this process has a mount namespace of its own, in which one would not last",
        )
        .fix(format!("mount one outside first: {MOUNT} (then enter network namespaces with nsenter --net)")));
    }
    Ok(Path::new(OWN).join(NAME))
}

/// Mount that is needed before a link can be pinned in the folder.
pub(crate) fn missing_mount(folder: &Path) -> Result<Option<PathBuf>, Error> {
    Ok((folder.starts_with(OWN) && !mounted()?.iter().any(|m| m == Path::new(OWN))).then(|| OWN.into()))
}

/// Mounts a BPF file system in the folder of state.
pub(crate) fn mount(place: &Path) -> Result<(), Error> {
    run_dir::folder_or_new()?.create_subdir(place.file_name().unwrap_or_default(), MODE).map_err(run_dir::distrust)?;
    nix::mount::mount(Some("bpf"), place, Some("bpf"), MsFlags::empty(), Some("mode=0700"))
        .map_err(|e| Error::io(format!("mounting a BPF file system at {}", place.display()), &e.into()))
}

/// Makes the folder of an attachment, `.../forebay/NAME`, and those above it in the BPF file system.
pub(crate) fn create(folder: &Path) -> Result<(), Error> {
    let name = folder.file_name().unwrap_or_default();
    let mount = folder.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let above = open(mount)?.ok_or_else(|| Error::new(format!("{}: the BPF file system was unmounted", mount.display())))?;
    above.require_trusted_or_sticky().map_err(distrust)?;
    let ours = above.create_subdir(OsStr::new(NAME), MODE).map_err(distrust)?;
    ours.create_subdir(name, MODE).map(|_| ()).map_err(distrust)
}

/// Takes ours off again, unless something is still pinned there.
fn unmount(place: &Path) -> Result<(), Error> {
    if !mounted()?.iter().any(|m| m == place) {
        // The process that created the folder was killed before it mounted a file system there.
        let _ = fs::remove_dir(place);
        return Ok(());
    }
    // The kernel's own two files are in every BPF file system.
    let own = |name: &OsStr| name == "maps.debug" || name == "progs.debug";
    if fs::read_dir(place).map_err(|e| Error::io(place.display(), &e))?.flatten().any(|e| !own(&e.file_name())) {
        return Ok(());
    }
    umount2(place, MntFlags::MNT_DETACH).map_err(|e| Error::io(format!("unmounting {}", place.display()), &e.into()))?;
    let _ = fs::remove_dir(place);
    Ok(())
}

/// A folder of pins and the one above it, both in a BPF file system; `None` where there is none.
fn open_pins(dir: &Path) -> Result<Option<(Dir, Dir)>, Error> {
    let Some(above) = Dir::open(dir.parent().unwrap_or(Path::new("/"))).map_err(distrust)? else { return Ok(None) };
    let Some(pins) = above.subdir(dir.file_name().unwrap_or_default()).map_err(distrust)? else { return Ok(None) };
    for folder in [&pins, &above] {
        if folder.file_system().map_err(distrust)? != BPF_FS_MAGIC {
            return Err(Error::new(format!("{} is not in a BPF file system and is not removed", dir.display())).fix(format!(
                "check the state file of the attachment in {}: `forebay attach` did not write this path",
                run_dir::FOLDER
            )));
        }
    }
    Ok(Some((above, pins)))
}

/// Checks that a folder of pins, if it is there, is in a BPF file system.
pub(crate) fn check(dir: &Path) -> Result<(), Error> {
    open_pins(dir).map(|_| ())
}

/// Removes a folder of pins, and with the last reference the pinned objects. Only files are removed, and only in a BPF file system.
pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    if let Some((above, pins)) = open_pins(dir)? {
        for pin in pins.names().map_err(distrust)? {
            pins.remove_file(&pin).map_err(distrust)?;
        }
        above.remove_subdir(dir.file_name().unwrap_or_default()).map_err(distrust)?;
    }
    // The folder above, if this was the last.
    if let Some(above) = dir.parent().filter(|p| open(p).is_ok_and(|d| d.is_some())) {
        let _ = fs::remove_dir(above);
    }
    if dir.starts_with(OWN) { unmount(Path::new(OWN)) } else { Ok(()) }
}

/// Numbers of the links that are pinned in the folder of an attachment.
pub(crate) fn links(folder: &Path) -> Vec<u32> {
    let pinned = ["link", "cgroup", "option"].map(|name| folder.join(name)).into_iter().filter(|p| p.exists());
    pinned.filter_map(|pin| libbpf_rs::Link::open(pin).and_then(|l| l.info()).map(|i| i.id).ok()).collect()
}

/// Removes one pin; a missing pin is no error.
pub(crate) fn remove_pin(pin: &Path) -> Result<(), Error> {
    match open(pin.parent().unwrap_or(Path::new("/")))? {
        Some(folder) => folder.remove_file(pin.file_name().unwrap_or_default()).map_err(distrust),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{remove, remove_pin};
    use forebay_platform::files::TempDir;
    use std::fs;

    #[test]
    fn folders_outside_bpffs_are_not_removed() {
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-pins").unwrap();
        let folder = place.path().join("forebay/fb_dctcp");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("link"), "precious").unwrap();
        for refused in [remove(&folder), remove_pin(&folder.join("link"))] {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("not in a BPF file system"), "{said}");
        }
        assert_eq!(fs::read_to_string(folder.join("link")).unwrap(), "precious");
        // A link to it in its place.
        std::os::unix::fs::symlink(&folder, place.path().join("forebay/link")).unwrap();
        assert!(remove(&place.path().join("forebay/link")).is_err() && folder.join("link").exists());
        remove(&place.path().join("missing/forebay/x")).unwrap();
    }
}
