//! Generic receive offload (dev_gro_receive): the host joins consecutive segments of a connection into a super-segment. TCP processes it as one, and
//! so acknowledges it once, as __tcp_ack_snd_check does for two segments or more.
//!
//! The model: a super-segment is held until no segment has joined it for the time of the option `gro`, as a kernel with `gro_flush_timeout` of that
//! time. Each connection has its own (the kernel holds eight flows a bucket). It is passed to TCP immediately when the next segment cannot join it,
//! or when the last one is short, or has the FIN or PSH.

use super::Receiver;
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_types::{Time, TimeOrNever};

/// Size of the longest IP packet that a super-segment can be (GRO_LEGACY_MAX_SIZE is one more, which skb_gro_receive does not reach).
const MAX_SIZE: u32 = 65_535;

/// The super-segment of one connection.
#[derive(Debug, Clone)]
pub(super) struct Gro {
    /// The first segment, with the payload of all.
    held: Packet,
    /// Number of segments; 0 when none is held.
    segments: u32,
    /// Payload of the first.
    size: u16,
    /// Time at which it is passed to TCP.
    flush: TimeOrNever,
    /// Time at which a delayed ACK is due; meanwhile the timer of the receiver is set to the earlier of the two.
    ack: TimeOrNever,
}

impl Gro {
    /// `None` for stacks without GRO.
    pub(super) fn new(c: &TcpConfig) -> Option<Box<Gro>> {
        c.gro.map(|_| {
            Box::new(Gro { held: Packet::default(), segments: 0, size: 0, flush: TimeOrNever::NEVER, ack: TimeOrNever::NEVER })
        })
    }

    /// Returns true if `p` can join the super-segment (tcp_gro_receive, inet_gro_receive): the next byte, no longer than the first segment, with the
    /// same ECN field, the same CWR and the same ticks in the timestamps.
    fn can_join(&self, c: &TcpConfig, p: &Packet) -> bool {
        let held = &self.held;
        let tick = c.timestamp_clock.as_ns().clamp(1, u64::from(u32::MAX)) as u32;
        p.seq == held.seq.wrapping_add(u32::from(held.len))
            && p.len > 0
            && p.len <= self.size
            && u32::from(held.len) + u32::from(p.len) + c.header <= MAX_SIZE
            && p.ecn() == held.ecn()
            && (p.flags ^ held.flags) & flag::CWR == 0
            && p.tsecr() == held.tsecr()
            && (!c.timestamps || p.ts / tick == held.ts / tick)
    }

    /// Adds `p`, while the timer of the receiver is set to `timer_due`. True if it ends the super-segment because it is short.
    fn add(&mut self, p: &Packet, timer_due: TimeOrNever) -> bool {
        let short = self.segments > 0 && p.len < self.size;
        if self.segments == 0 {
            (self.held, self.size, self.ack) = (*p, p.len, timer_due);
        } else {
            self.held.len += p.len;
            self.held.flags |= p.flags;
        }
        self.segments += 1;
        short
    }
}

impl Receiver {
    /// Handles a packet of the data direction, but no SYN, at a host with GRO.
    #[cold]
    #[inline(never)]
    pub(super) fn gro_receive(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        let Some(gro) = &self.gro else { return };
        if gro.segments > 0 && !gro.can_join(c, p) {
            self.gro_flush(c, now, out);
        }
        if p.len == 0 {
            // A FIN alone, a probe, the handshake's ACK.
            return self.process_segment(c, now, p, 1, out);
        }
        let end = self.stream.end_of(p);
        let Some(gro) = &mut self.gro else { return };
        let short = gro.add(p, self.timer_due);
        // Linux sets PSH at the end of a write and of each burst (__tcp_transmit_skb). Other senders set none here; their writes end with PSH.
        let push = if c.is_linux() { p.has(flag::PUSH) } else { end >= self.stream.deliver_at() };
        if short || push || p.has(flag::FIN) {
            return self.gro_flush(c, now, out);
        }
        gro.flush = (now + c.gro.unwrap_or(Time::ZERO)).into();
        self.timer_due = gro.flush.min(gro.ack);
    }

    /// Passes the super-segment to TCP, if one is held.
    fn gro_flush(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        let segments = std::mem::take(&mut gro.segments);
        if segments > 0 {
            let held = gro.held;
            self.timer_due = gro.ack;
            self.process_segment(c, now, &held, segments, out);
        }
    }

    /// Handles the expired timer of a host with GRO: passes the super-segment to TCP, or sends a delayed ACK for earlier segments.
    pub(super) fn on_gro_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        if gro.segments == 0 {
            return;
        }
        if gro.flush.is_due(now) {
            return self.gro_flush(c, now, out);
        }
        // Only the delayed ACK is due: the super-segment stays.
        let flush = gro.flush;
        self.timer_due = std::mem::take(&mut gro.ack);
        self.on_ack_timer(c, now, out);
        self.timer_due = flush;
    }
}
