//! A receiver that acknowledges against the rules, so that its sender sends faster (Savage, Cardwell, Wetherall and Anderson, "TCP congestion control with
//! a misbehaving receiver", ACM CCR 29(5), 1999).
//!
//! ACK division: each ACK that advances is split into several, each of which acknowledges a part of the bytes. A sender that counts ACKs grows its window
//! by a step for each; one that counts bytes (RFC 3465, RFC 5681) or whole segments (Linux) does not.
//!
//! An ACK that follows SACK blocks may cover what they have reported, and is left whole. A part of it would make the sender conclude that the receiver has
//! discarded this data (reneging, RFC 2018 section 8; `tcp_check_sack_reneging`).
//!
//! Optimistic ACKs: an ACK covers bytes that have not arrived yet, so that the window of the sender opens before they do. Losses are concealed: the
//! number follows the data that has arrived furthest, and SACK blocks are removed. Lost data never arrives, so no message has an end here, and only
//! flows without a size are legal. An ACK that covers more than was sent acknowledges nothing (RFC 9293 section 3.10.7.4). An ACK of data that arrives
//! again is right, because the sender has ignored the one before.

use super::endpoint::{Balance, End, EndpointShim};
use crate::net::packet::{Extra, Packet, Wire, flag};
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Stack;
use forebay_types::param::{Entry, Kind, optional};
use forebay_types::{NodeId, Rate, Time};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    ack_division: u32,
    ack_ahead: u32,
}

/// Largest `ack-ahead`: the largest window (RFC 7323 section 2.3).
const MAX_AHEAD: u64 = 1 << 30;

/// Parameters under a transport.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// ACKs in place of each that advances.
    parts: u32,
    /// Bytes beyond the data that has arrived that an ACK covers.
    ahead: u32,
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
    /// Number behind the data that has arrived furthest; `None` before the SYN.
    arrived: Option<u32>,
    /// The last data that arrived repeats some, or ends the stream.
    repeats: bool,
    /// ACKs beside those of the endpoint.
    added: u64,
}

impl Receiver {
    /// Sends a copy of the ACK `p` with another number.
    fn send_copy(&mut self, p: &Packet, extra: Option<&Extra>, number: u32, out: &mut impl Wire) {
        self.added += 1;
        out.emit(Packet { seq: number, flags: p.flags & !flag::FIN, ..*p }, extra);
    }

    /// Number of the optimistic ACK in place of `p`, if there is one.
    fn optimistic(&self, r: &Rules, p: &Packet) -> Option<u32> {
        let legal = r.ahead > 0 && !self.repeats && p.flags & (flag::SYN | flag::FIN) == 0;
        self.arrived.filter(|_| legal).map(|arrived| arrived.wrapping_add(r.ahead))
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
        Rules { parts: c.ack_division, ahead: c.ack_ahead, ack_size: stack.ack_size }
    }

    fn acknowledges_ahead(c: &Config) -> bool {
        c.ack_ahead > 0
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
        let (p, extra) = match self.optimistic(r, &p) {
            Some(number) => (Packet { seq: number, flags: p.flags & !flag::EXT, ..p }, None),
            None => (p, extra),
        };
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

    fn ingress(&mut self, _r: &Rules, _host: &mut (), _now: Time, p: &mut Packet) -> bool {
        if p.has(flag::SYN) {
            self.arrived = Some(p.seq.wrapping_add(1));
        } else if let Some(arrived) = self.arrived.filter(|_| p.len > 0 || p.has(flag::FIN)) {
            let end = p.seq.wrapping_add(p.len.into());
            let is_news = end.wrapping_sub(arrived) as i32 > 0;
            self.arrived = Some(if is_news { end } else { arrived });
            self.repeats = !is_news || p.has(flag::FIN);
        }
        true
    }

    fn balance(&self) -> Balance {
        Balance { sent: self.added, ..Balance::default() }
    }
}

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "misbehaving-receiver",
        summary: "a receiver that acknowledges against the rules, to make its sender faster (Savage et al., ACM CCR 1999)",
        params: &[
            optional(
                "ack-division",
                Kind::Int(1, 1_000),
                "2",
                "ACKs in place of each ACK that advances, each of a part of its bytes; 1: no division",
            ),
            optional(
                "ack-ahead",
                Kind::BytesOrZero,
                "0B",
                "bytes beyond the data that has arrived that each ACK covers (optimistic ACKs); losses are concealed, and lost data never arrives",
            ),
        ],
    },
    place: Place::Endpoint,
    needs_handshake: true,
    wants_marks: false,
    duplicates_only: &[],
    build: |v| {
        let ahead = v.bytes("ack-ahead").0;
        if ahead > MAX_AHEAD {
            return Err(BuildError::new("ack-ahead", "legal: at most 1GiB, the largest window of TCP"));
        }
        Ok(Config { ack_division: v.int("ack-division") as u32, ack_ahead: ahead as u32 })
    },
};
