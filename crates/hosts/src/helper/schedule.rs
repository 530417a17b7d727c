//! When probes, SYNs and SYN-ACKs leave: the timers of the ProBoSCIS publication (its algorithms 1 and 2), without a clock or a socket.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// Longest hold of a SYN-ACK (beta3), us: longer than beta1 and the path delay, so that a repeated train may still arrive.
pub(super) const HOLD: u64 = 8_000;

/// Times, in us, and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timers {
    /// Probes of a first train.
    pub probes: u32,
    /// Unanswered probes are sent again after this (beta1).
    pub train: u64,
    /// The SYN with them after this (beta2).
    pub syn: u64,
    /// A SYN-ACK waits so long (beta3).
    pub hold: u64,
    /// Time after which the guest's own timer handles a SYN (MAX_TIME).
    pub give_up: u64,
    /// A train grows by the first one's size each time, up to so many times that.
    pub growth: u32,
    /// In so many ns all connections together may send one probe again.
    pub cost_ns: u64,
    /// And so many at once.
    pub burst: u64,
}

impl Timers {
    /// Timers of the publication, with first trains of `probes` probes. Linux retransmits a SYN after a second. Repeated probes are limited to 15 000
    /// a second, 1 % of a link of 1 Gbit/s.
    pub(super) fn published(probes: u32) -> Timers {
        let (cost_ns, burst) = (66_667, 100);
        Timers { probes, train: 4_000, syn: 16_000, hold: HOLD, give_up: 1_000_000, growth: 4, cost_ns, burst }
    }
}

/// Connections in each list; those beyond have no timers.
const MOST: usize = 65_536;

/// Addresses and ports as packets have them.
pub(super) type Flow = [u8; 12];

/// Report of the shim: `enum happened` of helper.bpf.h.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    Opens(Flow, u32, Vec<u8>),
    /// With the ms for which the peer keeps an estimate.
    Answered(Flow, u32),
    Held(Flow, u32, Vec<u8>),
    Enough(Flow),
    /// With the segments that a train allows.
    Estimate(Flow, u32),
}

impl Notice {
    /// `struct notice`: four numbers, the flow, the frame.
    pub(super) fn read(bytes: &[u8]) -> Option<Notice> {
        let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes);
        let (what, interface, length, value) = (number(0)?, number(4)?, number(8)? as usize, number(12)?);
        let flow: Flow = bytes.get(16..28)?.try_into().ok()?;
        let frame = || bytes.get(28..28 + length).map(<[u8]>::to_vec);
        match what {
            1 => Some(Notice::Opens(flow, interface, frame()?)),
            2 => Some(Notice::Answered(flow, value)),
            3 => Some(Notice::Held(flow, interface, frame()?)),
            4 => Some(Notice::Enough(flow)),
            5 => Some(Notice::Estimate(flow, value)),
            _ => None,
        }
    }
}

/// `enum order` of helper.bpf.h, with the probes of the train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Release,
    Train(u32),
    Again(u32),
}

/// A frame that is to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) interface: u32,
    pub(super) frame: Vec<u8>,
    pub(super) order: Order,
}

/// A SYN that is not answered.
#[derive(Debug)]
struct Opening {
    interface: u32,
    frame: Vec<u8>,
    first: u64,
    last_syn: u64,
    last_train: u64,
    trains: u32,
}

/// A SYN-ACK that waits.
#[derive(Debug)]
struct HeldSynAck {
    interface: u32,
    frame: Vec<u8>,
    since: u64,
}

impl HeldSynAck {
    fn release(self) -> Sending {
        Sending { interface: self.interface, frame: self.frame, order: Order::Release }
    }
}

/// Waiting SYNs and SYN-ACKs.
#[derive(Debug)]
pub(super) struct Schedule {
    opening: BTreeMap<Flow, Opening>,
    held: BTreeMap<Flow, HeldSynAck>,
    timers: Timers,
    /// Probes that may be sent again now, in ns of which one costs some, and when that was so.
    budget: u64,
    filled: u64,
    /// Flow that was served last: the next ones are served first in the next round.
    from: Flow,
}

