//! Settings of the kernel under `/proc/sys/net`, which belong to the network namespace of the calling thread.

use crate::Error;
use std::fs;

fn path(key: &str) -> String {
    format!("/proc/sys/{}", key.replace('.', "/"))
}

/// The value of `net.ipv4.tcp_ecn` and the like.
pub(crate) fn get(key: &str) -> Result<String, Error> {
    let path = path(key);
    fs::read_to_string(&path).map(|t| t.trim().to_owned()).map_err(|e| Error::io(path, &e))
}

/// Sets it.
pub(crate) fn set(key: &str, value: &str) -> Result<(), Error> {
    let path = path(key);
    fs::write(&path, value).map_err(|e| Error::io(format!("{path} = {value}"), &e))
}
