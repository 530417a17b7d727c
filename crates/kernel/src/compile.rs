//! Configures and compiles the kernel of a tree.

use crate::error::{At, Error};
use crate::tree::Tree;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// All that make and the compiler said.
const LOG: &str = "forebay-build.log";
/// Who built it, where and when: constant, so that the same inputs give the same kernel.
const BUILD: [(&str, &str); 4] = [
    ("KBUILD_BUILD_USER", "forebay"),
    ("KBUILD_BUILD_HOST", "forebay"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
];
/// What laws draw by chance comes from the scenario's seed (driver/draws.c): the functions that they call are renamed in their files.
const DRAWS: &str =
    "-Dget_random_u8=forebay_random_u8 -Dget_random_u32=forebay_random_u32 -D__get_random_u32_below=forebay_random_u32_below";
/// Variables with which an environment could change what is built.
const FOREIGN: [&str; 16] = [
    "ARCH",
    "CC",
    "CFLAGS",
    "CROSS_COMPILE",
    "HOSTCC",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "KCONFIG_CONFIG",
    "KCPPFLAGS",
    "LDFLAGS",
    "LLVM",
    "LOCALVERSION",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "O",
];

fn make(tree: &Tree, words: &[&str]) -> Command {
    let mut make = Command::new("make");
    for key in FOREIGN {
        make.env_remove(key);
    }
    make.env("LC_ALL", "C").envs(BUILD).arg("-C").arg(&tree.root).arg("ARCH=um").args(words);
    make.args(["tcp_bbr", "tcp_cdg", "trim_builtin"].map(|law| format!("CFLAGS_{law}.o={DRAWS}")));
    make.stdin(Stdio::null());
    make
}

fn cannot_start(e: &std::io::Error) -> Error {
    Error::new(format!("make: {e}; `forebay doctor` says what is missing and how to install it"))
}

/// Writes `.config`, unless the tree has the one that follows from `config`.
pub(crate) fn configure(tree: &Tree, config: &str) -> Result<(), Error> {
    let (ours, all) = (tree.root.join("forebay.config"), tree.root.join(".config"));
    if all.exists() && fs::read_to_string(&ours).is_ok_and(|old| old == config) {
        return Ok(());
    }
    // Whatever goes wrong from here on, the tree must not be taken for configured.
    let _ = fs::remove_file(&all);
    fs::write(&ours, config).at(&ours)?;
    let out = make(tree, &["-s", "KCONFIG_ALLCONFIG=forebay.config", "allnoconfig"]).output().map_err(|e| cannot_start(&e))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Error::new(format!(
            "Linux {} cannot be configured; `forebay doctor` says what may be missing:\n{}",
            tree.version,
            said.trim_end()
        )));
    }
    let made = fs::read_to_string(&all).at(&all)?;
    match missing(config, &made)[..] {
        [] => Ok(()),
        ref options => {
            fs::remove_file(&all).at(&all)?;
            Err(Error::new(format!("Linux {} does not have what the guest needs: {}", tree.version, options.join(", "))))
        }
    }
}

/// Options that are wanted and not set.
fn missing<'a>(wanted: &'a str, made: &str) -> Vec<&'a str> {
    let set = |line: &&str| line.starts_with("CONFIG_") && !line.ends_with("=n");
    wanted.lines().filter(set).filter(|line| !made.lines().any(|m| m == *line)).collect()
}

/// Compiles, and returns the program without its symbols. `progress` gets the number of files compiled so far.
pub(crate) fn compile(tree: &Tree, jobs: usize, progress: &mut dyn FnMut(usize)) -> Result<PathBuf, Error> {
    let (log, program) = (tree.root.join(LOG), tree.root.join("linux"));
    let errors = File::create(&log).at(&log)?;
    let mut said = errors.try_clone().at(&log)?;
    let mut child = make(tree, &[&format!("-j{jobs}"), "linux"])
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(|e| cannot_start(&e))?;
    let mut done = 0;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line.at(&log)?;
        if line.starts_with("  CC ") || line.starts_with("  AS ") {
            done += 1;
            progress(done);
        }
        writeln!(said, "{line}").at(&log)?;
    }
    let status = child.wait().at(&program)?;
    if !status.success() {
        return Err(Error::new(format!(
            "Linux {} does not compile ({status}):\n{}\nAll that was said is in {}.",
            tree.version,
            mistakes(&fs::read_to_string(&log).unwrap_or_default()),
            log.display()
        )));
    }
    strip(&program, &tree.root.join("linux.stripped"))
}

/// What a log says about what went wrong: the lines of errors, or the last ones.
fn mistakes(log: &str) -> String {
    let errors: Vec<&str> = log.lines().filter(|l| l.contains("error:") || l.contains("undefined reference")).take(8).collect();
    if !errors.is_empty() {
        return errors.join("\n");
    }
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

fn strip(program: &Path, to: &Path) -> Result<PathBuf, Error> {
    let out = Command::new("strip").arg("-o").arg(to).arg(program).output().map_err(|e| Error::new(format!("strip: {e}")))?;
    if out.status.success() {
        Ok(to.to_owned())
    } else {
        Err(Error::new(format!("strip {}: {}", program.display(), String::from_utf8_lossy(&out.stderr).trim_end())))
    }
}

#[cfg(test)]
mod tests {
    use super::{missing, mistakes};

    #[test]
    fn an_option_that_a_kernel_does_not_take_is_named() {
        let wanted = "# why\nCONFIG_NET=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_IPV6=n\n";
        assert_eq!(missing(wanted, "CONFIG_NET=y\n# CONFIG_IPV6 is not set\n"), ["CONFIG_HIGH_RES_TIMERS=y"]);
        assert!(missing(wanted, "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_NET=y\n").is_empty());
    }

    #[test]
    fn of_a_long_log_the_errors_are_told() {
        let log = "  CC a.o\na.c:3:1: warning: x\na.c:7:9: error: unknown type name 'u77'\nmake: *** Error 1\n";
        assert_eq!(mistakes(log), "a.c:7:9: error: unknown type name 'u77'");
        assert_eq!(mistakes("make: *** No rule"), "make: *** No rule");
    }
}
