//! Experiments as plain validated data, and their results. Backends, which run them, depend on this crate, not the reverse.

pub mod accecn;
pub mod assign;
pub mod balance;
mod bit_errors;
pub mod capture;
pub mod cc_state;
pub mod check;
pub mod decisions;
pub mod deliveries;
pub mod dimension;
pub mod faults;
pub mod host_timing;
pub mod ideal_time;
pub mod idle_time;
pub mod kernel;
pub mod link_errors;
pub mod listen;
pub mod network;
pub mod numbering;
pub mod observe;
pub mod occupancy;
pub mod pattern;
pub mod plb;
pub mod profile;
pub mod rack_pairs;
pub mod registry;
pub mod report;
pub mod rows;
mod sample_rows;
pub mod series;
pub mod series_file;
pub mod shim_row;
pub mod size_bin;
pub mod skb;
pub mod stopping;
pub mod streams;
pub mod timeouts;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod waits;
pub mod workload;
pub mod world;
pub mod worlds;
pub mod writes;

use forebay_types::{GroupId, IndexVec, Time, WorkloadId};
use network::Network;
use observe::Observe;
use traffic::{Workload, WorkloadKind};
use transport::Group;

/// One experiment: network, transports, traffic, observation. It runs after [`Experiment::check`] has accepted it.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Seed of every random stream ([`Experiment::set_seed`]).
    pub seed: u64,
    /// End of the experiment's time. `None`: run until all work is done, refused by [`Experiment::check`] where it never is.
    pub duration: Option<Time>,
    /// Nodes and links.
    pub network: Network,
    /// Transports; workloads refer to them by index. At least one.
    pub groups: IndexVec<GroupId, Group>,
    /// Traffic.
    pub workloads: IndexVec<WorkloadId, Workload>,
    /// Recorded data.
    pub observe: Observe,
}

impl Experiment {
    /// Sets the seed of the run, on which random pairs of hosts depend.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.workloads.iter_mut().for_each(|w| w.kind.draw_pairs(seed));
    }

    /// Time before which the flows of a warm start begin; `None` for a cold start.
    pub fn warm_start(&self) -> Option<Time> {
        self.workloads.iter().filter_map(|w| if let WorkloadKind::Poisson { warm, .. } = &w.kind { *warm } else { None }).max()
    }
}
