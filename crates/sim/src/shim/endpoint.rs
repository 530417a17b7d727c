//! Endpoint shims, which sit between TCP and the network at both ends of a connection: the hooks they have and the list of them. What the
//! hosts keep for them is in `shim/layer.rs`; `engine/endpoint_shim.rs` leads packets and timers there.

use super::layer::Layer;
use super::{ShimConfig, ShimEntry};
use crate::net::generation::Generation;
use crate::net::packet::{Packet, SackBlocks, Wire};
use crate::tcp::config::TcpConfig;
use forebay_experiment::network::Network;
use forebay_experiment::shim_row::ShimRow;
use forebay_units::{ConnSlot, NodeId, Rate, Time};

/// A shim below TCP. To add one: implement this and [`End`] for its two ends in a file of its own, and add a line to the list below.
pub trait EndpointShim: std::fmt::Debug {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// Its parameters with what it takes from the transport it is put under.
    type Rules: std::fmt::Debug;

    /// What a host has for all its connections of a transport.
    type Host: std::fmt::Debug;

    /// What the host that opens a connection, and sends its data, keeps for it.
    type Sender: End<Self>;

    /// What the host that accepts a connection keeps for it.
    type Receiver: End<Self>;

    /// The rules under this transport.
    fn rules(c: &Self::Config, tcp: &TcpConfig) -> Self::Rules;

    /// The state of a host; `rate` is that of its link, `None` where it has none.
    fn host(rules: &Self::Rules, rate: Option<Rate>) -> Self::Host;

    /// Period of a host's timer, which runs while an end of a connection is [`End::waiting`].
    fn period(rules: &Self::Rules) -> Time;

    /// Bytes on the wire of the smallest packet that it adds.
    fn smallest_packet(rules: &Self::Rules) -> u32;

    /// What the sending host says in the row of a message, when the message is complete; `first`: it is the first of its connection, which
    /// the handshake was made for.
    fn sender_row(sender: &mut Self::Sender, first: bool) -> ShimRow;

    /// What the receiving host adds to that row.
    fn receiver_row(receiver: &Self::Receiver, first: bool, row: &mut ShimRow);
}

/// One end of a connection, in the hands of its shim. A fresh one is the default.
pub trait End<S: EndpointShim + ?Sized>: std::fmt::Debug + Clone + Copy + Default {
    /// A packet of the endpoint on its way to the network, which goes on through `out`, now or later, changed or not, or with others.
    fn egress(&mut self, rules: &S::Rules, now: Time, packet: Packet, sack: Option<&SackBlocks>, out: &mut impl Wire);

    /// A packet on its way to the endpoint, which may be changed. False: it was for the shim, and the endpoint does not get it.
    fn ingress(&mut self, rules: &S::Rules, now: Time, packet: &mut Packet) -> bool;

    /// Whether it waits for something and wants the host's timer.
    fn waiting(&self) -> bool;

    /// The host's timer came due, and this end is waiting.
    fn tick(&mut self, rules: &S::Rules, now: Time, host: &mut S::Host, out: &mut impl Wire);

    /// What conservation has to know about it.
    fn balance(&self) -> Balance;
}

/// Packets that were added or taken by a shim, or that it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Sent beside what the endpoints sent.
    pub sent: u64,
    /// Taken in beside what reached the endpoints.
    pub taken: u64,
    /// Sent by an endpoint and not handed on yet.
    pub held: u64,
}

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that opens it and sends the data.
    Sender,
    /// The one that accepts it.
    Receiver,
}

