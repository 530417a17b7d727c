//! Generic receive offload (GRO) of a host: of the frames that the host takes at one interrupt, the segments of a flow become super-segments
//! (dev_gro_receive, tcp_gro_receive, skb_gro_receive). TCP processes each as one segment, and acknowledges it as one (__tcp_ack_snd_check).
//!
//! Nothing is held from one interrupt to the next: NAPI flushes what GRO holds at the end of its poll (napi_complete_done, `gro_flush_timeout` of 0).

use super::config::TcpConfig;
use crate::net::packet::{CarriedAck, Packet, flag};
use forebay_experiment::skb::TIMESTAMPS;
use forebay_types::ConnSlot;

/// Hash buckets of a card (GRO_HASH_BUCKETS).
const BUCKETS: usize = 8;
/// Super-segments that a bucket holds at most (MAX_GRO_SKBS).
const MOST: usize = 8;
/// Size of the longest IP packet that a super-segment can be (GRO_LEGACY_MAX_SIZE is one more, which skb_gro_receive does not reach).
const MAX_SIZE: u32 = 65_535;
/// Bytes of the headers of IPv4 and TCP, without options.
const HEADERS: u32 = 40;

/// Consecutive segments of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct SuperSegment {
    /// The first segment, with the payload of all, and with the FIN and PSH of the last.
    packet: Packet,
    segments: u32,
    /// Payload of the first.
    size: u16,
    /// ACK of the other direction, which is the same in all of them.
    ack: Option<CarriedAck>,
}

impl SuperSegment {
    /// A single segment, with the ACK that it carries.
    pub fn of(p: &Packet, ack: Option<CarriedAck>) -> SuperSegment {
        SuperSegment { packet: *p, segments: 1, size: p.len, ack }
    }

    /// The first segment, with the payload of all.
    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    /// Number of segments.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Payload of the first segment.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// ACK that the segments carry.
    pub fn ack(&self) -> Option<&CarriedAck> {
        self.ack.as_ref()
    }

    fn is_of_flow(&self, p: &Packet) -> bool {
        self.packet.conn == p.conn && self.packet.generation() == p.generation()
    }

    /// Returns true if `p` can join (tcp_gro_receive, inet_gro_receive). It begins at the next byte and is no longer than the first segment. It has the
    /// same ECN field, no CWR, the same ticks in the timestamps, and the same ACK. Identifications must be consecutive (inet_gro_flush): the
    /// connection has sent nothing in between. Our choice for senders without segmentation offload: those of two retransmissions are, and those of two
    /// other segments.
    fn accepts(&self, c: &TcpConfig, p: &Packet, ack: Option<CarriedAck>) -> bool {
        let held = &self.packet;
        let tick = c.timestamp_clock.as_ns().clamp(1, u64::from(u32::MAX)) as u32;
        let headers = HEADERS + if c.timestamps { u32::from(TIMESTAMPS) } else { 0 };
        p.seq == held.seq.wrapping_add(u32::from(held.len))
            && (1..=self.size).contains(&p.len)
            && u32::from(held.len) + u32::from(p.len) + headers <= MAX_SIZE
            && p.ecn() == held.ecn()
            && p.flags & (flag::CWR | flag::SYN | flag::PROBE) == 0
            && if c.tso.is_some() { !p.has(flag::RETX) } else { (p.flags ^ held.flags) & flag::RETX == 0 }
            && p.tsecr() == held.tsecr()
            && (!c.timestamps || p.ts / tick == held.ts / tick)
            && match (self.ack, ack) {
                (None, None) => true,
                (Some(first), Some(ack)) => {
                    // The AccECN option counts as part of the ACK, and above the tick is its ACE field.
                    (ack.number, ack.window, ack.ece, ack.accecn) == (first.number, first.window, first.ece, first.accecn)
                        && (!c.timestamps || ack.echo / tick == first.echo / tick)
                }
                _ => false,
            }
    }

    fn add(&mut self, p: &Packet) {
        self.packet.len += p.len;
        self.packet.flags |= p.flags & (flag::FIN | flag::PUSH);
        self.segments += 1;
    }
}

/// Super-segments of the flows with one hash, oldest first.
#[derive(Debug, Default)]
struct Bucket {
    held: [SuperSegment; MOST],
    count: usize,
}

impl Bucket {
    fn remove(&mut self, place: usize) -> SuperSegment {
        let removed = self.held[place];
        self.held.copy_within(place + 1..self.count, place);
        self.count -= 1;
        removed
    }
}

/// Effects of a frame.
#[derive(Debug, Default)]
pub struct Merged {
    /// A super-segment that is complete. It is passed to TCP before the frame, which it may contain.
    pub complete: Option<SuperSegment>,
    /// The frame is not held, and is passed to TCP.
    pub passes: bool,
}

/// Super-segments of a host.
#[derive(Debug, Default)]
pub struct Gro {
    buckets: [Bucket; BUCKETS],
    /// Bitmap of the buckets that hold some.
    busy: u8,
}

impl Gro {
    /// Returns true if nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.busy == 0
    }

    /// Receives a frame of the data direction of a flow with this hash, with the ACK that it carries; `pushed`: it ends a write (PSH).
    pub fn receive(&mut self, hash: u16, c: &TcpConfig, (p, ack): (&Packet, Option<CarriedAck>), pushed: bool) -> Merged {
        let number = usize::from(hash) % BUCKETS;
        let bucket = &mut self.buckets[number];
        let ends = pushed || p.flags & (flag::SYN | flag::FIN) != 0;
        let mut merged = Merged::default();
        if let Some(place) = bucket.held[..bucket.count].iter().position(|held| held.is_of_flow(p)) {
            let held = &mut bucket.held[place];
            let joins = held.accepts(c, p, ack);
            let is_last = joins && (ends || p.len < held.size);
            if joins {
                held.add(p);
            }
            if !joins || is_last {
                merged.complete = Some(bucket.remove(place));
            }
            if joins {
                self.note(number);
                return merged;
            }
        }
        merged.passes = ends || p.len == 0 || p.has(flag::PROBE);
        if !merged.passes {
            if bucket.count == MOST {
                // gro_flush_oldest
                merged.complete = Some(bucket.remove(0));
            }
            bucket.held[bucket.count] = SuperSegment::of(p, ack);
            bucket.count += 1;
        }
        self.note(number);
        merged
    }

    fn note(&mut self, number: usize) {
        let bit = 1 << number;
        self.busy = if self.buckets[number].count > 0 { self.busy | bit } else { self.busy & !bit };
    }

    /// Removes the super-segment of connection `conn` because an ACK without data arrives in the same direction of the same TCP connection: its length
    /// ends it (tcp_gro_receive).
    pub fn end_flow(&mut self, conn: ConnSlot) -> Option<SuperSegment> {
        for number in 0..BUCKETS {
            let bucket = &mut self.buckets[number];
            if let Some(place) = bucket.held[..bucket.count].iter().position(|held| held.packet.conn == conn) {
                let ended = bucket.remove(place);
                self.note(number);
                return Some(ended);
            }
        }
        None
    }

    /// Removes the next super-segment at the end of a poll (napi_gro_flush): bucket by bucket, oldest first.
    pub fn flush(&mut self) -> Option<SuperSegment> {
        if self.is_empty() {
            return None;
        }
        let number = self.busy.trailing_zeros() as usize;
        let first = self.buckets[number].remove(0);
        self.note(number);
        Some(first)
    }
}
