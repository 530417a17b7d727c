//! Top layer: from a scenario to experiments. Each section is checked and built. The result is one variant for each transport to compare, its echo
//! with all defaults, an explanation in words, and the points of a sweep.

pub(crate) mod advise;
pub(crate) mod expect;
pub(crate) mod explain;
pub(crate) mod faults;
pub(crate) mod hosts;
pub(crate) mod members;
pub(crate) mod observe;
pub(crate) mod program;
pub(crate) mod scenario;
pub(crate) mod shim;
pub(crate) mod stop;
pub(crate) mod sweep;
pub(crate) mod topology;
pub(crate) mod transport;
pub(crate) mod unfilled_buffers;
pub(crate) mod warm_start;
pub(crate) mod workload;
pub(crate) mod world;
