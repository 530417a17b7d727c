//! The lowest floor: a TOML text becomes a tree of values that know where they were written, and an error points at such a place.
//! Nothing here knows which keys a scenario has.

pub(crate) mod doc;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod set;
pub(crate) mod source;
pub(crate) mod words;
pub(crate) mod write;
