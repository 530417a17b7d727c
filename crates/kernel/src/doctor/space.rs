//! Space for kernels and guests.

use crate::cache::Cache;
use forebay_platform::doctor::Finding;
use std::fs;
use std::path::Path;

/// Sources, objects and the program: 262 MB for 6.12, and as much again to be safe with others.
const BUILD_BYTES: u64 = 500_000_000;
/// The largest compiler process, and a guest with its default memory.
const MEMORY_BYTES: u64 = 512_000_000;

pub(super) fn disk() -> Finding {
    let Ok(cache) = Cache::of_user() else { return Finding::Unknown("neither XDG_CACHE_HOME nor HOME names a folder".into()) };
    let place = cache.kernels();
    // The nearest folder that exists already.
    let there = place.ancestors().find(|p| p.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(there) {
        Ok(s) => enough(s.f_bavail.saturating_mul(s.f_frsize), BUILD_BYTES, &format!("for {}", place.display()))
            .unwrap_or_else(|wrong| Finding::fails(wrong, "make space there, or set XDG_CACHE_HOME to a folder elsewhere")),
        Err(e) => Finding::Unknown(format!("{}: {e}", there.display())),
    }
}

pub(super) fn memory() -> Finding {
    let Ok(text) = fs::read_to_string("/proc/meminfo") else { return Finding::Unknown("/proc/meminfo cannot be read".into()) };
    match available(&text) {
        Some(bytes) => enough(bytes, MEMORY_BYTES, "available")
            .unwrap_or_else(|wrong| Finding::fails(wrong, "end other programs, and build with --jobs 1")),
        None => Finding::Unknown("/proc/meminfo does not say what is available".into()),
    }
}

/// The line `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The amount, or the shortage.
fn enough(bytes: u64, needed: u64, what: &str) -> Result<Finding, String> {
    let said = format!("{} MB {what}", bytes / 1_000_000);
    if bytes >= needed { Ok(Finding::Works(said)) } else { Err(format!("{said}; {} MB are needed", needed / 1_000_000)) }
}

#[cfg(test)]
mod tests {
    use super::{available, enough};
    use forebay_platform::doctor::Finding;

    #[test]
    fn memory_and_space_are_in_bytes() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   18264 kB\n"), Some(18_702_336));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert_eq!(enough(600_000_000, 500_000_000, "free"), Ok(Finding::Works("600 MB free".into())));
        assert_eq!(enough(400_000_000, 500_000_000, "free").unwrap_err(), "400 MB free; 500 MB are needed");
    }
}
