//! One direction of a connection: its data, and the ACKs of the other end for it.

use super::burst::{Burst, Bursts, NewData};
use super::recovery::{Recovery, Retransmitted};
use super::rtt::Rtt;
use super::sequence::{Place, Sequence};
use crate::trains::options::{GAP_WITHOUT_RTT_NS, Gap, Options};
use crate::trains::packet::Segment;
use crate::trains::sink::{DirectionRow, RetransmissionKind, Retransmissions};

/// Payload of a full Ethernet frame, for connections without a captured SYN.
const MSS_V4: u32 = 1460;
const MSS_V6: u32 = 1440;
/// Bytes of the timestamps in a header.
const TIMESTAMPS: u32 = 12;

/// Late data within this time is out of order and no retransmission, if no RTT is known, ns.
const REORDERING_NS: u64 = 3_000_000;

/// Packets of a direction that are compared, to find those that were captured twice.
const RECENT: usize = 4;

/// A segment whose number was sent, of which the capture has a second copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Copied {
    ip_id: u16,
    seq: u32,
    ack: u32,
    payload: u32,
}

/// State of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Direction {
    pub(super) sequence: Sequence,
    pub(super) rtt: Rtt,
    recovery: Recovery,
    trains: Bursts,
    messages: Bursts,
    /// Time of the last ACK of new data, ns.
    last_ack: u64,
    /// Initial sequence number and time of the SYN, ns.
    syn: Option<(u32, u64)>,
    /// The SYN was sent more than once.
    syn_repeated: bool,
    fin: bool,
    /// MSS option of this end's SYN: the largest payload that it receives.
    receives: Option<u16>,
    /// The last new segment has PSH: the application had written no more.
    pushed: bool,
    /// The other end has sent data since the last new data.
    answered: bool,
    recent: [Copied; RECENT],
    recent_next: u8,
    packets: u64,
    data_packets: u64,
    retransmissions: Retransmissions,
    reordered: u64,
    marked: u64,
    duplicates_reported: u64,
    /// Block of the latest report of a duplicate.
    last_duplicate: Option<(u32, u32)>,
}

/// Groups that a segment ended, and the train that it began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    pub(super) train: Option<Burst>,
    pub(super) message: Option<Burst>,
    pub(super) train_began: bool,
}

/// Properties of the connection that a direction needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    /// RTT, ns, if known.
    pub(super) rtt: Option<f64>,
    /// Smallest RTT, ns, if known.
    pub(super) min_rtt: Option<u64>,
    /// Time from the point of capture to the sender and back, ns.
    pub(super) sender_side: u64,
    /// Largest payload of a packet.
    pub(super) mss: u32,
}

/// Packets of at most a full segment.
fn packets(bytes: u64, path: &Path) -> u64 {
    bytes.div_ceil(u64::from(path.mss.max(1)))
}

impl Direction {
    /// True if this packet is a second copy of a recent one. The kernel numbers IPv4 packets, and a retransmission has another number.
    #[inline]
    pub(super) fn is_copy(&mut self, s: &Segment) -> bool {
        if s.ip_id == 0 || s.payload == 0 && !s.flags.syn() {
            return false;
        }
        let new = Copied { ip_id: s.ip_id, seq: s.seq, ack: s.ack, payload: s.payload };
        if self.recent.contains(&new) {
            return true;
        }
        self.recent[usize::from(self.recent_next)] = new;
        self.recent_next = (self.recent_next + 1) % RECENT as u8;
        false
    }

    /// True if this packet of the direction has a SYN, data or a FIN that none before had.
    pub(super) fn has_new_data(&self, s: &Segment) -> bool {
        if s.flags.syn() {
            return self.syn.is_none_or(|(seq, _)| seq != s.seq);
        }
        let end = self.sequence.extend(s.seq).saturating_add(u64::from(s.payload));
        !self.sequence.is_known() || (s.payload > 0 && end > self.sequence.max()) || (s.flags.fin() && !self.fin)
    }

