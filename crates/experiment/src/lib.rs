//! An experiment as plain checked data, and what running one leaves behind. What runs it, a simulator or anything else, is not known here.

pub mod assign;
pub mod bit_errors;
pub mod checked;
pub mod deliveries;
pub mod dimension;
pub mod faults;
pub mod ideal;
pub mod network;
pub mod numbering;
pub mod observe;
pub mod occupancy;
pub mod profile;
pub mod registry;
pub mod report;
pub mod rows;
mod sample_rows;
pub mod series;
pub mod series_file;
pub mod shim_row;
pub mod streams;
pub mod timeouts;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod waits;
pub mod workload;
pub mod world;
pub mod worlds;

use forebay_units::{GroupId, IndexVec, Time, WorkloadId};
use network::Network;
use observe::Observe;
use traffic::Workload;
use transport::Group;

/// One experiment: network, transports, traffic, observation. It runs once [`Experiment::check`] has found it correct.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: u64,
    /// End of the experiment's time. `None`: run until all work is done, refused by [`Experiment::check`] where it never is.
    pub duration: Option<Time>,
    /// Nodes and links.
    pub network: Network,
    /// Transports; workloads refer to them by index. At least one.
    pub groups: IndexVec<GroupId, Group>,
    /// Traffic.
    pub workloads: IndexVec<WorkloadId, Workload>,
    /// What to record.
    pub observe: Observe,
}
