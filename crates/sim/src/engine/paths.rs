//! What hosts remember of the paths of closed connections, for transports that use it. Written between windows, when connections close, and
//! read when one opens.

use super::core::Core;
use crate::tcp::metrics::Remembered;
use forebay_experiment::transport::Metrics;
use forebay_units::{ConnSlot, NodeId};
use std::collections::BTreeMap;

/// By sending and receiving host: a cache for each host, whichever transport a connection was of (Linux: one for each network namespace).
#[derive(Debug, Default)]
pub(super) struct Paths(BTreeMap<(NodeId, NodeId), Remembered>);

impl Core {
    /// Connection `conn` is about to open.
    pub(super) fn recall_path(&mut self, conn: ConnSlot) {
        let sender = &mut self.senders[conn];
        let c = &self.tcp[sender.group()];
        if c.metrics == Metrics::Off {
            return;
        }
        let s = &self.streams[conn];
        if let Some(path) = self.paths.0.get(&(s.src, s.dst)) {
            sender.remember(c, path);
        }
    }

    /// Connection `conn` has ended.
    pub(super) fn remember_path(&mut self, conn: ConnSlot) {
        let sender = &self.senders[conn];
        let c = &self.tcp[sender.group()];
        if c.metrics != Metrics::Off {
            let s = &self.streams[conn];
            self.paths.0.entry((s.src, s.dst)).or_default().update(c, sender);
        }
    }
}