impl Schedule {
    pub(super) fn new(timers: Timers) -> Schedule {
        let budget = timers.burst * timers.cost_ns;
        Schedule { opening: BTreeMap::new(), held: BTreeMap::new(), timers, budget, filled: 0, from: [0; 12] }
    }

    /// The size of a first train.
    pub(super) fn probes(&mut self, probes: u32) {
        self.timers.probes = probes;
    }

    /// Departure time of the newest train of an unanswered SYN.
    pub(super) fn left(&self, flow: &Flow) -> Option<u64> {
        self.opening.get(flow).map(|o| o.last_train)
    }

    /// Returns true if a timer runs.
    pub(super) fn waits(&self) -> bool {
        !self.opening.is_empty() || !self.held.is_empty()
    }

    /// Takes note; returns what is to leave at once. Times are in us.
    pub(super) fn notice(&mut self, now: u64, notice: Notice) -> Vec<Sending> {
        match notice {
            Notice::Opens(flow, interface, frame) => {
                if let Some(o) = self.opening.get_mut(&flow) {
                    // The guest's own second try: with it went a new train.
                    (o.frame, o.last_syn, o.last_train) = (frame, now, now);
                } else if self.opening.len() < MOST {
                    let o = Opening { interface, frame, first: now, last_syn: now, last_train: now, trains: 1 };
                    self.opening.insert(flow, o);
                }
            }
            Notice::Answered(flow, _) => {
                self.opening.remove(&flow);
            }
            Notice::Held(flow, interface, frame) => {
                let held = HeldSynAck { interface, frame, since: now };
                if self.held.len() >= MOST {
                    return vec![held.release()];
                }
                // One that the guest sends again takes the place of the first, which has waited long enough for both.
                self.held.entry(flow).and_modify(|h| h.frame.clone_from(&held.frame)).or_insert(held);
            }
            Notice::Estimate(..) => {}
            Notice::Enough(flow) => return self.held.remove(&flow).map(HeldSynAck::release).into_iter().collect(),
        }
        Vec::new()
    }

    /// Takes up to `wanted` probes of the budget, but none if there are fewer than a first train has: those would measure nothing.
    fn take(&mut self, wanted: u32) -> u32 {
        let left = u32::try_from(self.budget / self.timers.cost_ns.max(1)).unwrap_or(u32::MAX);
        let n = if left < self.timers.probes { 0 } else { wanted.min(left) };
        self.budget -= u64::from(n) * self.timers.cost_ns;
        n
    }

    /// Frames that are due now.
    pub(super) fn due(&mut self, now: u64) -> Vec<Sending> {
        let t = self.timers;
        let waited: Vec<Flow> = self.held.iter().filter(|(_, h)| now - h.since >= t.hold).map(|(f, _)| *f).collect();
        let mut all: Vec<Sending> = waited.iter().filter_map(|f| self.held.remove(f)).map(HeldSynAck::release).collect();
        self.opening.retain(|_, o| now - o.first <= t.give_up);
        self.budget = (self.budget + (now - self.filled.min(now)) * 1_000).min(t.burst * t.cost_ns);
        self.filled = now;
        let due = |o: &Opening| now - o.last_syn >= t.syn || now - o.last_train >= t.train;
        let behind = self.opening.range((Excluded(self.from), Unbounded));
        let order: Vec<(Flow, u32)> =
            behind.chain(self.opening.range(..=self.from)).filter(|(_, o)| due(o)).map(|(f, o)| (*f, o.trains)).collect();
        for (flow, trains) in order {
            let size = self.take(t.probes * trains.min(t.growth));
            let Some(o) = self.opening.get_mut(&flow) else { continue };
            // The SYN's timer is the longer one and is looked at first, or it would never be (section 4 of the specification, item 6). It leaves
            // without probes where there may be none; a train waits.
            let syn = now - o.last_syn >= t.syn;
            if size == 0 && !syn {
                continue;
            }
            if size > 0 {
                self.from = flow;
                o.trains += 1;
            }
            o.last_train = now;
            let order = if syn { Order::Again(size) } else { Order::Train(size) };
            if syn {
                o.last_syn = now;
            }
            all.push(Sending { interface: o.interface, frame: o.frame.clone(), order });
        }
        all
    }

