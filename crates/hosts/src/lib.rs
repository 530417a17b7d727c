//! Transports on real hosts: attaches the congestion controls and shims of `crates/kernel/bpf` to the running kernel, watches and detaches them.
//! `attach` records each change before it makes it, so that `detach` finds everything after a process was killed at any moment (`state.rs`). Changes
//! are undone in the opposite order (`undo.rs`).
#![cfg(all(target_os = "linux", feature = "bpf"))]

pub mod attach;
pub mod catalog;
mod cgroup;
pub mod condition;
mod counters;
pub mod detach;
pub mod doctor;
mod error;
pub mod guard;
pub mod helper;
pub mod inet_diag;
mod lease;
mod leftovers;
mod libbpf_log;
mod loader;
mod namespace;
mod netlink;
mod pins;
mod prefix;
pub mod privileges;
pub mod prometheus;
pub mod record;
mod route;
mod run_dir;
mod sample;
pub mod shim;
mod sockets;
mod state;
pub mod status;
mod step;
mod sysctl;
mod tc;
mod time_limit;
mod totals;
pub mod tune;
mod undo;
pub mod watch;

pub use error::Error;
pub use namespace::NetNs;
pub use prefix::Prefix;
pub use sample::Health;
pub use state::check_state_file;
pub use totals::{Counts, Totals};
