//! Kernels of the backend `linux`: Linux as an ordinary program (User-mode Linux) in virtual time. They are built on the user's machine from a source
//! package of a distribution, with the network and the congestion controls of this crate as built-in drivers.
//!
//! Steps of a build: [`Source::find`] finds the sources, [`build()`] unpacks the needed files (`selection`), applies the changes of `um/edits.toml`
//! (`edits`), adds our files and compiles. The program is stored under the hash of all inputs ([`Cache`]). A run calls [`kernel`].

pub mod c_source;
pub mod congestion_controls;
pub mod embedded_files;
pub mod shims;
pub mod state;
pub mod tags;

mod archive_sums;
mod build;
mod cache;
mod choose;
mod compile;
pub mod doctor;
mod edits;
mod error;
mod patch;
mod program_sum;
mod recipe;
mod selection;
mod source;
mod tcp_sources;
mod tree;
mod unpack;
mod version;

#[cfg(test)]
mod scratch;

pub use archive_sums::{known, parse_sha256};
pub use build::{Outcome, Request, Step, build};
pub use cache::{Cache, Kernel, Manifest, Patched};
pub use choose::{is_current, kernel};
pub use error::Error;
pub use patch::Patch;
pub use source::Source;
pub use unpack::{ArchiveLimits, extract};
pub use version::Version;
