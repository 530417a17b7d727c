//! Checks of a network for features that the guest's links and queues lack.

use crate::protocol::PATHS;
use crate::routes::too_many;
use forebay_experiment::faults::Balance;
use forebay_experiment::network::{Network, Ties};
use forebay_experiment::topology::{Fib, port_label};
use forebay_experiment::world::Unsupported;
use forebay_types::Time;

/// Features of the network that the guest lacks, each by the first port that has it.
pub(crate) fn refused(network: &Network) -> Vec<Unsupported> {
    let mut all = Vec::new();
    let cannot = |key, what: &str| Unsupported {
        key,
        reason: format!("the guest's network {what}; legal: {key} left out, or `world = \"sim\"`"),
    };
    if !network.faults.corruption.is_empty() {
        all.push(cannot("topology.corruption", "damages no packets"));
    }
    match network.faults.balance {
        Balance::Flow => {}
        Balance::Packet => all.push(cannot("topology.balance", "sends a connection's packets one way")),
        // The paths of a connection are those at its start.
        Balance::Flowlet { .. } if !network.faults.failures.is_empty() => {
            all.push(cannot("topology.balance", "has flowlets only where no link fails"));
        }
        Balance::Flowlet { .. } => {
            let many = Fib::new(network).ok().and_then(|fib| too_many(network, &fib));
            all.extend(many.map(|(a, b)| {
                cannot("topology.balance", &format!("has at most {PATHS} paths for a connection, and {a} has more to {b}"))
            }));
        }
        Balance::Conga { .. } => {
            all.push(cannot(
                "topology.balance",
                "measures no congestion of links (DRE), and its packets carry none between leaves",
            ));
        }
    }
    if network.ties == Ties::Index {
        all.push(cannot("topology.ties", "draws the order of packets of the same instant"));
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

    #[test]
    fn zero_delay_is_named() {
        let mut network = experiment(2).network;
        assert_eq!(refused(&network), []);
        network.ports[PortId::new(3)].delay = Time::ZERO;
        let reasons: Vec<String> = refused(&network).into_iter().map(|u| u.reason).collect();
        assert!(reasons[0].contains("`sw->s0`"), "{reasons:?}");
    }

    #[test]
    fn unsupported_faults_are_named_by_key() {
        let mut network = experiment(2).network;
        let port = PortId::new(0);
        network.faults.corruption.push(Corruption { port, bit_errors: 1e-7 });
        network.faults.balance = Balance::Conga { gap: Time::from_us(500) };
        network.ties = Ties::Index;
        let keys: Vec<&str> = refused(&network).iter().map(|u| u.key).collect();
        assert_eq!(keys, ["topology.corruption", "topology.balance", "topology.ties"]);
    }
}
