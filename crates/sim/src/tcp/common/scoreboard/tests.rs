//! The scoreboard by itself, and compared with one that scans all segments each time.

mod reference_model;

use super::*;
use crate::sequences::{each_sequence, interval};
use forebay_types::{Rng, Time};
use reference_model::Plain;

fn board(n: u64) -> Scoreboard {
    let mut b = Scoreboard::default();
    for i in 0..n {
        b.push(i * 100, 100, Time(i));
    }
    b
}

#[test]
fn three_sacked_above_make_a_loss() {
    let mut b = board(10);
    b.sack(200, 300, |_, _| {});
    b.sack(400, 500, |_, _| {});
    b.mark_by_count(3, 100);
    assert_eq!((b.lost, b.next_lost()), (0, None));
    b.sack(500, 600, |_, _| {});
    b.mark_by_count(3, 100);
    assert_eq!(b.lost, 200, "segments 0 and 1; 3 has only two SACKed above it");
    assert_eq!(b.pipe(1000), 1000 - 300 - 200);
    assert_eq!(b.next_lost(), Some(0));
    b.retransmitted(0, Time(50), Ties::Offset);
    assert_eq!((b.pipe(1000), b.next_lost()), (600, Some(1)));
    b.acknowledge(300, |_, _| {});
    assert_eq!((b.lost, b.retx, b.sacked, b.len()), (0, 0, 200, 7));
    b.sack(600, 1000, |_, _| {});
    b.mark_by_count(3, 100);
    assert_eq!(b.lost, 100);
    b.acknowledge(1000, |_, _| {});
    assert!(b.is_plain() && b.len() == 0);
}

/// tcp_mark_head_lost: all segments below the SACKed one with number `sacked` + 1 are lost, and the next search continues there. Segments that are SACKed
/// below that place, or leave there, change the count.
#[test]
fn segments_below_sacked_ones_are_lost() {
    let mut b = board(12);
    let lost = |b: &Scoreboard| b.iter().filter(|s| s.is(LOST)).map(|s| s.start / 100).collect::<Vec<_>>();
    [2, 4, 6].into_iter().for_each(|i| _ = b.sack(i * 100, i * 100 + 100, |_, _| {}));
    b.mark_head_lost(0);
    assert_eq!(lost(&b), [0, 1], "up to the first SACKed one");
    b.retransmitted(0, Time(50), Ties::Transmission);
    b.sack(800, 900, |_, _| {});
    b.mark_head_lost(1);
    assert_eq!(lost(&b), [0, 1, 3], "the one sent again is lost once");
    assert_eq!(b.next_lost(), Some(1));
    b.sack(100, 200, |_, _| {});
    b.mark_head_lost(2);
    assert_eq!(lost(&b), [0, 3], "1, 2 and 4 are SACKed: the third is 4");
    b.acknowledge(300, |_, _| {});
    b.mark_head_lost(1);
    assert_eq!(lost(&b), [3, 5], "4 remains below the place");
    b.unmark_lost();
    b.mark_oldest_lost();
    assert_eq!(lost(&b), [3]);
    b.mark_head_lost(2);
    assert_eq!(lost(&b), [3, 5, 7]);
    b.mark_oldest_lost();
    assert_eq!(b.lost_segs(), 3);
}

/// tcp_collapse_retrans: the joined segment has the length of all, and those behind it leave the searches and the counts.
#[test]
fn collapsed_tail_leaves_searches() {
    let mut b = board(4);
    b.sack(0, 100, |_, _| {});
    b.mark_after_timeout(|_, _| true);
    b.retransmitted(3, Time(50), Ties::Transmission);
    b.mark_lost(3);
    b.collapse_tail(1);
    assert_eq!((b.len(), b.get(1).end(), b.lost_segs(), b.lost, b.retx), (2, 400, 1, 300, 0));
    assert!(b.get(1).is(EVER_RETX), "as the last one");
    assert_eq!(b.next_lost(), Some(1));
    b.retransmitted(1, Time(60), Ties::Transmission);
    assert_eq!((b.next_lost(), b.in_network()), (None, 1));
    b.pass(Time(70), 400, Ties::Transmission);
    assert_eq!(b.oldest_candidate(), Some(1));
    b.acknowledge(400, |_, _| {});
    assert!(b.is_clear() && b.is_plain());
}

