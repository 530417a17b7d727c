//! Validation of the TCP endpoints. Packet scripts in packetdrill's language run against the simulator's endpoint or a kernel's in virtual time:
//! timed packets in and out, socket calls, assertions. Whole scenarios and drawn connections are compared with a kernel. `docs/internals/conformance.md`
//! describes the supported part of the language and lists the scripts of the project. [`referee`] judges congestion controls by published criteria.

pub mod agreement;
mod case;
mod code;
mod command;
mod connection;
mod endpoint;
pub mod features;
mod format;
mod info;
mod kernel;
pub mod kernels;
mod lexer;
mod observation;
mod outcome;
pub mod page;
mod parser;
pub mod referee;
mod run;
pub mod script;
mod settings;
mod socket;
#[cfg(test)]
mod testing;
mod variants;

pub use case::{Case, cases};
pub use observation::{Observation, as_linux, difference};
pub use outcome::{Options as RunOptions, Outcome, Stack};
pub use run::{run_text, watch_text};

use std::path::PathBuf;

/// The kernel that scripts run against with [`Stack::Linux`].
///
/// # Errors
/// Without a kernel, the command that builds one.
pub fn kernel() -> Result<PathBuf, String> {
    forebay_linux::kernel::program()
}

/// Release of that kernel.
///
/// # Errors
/// Without a kernel, the command that builds one.
pub fn release() -> Result<String, String> {
    forebay_linux::kernel::release()
}
