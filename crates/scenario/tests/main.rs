//! All tests of scenario files in one program, one file a subject: `cargo test -p forebay-scenario --test main errors::` runs one of them.

mod common;
mod errors;
mod hostile;
mod messages;
mod mixtures;
mod notes;
mod reference;
mod resolve;
mod sweep;
