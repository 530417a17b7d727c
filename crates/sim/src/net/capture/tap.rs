//! Capture of the packets of one port.

use super::log::{CaptureLog, Seen, SharedLog};
use crate::net::packet::{Extra, Packet};
use forebay_experiment::capture::{PacketEvent, PortInterfaces};
use forebay_queues::{DropReason, Handle};
use forebay_types::Time;
use std::collections::{BTreeSet, VecDeque};
use std::sync::PoisonError;

/// Tap of a link: the packets on it, and the decisions of the port's queue about them.
#[derive(Debug)]
pub(crate) struct LinkTap {
    log: SharedLog,
    interfaces: PortInterfaces,
    /// Places in the ring of the packets that have not been taken by the far end, and whether this port has marked each.
    places: VecDeque<(u32, bool)>,
    /// Waiting packets that a buffered discipline has marked.
    marked: BTreeSet<u32>,
    /// True if the packet that enters the link next is one of them.
    enters_marked: bool,
    /// Decision about a packet that a FIFO has refused, until its caller reports the packet.
    refused: PacketEvent,
}

/// A drop for this reason.
fn event_of(reason: DropReason) -> PacketEvent {
    match reason {
        DropReason::Overflow => PacketEvent::DroppedFull,
        DropReason::SharedBuffer => PacketEvent::DroppedShared,
        DropReason::Early => PacketEvent::DroppedEarly,
    }
}

impl LinkTap {
    /// Creates the tap of a port whose packets these interfaces record.
    pub(crate) fn new(log: SharedLog, interfaces: PortInterfaces) -> LinkTap {
        LinkTap {
            log,
            interfaces,
            places: VecDeque::new(),
            marked: BTreeSet::new(),
            enters_marked: false,
            refused: PacketEvent::DroppedFull,
        }
    }

    /// The packet that enters the ring at `position` is on the link, `marked` by a FIFO or by the discipline that has just released it.
    pub(in crate::net) fn enter(&mut self, position: u32, marked: bool) {
        let marked = std::mem::take(&mut self.enters_marked) | marked;
        self.places.push_back((position, marked));
    }

    /// The discipline has marked a waiting packet.
    pub(in crate::net) fn mark(&mut self, packet: Handle) {
        self.marked.insert(packet.0);
    }

    /// A waiting packet leaves the backlog, to enter the link next.
    pub(in crate::net) fn leave(&mut self, packet: Handle) {
        self.enters_marked = self.marked.remove(&packet.0);
    }

    /// A waiting packet is dropped.
    pub(in crate::net) fn drop_waiting(
        &mut self,
        at: Time,
        packet: Handle,
        (p, extra): (&Packet, Option<&Extra>),
        reason: DropReason,
    ) {
        self.marked.remove(&packet.0);
        self.drop((at, p, extra), event_of(reason));
    }

    /// An arriving packet is dropped.
    pub(in crate::net) fn drop_arriving(&mut self, at: Time, p: &Packet, extra: Option<&Extra>, reason: DropReason) {
        self.drop((at, p, extra), event_of(reason));
    }

    /// A FIFO refuses a packet for this reason, which its caller completes and reports by [`LinkTap::report_refused`].
    pub(in crate::net) fn refuse(&mut self, reason: DropReason) {
        self.refused = event_of(reason);
    }

    /// As [`LinkTap::refuse`], because the link is down.
    pub(in crate::net) fn refuse_down(&mut self) {
        self.refused = PacketEvent::DroppedDown;
    }

    /// Reports the packet that was refused last.
    pub(in crate::net) fn report_refused(&mut self, at: Time, p: &Packet, extra: Option<&Extra>) {
        let event = self.refused;
        self.drop((at, p, extra), event);
    }

    fn drop(&mut self, (time, packet, extra): (Time, &Packet, Option<&Extra>), event: PacketEvent) {
        self.log().add(&self.interfaces.outgoing, false, &Seen { time, packet, extra, event });
    }

    /// The far end takes a packet for whose position `arrived` is true, damaged or not, over a link with this delay.
    pub(in crate::net) fn take(
        &mut self,
        arrived: impl Fn(u32) -> bool,
        delay: Time,
        damaged: bool,
        (packet, extra): (&Packet, Option<&Extra>),
    ) {
        let Some(&(_, marked)) = self.places.front().filter(|place| arrived(place.0)) else { return };
        self.places.pop_front();
        self.pass(delay, marked, damaged, (packet, extra));
        if !damaged {
            let seen = Seen { time: packet.arrival, packet, extra, event: PacketEvent::Passed };
            self.log().add(&self.interfaces.incoming, true, &seen);
        }
    }

    fn pass(&mut self, delay: Time, marked: bool, damaged: bool, (packet, extra): (&Packet, Option<&Extra>)) {
        let event = match (damaged, marked) {
            (true, _) => PacketEvent::LostOnLink,
            (false, true) => PacketEvent::Marked,
            (false, false) => PacketEvent::Passed,
        };
        let time = packet.arrival.saturating_sub(delay);
        self.log().add(&self.interfaces.outgoing, false, &Seen { time, packet, extra, event });
    }

    /// Reports the packets that have left the port by `end` and are still on a link with this delay.
    pub(in crate::net) fn flush<'a>(&mut self, end: Time, delay: Time, at: impl Fn(u32) -> (&'a Packet, Option<&'a Extra>)) {
        while let Some((position, marked)) = self.places.pop_front() {
            let (packet, extra) = at(position);
            if packet.arrival <= end {
                self.pass(delay, marked, false, (packet, extra));
                let seen = Seen { time: packet.arrival, packet, extra, event: PacketEvent::Passed };
                self.log().add(&self.interfaces.incoming, true, &seen);
            } else if packet.arrival.saturating_sub(delay) <= end {
                self.pass(delay, marked, false, (packet, extra));
            }
        }
    }

    /// The link has failed at `at`: the packets from ring position `first` on, and those in the backlog, do not arrive.
    pub(in crate::net) fn cut<'a>(
        &mut self,
        at: Time,
        delay: Time,
        first: u32,
        packet: impl Fn(u32) -> (&'a Packet, Option<&'a Extra>),
    ) {
        let begin = self.places.partition_point(|p| (p.0.wrapping_sub(first) as i32) < 0);
        for (position, _) in self.places.split_off(begin) {
            let (p, extra) = packet(position);
            let departure = p.arrival.saturating_sub(delay);
            if departure <= at {
                self.drop((departure, p, extra), PacketEvent::LostOnLink);
            } else {
                self.drop((at, p, extra), PacketEvent::DroppedDown);
            }
        }
        self.marked.clear();
    }

    /// A packet that waited in the backlog is lost because the link has failed.
    pub(in crate::net) fn cut_waiting(&mut self, at: Time, p: &Packet) {
        self.drop((at, p, None), PacketEvent::DroppedDown);
    }

    fn log(&self) -> std::sync::MutexGuard<'_, CaptureLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
