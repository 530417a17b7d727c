//! Path metrics of closed connections (Linux tcp_metrics), for transports that use them. Written between windows, when connections close, and read
//! when one opens.

use crate::tcp::config::TcpConfig;
use crate::tcp::metrics::Remembered;
use crate::tcp::sender::Sender;
use forebay_types::NodeId;
use std::collections::BTreeMap;

/// Metrics by sending and receiving host: one cache per host for all transports (Linux: one per network namespace).
#[derive(Debug, Default)]
pub(super) struct MetricsCache(BTreeMap<(NodeId, NodeId), Remembered>);

impl MetricsCache {
    /// Applies the metrics of the path to the sender of a connection that is about to open.
    pub(super) fn apply(&self, path: (NodeId, NodeId), c: &TcpConfig, sender: &mut Sender) {
        if let Some(remembered) = self.0.get(&path) {
            sender.remember(c, remembered);
        }
    }

    /// Stores the metrics of a connection that has closed.
    pub(super) fn store(&mut self, path: (NodeId, NodeId), c: &TcpConfig, sender: &Sender) {
        self.0.entry(path).or_default().update(c, sender);
    }
}
