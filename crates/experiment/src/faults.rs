//! What goes wrong in a network, and how its flows are spread over equal ways.

use forebay_types::{PortId, Time, TimeOrNever};

/// A link that is down for a while, in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// One of the two ports of the link: the one that names it.
    pub port: PortId,
    /// When it goes down: what is on the wire or waits at either end is lost.
    pub down: Time,
    /// When it comes back, if it does.
    pub up: TimeOrNever,
    /// How much later the switches know, of either: until then packets are sent into the dead link, or the link that is back is not used.
    pub reroute: Time,
}

/// A direction of a link on which bits flip. The node at its end drops what its checksum finds damaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corruption {
    /// The port that transmits.
    pub port: PortId,
    /// Probability of each bit.
    pub bit_errors: f64,
}

/// What chooses among ways that are equally short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Balance {
    /// A hash of the flow: its packets stay together, and in order.
    #[default]
    Flow,
    /// Each packet for itself, at random (random packet spraying; Dixit et al., INFOCOM 2013).
    Packet,
}

/// All of that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// Links that fail.
    pub failures: Vec<Failure>,
    /// Directions of links that damage packets.
    pub corruption: Vec<Corruption>,
    /// How packets are spread over equal ways.
    pub balance: Balance,
}

/// Legal probabilities of a bit error. Our choice: with more than 1 in 10 000 hardly a full packet gets through.
pub const BIT_ERRORS: (f64, f64) = (1e-18, 1e-4);

/// Latest legal time of a failure: 200 days, the longest duration.
pub const LATEST: Time = Time::from_secs(200 * 86_400);

impl Faults {
    /// Returns true if there is none, and flows are balanced by their hashes: nothing that a world would have to know of.
    pub fn none(&self) -> bool {
        *self == Faults::default()
    }
}
