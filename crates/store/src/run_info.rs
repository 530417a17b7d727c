//! Context of the rows of one run: the names behind their indices, the variant, the seed and the backend.

use forebay_experiment::Experiment;
use forebay_experiment::network::PortConfig;
use forebay_types::{GroupId, IndexVec, NodeId, PortId, WorkloadId};

/// One run (a variant with a seed) and the names its rows refer to by index.
#[derive(Debug, Clone, Default)]
pub struct RunInfo {
    /// Name of the backend that ran it.
    pub(crate) world: String,
    /// Name of the variant, such as the transport.
    pub(crate) variant: String,
    /// Zero-based number of the repetition within its variant.
    pub(crate) run: u32,
    /// Seed of the repetition.
    pub(crate) seed: u64,
    /// Configured end of the run, ps; `None` for a run that ends when all work is done.
    pub(crate) end_ps: Option<u64>,
    classes: IndexVec<WorkloadId, String>,
    groups: IndexVec<GroupId, String>,
    nodes: IndexVec<NodeId, String>,
    switches: IndexVec<NodeId, bool>,
    /// Bytes that a port can use of its switch's shared buffer while other ports are idle.
    shared_buffers: IndexVec<NodeId, Option<u64>>,
    port_names: IndexVec<PortId, String>,
    ports: IndexVec<PortId, PortConfig>,
    /// Thresholds other than K at which queues begin to mark or drop, as `K of queue 0 65pkt, K of queue 1 20pkt`; empty if none.
    thresholds: IndexVec<PortId, String>,
}

/// The thresholds of a port's queue as text.
fn thresholds(port: &PortConfig) -> String {
    let all = port.queue.thresholds().into_iter().map(|(name, length)| format!("{name} {length}"));
    all.collect::<Vec<_>>().join(", ")
}

impl RunInfo {
    /// Name of the variant, such as the transport.
    pub fn variant(&self) -> &str {
        &self.variant
    }

    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Collects the names of `config`, which the backend `world` ran. A port is named by its short name if it has one, else `from->to`.
    pub fn new(world: &str, variant: &str, run: u32, config: &Experiment) -> RunInfo {
        let nodes: IndexVec<NodeId, String> = config.network.nodes.iter().map(|n| n.name.clone()).collect();
        let node = |id: NodeId| nodes.get(id).map_or("?", String::as_str);
        let mut port_names: IndexVec<PortId, String> =
            config.network.ports.iter().map(|p| format!("{}->{}", node(p.from), node(p.to))).collect();
        for (name, id) in &config.network.named_ports {
            if let Some(slot) = port_names.get_mut(*id) {
                slot.clone_from(name);
            }
        }
        RunInfo {
            world: world.to_owned(),
            variant: variant.to_owned(),
            run,
            seed: config.seed,
            end_ps: config.duration.map(|d| d.0),
            classes: config.workloads.iter().map(|w| w.class.clone()).collect(),
            groups: config.groups.iter().map(|g| g.name.clone()).collect(),
            shared_buffers: config.network.nodes.iter().map(|n| n.shared_buffer.map(|s| s.max_port_bytes())).collect(),
            nodes,
            switches: config.network.nodes.iter().map(|n| !n.host).collect(),
            port_names,
            thresholds: config.network.ports.iter().map(thresholds).collect(),
            ports: config.network.ports.clone(),
        }
    }

    /// Name of a workload, `?` for an index that the configuration lacks.
    pub fn class(&self, workload: WorkloadId) -> &str {
        self.classes.get(workload).map_or("?", String::as_str)
    }

    /// Name of a transport group.
    pub fn group(&self, group: GroupId) -> &str {
        self.groups.get(group).map_or("?", String::as_str)
    }

    /// Name of a host or switch.
    pub fn node(&self, node: NodeId) -> &str {
        self.nodes.get(node).map_or("?", String::as_str)
    }

    /// True if a node is a switch.
    pub fn switch(&self, node: NodeId) -> bool {
        self.switches.get(node).copied().unwrap_or(false)
    }

    /// Bytes that a port can use of its switch's shared buffer while other ports are idle; `None` without a shared buffer.
    pub fn shared(&self, port: PortId) -> Option<u64> {
        let from = self.ports.get(port)?.from;
        self.shared_buffers.get(from).copied().flatten()
    }

    /// Thresholds of a port's queue other than K at which it begins to mark or drop; `None` if there are none.
    pub(crate) fn thresholds(&self, port: PortId) -> Option<&str> {
        self.thresholds.get(port).map(String::as_str).filter(|l| !l.is_empty())
    }

    /// Name of a port.
    pub fn port(&self, port: PortId) -> &str {
        self.port_names.get(port).map_or("?", String::as_str)
    }

    /// Configuration of a port.
    pub fn port_config(&self, port: PortId) -> Option<&PortConfig> {
        self.ports.get(port)
    }
}
