//! All tests of results on disk in one program, one file per subject: `cargo test -p forebay-store --test main units::` runs one of them.

mod common;
mod docs;
mod run_directory;
mod summary;
mod sweep_directory;
mod units;
