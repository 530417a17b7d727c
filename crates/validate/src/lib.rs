//! Packet scripts in packetdrill's language, run against TCP endpoints, simulated or a kernel's, in virtual time: timed packets in and out, socket
//! calls, assertions. And whole scenarios and drawn connections, in the simulator and in a kernel. `docs/conformance.md` says which part of the language is known, and lists the scripts of the project.

pub mod agreement;
mod case;
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
mod variants;

pub use case::{Case, cases};
pub use outcome::{Options as RunOptions, Outcome, Stack};
pub use run::{run_text, watch_text};
pub use seen::{Seen, as_linux, difference};

use std::path::PathBuf;

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
