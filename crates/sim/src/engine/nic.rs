//! The interface of a host, and how long the host takes for a packet: the one place that decides when a packet departs.

use super::fabric::Fabric;
use super::hosts::{Host, Wake};
use crate::config::TcpConfig;
use crate::net::generation::Generation;
use crate::net::packet::{Packet, SackBlocks, Wire};
use forebay_units::{ConnSlot, Time};

/// The way from an endpoint to the network.
pub(super) struct Nic<'a> {
    fabric: &'a mut Fabric,
    host: &'a mut Host,
    pub now: u64,
    /// Bound of the random processing time, ps; 0 for none.
    jitter: u64,
}

impl<'a> Nic<'a> {
    /// The way of a sender's packets, which its host may take some time for.
    #[inline(always)]
    pub(super) fn of_sender(fabric: &'a mut Fabric, host: &'a mut Host, now: u64, c: &TcpConfig) -> Nic<'a> {
        Nic { fabric, host, now, jitter: c.send_jitter.0 }
    }

    /// The way of packets that are handed over at once: those of receivers and of sources of datagrams.
    #[inline(always)]
    pub(super) fn at_once(fabric: &'a mut Fabric, host: &'a mut Host, now: u64) -> Nic<'a> {
        Nic { fabric, host, now, jitter: 0 }
    }

    /// How much later than its turn the next packet leaves, ps. The delay lies behind the network card's queue: before it, it would
    /// change nothing for a sender that keeps its card busy.
    #[inline(always)]
    fn late(&mut self) -> u64 {
        if self.jitter > 0 { self.host.rng.below(self.jitter) } else { 0 }
    }
}

impl Wire for Nic<'_> {
    #[inline(never)]
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        let late = self.late();
        self.fabric.send(self.host.nic, self.now, late, &packet, sack, |_| {});
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        let time = time.0;
        let order = self.host.next_order(time);
        self.host.add(time, order, Wake::Law { conn, generation });
        self.fabric.wheel.mark(self.host.node, time);
    }

    fn departure(&self) -> Time {
        Time(self.fabric.ports[self.host.nic].busy_until())
    }

    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl FnOnce(&mut Packet)) {
        let late = self.late();
        self.fabric.send(self.host.nic, self.now, late, template, None, fill);
    }
}
