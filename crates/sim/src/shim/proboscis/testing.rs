//! What the tests of both roles share.

use crate::net::packet::{Extra, Packet, Wire};

/// Keeps what a shim hands to the network.
#[derive(Default)]
pub(super) struct Capture(pub Vec<Packet>);

impl Wire for Capture {
    fn emit(&mut self, packet: Packet, _extra: Option<&Extra>) {
        self.0.push(packet);
    }
}
