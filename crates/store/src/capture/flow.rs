//! Packets of one connection as its sender sees them: what it has sent and retransmitted, and what ACKs report. Sequence numbers count from the first
//! byte of data, and do not wrap.

use forebay_experiment::capture::{CapturedPacket, PacketEvent, TcpHeader, tcp_flag};
use forebay_types::NodeId;

/// Events of a flow, in order of time.
#[derive(Debug, Clone)]
pub struct FlowTrace {
    sender: NodeId,
    /// Interface of the sender's host.
    interface: u32,
    events: Vec<FlowEvent>,
    /// Sequence number of the first byte of data, as soon as it is known.
    origin: Option<u32>,
    /// Offset behind the last byte sent so far, and the largest cumulative ACK.
    sent: u64,
    acked: u64,
    /// Window field of the last ACK.
    window: u16,
    /// Window scale of the receiver.
    shift: Option<u8>,
}

/// An event of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowEvent {
    /// When, ps.
    pub time_ps: u64,
    /// Event.
    pub kind: FlowEventKind,
}

/// A packet at the sender, or a decision of a queue about a packet of the sender.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowEventKind {
    /// The sender's host has sent bytes [`start`, `end`) of the stream.
    Sent {
        /// Offset of the first byte.
        start: u64,
        /// Offset behind the last byte; equal to `start` for a packet without data.
        end: u64,
        /// True if some of the bytes were sent before.
        again: bool,
        /// The header.
        header: TcpHeader,
    },
    /// The sender's host has received an ACK.
    Received {
        /// Offset that is acknowledged.
        acked: u64,
        /// Right edge of the receive window.
        edge: u64,
        /// SACK blocks.
        sack: Vec<(u64, u64)>,
        /// True for a duplicate ACK (RFC 5681 section 2): it acknowledges nothing new, and carries neither data nor a new window, while data is
        /// outstanding.
        duplicate: bool,
        /// The header.
        header: TcpHeader,
    },
    /// A queue has marked bytes [`start`, `end`).
    Marked {
        /// Offset of the first byte.
        start: u64,
        /// Interface.
        interface: u32,
    },
    /// Bytes [`start`, `end`) were lost.
    Lost {
        /// Offset of the first byte.
        start: u64,
        /// Offset behind the last byte.
        end: u64,
        /// Interface.
        interface: u32,
        /// Reason.
        event: PacketEvent,
    },
}

impl FlowTrace {
    /// Creates the trace of the data that host `sender` sends; `interface` is that of the host in the capture.
    pub fn new(sender: NodeId, interface: u32) -> FlowTrace {
        FlowTrace { sender, interface, events: Vec::new(), origin: None, sent: 0, acked: 0, window: 0, shift: None }
    }

    /// Adds a packet of the connection. Packets come in order of time.
    pub fn add(&mut self, p: &CapturedPacket) {
        let Some(header) = p.tcp else { return };
        let (own, here) = (p.src == self.sender, p.interface == self.interface);
        if own && (here || self.origin.is_none()) {
            // The SYN takes a number of its own.
            let first = if header.has(tcp_flag::SYN) { header.seq.wrapping_add(1) } else { header.seq };
            self.origin.get_or_insert(first);
        }
        let kind = match (own, here) {
            (true, true) if p.event.is_drop() => self.lost(p, &header),
            (true, true) => self.sent(p, header),
            (false, true) if p.inbound => self.received(p, header),
            (true, false) if p.event == PacketEvent::Marked => {
                Some(FlowEventKind::Marked { start: self.offset(header.seq, self.sent), interface: p.interface })
            }
            (true, false) if p.event.comment().is_some() => self.lost(p, &header),
            _ => None,
        };
        self.events.extend(kind.map(|kind| FlowEvent { time_ps: p.time_ps, kind }));
    }

    /// The events.
    pub fn events(&self) -> &[FlowEvent] {
        &self.events
    }

