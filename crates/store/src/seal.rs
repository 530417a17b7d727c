//! SHA-256 sums (FIPS 180-4) that reveal a changed bit in stored results: of each table in the manifest, and of the manifest in its own last lines.
//!
//! A manifest is JSON. The value of its last key, `sha256`, is the sum of all lines before it: `head -n -2 manifest.json | sha256sum`.

use crate::error::StoreError;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes of a file that are read at once.
pub(crate) const PIECE: usize = 1 << 18;

/// A writer that sums the bytes that pass through it.
#[derive(Debug)]
pub(crate) struct Summed<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Summed<W> {
    /// Sums everything that is written to `inner` from here on.
    pub(crate) fn new(inner: W) -> Summed<W> {
        Summed { inner, hash: Sha256::new() }
    }

    /// The writer, and the sum in 64 hexadecimal digits.
    pub(crate) fn finish(self) -> (W, String) {
        (self.inner, digits(self.hash))
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Sum of `bytes`, 64 hexadecimal digits.
pub(crate) fn sum(bytes: &[u8]) -> String {
    digits(Sha256::new_with_prefix(bytes))
}

/// Sum of a file, 64 hexadecimal digits, as manifests have it.
///
/// # Errors
/// The file cannot be read.
pub fn file_sum(path: &Path) -> Result<String, StoreError> {
    let mut hash = Sha256::new();
    let read = File::open(path).and_then(|file| hash_file(file, &mut hash));
    read.map(|_| digits(hash)).map_err(StoreError::io("read", path))
}

/// Adds a file to a hash, in pieces. Returns the number of bytes.
///
/// # Errors
/// Errors of the file system.
pub(crate) fn hash_file(mut file: File, hash: &mut Sha256) -> io::Result<u64> {
    let (mut piece, mut all) = (vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(all),
            n => {
                hash.update(piece.get(..n).unwrap_or_default());
                all += n as u64;
            }
        }
    }
}

fn digits(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A JSON object in several lines, as `serde_json` writes it, with its sum as the last key.
pub fn seal(json: &str) -> String {
    let mut text = json.trim_end().strip_suffix('}').unwrap_or(json).trim_end().to_owned();
    text.push_str(",\n");
    let end = last_lines(&text);
    text + &end
}

/// Checks the sum in the last lines of [`seal`].
///
/// # Errors
/// A text without such lines, or with another sum.
pub(crate) fn check_seal(text: &str) -> Result<(), String> {
    let start = text.rfind("\n  \"sha256\"").ok_or("its last lines lack the SHA-256 of the lines before them")? + 1;
    let (lines, end) = text.split_at(start);
    if end == last_lines(lines) {
        Ok(())
    } else {
        Err("it was changed: the SHA-256 in its last lines differs from that of the lines before them".into())
    }
}

fn last_lines(text: &str) -> String {
    format!("  \"sha256\": \"{}\"\n}}\n", sum(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, example of one block.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn sums_of_memory_writer_and_file() {
        let path = std::env::temp_dir().join(format!("forebay-seal-{}", std::process::id()));
        std::fs::write(&path, "abc").unwrap();
        let mut out = Summed::new(Vec::new());
        out.write_all(b"a").unwrap();
        out.write_all(b"bc").unwrap();
        assert_eq!(out.finish(), (b"abc".to_vec(), ABC.into()));
        assert_eq!((sum(b"abc"), file_sum(&path).unwrap()), (ABC.into(), ABC.into()));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn flipped_bits_break_the_seal() {
        let text = seal("{\n  \"kind\": \"forebay-run\",\n  \"runs\": []\n}");
        assert_eq!(check_seal(&text), Ok(()));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(String::from_utf8(bytes).map_or(true, |flipped| check_seal(&flipped).is_err()), "bit {bit} of {text}");
        }
        assert!(check_seal(&text[..text.len() - 1]).is_err() && check_seal("{}").is_err());
    }
}
