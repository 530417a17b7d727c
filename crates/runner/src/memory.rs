//! Memory of this process and its limit: the smallest of the free memory of the machine, the limit of the control group, and the process's own
//! limits.

use std::fs;
use std::path::{Path, PathBuf};

/// Memory limit of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// Origin of the limit, as the end of a sentence: `this machine has free`.
    pub by: &'static str,
    /// True if mapped memory counts, used or not.
    pub mapped: bool,
}

/// The smallest of the free memory of the machine, the limit of the control group, and the limit on mapped memory (`ulimit -v`). `None` if unknown.
pub fn limit() -> Option<Limit> {
    let free = field("/proc/meminfo", "MemAvailable:").map(|bytes| Limit {
        bytes: bytes + resident(),
        by: "this machine has free",
        mapped: false,
    });
    let group = groups().into_iter().filter_map(|folder| {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        read("memory.max").or_else(|| read("memory.limit_in_bytes"))
    });
    let group = group.min().map(|bytes| Limit { bytes, by: "the control group allows", mapped: false });
    let own = address_space().map(|bytes| Limit { bytes, by: "the limit on address space (ulimit -v) allows", mapped: true });
    [free, group, own].into_iter().flatten().min_by_key(|l| l.bytes)
}

/// Resident memory of this process, bytes; 0 if unknown.
pub fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// Memory that counts against a limit now.
pub fn used(limit: Limit) -> u64 {
    if limit.mapped { field("/proc/self/status", "VmSize:").unwrap_or(0) } else { resident() }
}

/// The file system that `path` is on, or will be, if it keeps files in memory: `tmpfs` or `ramfs`.
pub fn file_system_in_memory(path: &Path) -> Option<&'static str> {
    let there =
        path.ancestors().find_map(|p| fs::canonicalize(if p.as_os_str().is_empty() { Path::new(".") } else { p }).ok())?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_of_mount(&mounts, &there)
}

/// The kind of the file system that contains `path`, if it is in memory. A later line hides earlier ones at the same mount point.
fn kind_of_mount(mountinfo: &str, path: &Path) -> Option<&'static str> {
    let mut best = (0, "");
    for line in mountinfo.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (before.split(' ').nth(4), after.split(' ').next()) else { continue };
        // Spaces, tabs, line ends and backslashes are octal numbers (proc_pid_mountinfo(5)).
        let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
        let depth = Path::new(&point).components().count();
        if path.starts_with(&point) && depth >= best.0 {
            best = (depth, kind);
        }
    }
    ["tmpfs", "ramfs"].into_iter().find(|kind| *kind == best.1)
}

/// Bytes of the files under `folder` that this process has open, including files that were unlinked.
#[cfg(unix)]
pub fn held_by_files(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let inside = open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(folder)));
    // A directory that is open for its lock has a negligible size.
    inside.filter_map(|fd| fs::metadata(fd.path()).ok()).map(|m| m.blocks() * 512).sum()
}

/// Bytes of the files under `folder` that this process has open: not available on this system.
#[cfg(not(unix))]
pub fn held_by_files(_folder: &Path) -> u64 {
    0
}

/// Peak resident memory of this process, bytes; 0 if unknown.
pub(crate) fn peak() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// A field in kB of a file in the format of /proc/meminfo.
fn field(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// `ulimit -v`, unless it is unlimited.
fn address_space() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The directories of the control groups of this process and of their parents.
fn groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            c if c.split(',').any(|c| c == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        all.extend(path.ancestors().map(|p| Path::new(root).join(p)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_are_recognised() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:2 / /tmp rw shared:1 - tmpfs tmpfs rw\n\
                      3 2 8:2 / /tmp/disk rw - xfs /dev/sdb rw\n4 1 0:3 / /ram\\040disk rw - ramfs none rw\n\
                      5 1 0:4 / /over rw - tmpfs a rw\n6 1 8:3 / /over rw - ext4 b rw\n";
        let kind = |path: &str| kind_of_mount(mounts, Path::new(path));
        assert_eq!((kind("/home/x"), kind("/tmp/x/y"), kind("/tmp/disk/x")), (None, Some("tmpfs"), None));
        assert_eq!((kind("/ram disk/x"), kind("/tmpx"), kind("/over/x")), (Some("ramfs"), None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_count_without_their_names() {
        let folder = std::env::temp_dir().join(format!("forebay-held-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("file");
        let file = fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut &file, &[1; 100_000]).unwrap();
        fs::remove_file(&path).unwrap();
        let held = held_by_files(&fs::canonicalize(&folder).unwrap());
        drop(file);
        fs::remove_dir(&folder).unwrap();
        assert!((100_000..200_000).contains(&held), "{held}");
    }

    #[test]
    fn this_process_fits_into_its_limit() {
        if !Path::new("/proc/meminfo").exists() {
            return;
        }
        let limit = limit().expect("a limit");
        assert!(resident() > 0 && resident() <= peak() && used(limit) < limit.bytes, "{limit:?}");
    }
}
