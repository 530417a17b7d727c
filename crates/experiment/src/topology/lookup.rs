//! Lookups in a built network for workloads, observers and reports.

use crate::network::Network;
use forebay_types::{IndexVec, NodeId, PortId, Rate};

/// All hosts in node order. Flow lists number them in this order.
pub fn hosts(network: &Network) -> Vec<NodeId> {
    network.nodes.enumerate().filter(|(_, node)| node.host).map(|(id, _)| id).collect()
}

/// Port called `name`: a short name of the topology such as `bottleneck`, or `from->to` with two node names (the first of several parallel links).
pub fn find_port(network: &Network, name: &str) -> Option<PortId> {
    if let Some((_, port)) = network.named_ports.iter().find(|(n, _)| n == name) {
        return Some(*port);
    }
    let (from, to) = name.split_once("->")?;
    let node = |name: &str| network.nodes.position(|n| n.name == name.trim());
    let (from, to) = (node(from)?, node(to)?);
    network.ports.position(|p| p.from == from && p.to == to)
}

/// Port of the reverse direction of the same link; parallel links are matched by number. `None` for a link of one direction.
pub fn reverse(network: &Network, port: PortId) -> Option<PortId> {
    let (from, to) = (network.ports[port].from, network.ports[port].to);
    let between = |a, b| network.ports.enumerate().filter(move |(_, p)| p.from == a && p.to == b).map(|(id, _)| id);
    let number = between(from, to).position(|id| id == port)?;
    between(to, from).nth(number)
}

/// Short name of `port` if the topology gives one, else `from->to`.
pub fn port_label(network: &Network, port: PortId) -> String {
    if let Some((name, _)) = network.named_ports.iter().find(|(_, p)| *p == port) {
        return name.clone();
    }
    let p = &network.ports[port];
    format!("{}->{}", network.nodes[p.from].name, network.nodes[p.to].name)
}

/// Egress port of each host; `None` for switches. Hosts have exactly one.
pub fn attached_port(network: &Network) -> IndexVec<NodeId, Option<PortId>> {
    let mut ports = IndexVec::repeat(None, network.nodes.len());
    for (id, p) in network.ports.enumerate() {
        if network.nodes[p.from].host && ports[p.from].is_none() {
            ports[p.from] = Some(id);
        }
    }
    ports
}

/// Rack of each node: for a host the node that it is attached to, for a switch itself.
pub fn racks(network: &Network) -> IndexVec<NodeId, NodeId> {
    let attached = attached_port(network);
    attached.enumerate().map(|(node, port)| port.map_or(node, |p| network.ports[p].to)).collect()
}

/// Sum of the rates of the ports that lead from switch `rack` to other switches, bits per second.
pub fn uplink_rate(network: &Network, rack: NodeId) -> f64 {
    let up = network.ports.iter().filter(|p| p.from == rack && !network.nodes[p.to].host);
    up.map(|p| p.rate.0 as f64).sum()
}

/// Rate of `host`'s interface, `None` when it is no host or has no link.
pub fn host_rate(network: &Network, host: NodeId) -> Option<Rate> {
    let node = network.nodes.get(host)?;
    network.ports.iter().find(|p| node.host && p.from == host).map(|p| p.rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::build;
    use forebay_types::param::Value;

    #[test]
    fn finds_ports_by_name() {
        let n = build("many-to-one", &[("senders", Value::Int(2))]).unwrap();
        let bottleneck = find_port(&n, "bottleneck").unwrap();
        assert_eq!(find_port(&n, "sw->recv"), Some(bottleneck));
        assert_eq!(port_label(&n, bottleneck), "bottleneck");
        let up = find_port(&n, "s1 -> sw").unwrap();
        assert_eq!(port_label(&n, up), "s1->sw");
        assert_eq!(find_port(&n, "s1->recv"), None);
        assert_eq!(find_port(&n, "nonsense"), None);
    }

    #[test]
    fn hosts_and_their_interfaces() {
        let n = build("many-to-one", &[("senders", Value::Int(2))]).unwrap();
        assert_eq!(hosts(&n), [0, 1, 2].map(NodeId::new));
        let attached = attached_port(&n);
        assert_eq!(attached[NodeId::new(1)], find_port(&n, "s1->sw"));
        assert_eq!(attached[NodeId::new(3)], None);
        assert_eq!(host_rate(&n, NodeId::new(1)), Some(Rate(1_000_000_000)));
        assert_eq!(host_rate(&n, NodeId::new(3)), None);
        assert_eq!(host_rate(&n, NodeId::new(99)), None);
    }

    #[test]
    fn racks_and_their_uplinks() {
        let n = build(
            "leaf-spine",
            &[
                ("leaves", Value::Int(2)),
                ("hosts-per-leaf", Value::Int(3)),
                ("spines", Value::Int(4)),
                ("oversubscription", Value::Float(3.0)),
            ],
        )
        .unwrap();
        assert_eq!(racks(&n).as_slice(), [6, 6, 6, 7, 7, 7, 6, 7, 8, 9, 10, 11].map(NodeId::new));
        // Three hosts at 1 Gbps, one third of that upwards.
        assert!((uplink_rate(&n, NodeId::new(6)) / 1e9 - 1.0).abs() < 1e-6);
        assert_eq!(uplink_rate(&build("many-to-one", &[("senders", Value::Int(2))]).unwrap(), NodeId::new(3)), 0.0);
    }
}
