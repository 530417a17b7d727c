//! The path between the endpoint and its peer: what becomes of each packet on its way. It is bad for so many packets each way and perfect from then
//! on, so that every connection comes to its end. The fate of a packet depends on how many have gone before it, and on the seed.

use super::super::dice::{by_chance, per_mille};
use crate::Seen;
use crate::script::{EcnField, flag};
use forebay_types::Rng;

/// A microsecond, in ns: scripts say times to it.
pub(super) const US: u64 = 1000;
/// A millisecond, in ns.
pub(super) const MS: u64 = 1000 * US;

/// A row of losses lasts so long at most, ns: longer, and timeouts that double take the connection to where it is given up (tcp_retries2).
const OUTAGE: u64 = 3000 * MS;

/// What a path does. Times are ns.
#[derive(Debug, Clone)]
pub(super) struct Path {
    /// From one end to the other.
    pub(super) delay: u64,
    /// Between two packets of the endpoint at least: what the slowest link takes for one.
    pub(super) gap: u64,
    /// How many of a hundred packets are late (half as many ACKs), and by how much at most. Others overtake them.
    pub(super) late: (u64, u64),
    /// How many of a thousand packets are lost, each by itself.
    pub(super) lost: u64,
    /// At how many of a thousand packets a row of losses begins, and how many it takes within [`OUTAGE`].
    pub(super) row: (u64, u64),
    /// How many of a thousand ACKs are lost.
    pub(super) lost_acks: u64,
    /// How many of a thousand packets come twice, the second time up to a round trip later.
    pub(super) doubled: u64,
    /// How many of a thousand packets that may be marked (ECT, RFC 3168) are.
    pub(super) marked: u64,
    /// For how many packets each way all this holds.
    pub(super) bad: u64,
}

/// A segment that the endpoint has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// When, ns of the script's clock.
    pub(super) time: u64,
    /// Its first sequence number, and the one after its last. Equal: nothing is in it, as in a probe of a closed window.
    pub(super) range: (u64, u64),
    /// It may be marked.
    pub(super) ect: bool,
    /// It says that the window has been reduced.
    pub(super) cwr: bool,
    /// The stream ends with it.
    pub(super) fin: bool,
}

impl Sent {
    /// The segment that was seen, if the path is given it: those of the handshake are in the script as they are, and a reset has no answer.
    pub(super) fn of(seen: &Seen) -> Option<Sent> {
        let packet = seen.packet.as_ref()?;
        let has = |bit: u8| packet.flags & bit != 0;
        let start = u64::from(packet.seq);
        (!has(flag::SYN) && !has(flag::RST)).then(|| Sent {
            time: seen.time.max(0).unsigned_abs(),
            range: (start, start + u64::from(packet.len) + u64::from(has(flag::FIN))),
            ect: packet.ecn == Some(EcnField::Ect0),
            cwr: has(flag::CWR),
            fin: has(flag::FIN),
        })
    }
}

/// A segment of the endpoint at its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    /// When, ns.
    pub(super) time: u64,
    /// Which of those that were sent.
    pub(super) which: usize,
    /// It carries CE.
    pub(super) marked: bool,
}

impl Path {
    /// What of `sent` arrives at the peer, in the order of arrival.
    pub(super) fn forth(&self, sent: &[Sent], mut rng: Rng) -> Vec<Arrival> {
        let (mut arrivals, mut free) = (Vec::new(), 0);
        // What is left of a row of losses, and until when.
        let mut row = (0_u64, 0);
        for (which, s) in sent.iter().enumerate() {
            let bad = (which as u64) < self.bad;
            if per_mille(&mut rng, self.row.0) && row.0 == 0 {
                row = (self.row.1, s.time + OUTAGE);
            }
            let in_row = row.0 > 0 && s.time < row.1;
            row.0 = if in_row { row.0 - 1 } else { 0 };
            let lost = per_mille(&mut rng, self.lost) || in_row;
            let late = self.lateness(self.late.0, &mut rng);
            let (doubled, after) = (per_mille(&mut rng, self.doubled), rng.below(2 * self.delay));
            let marked = per_mille(&mut rng, self.marked) && s.ect && bad;
            if lost && bad {
                continue;
            }
            free = s.time.max(free) + self.gap;
            let time = free + self.delay + if bad { late } else { 0 };
            arrivals.push(Arrival { time, which, marked });
            if doubled && bad {
                arrivals.push(Arrival { time: time + after, which, marked });
            }
        }
        arrivals.sort_unstable();
        arrivals
    }

    /// When the ACK `number` arrives at the endpoint that left the peer at `time`; `None`: it is lost. With `ordered` it is not late.
    pub(super) fn back(&self, number: u64, time: u64, ordered: bool, rng: &mut Rng) -> Option<u64> {
        let (lost, late) = (per_mille(rng, self.lost_acks), self.lateness(self.late.0 / 2, rng));
        let bad = number < self.bad;
        (!(lost && bad)).then(|| time + self.delay + if bad && !ordered { late } else { 0 })
    }

    /// By how much a packet is late if `percent` of a hundred are late at all.
    fn lateness(&self, percent: u64, rng: &mut Rng) -> u64 {
        let by = rng.below(self.late.1.max(1));
        if by_chance(rng, percent) { by } else { 0 }
    }
}
