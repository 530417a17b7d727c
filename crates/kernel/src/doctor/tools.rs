//! Programs that a build of a kernel calls.

use forebay_platform::doctor::{Finding, Package};
use forebay_platform::files::TempDir;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GCC: Package = Package { debian: "gcc", fedora: "gcc" };

const fn same(name: &'static str) -> Package {
    Package { debian: name, fedora: name }
}

/// Where a program is, as a shell finds it.
fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|p| p.is_file())
}

/// Finds `program` and reads its version.
fn tool(program: &str, package: Package) -> Finding {
    let Some(path) = which(program) else {
        return Finding::missing(format!("{program} is not there"), package);
    };
    let out = Command::new(&path).arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output();
    match out {
        Ok(out) if out.status.success() => {
            let said = String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").trim().to_owned();
            Finding::Works(if said.is_empty() { path.display().to_string() } else { said })
        }
        Ok(out) => Finding::missing(format!("{} --version: {}", path.display(), out.status), package),
        Err(e) => Finding::missing(format!("{}: {e}", path.display()), package),
    }
}

pub(super) fn gcc() -> Finding {
    tool("gcc", GCC)
}

pub(super) fn binutils() -> Finding {
    tool("ld", same("binutils"))
}

pub(super) fn make() -> Finding {
    tool("make", same("make"))
}

pub(super) fn flex() -> Finding {
    tool("flex", same("flex"))
}

pub(super) fn bison() -> Finding {
    tool("bison", same("bison"))
}

pub(super) fn bc() -> Finding {
    tool("bc", same("bc"))
}

pub(super) fn xz() -> Finding {
    tool("xz", Package { debian: "xz-utils", fedora: "xz" })
}

/// A guest is one file that needs no library: the C library must be there to be linked into it.
pub(super) fn libc() -> Finding {
    let Some(gcc) = which("gcc") else { return Finding::Unknown("this needs gcc".into()) };
    let Ok(folder) = temp_dir() else { return Finding::Unknown("cannot create a temporary folder for the check".into()) };
    let program = "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n";
    match compile(&gcc, folder.path(), program) {
        Ok(_) => Finding::Works("headers and static library".into()),
        Err(said) => {
            let said =
                said.lines().find(|l| l.contains("error") || l.contains("cannot find")).unwrap_or("gcc -static fails").to_owned();
            Finding::missing(said, Package { debian: "libc6-dev", fedora: "glibc-devel glibc-static" })
        }
    }
}

/// A temporary directory for test programs.
pub(super) fn temp_dir() -> std::io::Result<TempDir> {
    TempDir::create(&env::temp_dir(), "forebay-doctor")
}

/// Compiles a program of one file to `folder/probe`, or returns the output of the compiler.
pub(super) fn compile(gcc: &Path, folder: &Path, text: &str) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    fs::write(&source, text).map_err(|e| e.to_string())?;
    let out = Command::new(gcc).env("LC_ALL", "C").args(["-static", "-O1", "-o"]).arg(&program).arg(&source).output();
    let out = out.map_err(|e| e.to_string())?;
    if out.status.success() { Ok(program) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

/// Path of gcc.
pub(super) fn compiler() -> Option<PathBuf> {
    which("gcc")
}

#[cfg(test)]
mod tests {
    use super::{same, tool};
    use forebay_platform::doctor::Finding;

    #[test]
    fn missing_program_names_its_package() {
        let found = tool("no-such-program", same("no-such-package"));
        let Finding::Fails { wrong, fix } = found else { panic!("{found:?}") };
        assert!(wrong.contains("no-such-program") && fix.text().contains("no-such-package"));
        assert!(matches!(tool("ls", same("coreutils")), Finding::Works(said) if said.contains("ls")));
    }
}
