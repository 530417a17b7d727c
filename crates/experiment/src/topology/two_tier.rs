//! Two-tier leaf-spine networks: leaves, which have the hosts, and spines, each linked to every leaf.

use super::address;
use crate::network::Network;
use forebay_types::{IndexVec, NodeId, PortId};

/// Maximum number of uplinks of a leaf: CONGA's header has 4 bits for them (section 3.1, `LBTag`).
pub const MAX_UPLINKS: usize = 16;

/// Leaves and spines of a network.
#[derive(Debug, Clone)]
pub struct TwoTier {
    /// Number of the leaf of each host and of each leaf switch; `None` for spines.
    leaf: IndexVec<NodeId, Option<u16>>,
    leaves: usize,
}

impl TwoTier {
    /// The tiers of `network`.
    ///
    /// # Errors
    /// The network has another shape: the first difference.
    pub fn of(network: &Network) -> Result<TwoTier, String> {
        let name = |n: NodeId| &network.nodes[n].name;
        let is_host = |n: NodeId| network.nodes[n].host;
        if address::is_wide(network) {
            return Err("the network has more than 65536 hosts".into());
        }
        let mut leaf = IndexVec::repeat(None, network.nodes.len());
        let mut leaves = 0;
        for port in network.ports.iter().filter(|p| is_host(p.from)) {
            if is_host(port.to) {
                return Err(format!("host `{}` is linked to another host", name(port.from)));
            }
            if leaf[port.to].is_none() {
                leaf[port.to] = Some(leaves as u16);
                leaves += 1;
            }
            leaf[port.from] = leaf[port.to];
        }
        let spines = network.nodes.enumerate().filter(|&(n, node)| !node.host && leaf[n].is_none()).count();
        if leaves < 2 || spines == 0 {
            return Err(format!("switches with hosts: {leaves}, without: {spines}"));
        }
        if spines > MAX_UPLINKS {
            return Err(format!("the network has {spines} spines; legal: at most {MAX_UPLINKS}"));
        }
        let mut seen = std::collections::BTreeSet::new();
        for port in network.ports.iter().filter(|p| !is_host(p.from) && !is_host(p.to)) {
            if leaf[port.from].is_some() == leaf[port.to].is_some() {
                return Err(format!("switch `{}` is linked to switch `{}` of the same tier", name(port.from), name(port.to)));
            }
            if !seen.insert((port.from, port.to)) {
                return Err(format!("several links lead from switch `{}` to `{}`", name(port.from), name(port.to)));
            }
        }
        if seen.len() != 2 * leaves * spines {
            return Err("some leaf is not linked to some spine".into());
        }
        Ok(TwoTier { leaf, leaves })
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// Number of the leaf of a host or leaf switch; `None` for a spine.
    pub fn leaf(&self, node: NodeId) -> Option<u16> {
        self.leaf[node]
    }

    /// Ports of each switch that lead to other switches, in the order of their numbers. Hosts have none.
    pub fn fabric_ports(network: &Network) -> IndexVec<NodeId, Vec<PortId>> {
        let mut ports = IndexVec::repeat(Vec::new(), network.nodes.len());
        for (id, port) in network.ports.enumerate() {
            if !network.nodes[port.from].host && !network.nodes[port.to].host {
                ports[port.from].push(id);
            }
        }
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::build;
    use forebay_types::param::Value;

    fn leaf_spine(leaves: i64, spines: i64) -> Network {
        build("leaf-spine", &[("leaves", Value::Int(leaves)), ("hosts-per-leaf", Value::Int(2)), ("spines", Value::Int(spines))])
            .unwrap()
    }

    #[test]
    fn leaves_and_spines_are_found() {
        let network = leaf_spine(3, 2);
        let tiers = TwoTier::of(&network).unwrap();
        assert_eq!(tiers.leaves(), 3);
        let leaf = |name: &str| tiers.leaf(network.nodes.enumerate().find(|(_, n)| n.name == name).unwrap().0);
        let all = ["h0", "h1", "h2", "h5", "leaf0", "leaf2", "spine0"].map(leaf);
        assert_eq!(all, [Some(0), Some(0), Some(1), Some(2), Some(0), Some(2), None]);
        let leaf1 = network.nodes.enumerate().find(|(_, n)| n.name == "leaf1").unwrap().0;
        let names: Vec<String> =
            TwoTier::fabric_ports(&network)[leaf1].iter().map(|p| crate::topology::port_label(&network, *p)).collect();
        assert_eq!(names, ["leaf1->spine0", "leaf1->spine1"]);
    }

    #[test]
    fn other_networks_are_refused() {
        let reason = |network: &Network| TwoTier::of(network).unwrap_err();
        assert!(reason(&build("many-to-one", &[("senders", Value::Int(2))]).unwrap()).contains("hosts: 1, without: 0"));
        assert!(reason(&leaf_spine(2, 17)).contains("17 spines; legal: at most 16"));
        assert!(reason(&leaf_spine(1, 2)).contains("hosts: 1, without: 2"));
        let mut doubled = leaf_spine(2, 2);
        let up = TwoTier::fabric_ports(&doubled)[NodeId::new(4)][0];
        let again = doubled.ports[up].clone();
        doubled.ports.push(again);
        assert!(reason(&doubled).contains("several links"), "{}", reason(&doubled));
    }
}
