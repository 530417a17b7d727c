//! Tests of execution in one program, one file a subject: `cargo test -p forebay-exec --test main sweep::` runs one of them.

mod forecast;
mod source_hashes;
mod stopping;
mod sweep;
mod warm_start;
