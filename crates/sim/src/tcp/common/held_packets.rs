//! Packets of one connection that wait in the queue of their host until their departure times (sch_fq with `skb->tstamp`). TCP has sent them: they
//! count as outstanding, and for TCP small queues.

use crate::net::packet::{Packet, RELEASED, Wire};
use forebay_types::{Time, TimeOrNever};
use std::collections::VecDeque;

/// A burst that waits; its segments follow those of earlier bursts.
#[derive(Debug, Clone, Copy)]
struct Burst {
    departure: Time,
    segments: u32,
    /// Memory.
    bytes: u32,
}

/// Packets that wait for their departure times, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct HeldPackets {
    segments: VecDeque<Packet>,
    bursts: VecDeque<Burst>,
    /// Segments of the burst that is being sent.
    open: u32,
}

impl HeldPackets {
    /// Adds a segment of the burst that is being sent. Returns true for its first one.
    pub(in crate::tcp) fn add(&mut self, segment: Packet) -> bool {
        self.segments.push_back(segment);
        self.open += 1;
        self.open == 1
    }

    /// Ends the burst, of `bytes` of memory, which leaves at `departure`. Returns false if it is empty: it left at once.
    pub(in crate::tcp) fn end_burst(&mut self, departure: Time, bytes: u32) -> bool {
        let segments = std::mem::take(&mut self.open);
        if segments > 0 {
            self.bursts.push_back(Burst { departure, segments, bytes });
        }
        segments > 0
    }

    /// Departure time of the first burst.
    pub(in crate::tcp) fn due(&self) -> TimeOrNever {
        self.bursts.front().map_or(TimeOrNever::NEVER, |b| b.departure.into())
    }

    /// Passes the first burst on, if it leaves by `now`. Returns its number of segments, its memory and its sequence number.
    pub(in crate::tcp) fn release(&mut self, now: Time, out: &mut impl Wire) -> Option<(u32, u32, u32)> {
        let burst = *self.bursts.front().filter(|b| b.departure <= now)?;
        self.bursts.pop_front();
        let seq = self.segments.front()?.seq;
        for (i, mut segment) in self.segments.drain(..burst.segments as usize).enumerate() {
            if i == 0 {
                segment.arrival = RELEASED;
            }
            out.emit(segment, None);
        }
        Some((burst.segments, burst.bytes, seq))
    }

    /// Returns true if a burst that begins with sequence number `seq` waits.
    pub(in crate::tcp) fn holds(&self, seq: u32) -> bool {
        let mut first = 0;
        self.bursts.iter().any(|burst| {
            let begins = self.segments[first].seq == seq;
            first += burst.segments as usize;
            begins
        })
    }

    /// Returns true if no packet waits.
    pub(in crate::tcp) fn is_empty(&self) -> bool {
        self.bursts.is_empty()
    }
}
