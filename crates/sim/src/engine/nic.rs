//! The interface of a host, with the host's processing delay: the only place that decides when a packet departs.

use super::fabric::Fabric;
use super::host::{Host, TimerKind};
use super::partition_state::PartitionState;
use crate::net::generation::Generation;
use crate::net::packet::{Extra, Packet, Unread, Wire};
use crate::net::port::Refusal;
use crate::tcp::config::TcpConfig;
use forebay_types::{ConnSlot, PortId, Time};

/// Path from an endpoint to the network.
pub(super) struct Nic<'a> {
    fabric: &'a mut Fabric,
    partition: &'a mut PartitionState,
    host: &'a mut Host,
    pub(crate) now: Time,
    /// Configuration of a sender, whose host may delay its packets.
    sender: Option<&'a TcpConfig>,
}

impl<'a> Nic<'a> {
    /// The path of a sender's packets, which the host may delay.
    #[inline(always)]
    pub(super) fn of_sender(
        (fabric, partition): (&'a mut Fabric, &'a mut PartitionState),
        host: &'a mut Host,
        now: Time,
        c: &'a TcpConfig,
    ) -> Nic<'a> {
        Nic { fabric, partition, host, now, sender: Some(c) }
    }

    /// The path of packets that are sent without delay: those of receivers and datagram sources.
    #[inline(always)]
    pub(super) fn at_once(
        (fabric, partition): (&'a mut Fabric, &'a mut PartitionState),
        host: &'a mut Host,
        now: Time,
    ) -> Nic<'a> {
        Nic { fabric, partition, host, now, sender: None }
    }

    /// As `emit_from`, at an intercepted interface (`Port::intercept`). Takes neither `self` nor a packet, whose parts would otherwise have to be in
    /// memory on the fast path too.
    #[cold]
    #[inline(never)]
    fn emit_slow(
        (fabric, partition, host): (&mut Fabric, &mut PartitionState, &mut Host),
        (now, sender): (Time, Option<&TcpConfig>),
        (template, extra): (&Packet, Option<&Extra>),
        fill: impl FnOnce(&mut Packet),
    ) {
        let mut packet = *template;
        fill(&mut packet);
        let late = host.send_delay(sender);
        if host.sprays {
            let drawn = host.spray_rng.next_u64() as u16;
            packet.hash = fabric.fib().redrawn(drawn, packet.hash);
        }
        fabric.send_slow(partition, host.nic, (now, late), &packet, extra);
        host.arm_interface(fabric.ports[host.nic].next_host_start(), partition);
    }

    /// As [`Nic::emit_slow`], for the packets `first..count` of a burst. The interface decides about the first one; if that enters the transmit ring,
    /// so do the others.
    #[cold]
    #[inline(never)]
    fn emit_burst_slow(
        (fabric, partition, host): (&mut Fabric, &mut PartitionState, &mut Host),
        (now, sender): (Time, Option<&TcpConfig>),
        (template, first, count): (&Packet, u64, u64),
        mut fill: impl FnMut(u64, &mut Packet),
    ) {
        if host.sprays {
            for i in first..count {
                Nic::emit_slow((fabric, partition, host), (now, sender), (template, None), |p| fill(i, p));
            }
            return;
        }
        let nic = host.nic;
        let (mut in_ring, mut bytes) = (false, 0);
        for i in first..count {
            let mut packet = *template;
            fill(i, &mut packet);
            let late = host.send_delay(sender);
            if in_ring {
                bytes += fabric.ports[nic].pass_segment((now, late), &packet);
            } else {
                fabric.send_slow(partition, nic, (now, late), &packet, None);
                in_ring = fabric.ports[nic].burst_is_in_ring(now);
            }
        }
        fabric.ports[nic].extend_burst(bytes);
        host.arm_interface(fabric.ports[nic].next_host_start(), partition);
    }

    /// Drops a packet that the queue of the interface has refused.
    #[cold]
    #[inline(never)]
    fn drop_refused(
        (fabric, partition): (&mut Fabric, &mut PartitionState),
        (nic, now): (PortId, Time),
        (template, extra): (&Packet, Option<&Extra>),
        fill: impl FnOnce(&mut Packet),
    ) {
        let mut packet = *template;
        fill(&mut packet);
        fabric.ports[nic].capture_refused(now, &packet, extra);
        partition.drop_packet(template);
    }

    #[inline(always)]
    fn send(&mut self, template: &Packet, extra: Option<&Extra>, fill: impl Fn(&mut Packet)) {
        match self.fabric.send(self.partition, self.host.nic, self.now, template, extra, &fill) {
            Ok(()) => {}
            Err(Refusal::Dropped) => {
                Nic::drop_refused((self.fabric, self.partition), (self.host.nic, self.now), (template, extra), fill);
            }
            Err(Refusal::SlowPath) => {
                let (host, sender) = (&mut *self.host, self.sender);
                Nic::emit_slow((self.fabric, self.partition, host), (self.now, sender), (template, extra), fill);
            }
        }
    }
}

