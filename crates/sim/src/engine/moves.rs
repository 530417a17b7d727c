//! The packets that a switch forwards in one window: where each lies, where it goes, and their order.

use crate::net::packet::Packet;
use forebay_units::PortId;

/// Bits of [`Move::key`] below the time.
pub(super) const PORT_BITS: u32 = 24;

/// A packet that a switch forwards in the current window.
#[derive(Clone, Copy)]
pub(super) struct Move {
    /// Time since the start of the window, then the egress port.
    pub key: u64,
    /// Its slot in the ring of the port that brought it. The ring has let it go, but keeps it until packets are added to that
    /// port, which only the node at its other end does.
    pub packet: *const Packet,
}

impl Move {
    #[inline(always)]
    pub fn to(&self) -> PortId {
        self.key as u32 & ((1 << PORT_BITS) - 1)
    }

    /// Time since the start of the window.
    #[inline(always)]
    pub fn after(&self) -> u64 {
        self.key >> PORT_BITS
    }
}

pub(super) const NO_MOVE: Move = Move { key: 0, packet: std::ptr::null() };

/// Sorts by time. A window brings a node a handful of packets, mostly in order already. The sort is stable, so that packets of
/// the same time keep the order of inputs; those to different ports are then in the order of ports, which nothing depends on.
#[inline(always)]
pub(super) fn sort(moves: &mut [Move]) {
    if moves.len() > 24 {
        return moves.sort_by_key(|m| m.key);
    }
    for i in 1..moves.len() {
        // SAFETY: 0 <= j <= i < moves.len() throughout.
        unsafe {
            let moved = *moves.get_unchecked(i);
            let mut j = i;
            while j > 0 && moves.get_unchecked(j - 1).key > moved.key {
                *moves.get_unchecked_mut(j) = *moves.get_unchecked(j - 1);
                j -= 1;
            }
            if j != i {
                *moves.get_unchecked_mut(j) = moved;
            }
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn doubled(list: Box<[Move]>) -> Box<[Move]> {
    let mut list = list.into_vec();
    list.resize(2 * list.len(), NO_MOVE);
    list.into_boxed_slice()
}
