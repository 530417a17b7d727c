//! Commands, one file each: arguments and action. `hosts` has the actions on real hosts.

pub(crate) mod advise;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod detach;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod hosts;
pub(crate) mod kernel;
pub(crate) mod licenses;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod record;
mod reference;
pub(crate) mod report;
pub(crate) mod repro;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod watch;