/// The one list of the shims of this place: what a transport is configured with, and what the hosts keep for one transport.
macro_rules! endpoint_shims {
    ($($name:ident: $module:ident::$shim:ident),+ $(,)?) => {
        /// An endpoint shim and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(<super::$module::$shim as EndpointShim>::Config)),+
        }

        /// What all hosts keep for the connections of one transport.
        #[derive(Debug)]
        pub enum Layers {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(Layer<super::$module::$shim>)),+
        }

        impl Config {
            pub(super) fn entry(&self) -> &'static ShimEntry {
                match self {
                    $(Config::$name(_) => &super::$module::ENTRY),+
                }
            }

            fn smallest_packet(&self, tcp: &TcpConfig) -> u32 {
                match self {
                    $(Config::$name(c) => super::$module::$shim::smallest_packet(&super::$module::$shim::rules(c, tcp))),+
                }
            }

            fn layers(&self, tcp: &TcpConfig, network: &Network, phase: impl FnMut(NodeId, Time) -> Time) -> Layers {
                match self {
                    $(Config::$name(c) => Layers::$name(Layer::new(super::$module::$shim::rules(c, tcp), network, phase))),+
                }
            }
        }

        /// Forwards a call to the layer in the enum.
        macro_rules! each {
            ($layers:expr, $l:ident => $call:expr) => {
                match $layers {
                    $(Layers::$name($l) => $call),+
                }
            };
        }
    };
}

endpoint_shims! {
    Proboscis: proboscis::Proboscis,
}

fn configured(tcp: &TcpConfig) -> Option<&Config> {
    tcp.shims.iter().find_map(|s| if let ShimConfig::Endpoint(c) = s { Some(c) } else { None })
}

/// Bytes on the wire of the smallest packet that the endpoint shim of this transport adds; `None` without one.
pub fn smallest_packet(tcp: &TcpConfig) -> Option<u32> {
    configured(tcp).map(|c| c.smallest_packet(tcp))
}

impl Layers {
    /// What the hosts keep for a transport; `None` if it has no such shim. `phase` draws when the timer of a node ticks, below the
    /// period it is given.
    pub fn new(tcp: &TcpConfig, network: &Network, phase: impl FnMut(NodeId, Time) -> Time) -> Option<Layers> {
        configured(tcp).map(|c| c.layers(tcp, network, phase))
    }

    /// See `Layer::connect`.
    pub fn connect(&mut self, slot: ConnSlot, src: NodeId, dst: NodeId) {
        each!(self, l => l.connect(slot, src, dst));
    }

    /// See [`End::egress`].
    pub fn egress(
        &mut self,
        (side, slot): (Side, ConnSlot),
        now: Time,
        p: Packet,
        sack: Option<&SackBlocks>,
        out: &mut impl Wire,
    ) {
        each!(self, l => l.egress((side, slot), now, p, sack, out));
    }

    /// See [`End::ingress`].
    pub fn ingress(&mut self, (side, slot): (Side, ConnSlot), now: Time, p: &mut Packet) -> bool {
        each!(self, l => l.ingress((side, slot), now, p))
    }

    /// See `Layer::watch`.
    pub fn watch(&mut self, (side, slot): (Side, ConnSlot), generation: Generation, node: NodeId, now: Time) -> Option<Time> {
        each!(self, l => l.watch((side, slot), generation, node, now))
    }

    /// See `Layer::tick`.
    pub fn tick(
        &mut self,
        side: Side,
        node: NodeId,
        now: Time,
        current: impl FnMut(ConnSlot, Generation) -> bool,
        out: &mut impl Wire,
    ) {
        each!(self, l => l.tick(side, node, now, current, out));
    }

    /// See `Layer::rearm`.
    pub fn rearm(&mut self, node: NodeId, now: Time) -> Option<Time> {
        each!(self, l => l.rearm(node, now))
    }

    /// See `Layer::balance`.
    pub fn balance(&self, slot: ConnSlot) -> Balance {
        each!(self, l => l.balance(slot))
    }

    /// See [`EndpointShim::sender_row`].
    pub fn sender_row(&mut self, slot: ConnSlot, first: bool) -> ShimRow {
        each!(self, l => l.sender_row(slot, first))
    }

    /// See [`EndpointShim::receiver_row`].
    pub fn receiver_row(&self, slot: ConnSlot, first: bool, row: &mut ShimRow) {
        each!(self, l => l.receiver_row(slot, first, row));
    }

    /// See `Owned::run_by`.
    #[cfg(debug_assertions)]
    pub(crate) fn run_by(&mut self, node: Option<NodeId>) {
        each!(self, l => l.run_by(node));
    }
}
