//! Commands for real hosts. They exist in every build; a build without BPF prints the reason and the remedy.

#[cfg(all(target_os = "linux", feature = "bpf"))]
mod with_bpf;
#[cfg(all(target_os = "linux", feature = "bpf"))]
pub(crate) use with_bpf::{PART, attach, detach, record, status, tune, watch};

#[cfg(not(all(target_os = "linux", feature = "bpf")))]
mod without_bpf;
#[cfg(not(all(target_os = "linux", feature = "bpf")))]
pub(crate) use without_bpf::{PART, attach, detach, record, status, tune, watch};
