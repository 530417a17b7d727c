//! Transmission of packets from a backlog.

use super::Sink;
use crate::net::backlog::Slab;
use crate::net::packet::{Codepoint, Packet};
use crate::net::port::Port;
use forebay_queues::Buffered;
use forebay_types::Time;

impl Port {
    /// Starts the transmission at `start` of the packet that the discipline chooses, if it leaves one. A separate function, because its caller's loop
    /// usually runs once. As in [`Port::enqueue_busy_by`], the fast path calls no function.
    #[inline(never)]
    pub(super) fn start_next(&mut self, start: Time, discipline: &mut impl Buffered, slab: &mut Slab, lost: impl FnMut(&Packet)) {
        if self.sends_fast() {
            self.start_here::<false>(start, discipline, slab, lost);
        } else {
            self.start_slow(start, discipline, slab, lost);
        }
    }

    /// As [`Port::start_next`], for any port.
    #[inline(never)]
    fn start_slow(&mut self, start: Time, discipline: &mut impl Buffered, slab: &mut Slab, lost: impl FnMut(&Packet)) {
        self.start_here::<true>(start, discipline, slab, lost);
    }

    /// As [`Port::start_next`]; `SLOW` ports may be captured.
    #[inline(always)]
    fn start_here<const SLOW: bool>(
        &mut self,
        start: Time,
        discipline: &mut impl Buffered,
        slab: &mut Slab,
        lost: impl FnMut(&Packet),
    ) {
        let mut sink = Sink { port: self, slab: &mut *slab, now: start, arriving: None, refused: false, shared: false, lost };
        let Some(next) = discipline.pop(start, &mut sink) else { return };
        // The packet in service has left by `start`. The next query is for a later time.
        self.leave();
        if SLOW {
            self.note_release(next);
        }
        let packet = slab.packet(next);
        self.transmit((packet.arrival, start), packet, || slab.extra(next, packet), Codepoint::NotEct);
        slab.release(next);
    }
}
