//! Receive windows that a shim sets (`shim/window.rs`): what the receiving hosts know, and the hooks that are about a host. A run in which no
//! transport has such a shim pays for one flag.

use super::core::Core;
use crate::config::TcpConfig;
use crate::net::packet::{Packet, flag};
use crate::shim::window::{self, Hosts};
use forebay_units::NodeId;

/// The window shims of all hosts.
pub(super) struct WindowShims {
    any: bool,
    /// By node; empty until the first connection that has one.
    hosts: Vec<Hosts>,
}

impl WindowShims {
    /// None has seen a connection yet.
    pub fn new(tcp: &[TcpConfig]) -> WindowShims {
        WindowShims { any: tcp.iter().any(|c| window::configured(&c.shims).is_some()), hosts: Vec::new() }
    }

    /// Whether some transport has such a shim.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.any
    }
}

impl Core {
    /// Connection `conn` is new: the shim of its receiver's host, if it has one, counts it.
    #[cold]
    pub(super) fn join_window_shim(&mut self, conn: u32, src: NodeId, dst: NodeId, group: usize) {
        let Some(c) = window::configured(&self.tcp[group as u32].shims) else { return };
        let back = self.small_packet_latency(dst, src, group);
        let rate = self.network.ports[self.hosts[dst.get()].input].rate;
        let hosts = &mut self.window_shims.hosts;
        if hosts.is_empty() {
            hosts.resize_with(self.network.nodes.len(), Hosts::default);
        }
        if let Some(window) = &mut self.receivers[conn].window_shim {
            hosts[dst.index()].join(c, window, rate, back);
        }
    }

    /// Connection `conn` has ended.
    pub(super) fn leave_window_shim(&mut self, conn: u32) {
        if !self.window_shims.any() {
            return;
        }
        let host = self.streams[conn].dst;
        let hosts = self.window_shims.hosts.get_mut(host.index());
        if let (Some(hosts), Some(window)) = (hosts, self.receivers.whosever_mut(conn).window_shim.take()) {
            hosts.leave(&window);
        }
    }

    /// A packet of the data direction reached `node`; its endpoint has not seen it yet.
    #[cold]
    #[inline(never)]
    pub(super) fn show_window_shim(&mut self, node: NodeId, p: &Packet) {
        let Some(hosts) = self.window_shims.hosts.get_mut(node.index()) else { return };
        let now = p.arrival;
        hosts.packet_arrived(now, u64::from(p.wire));
        let generation = self.receivers.whosever(p.conn).generation();
        let current = generation.receives(p) || generation.receives_through_shim(p);
        if current
            && let Some(window) = &mut self.receivers[p.conn].window_shim
            && p.len > 0
            && p.flags & (flag::SYN | flag::PROBE) == 0
        {
            // Timestamps are the low bits of nanoseconds.
            let forward = u64::from(((now / 1000) as u32).wrapping_sub(p.ts)) * 1000;
            hosts.data_arrived(window, now, u64::from(p.len), forward);
        }
    }
}