/// tcp_shift_skb_data: a newly SACKed segment is merged with the one before it, and then the one behind it is, too. One in front of a SACKed segment
/// is not.
#[test]
fn sacked_segments_merge_backwards() {
    let mut b = board(10);
    let mut merged = |start: u64| {
        b.sack(start, start + 100, |_, _| {});
        b.merged()
    };
    assert_eq!([merged(500), merged(600)], [0, 1]);
    assert_eq!(merged(400), 1, "500 stays on its own");
    assert_eq!(merged(800), 1);
    assert_eq!(merged(700), 3, "into 600, and 800 behind it");
    b.acknowledge(700, |_, _| {});
    assert_eq!(b.merged(), 2);
    b.acknowledge(1000, |_, _| {});
    assert_eq!(b.merged(), 0);
}

/// tcp_rack_detect_loss ends its search at the first segment of `tsorted_sent_queue` that was not sent before the newest delivery. By RFC 8985 the
/// order of transmission does not matter at the same instant.
#[test]
fn retransmission_waits_behind_new_data() {
    for (ties, candidate) in [(Ties::Offset, Some(0)), (Ties::Transmission, None)] {
        let mut b = board(4);
        b.mark_lost(0);
        let now = Time(50);
        (4..7).for_each(|i| b.push(i * 100, 100, now));
        b.retransmitted(0, now, ties);
        b.sack(100, 500, |_, _| {});
        b.pass(now, 500, ties);
        assert_eq!(b.oldest_candidate(), candidate, "{ties:?}: segments 5 and 6 were sent before the retransmission");
        b.sack(500, 700, |_, _| {});
        b.pass(now, 700, ties);
        assert_eq!(b.oldest_candidate(), Some(0), "{ties:?}");
    }
}

#[test]
fn partial_acknowledgement_trims() {
    let mut b = board(2);
    b.acknowledge(130, |_, _| {});
    assert_eq!((b.get(0).start, b.get(0).len, b.pipe(70)), (130, 70, 70));
}

/// Newest delivery by RACK: time and end of the segment.
#[derive(Default)]
struct Newest(Time, u64);

impl Newest {
    fn note(&mut self, seg: &Seg) {
        if (seg.sent(), seg.end()) > (self.0, self.1) {
            *self = Newest(seg.sent(), seg.end());
        }
    }
}

/// RACK's detection as `rack.rs` does it.
fn detect(b: &mut Scoreboard, newest: &Newest, patience: Time, now: Time) -> Option<Time> {
    b.pass(newest.0, newest.1, Ties::Offset);
    while let Some(index) = b.oldest_candidate()
        && b.get(index).sent() + patience <= now
    {
        b.mark_lost(index);
    }
    b.youngest_candidate().map(|index| b.get(index).sent() + patience - now)
}

/// Changes of the scoreboard in one random history, in both implementations.
struct Both {
    rng: Rng,
    fast: Scoreboard,
    plain: Plain,
    newest: Newest,
    now: Time,
    snd_una: u64,
    snd_nxt: u64,
    /// Ends of recent blocks, to extend them as receivers do.
    recent: Vec<(u64, u64)>,
}

