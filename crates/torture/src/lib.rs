//! Random legal scenarios and connections, run with all checks, and failures made small.
//!
//! A case has a seed and a number, which determine it on every machine ([`Case::of`]). [`check`] runs it and compares the results with the invariants;
//! [`shrink`] makes a failing case small. A case is a document in the keys of a scenario file, so that it can be written, read and repeated.

mod case;
mod check;
mod connection;
mod crowd;
pub mod draw;
mod scenario;
mod shrink;
mod stop;
pub mod typical_scenario;
mod work;

pub use case::{Case, Kind};
pub use check::{Digest, Verdict, check, digest};
pub use connection::pipe;
pub use shrink::shrink;
pub use work::Work;

use forebay_experiment::worlds::Worlds;
use std::sync::OnceLock;

/// The simulator as the only backend.
fn simulator() -> &'static Worlds {
    static ALL: OnceLock<Worlds> = OnceLock::new();
    ALL.get_or_init(|| Worlds::new(&[&forebay_sim::world::Simulator]))
}
