//! What the tests of both roles share.

use crate::net::packet::{Packet, SackBlocks, Wire};

/// Keeps what a shim hands to the network.
#[derive(Default)]
pub(super) struct Tape(pub Vec<Packet>);

impl Wire for Tape {
    fn emit(&mut self, packet: Packet, _sack: Option<&SackBlocks>) {
        self.0.push(packet);
    }
}
