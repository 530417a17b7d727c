//! All tests of scenario files in one program, one file per subject: `cargo test -p forebay-scenario --test main errors::` runs one file.

mod common;
mod errors;
mod hostile;
mod messages;
mod mixtures;
mod notes;
mod reference;
mod resolve;
mod sweep;
