//! What the verbs for real hosts share: they are there in every build, and say what to do where the build has no BPF.

#[cfg(all(target_os = "linux", feature = "bpf"))]
mod with_bpf;
#[cfg(all(target_os = "linux", feature = "bpf"))]
pub(crate) use with_bpf::{PART, attach, detach, record, status, tune, watch};

#[cfg(not(all(target_os = "linux", feature = "bpf")))]
mod without_bpf;
#[cfg(not(all(target_os = "linux", feature = "bpf")))]
pub(crate) use without_bpf::{PART, attach, detach, record, status, tune, watch};
