//! Tests of packet scripts in one program, one file a subject: `cargo test -p forebay-conform --test main runner::` runs one of them.

mod kernels;
mod runner;
mod scripts;
