//! Tests of the closed forms in one program, one file a subject: `cargo test -p forebay-model --test main claims::` runs one of them.

mod claims;
mod common;
mod incast_tables;
mod properties;
