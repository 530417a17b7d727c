//! Links and congestion controls that the kernel still has after an attachment was undone. Removing a pin ends a link only if it has no other
//! reference: a pin that was moved or an open descriptor keeps it. Such links are found by number and detached without a pin.

use crate::{Error, loader};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, ProgInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time that the kernel has to free a link after its last pin was removed, which it does asynchronously.
const FREEING: Duration = Duration::from_secs(3);
/// Name of the map of every congestion control in `crates/kernel/bpf`.
const MAP: &str = "cc";
/// Names of the programs that are attached to cgroups.
const AT_CGROUPS: [&str; 2] = ["choose", "option"];

/// Waits until the links are freed and the congestion control of this name is unregistered; detaches remaining links by number, or by name if no
/// number is known. Returns messages for the user, a line each.
pub(crate) fn end(cc: Option<&str>, links: &[u32]) -> Result<Vec<String>, Error> {
    let listed =
        || -> Result<bool, Error> { cc.map_or(Ok(false), |cc| loader::registered().map(|names| names.iter().any(|n| n == cc))) };
    let held = || links.iter().any(|l| open(*l).is_some_and(|fd| is_ours(&fd)));
    // The kernel frees the number of a link before it unregisters the congestion control.
    if !wait_while(&|| Ok(held() || listed()?))? {
        return Ok(Vec::new());
    }
    let mut notes = Vec::new();
    let named = if links.is_empty() { cc.map(of_cc).unwrap_or_default() } else { Vec::new() };
    for number in named.iter().chain(links) {
        let Some(fd) = open(*number).filter(is_ours) else { continue };
        // SAFETY: a plain system call on an open descriptor.
        let done = unsafe { libbpf_sys::bpf_link_detach(fd.as_raw_fd()) };
        if done == 0 {
            notes.push(format!(
                "detached BPF link {number}, which was still referenced after its pin was removed (was the pin moved?)"
            ));
        }
    }
    let left =
        || Ok(held() || (listed()? && cc.is_some_and(|cc| of_cc(cc).iter().any(|l| links.is_empty() || links.contains(l)))));
    if wait_while(&left)? {
        let numbers: Vec<String> = named.iter().chain(links).map(u32::to_string).collect();
        return Err(Error::new(format!(
            "{} cannot be detached: BPF link {} is still referenced, and this kernel cannot detach it by number",
            cc.unwrap_or("an attachment"),
            numbers.join(", ")
        ))
        .fix(
            "remove the pin or end the process that holds the link (`bpftool link show` lists both), then run `forebay detach` again",
        ));
    }
    if let Some(cc) = cc.filter(|_| listed().unwrap_or(false)) {
        notes.push(format!("a congestion control called {cc} is still registered, but not by this attachment"));
    }
    Ok(notes)
}

/// Congestion controls of forebay that are registered and not among these names, with their links. Empty without the privileges to list them.
pub(crate) fn others(known: &[&str]) -> Vec<(String, u32)> {
    let names = loader::registered().unwrap_or_default();
    let mut found = Vec::new();
    for (link, value) in congestion_controls() {
        let name = names.iter().find(|n| has_name(&value, n));
        found.extend(name.filter(|n| !known.contains(&n.as_str())).map(|n| (n.clone(), link)));
    }
    found.sort();
    found.dedup();
    found
}

/// Waits while `left` is true; returns its last value.
fn wait_while(left: &dyn Fn() -> Result<bool, Error>) -> Result<bool, Error> {
    let begin = Instant::now();
    loop {
        if !left()? {
            return Ok(false);
        }
        if begin.elapsed() > FREEING {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The links of congestion controls of forebay, with the `struct_ops` value of each.
fn congestion_controls() -> Vec<(u32, Vec<u8>)> {
    let value = |map_id: u32| {
        let map = MapHandle::from_map_id(map_id).ok().filter(|m| m.name() == MAP)?;
        map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten()
    };
    let links = LinkInfoIter::default().filter_map(|l| match l.info {
        LinkTypeInfo::StructOps(s) => value(s.map_id).map(|v| (l.id, v)),
        _ => None,
    });
    links.collect()
}

fn of_cc(cc: &str) -> Vec<u32> {
    congestion_controls().into_iter().filter(|(_, value)| has_name(value, cc)).map(|(link, _)| link).collect()
}

/// Returns true if a `struct tcp_congestion_ops` has this name: 16 bytes, padded with zeros.
fn has_name(value: &[u8], name: &str) -> bool {
    let mut bytes = [0; loader::NAME_MAX + 1];
    let Some(part) = bytes.get_mut(..name.len()).filter(|_| name.len() <= loader::NAME_MAX) else { return false };
    part.copy_from_slice(name.as_bytes());
    value.windows(bytes.len()).any(|w| w == bytes)
}

/// A descriptor of the link of that number.
fn open(number: u32) -> Option<OwnedFd> {
    // SAFETY: a plain system call; the descriptor is new and belongs to the caller.
    unsafe {
        let fd = libbpf_sys::bpf_link_get_fd_by_id(number);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Returns true if `attach` created the link. The kernel reuses numbers after a restart of the machine.
fn is_ours(fd: &OwnedFd) -> bool {
    let Ok(link) = libbpf_rs::query::LinkInfo::from_fd(fd.as_fd()) else { return false };
    match link.info {
        LinkTypeInfo::StructOps(s) => MapHandle::from_map_id(s.map_id).is_ok_and(|m| m.name() == MAP),
        LinkTypeInfo::Cgroup(c) if c.cgroup_id != 0 => {
            ProgInfoIter::default().any(|p| p.id == link.prog_id && p.name.to_str().is_ok_and(|n| AT_CGROUPS.contains(&n)))
        }
        // A link that was detached and is still held.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::has_name;

    #[test]
    fn names_match_as_a_whole() {
        let mut value = vec![1; 40];
        value[8..24].copy_from_slice(b"fb_dctcp\0\0\0\0\0\0\0\0");
        assert!(has_name(&value, "fb_dctcp"));
        for other in ["fb_dctc", "fb_dctcp2", "dctcp_and_much_more_than_fits"] {
            assert!(!has_name(&value, other), "{other}");
        }
    }
}
