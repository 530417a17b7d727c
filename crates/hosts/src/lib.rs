//! Transports on real hosts: the congestion controls and shims of `crates/kernel/bpf`, attached to the running kernel, watched and
//! taken off again. What `attach` changes is written down before it is changed, so that a process killed at any moment leaves
//! nothing that `detach` does not find (`state.rs`), and every change is undone in the opposite order (`step.rs`).
#![cfg(all(target_os = "linux", feature = "bpf"))]

pub mod attach;
pub mod catalog;
mod cgroup;
mod clock;
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
pub mod tune;
pub mod watch;

pub use error::Error;
pub use namespace::NetNs;
pub use prefix::Prefix;
pub use sample::Health;
