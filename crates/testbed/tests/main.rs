//! Tests on the running kernel in one program, one file a subject: `cargo test -p forebay-testbed --test main hosts::` runs one of them.

/// `make test-hosts` runs the tests that have this name.
mod real_time {
    mod bulk;
    mod captures;
    mod congestion_controls;
    mod datagrams;
    mod hosts;
    mod max_pacing_rate;
    mod shims;
    mod virtual_time;
    mod worlds;
}
