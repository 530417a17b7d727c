//! Scenario files: TOML in, checked simulator configurations out, errors that point at the line.
//!
//! [`load`] reads a file and its overrides, [`Scenario::resolve`] checks everything against the registries of topologies,
//! workloads, queues and laws and builds one [`Variant`] for each transport to compare. [`Scenario::sweep`] says which scenarios a
//! `[sweep]` stands for. Nothing here knows the parameters of a
//! particular law or topology: an entry in a registry is all it takes to be read, checked, listed and documented.

mod choice;
mod cx;
mod describe;
mod dist;
mod doc;
mod docs;
mod error;
mod explain;
mod fields;
mod hosts;
mod link;
mod load;
mod members;
mod mixture;
mod names;
mod observe;
mod resolve;
mod set;
mod shim;
mod source;
mod sweep;
mod tcp_echo;
mod topology;
mod transport;
mod value;
mod workload;
mod world;

pub use describe::{Item, ParamDoc, Section, describe};
pub use docs::docs;
pub use error::{Errors, ScenarioError};
pub use explain::toml;
pub use load::{Scenario, load};
pub use resolve::{FileRead, Resolved, Variant};
pub use source::Source;
pub use sweep::{Axis, AxisValue, KEEPABLE, MAX_POINTS, Point, Setting, Source as AxisSource, Sweep};
