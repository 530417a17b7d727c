//! Check that a guest can run on this machine: it traces its own children and maps its memory from a file.

use super::tools::{compile, compiler, temp_dir};
use forebay_platform::doctor::Finding;
use std::env;
use std::process::Command;

/// Program that makes the first system calls of a guest. Its exit code identifies the one that was refused.
const PROBE: &str = include_str!("probe.c");

/// User-mode Linux is for x86 alone.
pub(super) fn processor() -> Finding {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Finding::Works("x86-64".into())
    } else {
        Finding::fails(
            format!("{} on {}", env::consts::OS, env::consts::ARCH),
            "run it on Linux on x86-64: Linux runs as an ordinary program there only",
        )
    }
}

/// Compiles the probe and runs it.
pub(super) fn guests() -> Finding {
    let place = env::temp_dir();
    let Some(gcc) = compiler() else { return Finding::Unknown("this needs gcc".into()) };
    let Ok(folder) = temp_dir() else {
        return Finding::fails(format!("{} cannot be written", place.display()), "set TMPDIR to a folder that can");
    };
    let program = match compile(&gcc, folder.path(), PROBE) {
        Ok(program) => program,
        Err(_) => return Finding::Unknown("this needs a compiler that works".into()),
    };
    match Command::new(&program).arg(folder.path()).output().map(|out| out.status.code()) {
        Ok(Some(0)) => Finding::Works(format!("may trace their processes, and map memory from {}", place.display())),
        Ok(Some(2)) | Err(_) => Finding::fails(
            format!("programs and memory may not be mapped from {} (mounted noexec?)", place.display()),
            "set TMPDIR to a folder without that limit, such as /dev/shm",
        ),
        Ok(_) => Finding::fails(
            "a process may not trace its own children (ptrace)",
            "in a container: run it with --cap-add=SYS_PTRACE or a seccomp profile that allows ptrace; otherwise: sysctl kernel.yama.ptrace_scope=1",
        ),
    }
}
