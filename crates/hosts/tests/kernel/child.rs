//! This program again, as a process that can be killed: attaches in a namespace and says so.

use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::detach;
use forebay_hosts::privileges;
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, unshare};
use std::process::ExitCode;

/// The first argument of such a process.
pub(crate) const WORD: &str = "as-a-child";

/// Missing features: type information of the kernel; the right to change settings, so that the last step of an attachment fails.
pub(crate) const NO_BTF: &str = "no-btf";
pub(crate) const NO_SETTINGS: &str = "no-settings";

/// Makes this process one that lacks it, in a mount namespace of its own.
fn take_away(what: &str) {
    let mount = |source: &str, place: &str, kind: &str, flags: MsFlags| {
        nix::mount::mount(Some(source), place, Some(kind), flags, None::<&str>)
            .unwrap_or_else(|e| panic!("mounting {kind} at {place}: {e}"));
    };
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
    mount("none", "/", "none", MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    // Otherwise it would be refused for the mount namespace.
    mount("bpf", "/sys/fs/bpf", "bpf", MsFlags::empty());
    if what == NO_BTF {
        mount("tmpfs", "/sys/kernel/btf", "tmpfs", MsFlags::empty());
    } else {
        mount("/proc/sys", "/proc/sys", "none", MsFlags::MS_BIND);
        mount("none", "/proc/sys", "none", MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY);
    }
}

/// In place of a program: the attachment of that name is taken off.
pub(crate) const DETACH: &str = "detach";

/// `NAMESPACE PROGRAM NAME PREFIX|default [LACK]`
pub(crate) fn run(args: &[String]) -> ExitCode {
    let ([namespace, program, name, who], lack) = match args {
        [a, b, c, d] => ([a, b, c, d], None),
        [a, b, c, d, lack] => ([a, b, c, d], Some(lack.as_str())),
        _ => return ExitCode::from(2),
    };
    crate::lab::enter(namespace);
    let mut request = Request { program: program.clone(), name: Some(name.clone()), ..Request::default() };
    match who.parse() {
        Ok(prefix) => request.prefixes.push(prefix),
        Err(_) => request.default = true,
    }
    let done = match lack {
        _ if program == DETACH => privileges::keep_needed().and_then(|()| detach(name)).map(|_| ()),
        None => privileges::keep_needed().and_then(|()| attach(&request)).map(|_| ()),
        Some(what) => {
            request.live = true;
            take_away(what);
            attach(&request).map(|_| ())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
