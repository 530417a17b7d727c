//! Sources that send at their own rate whatever happens: connections without TCP. Their packets are counted like all others.

use super::Core;
use crate::engine::nic::Nic;
use crate::engine::stream::Message;
use crate::tcp::datagram::Datagram;
use forebay_traffic::OpenSpec;
use forebay_units::{ConnSlot, Time, TimeOrNever};

impl Core {
    /// Prepares a source of datagrams. Only called between windows, as [`Core::connect`].
    pub(crate) fn source(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot {
        let conn = self.allot(spec);
        self.senders[conn].unresponsive(datagram);
        self.streams[conn].datagrams = true;
        conn
    }

    /// Source `conn` sends a datagram at `now`. Call it at the sending host.
    pub(crate) fn datagram(&mut self, conn: ConnSlot, now: Time) {
        let out = &mut self.outgoing[conn];
        if out.is_empty() {
            // The one row of this source: without end, from its first packet on.
            let message = Message {
                begin: 0,
                behind: None,
                start: now,
                delivered: TimeOrNever::NEVER,
                query: None,
                deadline: TimeOrNever::NEVER,
                first_window: 0,
            };
            out.push(message, &mut self.lane.spare);
        }
        // The processing jitter of hosts is that of TCP; a source has its own.
        let mut nic = Nic::at_once((&mut self.fabric, &mut self.lane), &mut self.hosts[self.streams[conn].src], now);
        self.senders[conn].datagram(now, &mut nic);
    }

    /// Payload of `conn` that is known to have arrived: acknowledged, or, where nobody acknowledges, received.
    pub(super) fn known_to_arrive(&self, conn: ConnSlot) -> u64 {
        if self.streams[conn].datagrams {
            return self.held(conn).in_order;
        }
        let sender = &self.senders[conn];
        sender.snd_una().min(sender.written())
    }
}
