//! Network namespaces without names: each lives as long as this process holds it, so that nothing is left behind however the process ends.

use forebay_platform::{namespace, sysctl};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;

/// A network namespace of its own.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new one, in which there is nothing but a loopback device that is down.
    ///
    /// # Errors
    /// Mostly missing privileges: it needs CAP_SYS_ADMIN, as root or in a private user namespace.
    pub fn create() -> io::Result<Namespace> {
        namespace::create().map(Namespace)
    }

    /// Runs `work` in the namespace. Sockets and devices that it opens stay in the namespace when other threads use them later.
    ///
    /// # Errors
    /// Errors of `work` and of setns(2).
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        namespace::inside(&self.0, work)?
    }
}

/// A host's place on the network.
#[derive(Debug)]
pub struct Interface {
    /// Namespace of the host's sockets.
    pub namespace: Namespace,
    /// Its address.
    pub address: Ipv4Addr,
}

/// Sets `/proc/sys/<key>` of the namespace that the calling thread is in.
///
/// # Errors
/// The key, and why not.
pub fn sysctl(key: &str, value: &str) -> io::Result<()> {
    sysctl::set(key, value).map_err(|e| io::Error::new(e.kind(), format!("sysctl {} = {value}: {e}", key.replace('/', "."))))
}
