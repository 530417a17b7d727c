//! What the rows of one run share: names behind their indices, the variant, the seed and the world.

use forebay_experiment::Experiment;
use forebay_experiment::network::PortConfig;
use forebay_units::{GroupId, IndexVec, NodeId, PortId, WorkloadId};

/// One run (a variant with a seed) and the names its rows refer to by index.
#[derive(Debug, Clone, Default)]
pub struct RunInfo {
    /// Name of the world that ran it.
    pub(crate) world: String,
    /// Name of the variant, such as the transport.
    pub(crate) variant: String,
    /// Zero-based number of the repetition within its variant.
    pub(crate) run: u32,
    /// Seed of the repetition.
    pub(crate) seed: u64,
    /// When the run ended at the latest, ps; `None` for one that ran until all work was done.
    pub(crate) end_ps: Option<u64>,
    classes: IndexVec<WorkloadId, String>,
    groups: IndexVec<GroupId, String>,
    nodes: IndexVec<NodeId, String>,
    switches: IndexVec<NodeId, bool>,
    /// What one port can hold of a switch's shared buffer, bytes.
    shared_buffers: IndexVec<NodeId, Option<u64>>,
    port_names: IndexVec<PortId, String>,
    ports: IndexVec<PortId, PortConfig>,
    /// Lengths other than K at which queues begin to mark or drop, as `K of queue 0 65pkt, K of queue 1 20pkt`; empty without.
    levels: IndexVec<PortId, String>,
}

/// The lengths of a port's queue in words.
fn levels(port: &PortConfig) -> String {
    let all = port.queue.thresholds().into_iter().map(|(name, length)| format!("{name} {length}"));
    all.collect::<Vec<_>>().join(", ")
}

impl RunInfo {
    /// Name of the variant, such as the transport.
    pub fn variant(&self) -> &str {
        &self.variant
    }

    /// Collects the names of `config`, which `world` ran. A port is called by its short name where it has one, else `from->to`.
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
            levels: config.network.ports.iter().map(levels).collect(),
            ports: config.network.ports.clone(),
        }
    }

    /// Name of a workload, `?` for an index the configuration does not have.
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

    /// Whether a node is a switch.
    pub fn switch(&self, node: NodeId) -> bool {
        self.switches.get(node).copied().unwrap_or(false)
    }

    /// Bytes that a port can hold of its switch's shared buffer while all others are empty; `None` without one.
    pub fn shared(&self, port: PortId) -> Option<u64> {
        let from = self.ports.get(port)?.from;
        self.shared_buffers.get(from).copied().flatten()
    }

    /// Lengths of a port's queue, other than K, at which it begins to mark or drop; `None` without.
    pub(crate) fn levels(&self, port: PortId) -> Option<&str> {
        self.levels.get(port).map(String::as_str).filter(|l| !l.is_empty())
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
