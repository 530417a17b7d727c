//! Key of a unit: a hash of all inputs of its results.

use sha2::{Digest, Sha256};
use std::fmt;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_texts_and_back() {
        let key = KeyHasher::of(b"x");
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(key.to_string().len(), 32);
        for bad in ["", "zz", &"é".repeat(16), &"0".repeat(33)] {
            assert!(bad.parse::<UnitKey>().is_err(), "{bad}");
        }
    }

    /// Equal on every machine: computed by `hashlib.sha256` from the layout in the comments above.
    #[test]
    fn pinned() {
        assert_eq!(KeyHasher::of(b"x").to_string(), "65094dcac6e080cfc5b7f72bbd21c768");
        let ab = |a: &str, b: &str| KeyHasher::default().part("a", a.as_bytes()).part("b", b.as_bytes()).key();
        assert_ne!(ab("12", "3"), ab("1", "23"));
    }
}
