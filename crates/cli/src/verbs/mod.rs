//! One file a verb: its arguments and what it does.

pub(crate) mod advise;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod model;
pub(crate) mod new;
pub(crate) mod report;
pub(crate) mod repro;
pub(crate) mod run;
pub(crate) mod sweep;
