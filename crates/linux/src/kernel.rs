//! Choice of the kernel that runs.

use forebay_kernel::Cache;
use forebay_types::mix;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names a program to run instead of the kernels that were built.
const VARIABLE: &str = "FOREBAY_KERNEL";

/// Kernel that was selected by name.
static CHOSEN: Mutex<Option<String>> = Mutex::new(None);

/// Runs the kernel called `name` from now on, by name, version or first letters as `forebay kernel list` has them, or by the path of a program;
/// `None`: the one of the default series. For the whole process: a run that has begun is not changed.
pub fn choose(name: Option<String>) {
    *CHOSEN.lock().unwrap_or_else(PoisonError::into_inner) = name;
}

/// A kernel to run.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub(crate) program: PathBuf,
    pub(crate) identity: String,
}

impl Chosen {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version, and the number of its build.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

/// The program that runs as a guest.
///
/// # Errors
/// There is no kernel; the message names the fix.
pub fn program() -> Result<PathBuf, String> {
    find().map(|kernel| kernel.program)
}

/// The release of that kernel, without the number of its build.
///
/// # Errors
/// There is no kernel; the message names the fix.
pub fn release() -> Result<String, String> {
    find().map(|kernel| kernel.identity.split(" (").next().unwrap_or_default().to_owned())
}

/// The kernel to run, or what to do where there is none. A kernel that was selected comes before that of the environment.
pub(crate) fn find() -> Result<Chosen, String> {
    let chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(name) = chosen {
        return named(&name);
    }
    if let Some(program) = env::var_os(VARIABLE).map(PathBuf::from) {
        return file(program, VARIABLE);
    }
    built(None)
}

/// The kernel called `name`: by name, version or first letters as `forebay kernel list` has them, or the path of a program, which has a `/`.
///
/// # Errors
/// There is no such kernel; the message names the fix.
pub fn named(name: &str) -> Result<Chosen, String> {
    if name.contains('/') { file(PathBuf::from(name), "--kernel") } else { built(Some(name)) }
}

/// A kernel of the user's cache.
fn built(name: Option<&str>) -> Result<Chosen, String> {
    let kernel = Cache::of_user().and_then(|cache| forebay_kernel::kernel(&cache, name)).map_err(|e| e.to_string())?;
    Ok(Chosen { program: kernel.program(), identity: format!("Linux {} ({})", kernel.version(), kernel.name()) })
}

/// A program that is no kernel of the cache; `by` names the setting that chose it. Its contents tell it from others.
fn file(program: PathBuf, by: &str) -> Result<Chosen, String> {
    let shown = program.display();
    match std::fs::metadata(&program) {
        Ok(found) if found.is_file() => {}
        Ok(found) => {
            let kind = if found.is_dir() { "a directory" } else { "a pipe, a socket or a device" };
            return Err(format!("{by}: `{shown}` is {kind}, not the program of a kernel"));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(format!("{by}: there is no file `{shown}`")),
        Err(e) => return Err(format!("{by}: `{shown}`: {e}")),
    }
    let bytes = std::fs::read(&program).map_err(|e| format!("{by}: `{shown}`: {e}"))?;
    let hash = bytes.chunks(8).fold(0u64, |hash, piece| {
        let word = piece.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        mix(hash.rotate_left(7) ^ word)
    });
    Ok(Chosen { program, identity: format!("{VARIABLE} {hash:016x}") })
}
