//! Our source files that become part of a kernel. The program embeds them, so that an installed program can build kernels.

/// A file of this crate that goes into a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// From the crate's folder, such as `driver/protocol.h`.
    pub path: &'static str,
    /// Its contents.
    pub text: &'static [u8],
}

/// All of them, in order of their folders and names.
pub static SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

#[cfg(test)]
mod tests {
    use super::SOURCES;

    #[test]
    fn embedded_files_are_sorted_with_contents() {
        assert!(SOURCES.is_sorted_by(|a, b| a.path < b.path), "a hash over the list must not depend on the machine");
        let protocol = SOURCES.iter().find(|s| s.path == "driver/protocol.h").expect("the contract is among them");
        assert!(protocol.text.starts_with(b"/* SPDX-License-Identifier: GPL-2.0"));
    }
}
