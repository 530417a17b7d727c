//! How much memory this process has, and how much it may have: of the machine, of its control group and of its own limits the least.

use std::fs;
use std::path::{Path, PathBuf};

/// What a process may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// What sets it, in words that go behind "as": `this machine has free`.
    pub by: &'static str,
    /// Whether what is mapped counts, used or not.
    pub mapped: bool,
}

/// The least of what the machine has free, what the control group allows, and what the process may map (`ulimit -v`). `None` where the
/// system does not say.
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

/// Memory that this process occupies now, bytes; 0 where the system does not say.
pub fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// Memory that counts against a limit now.
pub fn used(limit: Limit) -> u64 {
    if limit.mapped { field("/proc/self/status", "VmSize:").unwrap_or(0) } else { resident() }
}

/// Most memory that this process has occupied, bytes; 0 where the system does not say.
pub(crate) fn peak() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// A field in kB of a file in the manner of /proc/meminfo.
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

/// The folders of the control groups that this process is in, and of those around them.
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
    fn this_process_fits_into_its_limit() {
        if !Path::new("/proc/meminfo").exists() {
            return;
        }
        let limit = limit().expect("a limit");
        assert!(resident() > 0 && resident() <= peak() && used(limit) < limit.bytes, "{limit:?}");
    }
}
