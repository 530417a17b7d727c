//! Rate at which the hosts of a workload can send.

use forebay_experiment::network::Network;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::NodeId;
use std::collections::BTreeSet;

/// Fraction of a link's rate that backlogged senders use for payload. Our choice.
const USED: f64 = 0.9;

/// Seconds in a ps, the unit of mean times.
const PS: f64 = 1e-12;

/// Bytes per second that a workload can transfer from its senders to its receivers, limited by their links and by pauses between writes.
pub(super) fn capacity(network: &Network, kind: &WorkloadKind) -> f64 {
    let (mut senders, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    kind.each_sender(|h| {
        senders.insert(h);
    });
    kind.each_host(|h| {
        hosts.insert(h);
    });
    let only: BTreeSet<NodeId> = hosts.difference(&senders).copied().collect();
    // If every host sends, every host also receives.
    let receivers = if only.is_empty() { &hosts } else { &only };
    let rate = |is: &dyn Fn(NodeId, NodeId) -> bool| -> f64 {
        network.ports.iter().filter(|p| is(p.from, p.to)).map(|p| p.rate.0 as f64).sum()
    };
    let links = rate(&|from, _| senders.contains(&from)).min(rate(&|_, to| receivers.contains(&to))) / 8.0 * USED;
    links.min(written(kind))
}

/// Bytes per second that its applications write, limited by pauses.
fn written(kind: &WorkloadKind) -> f64 {
    let per_second = |pairs: usize, bytes: f64, pause: f64| pairs as f64 * bytes / pause.max(1e-9);
    match kind {
        WorkloadKind::OnOff { pairs, sizes, gaps, .. } => per_second(pairs.len(), sizes.mean(), gaps.mean() * PS),
        WorkloadKind::Requests { pairs, request, response, think, .. } => {
            per_second(pairs.len(), request.mean() + response.mean(), think.mean() * PS)
        }
        WorkloadKind::Udp { pairs, datagram, rate, periods, .. } => {
            let sending = periods.as_ref().map_or(1.0, |(on, off)| {
                let (on, off) = (on.mean(), off.mean());
                on / (on + off).max(1e-12)
            });
            let payload = f64::from(datagram.payload) / f64::from(datagram.wire.max(1));
            pairs.len() as f64 * rate.0 as f64 / 8.0 * payload * sending
        }
        _ => f64::INFINITY,
    }
}