    /// True if this packet of the other end acknowledges data of the direction for the first time.
    pub(super) fn acknowledges_new_data(&self, s: &Segment) -> bool {
        self.sequence.is_known() && self.sequence.extend(s.ack) > self.sequence.una()
    }

    /// The other end has sent data.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// Counts a packet, and processes its timestamp and SYN.
    #[inline]
    pub(super) fn sent(&mut self, s: &Segment, now: u64) {
        self.packets += 1;
        self.marked += u64::from(s.ce);
        self.fin |= s.flags.fin();
        if let Some(t) = s.timestamps {
            self.rtt.stamped(t.value, now);
        }
        if s.flags.syn() {
            self.synchronise(s, now);
        } else if !self.sequence.is_known() {
            self.sequence.start(s.seq);
        }
    }

    fn synchronise(&mut self, s: &Segment, now: u64) {
        match self.syn {
            Some((seq, _)) if seq == s.seq => {
                self.syn_repeated = true;
                self.retransmissions.add(RetransmissionKind::Handshake, 1);
            }
            _ => {
                self.syn = Some((s.seq, now));
                self.sequence.start(s.seq.wrapping_add(1));
            }
        }
        self.receives = s.mss.or(self.receives);
    }

    /// Processes the payload of a segment that has one; `step` gets what it ended and began.
    #[inline]
    pub(super) fn data(&mut self, s: &Segment, now: u64, path: &Path, options: &Options, step: &mut Step) {
        let start = self.sequence.extend(s.seq.wrapping_add(u32::from(s.flags.syn())));
        let end = start + u64::from(s.payload);
        if s.payload == 1 && end == self.sequence.max() && self.sequence.is_idle() {
            // A keep-alive probe repeats the last byte (RFC 9293, section 3.8.4).
            return;
        }
        let packets = packets(u64::from(s.payload), path);
        self.data_packets += packets;
        match self.sequence.place(start, end, now) {
            Place::New(bytes) => {
                if self.recovery.is_open() && self.sequence.is_complete() {
                    self.rtt.time(end, now);
                }
                self.new_data((bytes, packets), now, path, options, step);
                self.pushed = s.flags.psh();
            }
            // A retransmission follows at the earliest a round trip after the later data.
            Place::Late(since) if now.saturating_sub(since) < path.min_rtt.unwrap_or(REORDERING_NS) => self.reordered += 1,
            Place::Late(_) | Place::Seen => self.retransmission(start, end, packets, now, path),
        }
    }

    fn new_data(&mut self, (bytes, packets): (u64, u64), now: u64, path: &Path, options: &Options, step: &mut Step) {
        let threshold = match options.gap {
            Gap::Fixed(ns) => ns,
            Gap::Rtt => path.rtt.map_or(GAP_WITHOUT_RTT_NS, |rtt| rtt as u64),
        };
        let last = self.trains.last().unwrap_or(now);
        let data = NewData { now, bytes, packets, pause: now.saturating_sub(last), threshold };
        step.train_began = self.trains.add(&data, &mut step.train);
        // While data is unacknowledged, a pause is one of the window and not of the application. ACKs that pass the point of capture reach
        // the sender later, which the threshold allows for.
        let outstanding = self.sequence.has_acks() && self.sequence.una() < self.sequence.max() - bytes;
        let quiet = if outstanding { now } else { last.max(self.last_ack) };
        let pause = now.saturating_sub(quiet);
        // An application whose data is all acknowledged, as the sender knows, has written again if it had pushed the last segment, or has got an answer.
        let is_idle = self.sequence.has_acks() && !outstanding && pause >= path.sender_side;
        let pause = if is_idle && (self.pushed || self.answered) { u64::MAX } else { pause };
        (self.pushed, self.answered) = (false, false);
        let threshold = threshold.saturating_add(path.sender_side);
        self.messages.add(&NewData { pause, threshold, ..data }, &mut step.message);
    }

