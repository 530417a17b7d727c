//! Loads the object of a program, and creates its links and maps in the kernel.

use crate::catalog::{Kind, Program};
use crate::counters::set_params;
use crate::tc::Filter;
use crate::{Error, Prefix, cgroup, libbpf_log, pins};
use libbpf_rs::{MapCore, MapFlags, MapMut, Object, ObjectBuilder};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;

/// The congestion controls that are registered in the kernel.
pub(crate) fn registered() -> Result<Vec<String>, Error> {
    crate::sysctl::get("net.ipv4.tcp_available_congestion_control").map(|t| t.split_whitespace().map(str::to_owned).collect())
}

/// Loads a program under a name, with parameters; nothing of it outlives the value.
pub(crate) fn load(program: &Program, name: &str, open_to_all: bool, params: &[(&str, u64)]) -> Result<Object, Error> {
    load_object(program, program.object()?, name, open_to_all, params)
}

fn load_object(program: &Program, bytes: &[u8], name: &str, open_to_all: bool, params: &[(&str, u64)]) -> Result<Object, Error> {
    libbpf_log::clear_and_capture();
    let failed = |e: libbpf_rs::Error| refused(program, &e);
    let mut open = ObjectBuilder::default().open_memory(bytes).map_err(failed)?;
    if program.kind == Kind::CongestionControl {
        let mut cc = open
            .maps_mut()
            .find(|m| m.name() == "cc")
            .ok_or_else(|| Error::new(format!("`{}` has no map `cc`", program.name)))?;
        rename(cc.initial_value_mut().unwrap_or_default(), program, name, open_to_all)?;
    }
    let object = open.load().map_err(failed)?;
    if !params.is_empty() || !program.params.is_empty() {
        let all: Vec<(&str, u64)> = program.params.iter().map(|p| (p.name, p.default)).chain(params.iter().copied()).collect();
        let map = object
            .maps()
            .find(|m| m.name() == "params")
            .ok_or_else(|| Error::new(format!("`{}` has no map `params`", program.name)))?;
        set_params(program, &map, &all)?;
    }
    Ok(object)
}

/// Longest name of a congestion control (TCP_CA_NAME_MAX less the zero at its end).
pub(crate) const NAME_MAX: usize = 15;

/// Returns true if an attachment may have this name, which is also used for files.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(plain)
}

/// Returns true if a congestion control of the kernel may have this name.
pub(crate) fn may_be_cc(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic() && c != '/')
}

/// The flag of a congestion control that processes without privileges may choose, and without which it cannot be the default.
const NON_RESTRICTED: u32 = 1;

/// Puts the name, and the flag, into `struct tcp_congestion_ops` as the program was compiled with it: the flags come behind the name.
fn rename(value: &mut [u8], program: &Program, name: &str, open_to_all: bool) -> Result<(), Error> {
    let old = format!("fb_{}", program.name);
    let at = value.windows(old.len()).position(|w| w == old.as_bytes()).filter(|at| at + 20 <= value.len());
    let at = at.ok_or_else(|| Error::new(format!("`{}` is not called {old} in its object", program.name)))?;
    value[at..at + 16].fill(0);
    value[at..at + name.len()].copy_from_slice(name.as_bytes());
    if open_to_all {
        let flags = &mut value[at + 16..at + 20];
        let set = u32::from_ne_bytes([flags[0], flags[1], flags[2], flags[3]]) | NON_RESTRICTED;
        flags.copy_from_slice(&set.to_ne_bytes());
    }
    Ok(())
}

/// Reason for the refusal of a program by the kernel: the last lines of the verifier or libbpf.
pub(crate) fn refused(program: &Program, e: &libbpf_rs::Error) -> Error {
    let said = libbpf_log::text();
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Error::new(format!(
            "`{}` cannot be loaded: the kernel has no type information (/sys/kernel/btf/vmlinux)",
            program.name
        ))
        .fix("boot a kernel that was built with CONFIG_DEBUG_INFO_BTF=y");
    }
    let release = crate::sysctl::get("kernel.osrelease").unwrap_or_default();
    if program.kind == Kind::CongestionControl && !crate::doctor::takes_congestion_controls(&release) {
        return Error::bpf(format!("Linux {release} cannot pin the congestion control `{}`", program.name), e)
            .fix("boot Linux 6.4 or newer; shims work on this one");
    }
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(6)..].join("\n    ");
    Error::bpf(format!("the kernel did not take `{}`", program.name), e)
        .fix(format!("`forebay doctor` lists missing features; last message of the kernel:\n    {last}"))
}

