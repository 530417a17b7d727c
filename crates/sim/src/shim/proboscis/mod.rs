//! ProBoSCIS ([`forebay_shims::proboscis`]) as an endpoint shim of the simulator.

mod config;
mod row;
mod segment;

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod receiver_tests;
#[cfg(test)]
mod sender_tests;
#[cfg(test)]
mod testing;

pub(super) use config::ENTRY;

pub use config::rules;
pub use forebay_shims::proboscis::{Budget, Config, Host, Rules, State, Verdict, window};

use self::segment::ToWire;
use super::endpoint::{Balance, End, EndpointShim};
use crate::net::packet::{Extra, Packet, Wire, flag};
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_shims::proboscis::{self, Output};
use forebay_types::{NodeId, Rate, Time};

/// The end that sends the data.
pub type SenderShim = proboscis::SenderShim<Packet>;
/// The end that receives it.
pub type ReceiverShim = proboscis::ReceiverShim<Packet>;

/// The shim as an [`EndpointShim`].
#[derive(Debug)]
pub struct Proboscis;

impl EndpointShim for Proboscis {
    type Config = Config;
    type Rules = Rules;
    type Host = Host;
    type Sender = SenderShim;
    type Receiver = ReceiverShim;

    fn rules(c: &Config, stack: &Stack) -> Rules {
        rules(c, stack)
    }

    fn host(rules: &Rules, rate: Option<Rate>) -> Host {
        Host::new(Budget::of_link(rules, rate.map_or(Time::ZERO, |r| r.tx_time(u64::from(rules.probe_size)))))
    }

    fn period(rules: &Rules) -> Time {
        rules.c.tick
    }

    fn smallest_packet(rules: &Rules) -> u32 {
        u32::from(rules.probe_size)
    }

    fn sender_row(sender: &mut SenderShim, _first: bool) -> ShimRow {
        row::of_sender(sender)
    }

    fn receiver_row(receiver: &ReceiverShim, first: bool, row: &mut ShimRow) {
        row::add_receiver(receiver, first, row);
    }
}

impl End<Proboscis> for SenderShim {
    fn with(peer: NodeId) -> SenderShim {
        SenderShim::new(peer)
    }

    fn egress(&mut self, r: &Rules, host: &mut Host, now: Time, mut p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        self.on_egress(r, host, now, &mut p, &mut ToWire(out));
        out.emit(p, extra);
    }

    fn ingress(&mut self, r: &Rules, host: &mut Host, now: Time, p: &mut Packet) -> bool {
        self.on_ingress(r, host, now, p);
        true
    }

    fn waiting(&self) -> bool {
        self.is_waiting()
    }

    fn tick(&mut self, r: &Rules, host: &mut Host, now: Time, out: &mut impl Wire) {
        self.on_tick(r, host, now, &mut ToWire(out));
    }

    fn balance(&self) -> Balance {
        Balance { sent: self.stats().sent, ..Balance::default() }
    }

    fn set_answers(&mut self, isn: u32) {
        self.begin_answers(Some(isn));
    }

    fn handshake_egress(&mut self, r: &Rules, now: Time, p: &Packet, out: &mut impl Wire) {
        self.on_handshake_egress(r, now, p, &mut ToWire(out));
    }

    fn handshake_ingress(&mut self, r: &Rules, now: Time, p: &Packet) {
        self.on_handshake_ingress(r, now, p);
    }
}

/// Discards SYN-ACKs that were held: [`Balance`] counts them.
struct Discard;

impl Output<Packet> for Discard {
    fn send(&mut self, _packet: Packet) {
        unreachable!("a packet that arrives releases none");
    }
}

impl End<Proboscis> for ReceiverShim {
    fn with(peer: NodeId) -> ReceiverShim {
        ReceiverShim::new(peer)
    }

    fn egress(&mut self, r: &Rules, host: &mut Host, now: Time, mut p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        if self.on_egress(r, host, now, &mut p, &mut ToWire(out)) {
            out.emit(p, extra);
        }
    }

    fn ingress(&mut self, r: &Rules, _host: &mut Host, now: Time, p: &mut Packet) -> bool {
        // A datagram is not TCP.
        p.has(flag::DATAGRAM) || self.on_ingress(r, now, p, &mut Discard)
    }

    fn waiting(&self) -> bool {
        self.is_waiting()
    }

    fn tick(&mut self, r: &Rules, host: &mut Host, now: Time, out: &mut impl Wire) {
        self.on_tick(r, host, now, &mut ToWire(out));
    }

    fn balance(&self) -> Balance {
        let stats = self.stats();
        Balance { sent: 0, taken: stats.swallowed + stats.superseded, held: u64::from(self.is_waiting()) }
    }

    fn set_answers(&mut self, isn: u32) {
        self.begin_answers(Some(isn));
    }

    fn handshake_egress(&mut self, r: &Rules, _now: Time, p: &Packet, _out: &mut impl Wire) {
        self.on_handshake_egress(r, p);
    }

    fn handshake_ingress(&mut self, r: &Rules, now: Time, p: &Packet) {
        self.on_handshake_ingress(r, now, p);
    }
}
