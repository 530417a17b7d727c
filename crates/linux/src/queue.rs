//! Checks of a network for features that the guest's links and queues lack.

use crate::host_queue::{HostQueue, LEGAL};
use forebay_experiment::faults::Balance;
use forebay_experiment::network::{Network, PortConfig};
use forebay_experiment::topology::port_label;
use forebay_experiment::world::Unsupported;
use forebay_kernel::queue::Discipline;
use forebay_types::Time;

/// All of that, by the first port that asks for it.
pub(crate) fn refused(network: &Network) -> Vec<Unsupported> {
    let mut all = Vec::new();
    let host = |p: &PortConfig| network.nodes[p.from].host;
    if let Some((id, _)) = network.ports.enumerate().find(|(_, p)| !host(p) && Discipline::of(&p.queue).is_none()) {
        let reason = format!(
            "the queue of port `{}` has no C core; legal: any but `pfabric`, and `strict-priority` without `ks`",
            port_label(network, id)
        );
        all.push(Unsupported { key: "topology", reason });
    }
    let cannot = |key, what: &str| Unsupported {
        key,
        reason: format!("the guest's network {what}; legal: {key} left out, or `world = \"sim\"`"),
    };
    if !network.faults.corruption.is_empty() {
        all.push(cannot("topology.corruption", "damages no packets"));
    }
    if network.faults.balance == Balance::Packet {
        all.push(cannot("topology.balance", "sends a connection's packets one way"));
    }
    if let Some(name) = network.ports.iter().filter(|p| host(p)).find_map(|p| HostQueue::of(&p.queue).err()) {
        let reason = format!("{name} is no queue discipline of the guest's hosts; legal: {LEGAL}");
        all.push(Unsupported { key: "topology.host-queue", reason });
    }
    if let Some((id, _)) = network.ports.enumerate().find(|(_, p)| p.delay == Time::ZERO) {
        let reason = format!("the link of port `{}` has no delay; legal: above zero", port_label(network, id));
        all.push(Unsupported { key: "topology", reason });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::experiment;
    use forebay_experiment::faults::Corruption;
    use forebay_types::PortId;
    use forebay_types::QueueLen;

    #[test]
    fn missing_core_and_zero_delay_named() {
        let mut network = experiment(2).network;
        assert_eq!(refused(&network), []);
        let entry = forebay_queues::find("pfabric").unwrap();
        let params = forebay_types::param::Values(Vec::new());
        network.ports[PortId::new(0)].queue = (entry.build)(&params, Some(QueueLen::Packets(30))).unwrap();
        network.ports[PortId::new(3)].delay = Time::ZERO;
        let reasons: Vec<String> = refused(&network).into_iter().map(|u| u.reason).collect();
        assert!(reasons[0].contains("`sw->recv`") && reasons[1].contains("`sw->s0`"), "{reasons:?}");
    }

    #[test]
    fn unsupported_faults_are_named_by_key() {
        let mut network = experiment(2).network;
        let port = PortId::new(0);
        network.faults.corruption.push(Corruption { port, bit_errors: 1e-7 });
        network.faults.balance = Balance::Packet;
        let entry = forebay_queues::find("pfabric").unwrap();
        let host = network.ports.position(|p| network.nodes[p.from].host).unwrap();
        network.ports[host].queue =
            (entry.build)(&forebay_types::param::Values(Vec::new()), Some(QueueLen::Packets(30))).unwrap();
        let all = refused(&network);
        let keys: Vec<&str> = all.iter().map(|u| u.key).collect();
        assert_eq!(keys, ["topology.corruption", "topology.balance", "topology.host-queue"]);
        assert!(all[2].reason.contains(LEGAL), "{}", all[2].reason);
    }
}