impl Host {
    /// Delay of a packet's departure. It is applied behind the interface queue: before the queue it would change nothing for a sender that keeps its
    /// interface busy.
    #[inline(always)]
    fn send_delay(&mut self, sender: Option<&TcpConfig>) -> Time {
        let jitter = sender.map_or(Time::ZERO, |c| c.send_jitter);
        if jitter > Time::ZERO { Time(self.rng.below(jitter.0)) } else { Time::ZERO }
    }

    /// Sets a timer for the next transmission, which starts at `start`, unless one is set.
    pub(super) fn arm_interface(&mut self, start: Option<Time>, partition: &mut PartitionState) {
        if let Some(time) = start.filter(|_| !self.interface_armed) {
            self.interface_armed = true;
            let time = self.event_time(time);
            let order = self.next_order(time);
            self.add(time, order, TimerKind::Interface);
            partition.calendar.mark(self.node, time);
        }
    }
}

impl Wire for Nic<'_> {
    #[inline(never)]
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.send(&packet, extra, |_| {});
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        let order = self.host.next_order(time);
        self.host.add(time, order, TimerKind::CongestionControl { conn, generation });
        self.partition.calendar.mark(self.host.node, time);
    }

    fn event_time(&self, time: Time) -> Time {
        self.host.event_time(time)
    }

    fn departure(&self) -> Time {
        self.fabric.ports[self.host.nic].host_drain_time()
    }

    fn holds_departures(&self) -> bool {
        self.fabric.ports[self.host.nic].holds_departures()
    }

    fn hold(&mut self, packet: &Packet) {
        self.fabric.hold(self.partition, self.host.nic, self.now, packet);
        self.host.arm_interface(self.fabric.ports[self.host.nic].next_host_start(), self.partition);
    }

    #[inline(always)]
    fn defer_write(&mut self, conn: ConnSlot) -> bool {
        self.partition.woken.defer_write(conn)
    }

    #[inline(always)]
    fn unread(&self, conn: ConnSlot) -> Option<u32> {
        self.partition.woken.unread(conn)
    }

    fn unread_segments(&self, conn: ConnSlot) -> u32 {
        self.partition.woken.unread_segments(conn)
    }

    fn unread_room(&self, conn: ConnSlot) -> u16 {
        self.partition.woken.unread_room(conn)
    }

    fn defer_read(&mut self, conn: ConnSlot, more: Unread) {
        self.partition.woken.defer_read(conn, more);
    }

    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl Fn(&mut Packet)) {
        self.send(template, None, fill);
    }

    #[inline(always)]
    fn emit_burst(&mut self, template: &Packet, count: u64, mut fill: impl FnMut(u64, &mut Packet)) {
        for i in 0..count {
            match self.fabric.send(self.partition, self.host.nic, self.now, template, None, |p| fill(i, p)) {
                Ok(()) => {}
                Err(Refusal::Dropped) => {
                    let place = (self.host.nic, self.now);
                    Nic::drop_refused((self.fabric, self.partition), place, (template, None), |p| fill(i, p));
                }
                Err(Refusal::SlowPath) => {
                    let (host, sender) = (&mut *self.host, self.sender);
                    let burst = (template, i, count);
                    return Nic::emit_burst_slow((self.fabric, self.partition, host), (self.now, sender), burst, fill);
                }
            }
        }
    }
}