    /// All SYN-ACKs.
    pub(super) fn release_all(&mut self) -> Vec<Sending> {
        std::mem::take(&mut self.held).into_values().map(HeldSynAck::release).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(s: &mut Schedule, until: u64) -> Vec<(u64, Order)> {
        (0..=until / 1000).flat_map(|ms| s.due(ms * 1000).into_iter().map(move |x| (ms, x.order))).collect()
    }

    /// The publication's timers for a SYN without an answer, with ten probes and without a limit on them.
    #[test]
    fn trains_grow_with_every_fourth_syn() {
        let mut s = Schedule::new(Timers::published(10));
        assert!(!s.waits());
        s.notice(0, Notice::Opens([1; 12], 3, vec![7]));
        assert!(s.waits());
        let first = orders(&mut s, 16_000);
        assert_eq!(first, [(4, Order::Train(10)), (8, Order::Train(20)), (12, Order::Train(30)), (16, Order::Again(40))]);
        assert_eq!(s.left(&[1; 12]), Some(16_000));
        s.notice(16_000, Notice::Answered([1; 12], 0));
        assert!(!s.waits());
    }

    /// After a second the guest's own timer has it.
    #[test]
    fn retries_end_after_a_second() {
        let mut s = Schedule::new(Timers::published(1));
        s.notice(0, Notice::Opens([1; 12], 3, vec![7]));
        let all = orders(&mut s, 1_100_000);
        assert!(!s.waits());
        assert_eq!(all.last().map(|(ms, _)| *ms), Some(1000));
        assert_eq!(all.iter().filter(|(_, o)| matches!(o, Order::Again(_))).count(), 62);
    }

    /// Many that open at once share what probes may cost, in turn.
    #[test]
    fn probes_have_a_budget() {
        let mut s = Schedule::new(Timers::published(8));
        for i in 0..200 {
            s.notice(0, Notice::Opens([i; 12], u32::from(i), vec![i]));
        }
        let mut served = std::collections::BTreeSet::new();
        let mut probes = 0;
        for ms in 0..=1000 {
            for x in s.due(ms * 1000) {
                served.insert(x.interface);
                probes += match x.order {
                    Order::Train(n) | Order::Again(n) => u64::from(n),
                    Order::Release => 0,
                };
            }
        }
        assert_eq!(served.len(), 200);
        assert!((15_000 - 100..=15_000 + 100).contains(&probes), "{probes}");
    }

    /// A SYN-ACK waits until enough probes are there, or its time is over.
    #[test]
    fn syn_acks_are_held() {
        let mut s = Schedule::new(Timers::published(8));
        let release = |frame: u8| Sending { interface: 3, frame: vec![frame], order: Order::Release };
        assert!(s.notice(0, Notice::Held([1; 12], 3, vec![1])).is_empty());
        assert!(s.notice(0, Notice::Held([2; 12], 3, vec![2])).is_empty());
        assert_eq!(s.notice(2_000, Notice::Enough([1; 12])), [release(1)]);
        assert!(s.notice(2_000, Notice::Enough([1; 12])).is_empty());
        assert!(s.due(7_000).is_empty());
        // A retransmitted SYN-ACK does not restart the hold.
        s.notice(7_000, Notice::Held([2; 12], 3, vec![5]));
        assert_eq!(s.due(8_000), [release(5)]);
        s.notice(9_000, Notice::Held([4; 12], 3, vec![4]));
        assert_eq!(s.release_all(), [release(4)]);
        assert!(!s.waits());
    }

    /// Reports as the shim writes them.
    #[test]
    fn notices_are_read() {
        let mut bytes = Vec::new();
        for n in [3_u32, 5, 2, 0] {
            bytes.extend(n.to_ne_bytes());
        }
        bytes.extend([9; 12]);
        bytes.extend([1, 2, 3, 4]);
        assert_eq!(Notice::read(&bytes), Some(Notice::Held([9; 12], 5, vec![1, 2])));
        assert_eq!(Notice::read(&bytes[..20]), None);
        (bytes[0], bytes[12]) = (5, 40);
        assert_eq!(Notice::read(&bytes), Some(Notice::Estimate([9; 12], 40)));
        bytes[0] = 77;
        assert_eq!(Notice::read(&bytes), None);
    }
}
