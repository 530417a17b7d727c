//! Conservation of packets and bytes by switches and links, between counters of different ports.

use super::violation::broken;
use forebay_experiment::network::Network;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_types::{IndexVec, NodeId, PortId};

/// Counters of the ports that lead to a node, and of those that lead away from it.
#[derive(Debug, Clone, Default)]
struct Balance {
    /// Packets that their links delivered, or will deliver: sent, and neither cut by a failure nor damaged.
    intact_pkts: u64,
    /// Bytes that the ports sent.
    sent_bytes: u64,
    /// Packets of `sent_bytes` that do not arrive.
    lost_pkts: u64,
    /// Packets that have not arrived when the counters are read, and their bytes.
    undelivered: (u64, u64),
    /// Packets and bytes that reached the ports of the node.
    passed: (u64, u64),
    /// Payload that arrived at the node, if it is a host.
    payload: u64,
}

/// Checks all nodes of a run without a warm-up.
///
/// All counters are read at the same time, between two windows, so that no packet is inside a switch. The egress port of its route has counted each packet
/// that a link has delivered, as sent, dropped or cut. The equations have no tolerance.
pub(super) fn holds(network: &Network, r: &Report) -> Result<(), String> {
    for (id, balance) in balances(network, r).enumerate() {
        let node = &network.nodes[id];
        let (packets, bytes) = balance.undelivered;
        if node.host {
            // The payload of a message counts once; headers, retransmissions and control packets come on top.
            if balance.payload > balance.sent_bytes.saturating_sub(bytes) {
                return broken("a host receives more payload than its link carries", &(&node.name, balance));
            }
            continue;
        }
        if balance.intact_pkts != balance.passed.0 + packets {
            return broken("a switch loses or invents packets", &(&node.name, balance));
        }
        // The bytes of packets that a link loses are not counted.
        let taken = balance.passed.1 + bytes;
        if taken > balance.sent_bytes || (balance.lost_pkts == 0 && taken != balance.sent_bytes) {
            return broken("a switch loses or invents bytes", &(&node.name, balance));
        }
    }
    Ok(())
}

fn balances(network: &Network, r: &Report) -> IndexVec<NodeId, Balance> {
    let mut all: IndexVec<NodeId, Balance> = IndexVec::repeat(Balance::default(), network.nodes.len());
    let ports: IndexVec<PortId, &PortRow> = r.ports.iter().collect();
    for (row, port) in ports.iter().zip(network.ports.iter()) {
        let (lost, to) = (row.cut_flying + row.corrupted, &mut all[port.to]);
        to.intact_pkts += row.sent_pkts.saturating_sub(lost);
        to.sent_bytes += row.sent_bytes;
        to.lost_pkts += lost;
        let from = &mut all[port.from];
        from.passed = (from.passed.0 + row.arrived_pkts, from.passed.1 + row.arrived_bytes);
    }
    for ((balance, packets), bytes) in all.iter_mut().zip(r.undelivered.packets.iter()).zip(r.undelivered.bytes.iter()) {
        balance.undelivered = (*packets, *bytes);
    }
    for f in &r.flows {
        all[f.dst].payload += f.bytes_measured;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ran, ran_intact};
    use super::*;

    /// The result after a change of the report of a run in which packets are queued, dropped, lost and on the wire.
    fn after(change: impl FnOnce(&mut Report)) -> Result<(), String> {
        let (config, mut report) = ran();
        change(&mut report);
        holds(&config.network, &report)
    }

    fn breaks(invariant: &str, change: impl FnOnce(&mut Report)) {
        let why = after(change).expect_err(invariant);
        assert!(why.starts_with(invariant), "{why}");
    }

    #[test]
    fn runs_conserve_packets() {
        let (_, report) = ran();
        assert_eq!(after(|_| {}), Ok(()));
        let sum = |of: fn(&PortRow) -> u64| report.ports.iter().map(of).sum::<u64>();
        assert!(sum(|p| p.dropped_overflow) > 0 && sum(|p| p.corrupted) > 0, "{:?}", report.ports);
        assert!(report.undelivered.packets.iter().sum::<u64>() > 0, "{:?}", report.undelivered);
    }

    #[test]
    fn one_packet_breaks_switch_conservation() {
        let invariant = "a switch loses or invents packets";
        for port in towards_switch() {
            breaks(invariant, |r| r.ports[port].sent_pkts += 1);
            breaks(invariant, |r| r.ports[port].sent_pkts -= 1);
            breaks(invariant, |r| r.ports[port].corrupted += 1);
            breaks(invariant, |r| r.ports[port].cut_flying += 1);
        }
        breaks(invariant, |r| bottleneck(r).arrived_pkts += 1);
        breaks(invariant, |r| bottleneck(r).arrived_pkts -= 1);
        breaks(invariant, |r| r.undelivered.packets.iter_mut().for_each(|n| *n += 1));
    }

    #[test]
    fn one_byte_breaks_switch_conservation() {
        let invariant = "a switch loses or invents bytes";
        breaks(invariant, |r| bottleneck(r).arrived_bytes += 10_000_000);
        let (config, report) = ran_intact();
        assert_eq!(holds(&config.network, &report), Ok(()));
        for change in [
            |r: &mut Report| bottleneck(r).arrived_bytes += 1,
            |r: &mut Report| bottleneck(r).arrived_bytes -= 1,
            |r: &mut Report| r.undelivered.bytes.iter_mut().for_each(|n| *n += 1),
        ] {
            let mut report = report.clone();
            change(&mut report);
            let why = holds(&config.network, &report).expect_err(invariant);
            assert!(why.starts_with(invariant), "{why}");
        }
    }

    #[test]
    fn payload_beyond_link_bytes_is_found() {
        let invariant = "a host receives more payload than its link carries";
        breaks(invariant, |r| {
            let bytes = r.ports.iter().map(|p| p.sent_bytes).sum::<u64>();
            r.flows[0].bytes_measured += bytes;
        });
    }

    /// Ports whose links lead to the switch and have packets: those of other links are zero.
    fn towards_switch() -> Vec<usize> {
        let (config, report) = ran();
        let ports = config.network.ports.iter().zip(&report.ports).enumerate();
        let found: Vec<_> =
            ports.filter(|(_, (port, row))| !config.network.nodes[port.to].host && row.sent_pkts > 0).map(|(i, _)| i).collect();
        assert_eq!(found.len(), 3, "two senders and the receiver");
        found
    }

    /// The port with drops.
    fn bottleneck(r: &mut Report) -> &mut PortRow {
        r.ports.iter_mut().find(|p| p.dropped_overflow > 0).expect("drops")
    }
}