impl Both {
    fn new(seed: u64) -> Both {
        Both {
            rng: Rng::stream(seed, &[1]),
            fast: Scoreboard::default(),
            plain: Plain::default(),
            newest: Newest::default(),
            now: Time::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            recent: Vec::new(),
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    /// The offset of a segment's start, or of none.
    fn somewhere(&mut self) -> u64 {
        let n = self.fast.len() as u64;
        if n == 0 || self.chance(20) {
            return self.snd_una + self.rng.below(self.snd_nxt - self.snd_una + 1);
        }
        let index = self.rng.below(n) as usize;
        self.fast.get(index).start.max(self.snd_una)
    }

    fn send(&mut self) {
        for _ in 0..1 + self.rng.below(12) {
            let len = if self.chance(4) { 1 + self.rng.below(100) as u32 } else { 100 };
            self.fast.push(self.snd_nxt, len, self.now);
            self.plain.push(self.snd_nxt, len, self.now);
            self.snd_nxt += u64::from(len);
        }
    }

    fn sack(&mut self) {
        let (start, end) = match self.rng.below(4) {
            0 => {
                let (a, b) = (self.somewhere(), self.somewhere());
                (a.min(b), a.max(b))
            }
            // As a receiver: one segment, or a block seen before and more.
            1 => {
                let start = self.somewhere();
                (start, start + 100 * (1 + self.rng.below(3)))
            }
            _ => match self.recent.last().copied() {
                Some((start, end)) if start >= self.snd_una => (start, end + 100 * self.rng.below(3)),
                _ => (self.snd_nxt.saturating_sub(100).max(self.snd_una), self.snd_nxt),
            },
        };
        self.recent.push((start, end));
        if self.recent.len() > 3 || self.chance(10) {
            self.recent.remove(0);
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let newest = &mut self.newest;
        let bytes = self.fast.sack(start, end, |_, s| {
            newest.note(s);
            a.push(*s);
        });
        assert_eq!(bytes, self.plain.sack(start, end, |s| b.push(*s)));
        assert_eq!(a, b, "newly SACKed");
    }

    fn acknowledge(&mut self) {
        let to = if self.chance(3) { self.somewhere() } else { self.snd_una + 100 * self.rng.below(4) };
        self.snd_una = to.clamp(self.snd_una, self.snd_nxt);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let newest = &mut self.newest;
        self.fast.acknowledge(self.snd_una, |_, s| {
            newest.note(s);
            a.push(*s);
        });
        self.plain.acknowledge(self.snd_una, |s| b.push(*s));
        assert_eq!(a, b, "newly acknowledged");
    }

    fn retransmit(&mut self, index: usize) {
        self.fast.retransmitted(index, self.now, Ties::Offset);
        self.plain.retransmitted(index, self.now);
    }

    /// The next segment to retransmit, or the last one, does not fit into the receive window.
    fn split(&mut self) {
        let Some(last) = self.fast.len().checked_sub(1) else { return };
        let index = self.fast.next_lost().filter(|_| !self.chance(3)).unwrap_or(last);
        let seg = *self.fast.get(index);
        if !seg.is(SACKED) && seg.len > 1 {
            let len = 1 + self.rng.below(u64::from(seg.len) - 1) as u32;
            self.fast.split(index, len);
            self.plain.split(index, len);
        }
    }

    fn step(&mut self) {
        self.now += Time(self.rng.below(3) * self.rng.below(20));
        match self.rng.below(15) {
            14 => self.split(),
            0..=2 => self.send(),
            3..=6 => self.sack(),
            7 => self.acknowledge(),
            8 => {
                self.fast.mark_by_count(3, 100);
                self.plain.mark_by_count(3, 100);
            }
            9 | 10 => {
                let patience = Time(self.rng.below(150));
                let wait = detect(&mut self.fast, &self.newest, patience, self.now);
                assert_eq!(wait, self.plain.detect((self.newest.0, self.newest.1), patience, self.now), "time left");
            }
            11 => {
                for _ in 0..self.rng.below(4) {
                    if let Some(index) = self.fast.next_lost() {
                        self.retransmit(index);
                    } else if let Some(index) = self.fast.next_hole() {
                        self.retransmit(index);
                    }
                    self.compare();
                }
            }
            12 if self.fast.len() > 0 => {
                // A probe of the tail, or a loss found by other means.
                let index = self.fast.len() - 1;
                if !self.fast.get(index).is(SACKED) && self.chance(2) {
                    self.retransmit(index);
                } else if !self.fast.get(0).is(SACKED) {
                    self.fast.mark_lost(0);
                    self.plain.mark_lost(0);
                }
            }
            13 if self.chance(10) => {
                let before = self.now.saturating_sub(Time(30));
                self.fast.mark_after_timeout(|i, s| i == 0 || s.sent() <= before);
                self.plain.mark_after_timeout(|i, s| i == 0 || s.sent() <= before);
            }
            13 if self.chance(10) => {
                self.fast.unmark_lost();
                self.plain.unmark_lost();
            }
            13 if self.chance(50) => {
                self.fast.clear();
                self.plain = Plain::default();
                let rng = self.rng.clone();
                *self = Both { rng, fast: std::mem::take(&mut self.fast), ..Both::new(0) };
            }
            _ => {}
        }
        self.compare();
    }

    fn compare(&mut self) {
        self.fast.audit(false);
        let facts = |s: &Seg| (s.start, s.len, s.flags & !MERGED, (!s.is(SACKED)).then(|| s.sent()));
        assert!(self.fast.iter().map(facts).eq(self.plain.segs.iter().map(facts)), "{:?}\n{:?}", self.fast, self.plain);
        assert_eq!(self.fast.next_lost(), self.plain.next_lost(), "first to retransmit");
        assert_eq!(self.fast.next_hole(), self.plain.next_hole(), "first hole");
        assert_eq!(self.fast.retx_segs as usize, self.plain.segs.iter().filter(|s| s.is(RETX)).count());
    }
}

/// Histories as no receiver would make them, too: blocks anywhere, losses by count and by time mixed.
#[test]
fn equals_a_plain_scoreboard() {
    for seed in 0..600 {
        let mut both = Both::new(seed);
        for _ in 0..1000 {
            both.step();
        }
    }
}

/// All sequences of four SACK blocks, cumulative ACKs and losses over five segments. Every counter matches the segments, and each byte is
/// reported as delivered exactly once. The bytes in the network are those sent and neither delivered nor lost.
#[test]
fn exhaustive_acknowledgements_count_each_byte_once() {
    // 15 blocks, five ACKs, five losses.
    each_sequence(25, 4, |word| {
        let (mut b, mut reported, mut una) = (board(5), 0_u64, 0_u64);
        for &letter in word {
            let mut newly = |_: u64, seg: &Seg| {
                let bit = 1 << (seg.start / 100);
                assert_eq!(reported & bit, 0, "{word:?}: a segment is delivered twice");
                reported |= bit;
            };
            match letter {
                0..15 => {
                    let (start, end) = interval(letter);
                    // Blocks below the cumulative ACK are D-SACKs, which the caller removes.
                    if start >= una {
                        let bytes = b.sack(100 * start, 100 * end, &mut newly);
                        assert_eq!(bytes % 100, 0, "{word:?}");
                    }
                }
                15..20 => {
                    una = una.max(u64::from(letter) - 14);
                    b.acknowledge(100 * una, &mut newly);
                }
                _ => {
                    let index = (u64::from(letter) - 20).checked_sub(una).map(|i| i as usize);
                    if let Some(index) = index.filter(|&i| i < b.len() && !b.get(i).is(SACKED)) {
                        b.mark_lost(index);
                    }
                }
            }
            b.audit(false);
            let flight = 500 - 100 * una;
            let outstanding = b.iter().filter(|s| !s.is(SACKED | LOST)).count() as u64;
            assert_eq!(b.pipe(flight), 100 * outstanding, "{word:?}");
            let delivered = (0..5).filter(|at| *at < una || b.get((at - una) as usize).is(SACKED));
            assert_eq!(reported, delivered.map(|at| 1_u64 << at).sum::<u64>(), "{word:?}");
        }
    });
}
