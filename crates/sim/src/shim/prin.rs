//! PRIN (its specification, 3): the window is halved at the start of each block, and the last three segments of a block have priority. A
//! block is a message of the application. As an extension, fast retransmit can be made to wait at the end of a block.

use super::tag::{Message, MessageStart, Messages, Restart, Segment, TagShim};
use crate::net::packet::service;
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Param, Values, choices};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// R1 and R2: halve the window.
    pub halve: bool,
    /// R3 and R4: cut the tail and tag it.
    pub priority: bool,
    /// Smallest window after halving; `None`: by delayed ACKs.
    pub floor: Option<u32>,
    /// Cap the slow start threshold at the halved window.
    pub cap: bool,
    /// Cut blocks of at most two segments into three pieces.
    pub split_short: bool,
    /// Cut the last segment of a block into three pieces.
    pub fragments: bool,
    /// Class of service of the tail.
    pub class: u8,
    /// Retransmissions have priority wherever they are.
    pub prio_retransmit: bool,
    /// Delay of a fast retransmission once the whole block has been sent.
    pub tail_reorder_wait: Option<Time>,
}

/// The rules for one connection.
#[derive(Debug, Clone, Copy)]
pub struct Prin {
    c: Config,
    /// Smallest window after halving, segments.
    floor: u32,
    /// Blocks that begin before this offset have had their halving: `halve_pending` of R1 and R2 for any number of blocks.
    begun: u64,
}

impl TagShim for Prin {
    type Config = Config;

    /// R4: everything but the tail is ordinary.
    const URGENT_CONTROL: bool = false;

    fn new(c: &Config, delayed_acks: bool) -> Prin {
        // R2: 2 if the receiver delays ACKs, else 1.
        let floor = c.floor.unwrap_or(1 + u32::from(delayed_acks));
        Prin { c: *c, floor, begun: 0 }
    }

    fn tag(&self, m: &Message, s: &Segment) -> u16 {
        service(self.class(m, s), 0)
    }

    fn cut(&self, messages: &Messages, offset: u64, mss: u64) -> u64 {
        messages.at(offset).filter(|m| offset < m.end).map_or(u64::MAX, |m| self.cut_inside(&m, offset, mss))
    }

    /// R1, R2: once per block, regardless of its first segment's fate.
    fn message_start(&mut self, messages: &Messages, at: &MessageStart) -> Option<Restart> {
        if messages.at(at.offset).is_none_or(|m| m.begin != at.offset) {
            return None;
        }
        let pending = self.c.halve && at.offset >= self.begun;
        self.begun = self.begun.max(at.offset + 1);
        // The first block of a connection: no effect on a window that is still the initial one.
        if !pending || at.initial {
            return None;
        }
        // Never the inflated window. A full acknowledgment sets the window to ssthresh later; the source does not mention that, and the parameter
        // `ssthresh = "cap"` limits it.
        let cwnd = (at.cwnd / 2.0).floor().max(f64::from(self.floor));
        Some(Restart { cwnd, ssthresh_limit: self.c.cap.then(|| cwnd.max(2.0)) })
    }

    /// 3.4 item 2: if the whole block has been sent.
    fn fast_retransmit_wait(&self, messages: &Messages, high: u64) -> Option<Time> {
        // Behind the last byte of a block, or behind the FIN.
        let m = messages.at(high.saturating_sub(1))?;
        if high >= m.end { self.c.tail_reorder_wait } else { None }
    }
}

impl Prin {
    /// Returns true if the block is cut into three pieces instead of full segments.
    fn split(&self, m: &Message, mss: u64) -> bool {
        self.c.split_short && m.end - m.begin <= 2 * mss
    }

    /// R3: first byte of the tail.
    fn tail(&self, m: &Message, mss: u64) -> u64 {
        if self.split(m, mss) {
            return m.begin;
        }
        let segments = (m.end - m.begin).div_ceil(mss);
        m.begin + segments.saturating_sub(if self.c.fragments { 1 } else { 3 }) * mss
    }

    /// Bytes from `at` to the end of its piece, where `length` bytes are cut into three nearly equal pieces; one-byte pieces if there are fewer
    /// than three bytes.
    fn third(at: u64, length: u64) -> u64 {
        (1..=3).map(|i| (length * i).div_ceil(3)).find(|&end| end > at).unwrap_or(length) - at
    }

