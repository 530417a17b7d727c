//! Endpoint shims, which sit between TCP and the network at both ends of a connection: the hooks they have. What the hosts keep for them is
//! in `shim/layer.rs`, the list of them in `shim/layers.rs`; `engine/endpoint_shim.rs` leads packets and timers there.

use crate::net::packet::{Extra, Packet, Wire};
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_types::{NodeId, Rate, Time};

/// A shim below TCP. To add one: implement this and [`End`] for its two ends in a file of its own, and add a line to the list in
/// `shim/layers.rs`.
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

    /// The rules under a transport of this stack.
    fn rules(c: &Self::Config, stack: &Stack) -> Self::Rules;

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
    /// The end of a connection with `peer`.
    fn with(peer: NodeId) -> Self;

    /// A packet of the endpoint on its way to the network, which goes on through `out`, now or later, changed or not, or with others.
    fn egress(
        &mut self,
        rules: &S::Rules,
        host: &mut S::Host,
        now: Time,
        packet: Packet,
        extra: Option<&Extra>,
        out: &mut impl Wire,
    );

    /// A packet on its way to the endpoint, which may be changed. False: it was for the shim, and the endpoint does not get it.
    fn ingress(&mut self, rules: &S::Rules, host: &mut S::Host, now: Time, packet: &mut Packet) -> bool;

    /// Whether it waits for something and wants the host's timer.
    fn waiting(&self) -> bool;

    /// The host's timer came due, and this end is waiting.
    fn tick(&mut self, rules: &S::Rules, host: &mut S::Host, now: Time, out: &mut impl Wire);

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
