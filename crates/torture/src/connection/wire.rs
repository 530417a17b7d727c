//! Both ends of a connection without a network: addresses, the path that is passed to a congestion control, and packets as they are emitted.

use forebay_sim::cc::Path;
use forebay_sim::net::generation::Generation;
use forebay_sim::net::packet::{Extra, Packet, Wire};
use forebay_sim::tcp::Address;
use forebay_types::{ConnSlot, Rng, Time};
use std::collections::BTreeSet;

/// A microsecond in ps.
pub const US: u64 = 1_000_000;
/// A millisecond in ps.
pub const MS: u64 = 1_000_000_000;

/// Addresses of the two endpoints of one connection.
pub fn addresses(isn: u32) -> (Address, Address) {
    let forward = Address { conn: ConnSlot::new(0), isn, dst: 1, hash: 17, generation: Generation::new(5) };
    (forward, Address { dst: 0, ..forward })
}

/// The path of the endpoints: 100 us there and back with a full packet of 1040 B, 1 Gbps, 100 packets of buffer.
pub fn path() -> Path {
    Path {
        idle_rtt: Time(100 * US),
        handshake_deficit: Time::ZERO,
        packet: 1040.0,
        packets_per_s: 1e9 / 8.0 / 1040.0,
        buffer: 100.0,
        rng: Rng::stream(1, &[2]),
    }
}

/// A wire that captures packets, and alarms.
#[derive(Debug, Default)]
pub struct Capture(pub Vec<(Packet, Option<Extra>)>, pub Alarms);

/// Alarms of congestion controls, ps.
pub type Alarms = BTreeSet<Time>;

impl Wire for Capture {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.0.push((packet, extra.copied()));
    }

    fn alarm(&mut self, _conn: ConnSlot, _generation: Generation, time: Time) {
        self.1.insert(time);
    }
}
