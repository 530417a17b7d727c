//! Capabilities: a process that changes the kernel keeps those that it needs and drops all others (SECURITY.md).

use crate::Error;
use caps::{CapSet, Capability, CapsHashSet};

/// Capabilities that attaching and detaching need.
const NEEDED: [Capability; 5] = [
    Capability::CAP_BPF,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_SYS_PTRACE,
];

/// Capabilities that the process lacks.
pub(crate) fn missing() -> Result<Vec<String>, Error> {
    let has = caps::read(None, CapSet::Permitted).map_err(|e| Error::new(format!("reading capabilities: {e}")))?;
    Ok(NEEDED.iter().filter(|c| !has.contains(c)).map(ToString::to_string).collect())
}

/// Checks that the process has all of them. The error names the missing ones.
pub fn check() -> Result<(), Error> {
    let missing = missing()?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!("this needs the capabilities {}", missing.join(", ")))
        .fix("run it as root, or give the program these"))
}

/// Drops every capability but those, for the calling thread and what it starts; dropped ones do not come back.
pub fn keep_needed() -> Result<(), Error> {
    let refused = |e: caps::errors::CapsError| Error::new(format!("dropping capabilities: {e}"));
    check()?;
    let keep: CapsHashSet = NEEDED.into_iter().collect();
    // The bounding set cannot be reduced without CAP_SETPCAP; it only limits programs that are started, and none is.
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        let to = if matches!(set, CapSet::Effective | CapSet::Permitted) { keep.clone() } else { CapsHashSet::new() };
        caps::set(None, set, &to).map_err(refused)?;
    }
    Ok(())
}
