//! Shims that set receive windows (`shim/window.rs`): state of the receiving hosts. A run without such a shim only tests one flag.

use crate::net::arena::Sharing;
use crate::net::per_host::PerHost;
use crate::shim::window_shims::Hosts;
use crate::tcp::config::TcpConfig;
use forebay_types::NodeId;

/// The window shims of all hosts.
pub(super) struct WindowShims {
    any: bool,
    /// By node; empty until the first connection with such a shim.
    hosts: PerHost<NodeId, Hosts>,
}

impl WindowShims {
    /// Creates the shims without connections.
    pub(super) fn new(tcp: &[TcpConfig]) -> WindowShims {
        WindowShims { any: tcp.iter().any(|c| c.shims.window.is_some()), hosts: PerHost::new() }
    }

    /// Shares the shims with one partition of a run.
    pub(super) fn share(&mut self, sharing: &Sharing) -> WindowShims {
        WindowShims { any: self.any, hosts: self.hosts.share(sharing) }
    }

    /// Returns true if some transport has such a shim.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// State of host `node`; `None` before the first connection with such a shim.
    pub(super) fn of(&mut self, node: NodeId) -> Option<&mut Hosts> {
        (self.hosts.len() > 0).then(|| &mut self.hosts[node])
    }

    /// State of host `node`, one of `nodes`, created for its first connection with such a shim.
    pub(super) fn of_new(&mut self, node: NodeId, nodes: usize) -> &mut Hosts {
        for n in (self.hosts.len()..nodes).map(NodeId::from_index) {
            self.hosts.put(n, n, Hosts::default());
        }
        &mut self.hosts[node]
    }

    /// See [`PerHost::set_running`].
    #[cfg(debug_assertions)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        self.hosts.set_running(node);
    }
}
