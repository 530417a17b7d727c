//! Color of items that all transports of a network share.

use forebay_analysis::Data;

/// The subject that gives a queue its color: the only one of its network, or the first where only the networks are distinguished. `None` where one
/// network has several subjects, because the queue belongs to all of them.
pub(super) fn colour(data: &Data, network: usize) -> Option<usize> {
    let n = &data.networks[network];
    (n.groups == 1 || data.networks.len() > 1).then_some(n.first)
}
