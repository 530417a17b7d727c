//! The middle floor: what may stand in a table. Fields with their unknown keys, a value of each kind, an entry of a registry with its
//! parameters, and the documentation that follows from the registries. Nothing here knows the sections of a scenario.

pub(crate) mod choice;
pub(crate) mod cx;
pub(crate) mod describe;
pub(crate) mod dist;
pub(crate) mod docs;
pub(crate) mod ends;
pub(crate) mod fields;
pub(crate) mod former;
pub(crate) mod host_index;
pub(crate) mod hosts;
pub(crate) mod kind;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod mixture;
pub(crate) mod names;
pub(crate) mod parameter;
pub(crate) mod quantity;
pub(crate) mod ranges;
pub(crate) mod tcp_echo;
pub(crate) mod value;
