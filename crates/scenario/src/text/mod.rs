//! Bottom layer: converts TOML text to a tree of values with positions, and reports errors at positions. It does not depend on the keys of a
//! scenario.

pub(crate) mod doc;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod message_text;
pub(crate) mod set;
pub(crate) mod source;
pub(crate) mod write;
