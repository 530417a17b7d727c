//! The packets that a switch forwards in one window: where each lies, where it goes, and their order.

use crate::net::packet::{Packet, flag};
use crate::streams::Draws;
use forebay_sampling::mix;
use forebay_units::PortId;
use std::cmp::Ordering;

/// Bits of [`Handoff::key`] below the time.
pub(super) const PORT_BITS: u32 = 24;

/// A packet that a switch forwards in the current window.
#[derive(Clone, Copy)]
pub(super) struct Handoff {
    /// Time since the start of the window, then the egress port.
    pub key: u64,
    /// Its slot in the ring of the port that brought it. The ring has let it go, but keeps it until packets are added to that
    /// port, which only the node at its other end does.
    pub packet: *const Packet,
    /// When the same port brought the packet before this one, ps.
    pub served: u64,
}

impl Handoff {
    #[inline(always)]
    pub(super) fn to(&self) -> PortId {
        PortId::new(self.key as u32 & ((1 << PORT_BITS) - 1))
    }

    /// Time since the start of the window.
    #[inline(always)]
    pub(super) fn after(&self) -> u64 {
        self.key >> PORT_BITS
    }
}

pub(super) const NO_HANDOFF: Handoff = Handoff { key: 0, packet: std::ptr::null(), served: 0 };

/// Decides who is first of packets that reach a switch at the same instant. Equal rates and exact times make that the rule, and a standing
/// order (of ports, say) would give one sender every place that becomes free in a full queue (phase effects, Floyd and Jacobson 1992).
///
/// First is the link that has brought nothing for longest, as in a switch whose arbiter goes round. So a sender that puts one packet more
/// on the way than the link carries, which then arrives right behind another of its own, loses that one, and not somebody else's.
///
/// Links that were served together are ordered by a hash of connection and time, which is the same whoever asks, in which order. Of the
/// time only the high bits count: who of two that send without a pause is ahead by less than can be told is so in every packet time, until
/// their clocks have drifted apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lots(u64);

/// Our choice: links that are served alike keep their order for 2^33 ps, 9 ms; longer than a burst, shorter than the 120 ms in which clocks
/// that differ by 100 ppm drift apart by a packet time at 1 Gbps.
const COHERENT: u32 = 33;

impl Lots {
    /// For the run with this seed.
    pub(super) fn new(seed: u64) -> Lots {
        Lots(Draws::Ties.stream(seed, &[]).next_u64())
    }

    /// The place of a packet among those of its time whose links were served together.
    fn drawn(self, m: &Handoff) -> u64 {
        // SAFETY: see `Handoff::packet`.
        let p = unsafe { &*m.packet };
        // What a connection sends in one direction comes through one port, so it names the port as well as a number would.
        let flow = u64::from(p.conn.get()) << 7 | u64::from(p.generation()) << 1 | u64::from(p.has(flag::ACK));
        mix(mix(flow ^ self.0) ^ (p.arrival >> COHERENT))
    }

    /// The order of two packets of the same time.
    #[inline]
    fn order(self, a: &Handoff, b: &Handoff) -> Ordering {
        a.served.cmp(&b.served).then_with(|| self.drawn(a).cmp(&self.drawn(b)))
    }

    #[inline(never)]
    fn behind(self, a: &Handoff, b: &Handoff) -> bool {
        self.order(a, b) == Ordering::Greater
    }
}

/// Sorts by time, and by lot among packets of the same time and port; those to different ports are then in the order of ports, which
/// nothing depends on. A window brings a node a handful of packets, mostly in order already.
#[inline(always)]
pub(super) fn sort(handoffs: &mut [Handoff], lots: Lots) {
    if handoffs.len() > 24 {
        return sort_many(handoffs, lots);
    }
    for i in 1..handoffs.len() {
        // SAFETY: 0 <= j <= i < handoffs.len() throughout.
        unsafe {
            if handoffs.get_unchecked(i - 1).key < handoffs.get_unchecked(i).key {
                continue;
            }
            let moved = *handoffs.get_unchecked(i);
            let mut j = i;
            while j > 0 {
                let before = handoffs.get_unchecked(j - 1);
                if before.key < moved.key || (before.key == moved.key && !lots.behind(before, &moved)) {
                    break;
                }
                *handoffs.get_unchecked_mut(j) = *before;
                j -= 1;
            }
            *handoffs.get_unchecked_mut(j) = moved;
        }
    }
}

/// As `sort`. Most keys differ, so that lots are drawn among those alone that do not.
#[inline(never)]
fn sort_many(handoffs: &mut [Handoff], lots: Lots) {
    handoffs.sort_by_key(|m| m.key);
    for tied in handoffs.chunk_by_mut(|a, b| a.key == b.key).filter(|run| run.len() > 1) {
        tied.sort_by(|a, b| lots.order(a, b));
    }
}

/// Sorts by time, and by lot among all packets of the same time: for a switch whose ports share memory.
pub(super) fn sort_across_ports(handoffs: &mut [Handoff], lots: Lots) {
    handoffs.sort_by(|a, b| a.after().cmp(&b.after()).then_with(|| lots.order(a, b)));
}

/// A full list with room for as many again.
#[cold]
#[inline(never)]
pub(super) fn doubled(list: Box<[Handoff]>) -> Box<[Handoff]> {
    let mut list = list.into_vec();
    list.resize(2 * list.len(), NO_HANDOFF);
    list.into_boxed_slice()
}
