//! Capture of the packets of one port.

use super::log::{CaptureLog, Seen, SharedLog};
use crate::net::packet::{Extra, Packet};
use forebay_experiment::capture::{PacketEvent, PortInterfaces};
use forebay_queues::{DropReason, Handle};
use forebay_types::Time;
use std::collections::{BTreeSet, VecDeque};
use std::sync::PoisonError;

/// A packet in the ring of a port that the far end has not taken.
#[derive(Debug, Clone, Copy)]
struct OnLink {
    /// Its place in the ring.
    position: u32,
    /// Time at which it entered the ring.
    entered: Time,
    /// True if this port has marked it.
    marked: bool,
}

/// Tap of a link: the packets on it, and the decisions of the port's queue about them.
#[derive(Debug)]
pub(crate) struct LinkTap {
    log: SharedLog,
    interfaces: PortInterfaces,
    /// In the order of the ring.
    places: VecDeque<OnLink>,
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

    /// A packet enters the ring at `position` at the time `entered`, `marked` by a FIFO or by the discipline that has just released it.
    pub(in crate::net) fn enter(&mut self, entered: Time, position: u32, marked: bool) {
        let marked = std::mem::take(&mut self.enters_marked) | marked;
        self.places.push_back(OnLink { position, entered, marked });
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
        self.log().add(self.own(), false, &Seen { time, packet, extra, event });
    }

    /// Interfaces of the port and of its host.
    fn own(&self) -> impl Iterator<Item = u32> {
        let PortInterfaces { outgoing, sending, .. } = &self.interfaces;
        outgoing.iter().chain(sending).copied()
    }

    /// The far end takes a packet for whose position `arrived` is true, damaged or not, over a link with this delay.
    pub(in crate::net) fn take(
        &mut self,
        arrived: impl Fn(u32) -> bool,
        delay: Time,
        damaged: bool,
        (packet, extra): (&Packet, Option<&Extra>),
    ) {
        let Some(&place) = self.places.front().filter(|place| arrived(place.position)) else { return };
        self.places.pop_front();
        self.pass(delay, place, damaged, (packet, extra));
        if !damaged {
            self.arrive(packet, extra);
        }
    }

    fn pass(&mut self, delay: Time, place: OnLink, damaged: bool, (packet, extra): (&Packet, Option<&Extra>)) {
        let event = match (damaged, place.marked) {
            (true, _) => PacketEvent::LostOnLink,
            (false, true) => PacketEvent::Marked,
            (false, false) => PacketEvent::Passed,
        };
        self.leave_at(packet.arrival.saturating_sub(delay), place, event, (packet, extra));
    }

    /// Captures a packet that leaves the port at `departure`, and that its host has handed over before.
    fn leave_at(&self, departure: Time, place: OnLink, event: PacketEvent, (packet, extra): (&Packet, Option<&Extra>)) {
        let PortInterfaces { outgoing, sending, .. } = &self.interfaces;
        let mut log = self.log();
        log.add(outgoing.iter().copied(), false, &Seen { time: departure, packet, extra, event });
        log.add(sending.iter().copied(), false, &Seen { time: place.entered, packet, extra, event });
    }

    /// Captures a packet that the host at the far end has received.
    fn arrive(&self, packet: &Packet, extra: Option<&Extra>) {
        let seen = Seen { time: packet.arrival, packet, extra, event: PacketEvent::Passed };
        self.log().add(self.interfaces.incoming.iter().copied(), true, &seen);
    }

    /// Reports the packets that have left the port by `end` and are still on a link with this delay.
    pub(in crate::net) fn flush<'a>(&mut self, end: Time, delay: Time, at: impl Fn(u32) -> (&'a Packet, Option<&'a Extra>)) {
        while let Some(place) = self.places.pop_front() {
            let (packet, extra) = at(place.position);
            if packet.arrival.saturating_sub(delay) > end {
                continue;
            }
            self.pass(delay, place, false, (packet, extra));
            if packet.arrival <= end {
                self.arrive(packet, extra);
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
        let begin = self.places.partition_point(|p| (p.position.wrapping_sub(first) as i32) < 0);
        for place in self.places.split_off(begin) {
            let (p, extra) = packet(place.position);
            let departure = p.arrival.saturating_sub(delay);
            if departure <= at {
                self.leave_at(departure, place, PacketEvent::LostOnLink, (p, extra));
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
