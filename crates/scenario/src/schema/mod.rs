//! Middle layer: tables and values. It reads fields and reports unknown keys, reads a value of each kind and an entry of a registry with its
//! parameters, and documents the registries. It does not depend on the sections of a scenario.

pub(crate) mod bounds;
pub(crate) mod choice;
pub(crate) mod context;
pub(crate) mod describe;
pub(crate) mod dist;
pub(crate) mod docs;
pub(crate) mod fields;
pub(crate) mod former_keys;
pub(crate) mod host_index;
pub(crate) mod hosts;
pub(crate) mod kind;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod loss;
pub(crate) mod mixture;
pub(crate) mod names;
pub(crate) mod other_names;
pub(crate) mod out_of_scope;
pub(crate) mod parameter;
pub(crate) mod quantity;
pub(crate) mod ranges;
pub(crate) mod tcp_echo;
pub(crate) mod value;
