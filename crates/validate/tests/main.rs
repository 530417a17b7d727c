//! Tests of packet scripts and of the referee in one program, one file a subject: `cargo test -p forebay-validate --test main runner::` runs one of them.

mod guest;
mod kernels;
mod runner;
mod scripts;
mod verdicts;
