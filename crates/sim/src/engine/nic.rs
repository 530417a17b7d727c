//! The interface of a host, and how long the host takes for a packet: the one place that decides when a packet departs.

use super::fabric::Fabric;
use super::hosts::{Host, Wake};
use super::lane::Lane;
use crate::net::generation::Generation;
use crate::net::packet::{Packet, SackBlocks, Wire};
use crate::tcp::config::TcpConfig;
use forebay_units::{ConnSlot, Time};

/// The way from an endpoint to the network.
pub(super) struct Nic<'a> {
    fabric: &'a mut Fabric,
    lane: &'a mut Lane,
    host: &'a mut Host,
    pub now: Time,
    /// Bound of the random processing time; zero for none.
    jitter: Time,
}

impl<'a> Nic<'a> {
    /// The way of a sender's packets, which its host may take some time for.
    #[inline(always)]
    pub(super) fn of_sender(
        (fabric, lane): (&'a mut Fabric, &'a mut Lane),
        host: &'a mut Host,
        now: Time,
        c: &TcpConfig,
    ) -> Nic<'a> {
        Nic { fabric, lane, host, now, jitter: c.send_jitter }
    }

    /// The way of packets that are handed over at once: those of receivers and of sources of datagrams.
    #[inline(always)]
    pub(super) fn at_once((fabric, lane): (&'a mut Fabric, &'a mut Lane), host: &'a mut Host, now: Time) -> Nic<'a> {
        Nic { fabric, lane, host, now, jitter: Time::ZERO }
    }

    /// How much later than its turn the next packet leaves. The delay lies behind the network card's queue: before it, it would
    /// change nothing for a sender that keeps its card busy.
    #[inline(always)]
    fn late(&mut self) -> Time {
        if self.jitter > Time::ZERO { Time(self.host.rng.below(self.jitter.0)) } else { Time::ZERO }
    }
}

impl Wire for Nic<'_> {
    #[inline(never)]
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        let late = self.late();
        self.fabric.send(self.lane, self.host.nic, (self.now, late), &packet, sack, |_| {});
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        let order = self.host.next_order(time);
        self.host.add(time, order, Wake::Law { conn, generation });
        self.lane.wheel.mark(self.host.node, time);
    }

    fn departure(&self) -> Time {
        self.fabric.ports[self.host.nic].busy_until()
    }

    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl FnOnce(&mut Packet)) {
        let late = self.late();
        self.fabric.send(self.lane, self.host.nic, (self.now, late), template, None, fill);
    }
}
