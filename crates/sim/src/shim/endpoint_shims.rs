//! List of the endpoint shims (`shim/endpoint.rs`), and dispatch to the state of a transport.

use super::endpoint::{Balance, EndpointShim, Side};
use super::endpoint_state::EndpointState;
use crate::net::arena::Sharing;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Extra, Packet, Wire};
use forebay_experiment::network::Network;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_types::{ConnSlot, NodeId, Time};

/// Makes the configuration and the state of a transport from the list of shims.
macro_rules! endpoint_shims {
    ($($name:ident: $module:ident::$shim:ident),+ $(,)?) => {
        /// An endpoint shim and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(<super::$module::$shim as EndpointShim>::Config)),+
        }

        /// State of all hosts for the connections of one transport.
        #[derive(Debug)]
        pub enum EndpointStates {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(EndpointState<super::$module::$shim>)),+
        }

        $(impl From<<super::$module::$shim as EndpointShim>::Config> for Config {
            fn from(c: <super::$module::$shim as EndpointShim>::Config) -> Config {
                Config::$name(c)
            }
        })+

        impl Config {
            /// Name in the registry.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Config::$name(_) => super::$module::ENTRY.entry.name),+
                }
            }

            /// See [`EndpointShim::acknowledges_ahead`].
            pub fn acknowledges_ahead(&self) -> bool {
                match self {
                    $(Config::$name(c) => super::$module::$shim::acknowledges_ahead(c)),+
                }
            }

            /// Bytes on the wire of the smallest packet that it adds.
            pub fn smallest_packet(&self, stack: &Stack) -> u32 {
                match self {
                    $(Config::$name(c) => super::$module::$shim::smallest_packet(&super::$module::$shim::rules(c, stack))),+
                }
            }

            /// Creates the state of a transport with this stack. `phase` draws the tick phase of a node's timer, below the given period.
            pub fn states(&self, stack: &Stack, network: &Network, phase: impl FnMut(NodeId, Time) -> Time) -> EndpointStates {
                match self {
                    $(Config::$name(c) => EndpointStates::$name(EndpointState::new(super::$module::$shim::rules(c, stack), network, phase))),+
                }
            }
        }

        impl EndpointStates {
            /// See `EndpointState::share`.
            pub(crate) fn share(&mut self, sharing: &Sharing) -> EndpointStates {
                match self {
                    $(EndpointStates::$name(l) => EndpointStates::$name(l.share(sharing))),+
                }
            }
        }

        /// Forwards a call to the state in the enum.
        macro_rules! each {
            ($states:expr, $l:ident => $call:expr) => {
                match $states {
                    $(EndpointStates::$name($l) => $call),+
                }
            };
        }
    };
}

endpoint_shims! {
    MisbehavingReceiver: misbehaving_receiver::MisbehavingReceiver,
    Proboscis: proboscis::Proboscis,
}

impl EndpointStates {
    /// See `EndpointState::connect`.
    pub fn connect(&mut self, slot: ConnSlot, src: NodeId, dst: NodeId) {
        each!(self, l => l.connect(slot, src, dst));
    }

    /// See `EndpointState::join`.
    pub fn join(&mut self, opener: (ConnSlot, Generation), other: (ConnSlot, Generation), isn: u32) {
        each!(self, l => l.join(opener, other, isn));
    }

    /// See `End::egress`.
    pub fn egress(&mut self, (side, slot): (Side, ConnSlot), now: Time, p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        each!(self, l => l.egress((side, slot), now, p, extra, out));
    }

    /// See `End::ingress`.
    pub fn ingress(&mut self, (side, slot): (Side, ConnSlot), now: Time, p: &mut Packet) -> bool {
        each!(self, l => l.ingress((side, slot), now, p))
    }

    /// See `EndpointState::carried_ingress`.
    pub fn carried_ingress(&mut self, slot: ConnSlot, now: Time, ack: &mut CarriedAck) {
        each!(self, l => l.carried_ingress(slot, now, ack));
    }

    /// See `EndpointState::watch`.
    pub fn watch(&mut self, (side, slot): (Side, ConnSlot), generation: Generation, node: NodeId, now: Time) -> Option<Time> {
        each!(self, l => l.watch((side, slot), generation, node, now))
    }

    /// See `EndpointState::tick`.
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

    /// See `EndpointState::rearm`.
    pub fn rearm(&mut self, node: NodeId, now: Time) -> Option<Time> {
        each!(self, l => l.rearm(node, now))
    }

    /// See `EndpointState::balance`.
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

    /// See `PerHost::set_running`.
    #[cfg(debug_assertions)]
    pub(crate) fn set_running(&mut self, node: Option<NodeId>) {
        each!(self, l => l.set_running(node));
    }
}
