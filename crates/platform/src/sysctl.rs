//! Settings of the kernel under `/proc/sys`. Settings of `net` belong to the network namespace of the calling thread.

use std::{fs, io};

/// The file of a key such as `net.ipv4.tcp_ecn` or `net/ipv4/tcp_ecn`.
pub fn path(key: &str) -> String {
    format!("/proc/sys/{}", key.replace('.', "/"))
}

/// Reads a setting, without the newline.
///
/// # Errors
/// Errors of reading the file.
pub fn get(key: &str) -> io::Result<String> {
    fs::read_to_string(path(key)).map(|text| text.trim().to_owned())
}

/// Writes a setting.
///
/// # Errors
/// Errors of writing the file.
pub fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(path(key), value)
}

#[cfg(test)]
mod tests {
    use super::{get, path};

    #[test]
    fn dots_and_slashes_separate_keys() {
        assert_eq!(path("net.ipv4.tcp_ecn"), path("net/ipv4/tcp_ecn"));
        assert!(!get("kernel.osrelease").unwrap().contains('\n'));
    }
}