    /// The offset nearest to `near` with this sequence number. A SYN has the offset of the first byte.
    fn offset(&self, seq: u32, near: u64) -> u64 {
        let number = seq.wrapping_sub(self.origin.unwrap_or(seq));
        near.saturating_add_signed(i64::from(number.wrapping_sub(near as u32) as i32))
    }

    fn sent(&mut self, p: &CapturedPacket, header: TcpHeader) -> Option<FlowEventKind> {
        let start = self.offset(header.seq, self.sent);
        let end = start + u64::from(p.payload);
        let again = p.payload > 0 && start < self.sent;
        self.sent = self.sent.max(end);
        Some(FlowEventKind::Sent { start, end, again, header })
    }

    fn lost(&self, p: &CapturedPacket, header: &TcpHeader) -> Option<FlowEventKind> {
        let start = self.offset(header.seq, self.sent);
        Some(FlowEventKind::Lost { start, end: start + u64::from(p.payload), interface: p.interface, event: p.event })
    }

    fn received(&mut self, p: &CapturedPacket, header: TcpHeader) -> Option<FlowEventKind> {
        if header.has(tcp_flag::SYN) {
            self.shift = header.syn.window_scale;
        }
        let acked = self.offset(header.ack, self.acked);
        let shift = if header.has(tcp_flag::SYN) { 0 } else { self.shift.unwrap_or(0) };
        let edge = acked + (u64::from(header.window) << shift);
        let sack = header.sack_blocks().map(|(start, end)| (self.offset(start, acked), self.offset(end, acked))).collect();
        let empty = p.payload == 0 && !header.has(tcp_flag::SYN) && !header.has(tcp_flag::FIN);
        let duplicate = empty && acked == self.acked && self.sent > acked && header.window == self.window;
        self.window = header.window;
        self.acked = self.acked.max(acked);
        Some(FlowEventKind::Received { acked, edge, sack, duplicate, header })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(time_ps: u64, own: bool, payload: u16, tcp: TcpHeader) -> CapturedPacket {
        let (src, dst) = if own { (0, 1) } else { (1, 0) };
        CapturedPacket {
            time_ps,
            interface: 0,
            inbound: !own,
            event: PacketEvent::Passed,
            conn_id: 0,
            back: !own,
            src: NodeId::new(src),
            dst: NodeId::new(dst),
            payload,
            ip_id: 1,
            ecn: 0,
            class: 0,
            tcp: Some(tcp),
        }
    }

    #[test]
    fn offsets_survive_wrap_of_numbers() {
        let seq = u32::MAX - 500;
        let mut flow = FlowTrace::new(NodeId::new(0), 0);
        flow.add(&packet(1, true, 0, TcpHeader { seq, flags: tcp_flag::SYN, ..TcpHeader::default() }));
        let data = |offset: u32| TcpHeader { seq: seq.wrapping_add(1 + offset), flags: tcp_flag::ACK, ..TcpHeader::default() };
        for (time, offset) in [(2, 0), (3, 1_000), (4, 0)] {
            flow.add(&packet(time, true, 1_000, data(offset)));
        }
        let ack = TcpHeader { ack: data(0).seq, window: 5_000, flags: tcp_flag::ACK, ..TcpHeader::default() };
        let block = (data(1_000).seq, data(2_000).seq);
        flow.add(&packet(5, false, 0, ack));
        flow.add(&packet(6, false, 0, TcpHeader { sack: [block, (0, 0), (0, 0), (0, 0)], ..ack }));
        let sent: Vec<(u64, u64, bool)> = flow
            .events()
            .iter()
            .filter_map(|e| match e.kind {
                FlowEventKind::Sent { start, end, again, .. } => Some((start, end, again)),
                _ => None,
            })
            .collect();
        assert_eq!(sent, [(0, 0, false), (0, 1_000, false), (1_000, 2_000, false), (0, 1_000, true)]);
        let Some(FlowEventKind::Received { acked, edge, sack, duplicate, .. }) = flow.events().last().map(|e| &e.kind) else {
            panic!("no ACK")
        };
        assert_eq!((*acked, *edge, sack.as_slice(), *duplicate), (0, 5_000, &[(1_000, 2_000)][..], true));
    }
}
