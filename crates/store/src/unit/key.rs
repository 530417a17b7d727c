//! Key of a unit: a hash of all inputs of its results.

use crate::seal::hash_file;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::str::FromStr;

/// The first 128 bits of a SHA-256, enough to rule out accidental collisions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitKey([u8; 16]);

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for UnitKey {
    type Err = ();

    fn from_str(text: &str) -> Result<UnitKey, ()> {
        let mut key = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return Err(());
        }
        for (i, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| ())?;
        }
        Ok(UnitKey(key))
    }
}

/// Builds a [`UnitKey`] from named parts. Every part is hashed with its length, so that boundaries are unambiguous.
#[derive(Clone, Default)]
pub struct KeyHasher(Sha256);

impl KeyHasher {
    /// Adds a part.
    pub fn part(&mut self, name: &str, value: &[u8]) -> &mut KeyHasher {
        for bytes in [name.as_bytes(), value] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }

    /// Hash of all parts so far.
    pub fn key(&self) -> UnitKey {
        let all = self.0.clone().finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&all[..16]);
        UnitKey(key)
    }

    /// Hash of bytes, such as a file.
    pub fn of(bytes: &[u8]) -> UnitKey {
        KeyHasher::default().part("", bytes).key()
    }

    /// As [`KeyHasher::of`], of a file with `length` bytes, read in pieces; `None` if it has another length.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn of_file(path: &Path, length: u64) -> io::Result<Option<UnitKey>> {
        let file = File::open(path)?;
        if file.metadata()?.len() != length {
            return Ok(None);
        }
        let mut hasher = KeyHasher::default();
        for part in [0, length] {
            hasher.0.update(part.to_le_bytes());
        }
        // Another process may change the file meanwhile.
        let read = hash_file(file, &mut hasher.0)?;
        Ok((read == length).then(|| hasher.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::PIECE;

    #[test]
    fn keys_are_texts_and_back() {
        let key = KeyHasher::of(b"x");
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(key.to_string().len(), 32);
        for bad in ["", "zz", &"é".repeat(16), &"0".repeat(33)] {
            assert!(bad.parse::<UnitKey>().is_err(), "{bad}");
        }
    }

    #[test]
    fn file_and_bytes_hash_alike() {
        let path = std::env::temp_dir().join(format!("forebay-unit-key-{}", std::process::id()));
        let bytes: Vec<u8> = (0..3 * PIECE + 5).map(|i| i as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let length = bytes.len() as u64;
        assert_eq!(KeyHasher::of_file(&path, length).unwrap(), Some(KeyHasher::of(&bytes)));
        assert_eq!(KeyHasher::of_file(&path, length - 1).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
    }

    /// Equal on every machine: computed by `hashlib.sha256` from the layout in the comments above.
    #[test]
    fn pinned() {
        assert_eq!(KeyHasher::of(b"x").to_string(), "65094dcac6e080cfc5b7f72bbd21c768");
        let ab = |a: &str, b: &str| KeyHasher::default().part("a", a.as_bytes()).part("b", b.as_bytes()).key();
        assert_ne!(ab("12", "3"), ab("1", "23"));
    }
}
