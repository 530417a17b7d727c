//! Generic receive offload (Linux dev_gro_receive): the receiver's host joins segments of a connection that arrive one behind the other into
//! a super-segment. TCP is called once for it, and so acknowledges it once, as __tcp_ack_snd_check does for anything of two segments or more.
//!
//! The model: a super-segment is held until nothing has joined it for the time that the option `gro` says, as a kernel with
//! `gro_flush_timeout` of that time; each connection has its own, whatever comes between (the kernel holds eight flows a bucket). It is
//! handed over at once when the next segment cannot join it, or when the last one that joined is short, has the FIN, or ends a write.

use crate::net::packet::{Packet, flag};
use crate::tcp::config::TcpConfig;
use forebay_units::TimeOrNever;

/// The longest IP packet that a super-segment can be (GRO_LEGACY_MAX_SIZE is one more, and is not reached: skb_gro_receive).
const LONGEST: u32 = 65_535;

/// The super-segment of one connection.
#[derive(Debug, Clone)]
pub(super) struct Gro {
    /// Its first segment, with the payload of all.
    pub(super) coalescing: Packet,
    /// Segments in it; 0 when none is held.
    pub(super) segments: u32,
    /// Payload of the first.
    pub(super) size: u16,
    /// When it is handed over.
    pub(super) flush: TimeOrNever,
    /// When a delayed ACK is due, while [`Receiver::timer_due`] stands for what comes first.
    pub(super) ack: TimeOrNever,
}

impl Gro {
    /// For stacks that have it on.
    pub(super) fn of(c: &TcpConfig) -> Option<Box<Gro>> {
        c.gro.map(|_| {
            Box::new(Gro {
                coalescing: Packet::default(),
                segments: 0,
                size: 0,
                flush: TimeOrNever::NEVER,
                ack: TimeOrNever::NEVER,
            })
        })
    }

    /// Whether `p` continues what is held (tcp_gro_receive, inet_gro_receive): the next byte, no longer than the first, with the same ECN
    /// field, the same CWR and the same timestamp, to the tick of its clock.
    pub(super) fn continues(&self, c: &TcpConfig, p: &Packet) -> bool {
        let held = &self.coalescing;
        let tick = c.timestamp_clock.as_ns().clamp(1, u64::from(u32::MAX)) as u32;
        p.seq == held.seq.wrapping_add(u32::from(held.len))
            && p.len > 0
            && p.len <= self.size
            && u32::from(held.len) + u32::from(p.len) + c.header <= LONGEST
            && p.ecn() == held.ecn()
            && (p.flags ^ held.flags) & flag::CWR == 0
            && (!c.timestamps || p.ts / tick == held.ts / tick)
    }
}
