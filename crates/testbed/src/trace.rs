//! Trace records of the switch thread, for the thread that reports to the runner.

use crate::frame::ETHERNET;
use crate::port::Skb;
use crate::records::{Loss, Packet, Records};
use crate::switch::Delivery;
use crate::wire::{TraceSink, owner};
use forebay_linux::protocol::{self, reason, what};
use forebay_queues::{DropReason, QueueState};
use forebay_types::{PortId, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// A record of the switch.
#[derive(Debug, Clone)]
pub enum TraceRecord {
    /// Packet event.
    Packet(protocol::Packet),
    /// Departure.
    Leave(protocol::Leave),
    /// Headers of a packet, before its first event.
    Header(Box<protocol::Header>),
}

/// Trace data that the two threads share.
#[derive(Debug, Default)]
pub struct TraceBuffer {
    /// Records in the order of time.
    pub entries: Vec<TraceRecord>,
    /// Connections whose senders got an ACK.
    pub touched: Vec<u32>,
}

/// Published trace records, shared by both threads.
#[derive(Debug, Clone, Default)]
pub struct SharedTrace(Arc<Mutex<TraceBuffer>>);

impl SharedTrace {
    /// Locks the published records.
    pub fn lock(&self) -> MutexGuard<'_, TraceBuffer> {
        // A thread that panics with the book open ends the run anyway.
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The switch's own.
#[derive(Debug, Default)]
pub struct TraceWriter {
    own: TraceBuffer,
    /// True if headers are recorded.
    headers: bool,
    published: SharedTrace,
}

impl TraceWriter {
    /// An empty one, from which others read what is published.
    pub fn new(published: SharedTrace) -> TraceWriter {
        TraceWriter { published, ..TraceWriter::default() }
    }

    /// Records the headers of packets too, if `on`.
    pub fn with_headers(self, on: bool) -> TraceWriter {
        TraceWriter { headers: on, ..self }
    }

    /// Records the headers of a packet at the port of its host.
    fn header(&mut self, skb: &Skb<Packet>) {
        if !self.headers || skb.frame.hop > 0 {
            return;
        }
        let packet = skb.frame.bytes.get(ETHERNET..).unwrap_or_default();
        let mut bytes = [0; protocol::HEADER];
        bytes.iter_mut().zip(packet).for_each(|(to, from)| *to = *from);
        self.own.entries.push(TraceRecord::Header(Box::new(protocol::Header { id: skb.frame.id, bytes })));
    }

    fn packet(&mut self, time: Time, port: PortId, skb: &Skb<Packet>, what: u8, rest: (u8, QueueState)) {
        let (headers, of) = (&skb.frame.headers, owner(&skb.meta));
        let (reason, queue) = rest;
        let tcp = headers.tcp;
        self.own.entries.push(TraceRecord::Packet(protocol::Packet {
            time: time.0,
            id: skb.frame.id,
            conn: of.conn,
            port: port.get(),
            seq: tcp.map_or(0, |t| t.seq),
            ack: tcp.map_or(0, |t| t.ack),
            payload: headers.payload,
            wire: skb.meta.wire,
            window: tcp.map_or(0, |t| t.window),
            tcp_flags: tcp.map_or(0, |t| t.flags),
            // Of a packet that is marked at its arrival the field before, which its headers have kept.
            ecn: if what == what::MARKED { headers.ecn } else { skb.meta.ecn } as u8,
            what,
            reason,
            class_of_service: skb.meta.class,
            back: u8::from(of.back),
            queue_packets: queue.packets,
            pad: 0,
            queue_bytes: queue.bytes,
        }));
    }
}

impl Records for TraceWriter {
    fn joined(&mut self, time: Time, port: PortId, skb: &Skb<Packet>, found: QueueState, marked: bool) {
        self.header(skb);
        self.packet(time, port, skb, if marked { what::MARKED } else { what::ARRIVED }, (0, found));
    }

    fn marked(&mut self, time: Time, port: PortId, skb: &Skb<Packet>) {
        self.packet(time, port, skb, what::MARKED_LATER, (0, QueueState::default()));
    }

    fn dropped(&mut self, time: Time, port: PortId, skb: &Skb<Packet>, found: QueueState, loss: Loss) {
        let reason = match loss {
            Loss::Queue(DropReason::Overflow) => reason::OVERFLOW,
            Loss::Queue(DropReason::SharedBuffer) => reason::SHARED,
            Loss::Queue(DropReason::Early) => reason::EARLY,
            Loss::Dead => reason::DEAD,
            Loss::Cut => reason::CUT,
            Loss::InFlight => reason::LOST,
            Loss::Damaged => reason::DAMAGED,
        };
        self.header(skb);
        self.packet(time, port, skb, what::DROPPED, (reason, found));
    }

    fn left(&mut self, time: Time, port: PortId, skb: &Skb<Packet>) {
        let leave = protocol::Leave { time: time.0, id: skb.frame.id, port: port.get(), wire: skb.meta.wire };
        self.own.entries.push(TraceRecord::Leave(leave));
    }
}

impl TraceSink for TraceWriter {
    fn delivered(&mut self, now: Time, delivery: &Delivery, acked: Option<u32>) {
        self.packet(now, delivery.port, &delivery.skb, what::DELIVERED, (0, QueueState::default()));
        self.own.touched.extend(acked);
    }

    fn publish(&mut self) {
        if self.own.entries.is_empty() {
            return;
        }
        let mut shared = self.published.lock();
        shared.entries.append(&mut self.own.entries);
        shared.touched.append(&mut self.own.touched);
    }
}
