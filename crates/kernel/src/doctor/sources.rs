//! Check for kernel sources.

use crate::cache::Cache;
use crate::choose;
use crate::source::Source;
use forebay_platform::doctor::{Finding, Package};

pub(super) fn sources() -> Finding {
    match Source::find(None) {
        Ok(source) => Finding::Works(source.path().display().to_string()),
        // Fedora has no such package: an archive of kernel.org does.
        Err(_) if cfg!(target_os = "linux") && std::path::Path::new("/etc/debian_version").exists() => {
            Finding::missing("no sources of Linux in /usr/src", Package { debian: "linux-source-6.12", fedora: "" })
        }
        Err(e) => Finding::fails("no sources of Linux in /usr/src", e.to_string()),
    }
}

pub(super) fn kernel() -> Finding {
    let cache = match Cache::of_user() {
        Ok(cache) => cache,
        Err(e) => return Finding::fails(e.to_string(), "set XDG_CACHE_HOME to a folder"),
    };
    match choose::kernel(&cache, None) {
        Ok(kernel) => Finding::Works(format!("Linux {}, {}", kernel.version(), kernel.program().display())),
        Err(_) if cache.list().is_empty() => Finding::fails("none has been built", "forebay kernel build"),
        Err(_) => Finding::fails("those that are there were built by another version of forebay", "forebay kernel build"),
    }
}
