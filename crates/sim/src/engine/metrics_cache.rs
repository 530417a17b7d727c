//! What hosts remember of the paths of closed connections, for transports that use it. Written between windows, when connections close, and
//! read when one opens.

use crate::tcp::config::TcpConfig;
use crate::tcp::metrics::Remembered;
use crate::tcp::sender::Sender;
use forebay_units::NodeId;
use std::collections::BTreeMap;

/// By sending and receiving host: a cache for each host, whichever transport a connection was of (Linux: one for each network namespace).
#[derive(Debug, Default)]
pub(super) struct MetricsCache(BTreeMap<(NodeId, NodeId), Remembered>);

impl MetricsCache {
    /// A connection over this path is about to open.
    pub(super) fn recall(&self, path: (NodeId, NodeId), c: &TcpConfig, sender: &mut Sender) {
        if let Some(remembered) = self.0.get(&path) {
            sender.remember(c, remembered);
        }
    }

    /// A connection over this path has ended.
    pub(super) fn remember(&mut self, path: (NodeId, NodeId), c: &TcpConfig, sender: &Sender) {
        self.0.entry(path).or_default().update(c, sender);
    }
}
