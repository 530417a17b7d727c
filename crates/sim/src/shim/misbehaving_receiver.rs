//! A receiver that acknowledges against the rules, so that its sender sends faster (Savage, Cardwell, Wetherall and Anderson, "TCP congestion control with
//! a misbehaving receiver", ACM CCR 29(5), 1999).
//!
//! ACK division: each ACK that advances is split into several, each of which acknowledges a part of the bytes. A sender that counts ACKs grows its window
//! by a step for each; one that counts bytes (RFC 3465, RFC 5681) or whole segments (Linux) does not.
//!
//! An ACK that follows SACK blocks may cover what they have reported, and is left whole. A part of it would make the sender conclude that the receiver has
//! discarded this data (reneging, RFC 2018 section 8; `tcp_check_sack_reneging`).

use super::endpoint::{Balance, End, EndpointShim};
use crate::net::packet::{Extra, Packet, Wire, flag};
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_types::param::{Entry, Kind, optional};
use forebay_types::{NodeId, Rate, Time};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    ack_division: u32,
}

/// Parameters under a transport.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// ACKs in place of each that advances.
    parts: u32,
    /// Bytes of an ACK on the wire.
    ack_size: u32,
}

/// The end that sends data: it is left alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sender;

/// The end that acknowledges.
#[derive(Debug, Clone, Copy, Default)]
pub struct Receiver {
    /// Number of the last ACK of data that has arrived; `None` before the SYN-ACK.
    acked: Option<u32>,
    /// That ACK carried SACK blocks.
    sacked: bool,
    /// ACKs beside those of the endpoint.
    added: u64,
}

impl Receiver {
    /// Sends a copy of the ACK `p` with another number.
    fn send_copy(&mut self, p: &Packet, extra: Option<&Extra>, number: u32, out: &mut impl Wire) {
        self.added += 1;
        out.emit(Packet { seq: number, flags: p.flags & !flag::FIN, ..*p }, extra);
    }
}

/// The shim as an [`EndpointShim`].
#[derive(Debug)]
pub struct MisbehavingReceiver;

impl EndpointShim for MisbehavingReceiver {
    type Config = Config;
    type Rules = Rules;
    type Host = ();
    type Sender = Sender;
    type Receiver = Receiver;

    fn rules(c: &Config, stack: &Stack) -> Rules {
        Rules { parts: c.ack_division, ack_size: stack.ack_size }
    }

    fn host(_rules: &Rules, _rate: Option<Rate>) {}

    /// No end waits: the timer never runs.
    fn period(_rules: &Rules) -> Time {
        Time::from_secs(1)
    }

    fn smallest_packet(rules: &Rules) -> u32 {
        rules.ack_size
    }

    fn sender_row(_sender: &mut Sender, _first: bool) -> ShimRow {
        ShimRow::default()
    }

    fn receiver_row(_receiver: &Receiver, _first: bool, _row: &mut ShimRow) {}
}

impl End<MisbehavingReceiver> for Sender {
    fn with(_peer: NodeId) -> Sender {
        Sender
    }

    fn egress(&mut self, _r: &Rules, _host: &mut (), _now: Time, p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        out.emit(p, extra);
    }
}

impl End<MisbehavingReceiver> for Receiver {
    fn with(_peer: NodeId) -> Receiver {
        Receiver::default()
    }

    fn egress(&mut self, r: &Rules, _host: &mut (), _now: Time, p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        let number = p.ack_number();
        let Some(before) = self.acked.replace(number).filter(|_| !p.has(flag::SYN)) else { return out.emit(p, extra) };
        let advance = number.wrapping_sub(before);
        if (advance as i32) < 0 {
            self.acked = Some(before);
            return out.emit(p, extra);
        }
        if std::mem::replace(&mut self.sacked, matches!(extra, Some(Extra::Sack(_)))) {
            return out.emit(p, extra);
        }
        let mut last = before;
        for part in 1..r.parts {
            // At least a byte each.
            let seq = before.wrapping_add((u64::from(advance) * u64::from(part) / u64::from(r.parts)) as u32);
            if seq != last {
                self.send_copy(&p, extra, seq, out);
                last = seq;
            }
        }
        out.emit(p, extra);
    }

    fn balance(&self) -> Balance {
        Balance { sent: self.added, ..Balance::default() }
    }
}

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "misbehaving-receiver",
        summary: "a receiver that acknowledges against the rules, to make its sender faster (Savage et al., ACM CCR 1999)",
        params: &[optional(
            "ack-division",
            Kind::Int(1, 1_000),
            "2",
            "ACKs in place of each ACK that advances, each of a part of its bytes; 1: no division",
        )],
    },
    place: Place::Endpoint,
    needs_handshake: true,
    wants_marks: false,
    build: |v| Ok(Config { ack_division: v.int("ack-division") as u32 }),
};
