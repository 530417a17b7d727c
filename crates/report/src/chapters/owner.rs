//! Whose colour a thing has that all transports of a network share.

use forebay_analysis::Data;

/// The subject in whose colour a queue is drawn: that of the network where it has one, the first of it where networks are told apart by
/// their first; nobody's where one network has several, as then the queue is no more the first's than the others'.
pub(super) fn colour(data: &Data, network: usize) -> Option<usize> {
    let n = &data.networks[network];
    (n.groups == 1 || data.networks.len() > 1).then_some(n.first)
}
