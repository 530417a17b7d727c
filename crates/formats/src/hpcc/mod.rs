//! Input files of HPCC's simulation in ns-3 (Li et al., SIGCOMM 2019), and of simulators that are derived from it.

mod config;
mod flows;
mod topology;

pub(crate) use config::Config;
pub(crate) use flows::read as read_flows;
pub(crate) use topology::Topology;
