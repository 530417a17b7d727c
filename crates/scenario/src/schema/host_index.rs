//! Index of the names of a network: hosts, switches and groups of hosts.

use forebay_experiment::network::Network;
use forebay_types::NodeId;
use std::collections::HashMap;

/// Index of the names of a network.
#[derive(Debug, Default)]
pub(crate) struct HostIndex {
    nodes: HashMap<String, (NodeId, bool)>,
    groups: Vec<(String, Vec<NodeId>)>,
}

impl HostIndex {
    pub(crate) fn new(network: &Network) -> HostIndex {
        let nodes = network.nodes.enumerate().map(|(id, n)| (n.name.clone(), (id, n.host))).collect();
        let mut groups = network.host_groups.clone();
        let all = network.nodes.enumerate().filter(|(_, n)| n.host).map(|(id, _)| id).collect();
        groups.retain(|g| g.0 != "all");
        groups.push(("all".into(), all));
        HostIndex { nodes, groups }
    }

    /// Node called `name`, and true if it is a host.
    pub(crate) fn node(&self, name: &str) -> Option<(NodeId, bool)> {
        self.nodes.get(name).copied()
    }

    /// Hosts of the group called `name`.
    pub(crate) fn group(&self, name: &str) -> Option<&[NodeId]> {
        self.groups.iter().find(|g| g.0 == name).map(|g| g.1.as_slice())
    }

    /// Names of all groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> + Clone {
        self.groups.iter().map(|g| g.0.as_str())
    }

    /// Names of hosts among the first `most` nodes, in arbitrary order.
    pub(crate) fn some_hosts(&self, most: usize) -> impl Iterator<Item = &str> {
        self.nodes.iter().take(most).filter(|n| n.1.1).map(|n| n.0.as_str())
    }

    /// Name of a node, for messages.
    pub(crate) fn name(&self, node: NodeId) -> &str {
        self.nodes.iter().find(|n| n.1.0 == node).map_or("?", |n| n.0)
    }
}
