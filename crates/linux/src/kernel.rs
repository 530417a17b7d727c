//! Choice of the kernel that runs.

use forebay_kernel::Cache;
use forebay_types::mix;
use std::env;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Names a program to run instead of the kernels that were built.
const VARIABLE: &str = "FOREBAY_KERNEL";

/// Kernel that was selected by name.
static CHOSEN: Mutex<Option<String>> = Mutex::new(None);

/// Runs the kernel called `name` from now on, by version or first letters as `forebay kernel list` has them; `None`: the one of the default
/// series. For the whole process: a run that has begun is not changed.
pub fn choose(name: Option<String>) {
    *CHOSEN.lock().unwrap_or_else(PoisonError::into_inner) = name;
}

/// A kernel to run.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// The program.
    pub program: PathBuf,
    /// Its version, and what tells it from others of that version.
    pub identity: String,
}

/// The program that runs as a guest.
///
/// # Errors
/// There is no kernel; the message names the fix.
pub fn program() -> Result<PathBuf, String> {
    find().map(|kernel| kernel.program)
}

/// The release of that kernel, without what tells builds of it apart.
///
/// # Errors
/// There is no kernel; the message names the fix.
pub fn release() -> Result<String, String> {
    find().map(|kernel| kernel.identity.split(" (").next().unwrap_or_default().to_owned())
}

/// The kernel to run, or what to do where there is none.
pub(crate) fn find() -> Result<Chosen, String> {
    if let Some(program) = env::var_os(VARIABLE).map(PathBuf::from) {
        if !program.is_file() {
            return Err(format!("{VARIABLE}: there is no file `{}`", program.display()));
        }
        let bytes = std::fs::read(&program).map_err(|e| format!("{VARIABLE}: `{}`: {e}", program.display()))?;
        let hash = bytes.chunks(8).fold(0u64, |hash, piece| {
            let word = piece.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
            mix(hash.rotate_left(7) ^ word)
        });
        return Ok(Chosen { program, identity: format!("{VARIABLE} {hash:016x}") });
    }
    let chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let found = Cache::of_user().and_then(|cache| forebay_kernel::kernel(&cache, chosen.as_deref()));
    let kernel = found.map_err(|e| e.to_string())?;
    Ok(Chosen { program: kernel.program(), identity: format!("Linux {} ({})", kernel.version(), kernel.name()) })
}