    fn retransmission(&mut self, start: u64, end: u64, packets: u64, now: u64, path: &Path) {
        let waited = now.saturating_sub(self.trains.last().unwrap_or(now));
        let (una, max, has_acks) = (self.sequence.una(), self.sequence.max(), self.sequence.has_acks());
        let kind = self.recovery.classify(&Retransmitted { start, end, una, max, waited, rtt: path.rtt, has_acks });
        self.retransmissions.add(kind, packets);
        self.rtt.forget();
        self.trains.retransmitted(now, packets);
        self.messages.retransmitted(now, packets);
    }

    /// Processes the ACK in a segment of the other end. Returns a sample of the time to the receiver and back, ns; `step` gets what data that is
    /// missing in the capture ended and began.
    #[inline]
    pub(super) fn acknowledged(&mut self, s: &Segment, now: u64, path: &Path, options: &Options, step: &mut Step) -> Option<u64> {
        if let Some(t) = s.timestamps {
            self.rtt.echoed(t.echo, now);
        }
        if !self.sequence.is_known() {
            self.sequence.start(s.ack);
            return None;
        }
        let (advanced, beyond) = self.sequence.acknowledge(s.ack, self.fin);
        let una = self.sequence.una();
        if beyond > 0 {
            self.new_data((beyond, packets(beyond, path)), now, path, options, step);
        }
        let mut sample = None;
        if advanced {
            self.recovery.advanced(una);
            sample = self.rtt.acknowledged(una, now);
            self.last_ack = self.last_ack.max(now);
        } else if s.payload == 0
            && !s.flags.syn()
            && !s.flags.fin()
            && !self.sequence.is_idle()
            && self.sequence.extend(s.ack) == una
        {
            self.recovery.duplicate();
        }
        if !s.sack.blocks().is_empty() {
            self.sack(s, una);
        }
        sample
    }

    fn sack(&mut self, s: &Segment, una: u64) {
        let blocks = s.sack.blocks();
        let number = |seq| self.sequence.extend(seq);
        let (first_start, first_end) = (number(blocks[0].0), number(blocks[0].1));
        // RFC 2883: the first block reports a duplicate if it is acknowledged, or within the second.
        let in_second = blocks.get(1).is_some_and(|b| number(b.0) <= first_start && first_end <= number(b.1));
        let duplicate = first_end <= una || in_second;
        let highest = blocks.iter().map(|b| number(b.1)).filter(|end| *end > una && *end <= self.sequence.max()).max();
        // All segments of a large frame repeat the report.
        if duplicate && self.last_duplicate != Some(blocks[0]) {
            self.last_duplicate = Some(blocks[0]);
            self.duplicates_reported += 1;
        }
        if let Some(end) = highest {
            self.recovery.sack(end);
        }
    }

    /// Ends the open groups.
    pub(super) fn finish(&mut self) -> Step {
        Step { train: self.trains.finish(), message: self.messages.finish(), train_began: false }
    }

    /// Initial sequence number, and time of the first SYN, ns.
    pub(super) fn syn(&self) -> Option<(u32, u64)> {
        self.syn
    }

    /// Time of the SYN if it was sent once, ns: an answer to it gives an RTT.
    pub(super) fn syn_once(&self) -> Option<u64> {
        self.syn.filter(|_| !self.syn_repeated).map(|(_, time)| time)
    }

    pub(super) fn has_fin(&self) -> bool {
        self.fin
    }

    /// Packets so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Largest payload of a packet to this end.
    pub(super) fn mss_to(&self, v6: bool, timestamps: bool, given: Option<u32>) -> u32 {
        let announced = self.receives.map_or(if v6 { MSS_V6 } else { MSS_V4 }, u32::from);
        given.unwrap_or_else(|| announced.saturating_sub(if timestamps { TIMESTAMPS } else { 0 }).max(1))
    }

    /// Totals.
    pub(super) fn row(&self) -> DirectionRow {
        DirectionRow {
            packets: self.packets,
            bytes: self.sequence.bytes(),
            data_packets: self.data_packets,
            trains: self.trains.count(),
            retransmissions: self.retransmissions,
            timeouts: self.recovery.timeouts(),
            reordered: self.reordered,
            marked: self.marked,
            duplicates_reported: self.duplicates_reported,
            missed_bytes: self.sequence.missed(),
        }
    }
}
