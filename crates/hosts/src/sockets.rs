//! Sets the congestion control of sockets: of a cgroup's sockets when they are opened, and of open sockets (`crates/kernel/bpf/sockets`).

use crate::catalog::Program;
use crate::{Error, Prefix, catalog, cgroup, counters, libbpf_log, loader};
use libbpf_rs::{Iter, MapCore, MapFlags, Object, ObjectBuilder, OpenObject};
use std::fs;
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The helper program; not one that can be attached by itself.
const PROGRAM: Program = Program {
    name: "sockets",
    kind: catalog::Kind::Shim,
    summary: "gives sockets a congestion control",
    needs_ecn: false,
    params: &[],
    sides: &[],
    messages: false,
};

/// Sockets that a congestion control is for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target<'a> {
    /// The congestion control that they get.
    pub(crate) cc: &'a str,
    /// Only those that use this one now.
    pub(crate) only: Option<&'a str>,
    pub(crate) needs_ecn: bool,
    /// Only connections to these, unless there are none.
    pub(crate) prefixes: &'a [Prefix],
    /// Only processes of this cgroup.
    pub(crate) cgroup: Option<&'a Path>,
    /// Restore the congestion control from before a swap, if it is known.
    pub(crate) back: bool,
}

/// `struct config` of the program.
fn config(target: &Target<'_>) -> Result<[u8; 56], Error> {
    let cgroup = match target.cgroup {
        Some(path) => fs::metadata(path).map_err(|e| Error::io(path.display(), &e))?.ino(),
        None => 0,
    };
    let mut bytes = [0; 56];
    bytes[..8].copy_from_slice(&cgroup.to_ne_bytes());
    for (at, set) in [(8, target.needs_ecn), (12, !target.prefixes.is_empty()), (16, target.back)] {
        bytes[at..at + 4].copy_from_slice(&u32::from(set).to_ne_bytes());
    }
    for (at, name) in [(24, target.cc), (40, target.only.unwrap_or_default())] {
        let n = name.len().min(15);
        bytes[at..at + n].copy_from_slice(&name.as_bytes()[..n]);
    }
    Ok(bytes)
}

/// A key of the map of prefixes: IPv4 as in `::ffff:10.0.0.0`, 96 bits longer.
fn key(prefix: Prefix) -> [u8; 20] {
    let (address, length) = match prefix.address() {
        IpAddr::V4(a) => (a.to_ipv6_mapped(), u32::from(prefix.length()) + 96),
        IpAddr::V6(a) => (a, u32::from(prefix.length())),
    };
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..].copy_from_slice(&address.octets());
    bytes
}

fn failed(e: libbpf_rs::Error) -> Error {
    Error::bpf("giving sockets a congestion control", &e)
}

fn open(wanted: &str) -> Result<OpenObject, Error> {
    libbpf_log::clear_and_capture();
    let mut open = ObjectBuilder::default().open_memory(PROGRAM.object()?).map_err(failed)?;
    for mut p in open.progs_mut() {
        let load = p.name() == wanted;
        p.set_autoload(load);
    }
    Ok(open)
}

fn configure(object: &Object, target: &Target<'_>) -> Result<(), Error> {
    for map in object.maps() {
        match map.name().to_str() {
            Some("config") => map.update(&0u32.to_ne_bytes(), &config(target)?, MapFlags::ANY).map_err(failed)?,
            Some("prefixes") => {
                for prefix in target.prefixes {
                    map.update(&key(*prefix), &1u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Gives the congestion control to connections that processes of the cgroup open or accept from now on; the link is pinned.
pub(crate) fn choose(target: &Target<'_>, cgroup: &Path, pin: &Path) -> Result<(), Error> {
    let object = open("choose")?.load().map_err(|e| loader::refused(&PROGRAM, &e))?;
    configure(&object, target)?;
    let program = object.progs_mut().next().ok_or_else(|| Error::new("the object `sockets` has no program"))?;
    cgroup::attach(&program, cgroup, pin)
}

/// Counts of a swap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Swapped {
    pub(crate) sockets: u64,
    pub(crate) refused: u64,
}

/// Gives the congestion control to open sockets of this network namespace. The map at `memory` stores the previous congestion control of each.
pub(crate) fn swap(target: &Target<'_>, memory: &Path) -> Result<Swapped, Error> {
    let mut open = open("swap")?;
    let known = memory.exists();
    if known {
        let mut map = open
            .maps_mut()
            .find(|m| m.name() == "earlier")
            .ok_or_else(|| Error::new("the object `sockets` has no map `earlier`"))?;
        map.reuse_pinned_map(memory).map_err(failed)?;
    }
    let mut object = open.load().map_err(|e| loader::refused(&PROGRAM, &e))?;
    if !known {
        let map = object.maps_mut().find(|m| m.name() == "earlier");
        map.ok_or_else(|| Error::new("the object `sockets` has no map `earlier`"))?
            .pin(memory)
            .map_err(|e| Error::bpf(memory.display(), &e))?;
    }
    configure(&object, target)?;
    let link = object
        .progs_mut()
        .find(|p| p.name() == "swap")
        .ok_or_else(|| Error::new("the object `sockets` has no program `swap`"))?
        .attach()
        .map_err(failed)?;
    // Reading the iterator to its end is what runs the program for every socket.
    let mut iterator = Iter::new(&link).map_err(failed)?;
    io::copy(&mut iterator.by_ref(), &mut io::sink()).map_err(|e| Error::io("walking through the sockets", &e))?;
    let map =
        object.maps().find(|m| m.name() == "counters").ok_or_else(|| Error::new("the object `sockets` has no map `counters`"))?;
    let counted = counters::counters(&PROGRAM, &map)?;
    let count = |name: &str| counted.iter().find(|(n, _)| n == name).map_or(0, |(_, v)| *v);
    Ok(Swapped { sockets: count("sockets_swapped"), refused: count("sockets_refused") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_and_ipv6_keys_share_map() {
        let four = key("10.1.0.0/16".parse().unwrap());
        assert_eq!(four[..4], 112u32.to_ne_bytes());
        assert_eq!(four[14..], [0xff, 0xff, 10, 1, 0, 0]);
        let six = key("fd00::/8".parse().unwrap());
        assert_eq!((six[..4].to_vec(), six[4]), (8u32.to_ne_bytes().to_vec(), 0xfd));
    }
}
