//! One file a verb: its arguments and what it does.

pub mod check;
pub mod completions;
pub mod conform;
pub mod list;
pub mod model;
pub mod report;
pub mod repro;
pub mod run;
pub mod sweep;
