//! This program again, as a process that can be killed: attaches in a namespace and says so.

use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::detach;
use forebay_hosts::privileges;
use std::ffi::CStr;
use std::process::ExitCode;

/// The first argument of such a process.
pub(crate) const WORD: &str = "as-a-child";

/// Missing features: type information of the kernel; the right to change settings, so that the last step of an attachment fails.
pub(crate) const NO_BTF: &str = "no-btf";
pub(crate) const NO_SETTINGS: &str = "no-settings";

/// Makes this process one that lacks it, in a mount namespace of its own.
fn take_away(what: &str) {
    let mount = |source: &CStr, place: &CStr, kind: &CStr, flags| {
        // SAFETY: the strings end in zero and live through the call.
        let done = unsafe { libc::mount(source.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) };
        assert_eq!(done, 0, "mounting {kind:?} at {place:?}: {}", std::io::Error::last_os_error());
    };
    // SAFETY: a plain system call; it changes this process only.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    assert_eq!(done, 0, "a mount namespace: {}", std::io::Error::last_os_error());
    mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE);
    // Otherwise it would be refused for the mount namespace.
    mount(c"bpf", c"/sys/fs/bpf", c"bpf", 0);
    if what == NO_BTF {
        mount(c"tmpfs", c"/sys/kernel/btf", c"tmpfs", 0);
    } else {
        mount(c"/proc/sys", c"/proc/sys", c"none", libc::MS_BIND);
        mount(c"none", c"/proc/sys", c"none", libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY);
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