/// Pins the maps that are read while the program runs.
pub(crate) fn pin_maps(object: &mut Object, folder: &Path) -> Result<(), Error> {
    pins::create(folder)?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        // Not `cc` itself, and not the sections of variables (.rodata, .bss).
        if name != "cc" && !name.contains('.') {
            let path = folder.join(&name);
            map.pin(&path).map_err(|e| Error::bpf(path.display(), &e))?;
        }
    }
    Ok(())
}

/// Tells a shim with whom its connections are.
pub(crate) fn set_prefixes(object: &Object, prefixes: &[Prefix]) -> Result<(), Error> {
    let failed = |e: libbpf_rs::Error| Error::bpf("prefixes of a shim", &e);
    let map = object.maps().find(|m| m.name() == "prefixes").ok_or_else(|| Error::new("the object has no map `prefixes`"))?;
    for prefix in prefixes {
        let IpAddr::V4(address) = prefix.address() else {
            return Err(
                Error::new(format!("shims process IPv4 only, and {prefix} is not an IPv4 prefix")).fix("name an IPv4 prefix")
            );
        };
        // struct prefix_key of packet.h.
        let mut key = [0; 8];
        key[..4].copy_from_slice(&u32::from(prefix.length()).to_ne_bytes());
        key[4..].copy_from_slice(&address.octets());
        map.update(&key, &1u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
    }
    Ok(())
}

/// Attaches the program of one side of an interface.
pub(crate) fn attach_filter(object: &Object, filter: &Filter) -> Result<(), Error> {
    let side = if filter.egress { "egress" } else { "ingress" };
    let program =
        object.progs_mut().find(|p| p.name() == side).ok_or_else(|| Error::new(format!("the object has no program `{side}`")))?;
    filter.attach(program.as_fd())
}

/// Attaches the program that takes announcements of messages to a cgroup, and pins the link.
pub(crate) fn take_option(object: &Object, cgroup: &Path, pin: &Path) -> Result<(), Error> {
    let program =
        object.progs_mut().find(|p| p.name() == "option").ok_or_else(|| Error::new("the object has no program `option`"))?;
    cgroup::attach(&program, cgroup, pin)
}

/// Registers the congestion control and pins the link, which from then on is what keeps it.
pub(crate) fn register(object: &mut Object, name: &str, folder: &Path) -> Result<(), Error> {
    let mut cc: MapMut<'_> =
        object.maps_mut().find(|m| m.name() == "cc").ok_or_else(|| Error::new(format!("{name}: the object has no map `cc`")))?;
    let mut link = cc.attach_struct_ops().map_err(|e| match e.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => taken(name),
        _ => Error::bpf(format!("registering {name}"), &e),
    })?;
    let path = folder.join("link");
    link.pin(&path).map_err(|e| Error::bpf(path.display(), &e))
}

/// A congestion control of that name exists.
pub(crate) fn taken(name: &str) -> Error {
    Error::new(format!("a congestion control called {name} is registered in this kernel already"))
        .fix("choose another name with --name, or detach the other one (`forebay status`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verifier's own words are in the message; needs root, as loading does.
    #[test]
    fn verifier_log_is_in_the_error() {
        if !nix::unistd::geteuid().is_root() || !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return forebay_platform::doctor::requirements::skip("bpf", "loading needs root and type information of the kernel");
        }
        let bytes = include_bytes!(env!("FOREBAY_TEST_REFUSED"));
        let shim = Program::named("pias").unwrap();
        let said = load_object(shim, bytes, "fbt_bad", false, &[]).unwrap_err().to_string();
        for words in
            ["the kernel did not take `pias`", "forebay doctor", "last message of the kernel", "invalid access to packet"]
        {
            assert!(said.contains(words), "`{words}` is not in: {said}");
        }
    }
}
