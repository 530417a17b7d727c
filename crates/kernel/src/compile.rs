//! Configures and compiles the kernel of a tree.

use crate::error::{At, Error};
use crate::tree::Tree;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Output of make and the compiler.
const LOG: &str = "forebay-build.log";
/// User, host and time of the build: constant, so that the same inputs give the same kernel.
const BUILD: [(&str, &str); 4] = [
    ("KBUILD_BUILD_USER", "forebay"),
    ("KBUILD_BUILD_HOST", "forebay"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
];
/// Random numbers of congestion controls come from the scenario's seed (driver/draws.c): this header redefines the functions that they call.
const DRAWS: &str = "-include arch/um/kernel/forebay/driver/draws.h";
/// Hashes of flows come from the scenario's seed, too (driver/flow_hash.c).
const HASHES: &str = "-Dget_random_u32=forebay_flow_hash";
/// New hashes of sockets, too, and random times of `tcp_plb.c` (driver/rehash.h).
const REHASHES: &str = "-include arch/um/kernel/forebay/driver/rehash.h";
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

/// Command that calls make in a tree. Its standard input is the build lock, an empty file: if this process is killed, the last compiler still holds
/// the lock, so that the next build does not use the same tree.
fn make(tree: &Tree, words: &[&str], lock: &File) -> Result<Command, Error> {
    let mut make = Command::new("make");
    for key in FOREIGN {
        make.env_remove(key);
    }
    make.env("LC_ALL", "C").envs(BUILD).arg("-C").arg(&tree.root).arg("ARCH=um").args(words);
    make.args(["tcp_bbr", "tcp_cdg", "trim_builtin"].map(|cc| format!("CFLAGS_{cc}.o={DRAWS}")));
    make.args(["tcp_ipv4", "tcp_input", "tcp_output", "datagram"].map(|file| format!("CFLAGS_{file}.o={HASHES}")));
    make.args(["tcp_timer", "tcp_plb"].map(|file| format!("CFLAGS_{file}.o={REHASHES}")));
    make.stdin(lock.try_clone().map_err(|e| Error::new(format!("the lock of the build: {e}")))?);
    Ok(make)
}

fn cannot_start(e: &io::Error) -> Error {
    Error::new(format!("make: {e}; `forebay doctor` lists missing tools and how to install them"))
}

/// Writes `.config`, unless the tree has the one that follows from `config`.
pub(crate) fn configure(tree: &Tree, config: &str, lock: &File) -> Result<(), Error> {
    let (ours, all) = (tree.root.join("forebay.config"), tree.root.join(".config"));
    if all.exists() && fs::read_to_string(&ours).is_ok_and(|old| old == config) {
        return Ok(());
    }
    // Whatever goes wrong from here on, the tree must not be taken for configured.
    let _ = fs::remove_file(&all);
    fs::write(&ours, config).at(&ours)?;
    let mut make = make(tree, &["-s", "KCONFIG_ALLCONFIG=forebay.config", "allnoconfig"], lock)?;
    let out = make.output().map_err(|e| cannot_start(&e))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Error::new(format!(
            "Linux {} cannot be configured; `forebay doctor` lists missing tools:\n{}",
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

/// Log of the compilation of a tree.
pub(crate) fn log_of(tree: &Tree) -> PathBuf {
    tree.root.join(LOG)
}

/// Compiles, and returns the program without its symbols. All output of make goes to `log`. `progress` gets the number of files compiled so far.
pub(crate) fn compile(
    tree: &Tree,
    log: &Path,
    jobs: usize,
    lock: &File,
    progress: &mut dyn FnMut(usize),
) -> Result<PathBuf, Error> {
    let program = tree.root.join("linux");
    let errors = File::create(log).at(log)?;
    let mut said = errors.try_clone().at(log)?;
    let mut make = make(tree, &[&format!("-j{jobs}"), "linux"], lock)?;
    let mut child = make.stdout(Stdio::piped()).stderr(errors).spawn().map_err(|e| cannot_start(&e))?;
    let out = child.stdout.take().map(BufReader::new);
    let follow = || -> io::Result<()> {
        let mut done = 0;
        for line in out.into_iter().flat_map(|out| out.split(b'\n')) {
            let line = line?;
            if line.starts_with(b"  CC ") || line.starts_with(b"  AS ") {
                done += 1;
                progress(done);
            }
            said.write_all(&line)?;
            said.write_all(b"\n")?;
        }
        Ok(())
    };
    let followed = follow();
    if followed.is_err() {
        // It may have ended already.
        let _ = child.kill();
    }
    let status = child.wait().at(&program)?;
    followed.at(log)?;
    if !status.success() {
        return Err(Error::new(format!(
            "Linux {} does not compile ({status}):\n{}\nAll that was said is in {}.",
            tree.version,
            error_lines(&String::from_utf8_lossy(&fs::read(log).unwrap_or_default())),
            log.display()
        )));
    }
    strip(&program, &tree.root.join("linux.stripped"))
}

/// Error lines of a log, or its last lines.
fn error_lines(log: &str) -> String {
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
    use super::{compile, error_lines, log_of, make, missing};
    use crate::cache::Cache;
    use crate::scratch::Scratch;
    use crate::tree::Tree;
    use crate::version::Version;
    use std::fs::{self, File};
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    fn tree(place: &Scratch, makefile: &str) -> Tree {
        fs::write(place.path().join("Makefile"), makefile).unwrap();
        Tree { root: place.path().to_owned(), version: Version::DEFAULT }
    }

    #[test]
    fn lock_outlives_builds_that_are_killed() {
        let place = Scratch::new();
        let (cache, pipe) = (Cache::at(place.path().join("cache")), place.path().join("pipe"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // A compiler that runs until the pipe is written to.
        let tree = tree(&place, "linux:\n\t@echo begun >begun\n\t@cat pipe\n");
        let lock = cache.try_lock().unwrap().unwrap();
        let mut child = make(&tree, &["linux"], &lock).unwrap().spawn().unwrap();
        let limit = Instant::now() + Duration::from_secs(60);
        while !place.path().join("begun").exists() {
            assert!(Instant::now() < limit, "make begins");
            thread::sleep(Duration::from_millis(5));
        }
        // As after `kill -9`: this process no longer has the lock, and the compiler continues.
        drop(lock);
        assert!(cache.try_lock().unwrap().is_none());
        drop(File::options().write(true).open(&pipe).unwrap());
        child.wait().unwrap();
        while cache.try_lock().unwrap().is_none() {
            assert!(Instant::now() < limit, "the lock is free in the end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn output_bytes_are_counted_and_logged() {
        let place = Scratch::new();
        let tree = tree(&place, "linux:\n\t@printf '  CC a.o\\n  CC \\377.o\\n'; exit 1\n");
        let lock = Cache::at(place.path().join("cache")).try_lock().unwrap().unwrap();
        let mut seen = Vec::new();
        let said = compile(&tree, &log_of(&tree), 1, &lock, &mut |files| seen.push(files)).unwrap_err().to_string();
        assert_eq!(seen, [1, 2]);
        assert!(said.contains("does not compile"), "{said}");
        let (log, line) = (fs::read(place.path().join(super::LOG)).unwrap(), b"  CC \xff.o\n");
        assert!(log.windows(line.len()).any(|w| w == line), "{}", String::from_utf8_lossy(&log));
    }

    #[test]
    fn unknown_kernel_option_is_named() {
        let wanted = "# why\nCONFIG_NET=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_IPV6=n\n";
        assert_eq!(missing(wanted, "CONFIG_NET=y\n# CONFIG_IPV6 is not set\n"), ["CONFIG_HIGH_RES_TIMERS=y"]);
        assert!(missing(wanted, "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_NET=y\n").is_empty());
    }

    #[test]
    fn errors_are_extracted_from_log() {
        let log = "  CC a.o\na.c:3:1: warning: x\na.c:7:9: error: unknown type name 'u77'\nmake: *** Error 1\n";
        assert_eq!(error_lines(log), "a.c:7:9: error: unknown type name 'u77'");
        assert_eq!(error_lines("make: *** No rule"), "make: *** No rule");
    }
}
