//! Entry point for programs that send messages while the simulation runs.

pub use crate::engine::simulation::driven_run::{DrivenRun, Step};
