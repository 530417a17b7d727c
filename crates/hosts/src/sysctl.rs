//! Settings of the kernel, with the errors of this crate.

use crate::Error;
use forebay_platform::sysctl;

/// The value of `net.ipv4.tcp_ecn` and the like.
pub(crate) fn get(key: &str) -> Result<String, Error> {
    sysctl::get(key).map_err(|e| Error::io(sysctl::path(key), &e))
}

/// Sets it.
pub(crate) fn set(key: &str, value: &str) -> Result<(), Error> {
    sysctl::set(key, value).map_err(|e| Error::io(format!("{} = {value}", sysctl::path(key)), &e))
}
