//! Generic receive offload (Linux dev_gro_receive): the receiver's host joins segments of a connection that arrive one behind the other into
//! a super-segment. TCP is called once for it, and so acknowledges it once, as __tcp_ack_snd_check does for anything of two segments or more.
//!
//! The model: a super-segment is held until nothing has joined it for the time that the option `gro` says, as a kernel with
//! `gro_flush_timeout` of that time; each connection has its own, whatever comes between (the kernel holds eight flows a bucket). It is
//! handed over at once when the next segment cannot join it, or when the last one that joined is short, has the FIN, or ends a write.

use super::receiver::Receiver;
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_units::{Time, TimeOrNever};

/// The longest IP packet that a super-segment can be (GRO_LEGACY_MAX_SIZE is one more, and is not reached: skb_gro_receive).
const LONGEST: u32 = 65_535;

/// The super-segment of one connection.
#[derive(Debug, Clone)]
pub(super) struct Gro {
    /// Its first segment, with the payload of all.
    joined: Packet,
    /// Segments in it; 0 when none is held.
    segments: u32,
    /// Payload of the first.
    size: u16,
    /// When it is handed over.
    flush: TimeOrNever,
    /// When a delayed ACK is due, while [`Receiver::timer_due`] stands for what comes first.
    ack: TimeOrNever,
}

impl Gro {
    /// For stacks that have it on.
    pub(super) fn of(c: &TcpConfig) -> Option<Box<Gro>> {
        c.gro.map(|_| {
            Box::new(Gro { joined: Packet::default(), segments: 0, size: 0, flush: TimeOrNever::NEVER, ack: TimeOrNever::NEVER })
        })
    }

    /// Whether `p` continues what is held (tcp_gro_receive, inet_gro_receive): the next byte, no longer than the first, with the same ECN
    /// field, the same CWR and the same timestamp, to the tick of its clock.
    fn continues(&self, c: &TcpConfig, p: &Packet) -> bool {
        let held = &self.joined;
        let tick = c.timestamp_clock.as_ns().max(1) as u32;
        p.seq == held.seq.wrapping_add(u32::from(held.len))
            && p.len > 0
            && p.len <= self.size
            && u32::from(held.len) + u32::from(p.len) + c.header <= LONGEST
            && p.ecn() == held.ecn()
            && (p.flags ^ held.flags) & flag::CWR == 0
            && (!c.timestamps || p.ts / tick == held.ts / tick)
    }
}

impl Receiver {
    /// A packet of the data direction, but for SYNs, arrived at a host that joins segments.
    #[cold]
    #[inline(never)]
    pub(super) fn coalesce(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        if gro.segments > 0 && !gro.continues(c, p) {
            self.pass_on(c, now, out);
        }
        if p.len == 0 {
            // Nothing to join: a FIN alone, a probe, the handshake's ACK.
            return self.take(c, now, p, 1, out);
        }
        let end = self.end_of(p);
        let Some(gro) = &mut self.gro else { return };
        let short = gro.segments > 0 && p.len < gro.size;
        if gro.segments == 0 {
            (gro.joined, gro.size, gro.ack) = (*p, p.len, self.timer_due);
        } else {
            gro.joined.len += p.len;
            gro.joined.flags |= p.flags;
        }
        gro.segments += 1;
        // A write's last segment carries PSH.
        if short || p.has(flag::FIN) || end >= self.deliver_at {
            return self.pass_on(c, now, out);
        }
        gro.flush = (now + c.gro.unwrap_or(Time::ZERO)).into();
        self.timer_due = gro.flush.min(gro.ack);
    }

    /// Hands the super-segment over, if one is held.
    fn pass_on(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        let segments = std::mem::take(&mut gro.segments);
        if segments > 0 {
            let joined = gro.joined;
            self.timer_due = gro.ack;
            self.take(c, now, &joined, segments, out);
        }
    }

    /// A timer of such a receiver came due: what it holds is handed over, or a delayed ACK for what came before leaves.
    pub(super) fn flush_when_due(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        if gro.segments == 0 {
            return;
        }
        if gro.flush.has_come(now) {
            return self.pass_on(c, now, out);
        }
        // Only the delayed ACK is due: what is held goes on waiting.
        let flush = gro.flush;
        self.timer_due = std::mem::take(&mut gro.ack);
        self.on_ack_timer(c, now, out);
        self.timer_due = flush;
    }
}
