//! Hooks of endpoint shims, which sit between TCP and the network at both ends of a connection. The state of hosts is in `shim/endpoint_state.rs`,
//! the list of shims in `shim/endpoint_shims.rs`; `engine/endpoint_shim.rs` passes packets and timers to them.

use crate::net::packet::{Extra, Packet, Wire, flag};
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_types::{NodeId, Rate, Time};

/// A shim below TCP. To add one: implement this trait and [`End`] for its two ends in a file of its own, and add a line to the list in
/// `shim/endpoint_shims.rs`.
pub trait EndpointShim: std::fmt::Debug {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// Its parameters, with values from the transport above it.
    type Rules: std::fmt::Debug;

    /// State of a host for all its connections of a transport.
    type Host: std::fmt::Debug;

    /// State of a connection at the host that sends its data.
    type Sender: End<Self>;

    /// State of a connection at the host that receives it.
    type Receiver: End<Self>;

    /// The rules under a transport of this stack.
    fn rules(c: &Self::Config, stack: &Stack) -> Self::Rules;

    /// Returns true if ACKs may cover data that has not arrived: the receiver may then lack data that the sender counts as acknowledged.
    fn acknowledges_ahead(_c: &Self::Config) -> bool {
        false
    }

    /// Creates the state of a host; `rate` is that of its link, `None` where it has none.
    fn host(rules: &Self::Rules, rate: Option<Rate>) -> Self::Host;

    /// Period of a host's timer, which runs while an end of a connection is [`End::waiting`].
    fn period(rules: &Self::Rules) -> Time;

    /// Bytes on the wire of the smallest packet that it adds.
    fn smallest_packet(rules: &Self::Rules) -> u32;

    /// The sending host's columns in the row of a complete message; `first`: it is the first of its connection, for which the handshake was made.
    fn sender_row(sender: &mut Self::Sender, first: bool) -> ShimRow;

    /// Adds the receiving host's columns to that row.
    fn receiver_row(receiver: &Self::Receiver, first: bool, row: &mut ShimRow);
}

/// One end of a connection. A new one is the default. It passes packets to its endpoint, has no timer and adds no packets, unless it implements more than the first two functions.
pub trait End<S: EndpointShim + ?Sized>: std::fmt::Debug + Clone + Copy + Default {
    /// The end of a connection with `peer`.
    fn with(peer: NodeId) -> Self;

    /// Handles a packet from the endpoint to the network, which leaves through `out`, now or later, changed or not, or with others.
    fn egress(
        &mut self,
        rules: &S::Rules,
        host: &mut S::Host,
        now: Time,
        packet: Packet,
        extra: Option<&Extra>,
        out: &mut impl Wire,
    );

    /// Handles a packet to the endpoint, which may be changed. Returns false if the packet was for the shim only.
    fn ingress(&mut self, _rules: &S::Rules, _host: &mut S::Host, _now: Time, _packet: &mut Packet) -> bool {
        true
    }

    /// Returns true if this end needs the host's timer.
    fn waiting(&self) -> bool {
        false
    }

    /// Handles a tick of the host's timer while this end is waiting.
    fn tick(&mut self, _rules: &S::Rules, _host: &mut S::Host, _now: Time, _out: &mut impl Wire) {}

    /// Packet counts for the conservation check.
    fn balance(&self) -> Balance {
        Balance::default()
    }

    /// Makes this the end of the direction whose data the accepting host sends, on a TCP connection with data in both directions. `isn` is the initial
    /// sequence number of that data. The handshake of the connection is that of the other direction.
    fn set_answers(&mut self, _isn: u32) {}

    /// Handles the SYN or SYN-ACK `p` of the other direction, which leaves this end's host behind this call; packets ahead of it leave through `out`. `p`
    /// has the connection slot of this direction.
    fn handshake_egress(&mut self, _rules: &S::Rules, _now: Time, _p: &Packet, _out: &mut impl Wire) {}

    /// Handles the SYN or SYN-ACK `p` of the other direction, which arrives at this end's host.
    fn handshake_ingress(&mut self, _rules: &S::Rules, _now: Time, _p: &Packet) {}
}

/// Packets that a shim added, consumed, or holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Sent in addition to those of the endpoints.
    pub sent: u64,
    /// Consumed instead of reaching the endpoints.
    pub taken: u64,
    /// Sent by an endpoint and held by the shim.
    pub held: u64,
}

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that sends the data.
    Sender,
    /// The end that receives it.
    Receiver,
}

impl Side {
    /// The end that `p` leaves.
    pub fn of(p: &Packet) -> Side {
        if p.has(flag::ACK) { Side::Receiver } else { Side::Sender }
    }
}
