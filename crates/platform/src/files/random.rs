//! Names that other processes cannot predict.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A random number. The keys of `RandomState` come from the operating system; no other secret is needed.
pub(crate) fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}
