//! Packet scripts in packetdrill's language, run against TCP endpoints, simulated or a kernel's, in virtual time: timed packets in and out, socket
//! calls, assertions. `docs/internals/conformance.md` says which part of the language is known, and lists the scripts of the project.

mod code;
mod command;
mod connection;
mod endpoint;
pub mod features;
mod info;
mod kernel;
mod lexer;
mod outcome;
pub mod page;
mod parser;
mod run;
pub mod script;
mod seen;
mod settings;
mod show;
mod socket;

pub use outcome::{Options as RunOptions, Outcome, Stack};
pub use run::{run_file, run_text, watch_text};
pub use seen::{Seen, as_linux, difference};

use std::path::{Path, PathBuf};

/// The kernel that scripts run against with [`Stack::Linux`].
///
/// # Errors
/// There is none; what to do.
pub fn kernel() -> Result<PathBuf, String> {
    forebay_linux::kernel::program()
}

/// Which release that kernel is of.
///
/// # Errors
/// There is none; what to do.
pub fn release() -> Result<String, String> {
    forebay_linux::kernel::release()
}

/// The scripts that `paths` name: files as they are, folders with all their `*.pkt`, in the order of their names.
pub fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            collect(path, &mut found).map_err(|e| format!("{}: {e}", path.display()))?;
            found.sort();
            all.append(&mut found);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "pkt") {
            found.push(path);
        }
    }
    Ok(())
}
