//! Receiver-side window control (ICTCP): the controllers of the hosts that have one, and what they are told. Runs without any know one
//! flag of it.

use super::core::Core;
use crate::net::packet::{Packet, flag};
use crate::shim::ictcp::{self, Link};

impl Core {
    /// Connection `conn` is new: if its receiver has a window to control, its host's controller hears of it.
    #[cold]
    pub(super) fn join_link(&mut self, conn: u32, src: u32, dst: u32, group: usize) {
        let Some(c) = ictcp::find(&self.tcp[group as u32].shims).copied() else { return };
        let back = self.small_packet_latency(dst, src, group);
        let input = self.hosts[dst].input;
        if self.links.is_empty() {
            self.links.resize_with(self.network.nodes.len(), || None);
        }
        let rate = self.network.ports[input as usize].rate;
        // Our choice: a host that receives by several transports has the parameters of the first.
        let link = self.links[dst as usize].get_or_insert_with(|| Box::new(Link::new(&c, rate, 2 * back)));
        if let Some(share) = &mut self.receivers[conn].share {
            share.set_back(back);
            link.join(share.window);
        }
    }

    /// Connection `conn` has ended.
    #[cold]
    pub(super) fn leave_link(&mut self, conn: u32) {
        let host = self.streams[conn].dst;
        if let (Some(Some(link)), Some(share)) = (self.links.get_mut(host as usize), self.receivers[conn].share.take()) {
            link.leave(share.window);
        }
    }

    /// A packet of the data direction reached `node`; its connection has not seen it yet.
    #[cold]
    #[inline(never)]
    pub(super) fn steer(&mut self, node: u32, p: &Packet) {
        let Some(Some(link)) = self.links.get_mut(node as usize) else { return };
        let now = p.arrival;
        link.arrive(now, u64::from(p.wire));
        let receiver = &mut self.receivers[p.conn];
        // Of the stream: an endpoint below which a shim sits hides its own.
        let stream = &self.streams[p.conn];
        let current = stream.live && stream.generation == p.generation();
        if let Some(share) = &mut receiver.share
            && current
            && p.len > 0
            && p.flags & (flag::SYN | flag::PROBE) == 0
        {
            // Timestamps are the low bits of nanoseconds.
            let forward = u64::from(((now / 1000) as u32).wrapping_sub(p.ts)) * 1000;
            share.on_data(link, now, u64::from(p.len), forward);
        }
    }
}