    /// R4: a function of the sequence number, so that a retransmitted tail segment stays high.
    fn class(&self, m: &Message, s: &Segment) -> u8 {
        // A FIN alone comes behind the block.
        let tail = (self.tail(m, s.mss)..m.end).contains(&s.offset);
        let high = self.c.priority && (tail || (s.again && self.c.prio_retransmit));
        if high { self.c.class } else { 0 }
    }

    /// R3: bytes from `offset`, inside the block, to the next cut. Cuts are full segments counted from the block's first byte, so that no
    /// segment spans the end of a block and retransmissions find the same cuts.
    fn cut_inside(&self, m: &Message, offset: u64, mss: u64) -> u64 {
        if !self.c.priority {
            // R2 needs the first byte of the next block at the start of a segment.
            return if self.c.halve { m.end - offset } else { u64::MAX };
        }
        let at = offset - m.begin;
        let length = m.end - m.begin;
        if self.split(m, mss) {
            return Self::third(at, length);
        }
        // 6.2.3 of the publication: the tail leaves as three packets, each smaller than the MTU.
        let tail = self.tail(m, mss) - m.begin;
        if self.c.fragments && at >= tail {
            return Self::third(at - tail, length - tail);
        }
        (mss - at % mss).min(length - at)
    }
}

const TAIL: &[(&str, bool)] = &[("segments", false), ("fragments", true)];

