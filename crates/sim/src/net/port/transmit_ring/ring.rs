//! State of a transmit ring: bursts that have entered it, byte queue limits, and departures that TCP small queues read.

use crate::net::packet::{Packet, flag};
use crate::net::port::queue_limits::QueueLimits;
use forebay_queues::Handle;
use forebay_types::{ConnSlot, Time};
use std::collections::VecDeque;

/// Setup of a transmit ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransmitRingConfig {
    /// True if the ring has byte queue limits.
    pub byte_queue_limits: bool,
    /// Bytes of a packet on the wire that the queue and the limits do not count: a kernel counts IP packets (qdisc_pkt_len, netdev_sent_queue). Our
    /// choice: the link header of 14 bytes, which a kernel counts on Ethernet, is not counted either.
    pub framing: u16,
    /// Bytes by which the options of a SYN are longer than those of an ACK (tcp_syn_options).
    pub syn_options: u16,
    /// Unit of the host's clock: the queue runs in whole units after a packet has left.
    pub clock: Time,
}

/// A packet with data, or the first one of a burst, that has left the queue of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    pub conn: ConnSlot,
    /// Number of the generation of the connection.
    pub generation: u8,
    pub seq: u32,
    /// Time at which it leaves the interface; for a dropped packet that of the drop.
    pub time: Time,
}

/// Place of a burst whose further segments may follow at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Ring,
    /// Behind a full ring, ahead of the queue.
    Requeued,
    /// In the queue: handles of the burst, and of its last segment.
    Queue(Handle, Handle),
    Dropped,
}

/// State of the ring.
#[derive(Debug)]
pub(in crate::net::port) struct TransmitRing {
    /// `None`: the ring takes a packet when the transmitter is free.
    pub(super) limits: Option<QueueLimits>,
    /// Bytes of a packet that are not counted.
    pub(super) framing: u16,
    pub(super) syn_options: u16,
    pub(super) clock: Time,
    /// Departures of the bursts in the ring, with their bytes.
    pub(super) sent: VecDeque<(Time, u32)>,
    /// A packet that bypassed the empty queue while the ring was full (`gso_skb`, dev_requeue_skb): its departure and bytes.
    pub(super) requeued: Option<(Time, u32)>,
    /// Packets with data or a FIN that have left the queue since [`Port::take_departures`].
    pub(super) left: Vec<Departure>,
    /// Wire bytes in the queue.
    pub(super) held: u64,
    /// True if the ring was full when the discipline was called last. Otherwise that call found the discipline empty (__qdisc_run goes on until
    /// then), which ends the rounds of its queues.
    pub(super) interrupted: bool,
    /// True if packets may bypass the discipline while it is empty, as of its last call; false before the first one.
    pub(super) bypass: bool,
    /// The last packet, and its arrival.
    pub(super) open: (Time, Place),
    /// True if each segment of a burst is handled by itself.
    #[cfg(debug_assertions)]
    pub(super) by_segment: bool,
}

impl TransmitRing {
    pub(super) fn new(c: TransmitRingConfig, now: Time) -> TransmitRing {
        TransmitRing {
            limits: c.byte_queue_limits.then(|| QueueLimits::new(now)),
            framing: c.framing,
            syn_options: c.syn_options,
            clock: c.clock,
            sent: VecDeque::new(),
            requeued: None,
            left: Vec::new(),
            held: 0,
            interrupted: false,
            bypass: false,
            open: (Time::ZERO, Place::Dropped),
            #[cfg(debug_assertions)]
            by_segment: false,
        }
    }

    pub(super) fn config(&self) -> TransmitRingConfig {
        TransmitRingConfig {
            byte_queue_limits: self.limits.is_some(),
            framing: self.framing,
            syn_options: self.syn_options,
            clock: self.clock,
        }
    }

    /// Bytes that the kernel counts of a packet.
    #[inline(always)]
    pub(super) fn counted(&self, packet: &Packet) -> u32 {
        // Datagrams have no framing.
        if packet.has(flag::DATAGRAM) {
            return packet.wire.into();
        }
        let more = if packet.has(flag::SYN) { self.syn_options } else { 0 };
        u32::from(packet.wire.saturating_sub(self.framing) + more)
    }

    /// Returns true if the burst that arrived at `now` is in the ring, to which its further segments may be added.
    #[inline(always)]
    pub(super) fn extends(&self, now: Time) -> bool {
        #[cfg(debug_assertions)]
        if self.by_segment {
            return false;
        }
        self.open == (now, Place::Ring)
    }

    /// Adds segments of `bytes` to the burst that entered last, which now ends at `departure`.
    #[inline(always)]
    pub(super) fn extend(&mut self, departure: Time, bytes: u32) {
        if let Some(limits) = &mut self.limits {
            limits.extend(bytes);
        }
        if let Some(last) = self.sent.back_mut() {
            *last = (departure, last.1 + bytes);
        }
    }

    /// Returns true if the ring takes another packet.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        match &self.limits {
            Some(limits) => limits.is_open(),
            None => self.sent.is_empty(),
        }
    }

    /// Returns true if the ring, which is full, opens only when its last packet leaves.
    pub(super) fn opens_empty(&self) -> bool {
        let Some(mut limits) = self.limits else { return true };
        let opens = self.sent.iter().position(|&(departure, bytes)| {
            limits.complete(bytes, departure);
            limits.is_open()
        });
        opens.is_none_or(|place| place + 1 == self.sent.len())
    }

    /// Bytes that the queue may pass to the ring at once (qdisc_avail_bulklimit).
    #[inline(always)]
    pub(super) fn bulk_limit(&self) -> i64 {
        self.limits.as_ref().map_or(0, |limits| limits.available().into())
    }

    /// Counts a packet that enters the ring.
    #[inline(always)]
    pub(super) fn queue(&mut self, departure: Time, bytes: u32) {
        if let Some(limits) = &mut self.limits {
            limits.queue(bytes);
        }
        self.sent.push_back((departure, bytes));
    }

    /// Counts the departure of the first packet in the ring before `until`. Returns its time.
    #[inline(always)]
    pub(super) fn complete(&mut self, until: Time) -> Option<Time> {
        let &(departure, bytes) = self.sent.front()?;
        if departure >= until {
            return None;
        }
        self.sent.pop_front();
        if let Some(limits) = &mut self.limits {
            limits.complete(bytes, departure);
        }
        // A full ring opens: first the packet ahead of the queue (dequeue_skb).
        if self.is_open()
            && let Some((departure, bytes)) = self.requeued.take()
        {
            self.queue(departure, bytes);
        }
        Some(departure)
    }
}
