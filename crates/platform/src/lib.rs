//! The machine below forebay: checks of its features, files that other users cannot redirect, replace or hold, and the kernel's interfaces: clock,
//! mounts, namespaces, netlink, settings and sockets.

#[cfg(feature = "net")]
pub mod clock;
pub mod doctor;
pub mod files;
#[cfg(feature = "net")]
pub mod mounts;
#[cfg(feature = "net")]
pub mod namespace;
#[cfg(feature = "net")]
pub mod netlink;
#[cfg(feature = "net")]
pub mod sysctl;
#[cfg(feature = "net")]
pub mod tcp_info;