const CAP: &[(&str, bool)] = &[("keep", false), ("cap", true)];

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "prin",
        summary: "halves the window at the start of each message and tags its last three segments (PRIN); for queues with priorities",
        params: &[
            Param {
                key: "halve",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "halve the window before the first segment of a message; meant for slow-start-after-idle = \"off\", as in the stack ns2",
            },
            Param {
                key: "priority",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "send the last three segments of a message in class `class`; also cuts segments at the ends of messages",
            },
            Param {
                key: "class",
                kind: Kind::Int(1, 7),
                default: Some("4"),
                doc: "class of service of the tail: the 802.1p value of the publication's switches",
            },
            Param {
                key: "floor",
                kind: Kind::Int(1, 1_000),
                default: Some(""),
                doc: "smallest window after halving, segments. Default: 2 where the receiver delays ACKs, else 1",
            },
            Param {
                key: "ssthresh",
                kind: Kind::Choice(&choices::<2, _>(CAP)),
                default: Some("keep"),
                doc: "slow start threshold at halving: unchanged, or at most the halved window",
            },
            Param {
                key: "split-short",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "cut messages of at most two segments into three pieces",
            },
            Param {
                key: "tail",
                kind: Kind::Choice(&choices::<2, _>(TAIL)),
                default: Some("segments"),
                doc: "the three packets of the tail: the last three segments, or the last segment cut into three packets below the MTU (the publication's kernel)",
            },
            Param {
                key: "prio-retransmit",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "all retransmissions have priority (not in the publication)",
            },
            Param {
                key: "tail-reorder-wait",
                kind: Kind::Time,
                default: Some(""),
                doc: "delay of fast retransmit after the whole message has been sent, because the tail may have overtaken the rest: slightly more than the largest queueing delay. Not in the publication; refused with SACK and on the stack `linux`",
            },
        ],
    },
    place: Place::Tag,
    needs_handshake: false,
    wants_marks: false,
    duplicates_only: &["tail-reorder-wait"],
    build: |v: &Values| {
        Ok(Config {
            halve: v.bool("halve"),
            priority: v.bool("priority"),
            floor: v.opt_int("floor").map(|f| f as u32),
            cap: v.choice("ssthresh", CAP),
            split_short: v.bool("split-short"),
            fragments: v.choice("tail", TAIL),
            class: v.int("class") as u8,
            prio_retransmit: v.bool("prio-retransmit"),
            tail_reorder_wait: v.opt_time("tail-reorder-wait"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Config = Config {
        halve: true,
        priority: true,
        floor: None,
        cap: false,
        split_short: true,
        fragments: false,
        class: 4,
        prio_retransmit: false,
        tail_reorder_wait: None,
    };

    /// (bytes, high) of each segment of a block of `length` bytes.
    fn segments(c: Config, length: u64) -> Vec<(u64, bool)> {
        let (p, m) = (Prin::new(&c, false), Message { begin: 777, end: 777 + length });
        let (mut offset, mut list) = (m.begin, Vec::new());
        while offset < m.end {
            let s = Segment { offset, una: 0, sacked: 0, high: offset, mss: 1_000, again: false };
            let len = p.cut_inside(&m, offset, 1_000).min(1_000).min(m.end - offset);
            list.push((len, p.class(&m, &s) == 4));
            offset += len;
        }
        list
    }

    #[test]
    fn the_last_three_of_a_block() {
        let high = |n| (n, true);
        assert_eq!(segments(PLAIN, 5_300), [(1_000, false), (1_000, false), (1_000, false), high(1_000), high(1_000), high(300)]);
        assert_eq!(segments(PLAIN, 4_000), [(1_000, false), high(1_000), high(1_000), high(1_000)]);
        assert_eq!(segments(PLAIN, 2_001), [high(1_000), high(1_000), high(1)]);
        assert_eq!(segments(PLAIN, 2_000), [high(667), high(667), high(666)]);
        assert_eq!(segments(PLAIN, 4), [high(2), high(1), high(1)]);
        assert_eq!(segments(PLAIN, 2), [high(1), high(1)]);
        assert_eq!(segments(PLAIN, 1), [high(1)]);
        assert_eq!(segments(Config { split_short: false, ..PLAIN }, 1_500), [high(1_000), high(500)]);
    }

    #[test]
    fn last_segment_cut_into_three() {
        let c = Config { fragments: true, ..PLAIN };
        let (low, high) = (|n| (n, false), |n| (n, true));
        assert_eq!(segments(c, 4_300), [low(1_000), low(1_000), low(1_000), low(1_000), high(100), high(100), high(100)]);
        assert_eq!(segments(c, 3_010), [low(1_000), low(1_000), low(1_000), high(4), high(3), high(3)]);
        // Without a remainder a full segment is cut.
        assert_eq!(segments(c, 3_000), [low(1_000), low(1_000), high(334), high(333), high(333)]);
        assert_eq!(segments(c, 2_000), [high(667), high(667), high(666)]);
        assert_eq!(segments(Config { split_short: false, ..c }, 2_000), [low(1_000), high(334), high(333), high(333)]);
    }

    #[test]
    fn retransmissions_and_fin() {
        let m = Message { begin: 0, end: 10_000 };
        let class = |c: Config, offset, again| {
            Prin::new(&c, false).class(&m, &Segment { offset, una: 0, sacked: 0, high: 10_000, mss: 1_000, again })
        };
        assert_eq!((class(PLAIN, 8_000, true), class(PLAIN, 6_000, true)), (4, 0));
        assert_eq!(class(Config { prio_retransmit: true, ..PLAIN }, 6_000, true), 4);
        assert_eq!(class(PLAIN, 10_000, true), 0);
        assert_eq!(class(Config { priority: false, ..PLAIN }, 9_000, false), 0);
    }

    #[test]
    fn each_block_once() {
        let mut messages = Messages::default();
        messages.push(Message { begin: 0, end: 5_000 });
        messages.push(Message { begin: 5_000, end: 9_000 });
        let at = |offset| MessageStart { offset, cwnd: 9.0, initial: false };
        let mut p = Prin::new(&PLAIN, true);
        let halved = Some(Restart { cwnd: 4.0, ssthresh_limit: None });
        assert_eq!([0, 0, 1_000, 5_000, 0].map(|o| p.message_start(&messages, &at(o))), [halved, None, None, halved, None]);
        // Not below the floor, and not the initial window.
        let smallest =
            |delayed_acks| Prin::new(&PLAIN, delayed_acks).message_start(&messages, &MessageStart { cwnd: 1.0, ..at(0) });
        assert_eq!([smallest(false), smallest(true)].map(|r| r.map(|r| r.cwnd)), [Some(1.0), Some(2.0)]);
        assert_eq!(Prin::new(&PLAIN, true).message_start(&messages, &MessageStart { initial: true, ..at(0) }), None);
        assert_eq!(Prin::new(&Config { halve: false, ..PLAIN }, true).message_start(&messages, &at(0)), None);
        // The threshold follows to no less than two segments.
        let mut capped = Prin::new(&Config { cap: true, ..PLAIN }, false);
        let restart = capped.message_start(&messages, &MessageStart { cwnd: 3.0, ..at(0) });
        assert_eq!(restart, Some(Restart { cwnd: 1.0, ssthresh_limit: Some(2.0) }));
    }
}
