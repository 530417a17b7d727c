//! Scenario files: from TOML to checked experiments, with errors that point at the line.
//!
//! [`load`] reads a file and its overrides. [`Scenario::resolve`] checks everything against the registries of topologies, workloads, queues and
//! congestion controls, and builds one [`Variant`] for each transport to compare. [`Scenario::sweep`] lists the scenarios of a `[sweep]`. This crate
//! does not depend on the parameters of a particular congestion control or topology: an entry in a registry is enough to be read, checked, listed and
//! documented.
//!
//! Three layers, each of which uses only itself and those below: `text` reads TOML with positions, `schema` reads tables and values, `resolve` builds
//! experiments.

mod resolve;
mod schema;
mod text;

pub use resolve::advise::{Goal, Objective};
pub use resolve::expect::{Bound, ExpectKey, Expectation, Places};
pub use resolve::scenario::{Resolved, Variant};
pub use resolve::sweep::{Axis, AxisValue, KEEPABLE, MAX_POINTS, Point, Setting, Source as AxisSource, Sweep};
pub use schema::bounds::bounds;
pub use schema::context::FileRead;
pub use schema::describe::{Item, ParamDoc, Section, describe};
pub use schema::docs::docs;
pub use text::error::{Errors, ScenarioError};
pub use text::load::{Scenario, load};
pub use text::source::Source;
pub use text::write::toml;
