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

/// Capabilities with which a recording sees connections close.
const RECORD: [Capability; 2] = [Capability::CAP_BPF, Capability::CAP_PERFMON];

fn permitted() -> Result<CapsHashSet, Error> {
    caps::read(None, CapSet::Permitted).map_err(|e| Error::new(format!("reading capabilities: {e}")))
}

fn lacking(needed: &[Capability]) -> Result<Vec<String>, Error> {
    let has = permitted()?;
    Ok(needed.iter().filter(|c| !has.contains(c)).map(ToString::to_string).collect())
}

/// Capabilities for attaching and detaching that the process lacks.
pub(crate) fn missing() -> Result<Vec<String>, Error> {
    lacking(&NEEDED)
}

/// Capabilities for observing closing connections that the process lacks.
pub(crate) fn missing_for_record() -> Result<Vec<String>, Error> {
    lacking(&RECORD)
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
    check()?;
    keep(&NEEDED.into_iter().collect())
}

/// As [`keep_needed`], for a recording. A process that lacks some of its capabilities keeps the others.
pub fn keep_for_record() -> Result<(), Error> {
    let has = permitted()?;
    keep(&RECORD.into_iter().filter(|c| has.contains(c)).collect())
}

fn keep(needed: &CapsHashSet) -> Result<(), Error> {
    let refused = |e: caps::errors::CapsError| Error::new(format!("dropping capabilities: {e}"));
    // The bounding set cannot be reduced without CAP_SETPCAP; it only limits programs that are started, and none is.
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        let to = if matches!(set, CapSet::Effective | CapSet::Permitted) { needed.clone() } else { CapsHashSet::new() };
        caps::set(None, set, &to).map_err(refused)?;
    }
    Ok(())
}
