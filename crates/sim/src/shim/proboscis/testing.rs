//! Shared by the tests of both roles.

use crate::net::packet::{Extra, Packet, Wire};

/// Collects the packets that a shim sends.
#[derive(Default)]
pub(super) struct Capture(pub Vec<Packet>);

impl Wire for Capture {
    fn emit(&mut self, packet: Packet, _extra: Option<&Extra>) {
        self.0.push(packet);
    }
}
