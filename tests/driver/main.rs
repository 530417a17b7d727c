//! Comparisons of C and Rust in one program, one file a subject: `cargo test -p forebay-tests --test driver tags::` runs one of them.

mod network;
mod qdiscs;
mod tags;
mod window;
