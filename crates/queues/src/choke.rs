//! CHOKe (Pan, Prabhakar and Psounis, 2000) with ECN, and its modification with several samples: `coexistence.md` 1.4 and 1.5.
//!
//! An arriving packet is compared with packets drawn at random from the queue. The larger the share of its flow in the queue, the likelier is a
//! match.

use crate::ring_buffer::RingBuffer;
use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry,
    QueueError, QueueState, Queued, Verdict, red,
};
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::param::{Entry, Kind, Param, Values, choices};
use forebay_types::{QueueLen, Rate, Rng, Time};

/// Condition for a match.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Match {
    All,
    Majority,
    Any,
}

const MATCHES: &[(&str, Match)] = &[("all", Match::All), ("majority", Match::Majority), ("any", Match::Any)];
const MATCH_WORDS: [&str; 3] = choices(MATCHES);

/// A packet of the backlog, which may be drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Candidate {
    handle: Handle,
    /// True if it is ECN-capable.
    capable: bool,
    flow: u64,
}

impl Candidate {
    fn new(packet: &Queued) -> Candidate {
        Candidate { handle: packet.handle, capable: packet.packet.ecn.is_capable(), flow: packet.packet.flow }
    }
}

/// CHOKe. RED decides about packets without a match.
#[derive(Debug, Clone, PartialEq)]
pub struct Choke {
    control: red::RedControl,
    samples: usize,
    rule: Match,
    mark_samples: bool,
    backlog: RingBuffer<Candidate>,
    /// Positions in the queue that were drawn.
    drawn: Vec<usize>,
    /// True if they match the packet of the last `try_push`.
    matched: bool,
    rng: Rng,
}

impl Choke {
    fn new(control: red::RedControl, samples: usize, rule: Match, mark_samples: bool) -> Choke {
        let (backlog, drawn, rng) = (RingBuffer::default(), Vec::new(), Rng::stream(0, &[]));
        Choke { control, samples, rule, mark_samples, backlog, drawn, matched: false, rng }
    }

    /// Decision about a packet; `None` if it matches.
    #[inline(always)]
    fn decide(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        self.control.update(port);
        if !port.fits(packet.wire) {
            self.control.on_overflow(port);
            return Some(Verdict::Drop(DropReason::Overflow));
        }
        if !self.control.reaches_min() {
            return Some(self.control.decide_below_min());
        }
        // No match with fewer than m packets ([R] 1.5). The packet in service cannot be drawn.
        if self.backlog.len() >= self.samples && self.matches(packet.flow) {
            return None;
        }
        Some(self.control.decide_above_min(port, packet.ecn))
    }

    /// Draws distinct packets. Returns true if enough of them are of `flow`; these stay in `drawn`.
    #[inline(never)]
    fn matches(&mut self, flow: u64) -> bool {
        if self.samples == 1 {
            // As below, for a single sample.
            let pick = self.rng.below(self.backlog.len() as u64) as usize;
            let matches = self.backlog.get(pick).is_some_and(|c| c.flow == flow);
            self.drawn.clear();
            self.drawn.extend(matches.then_some(pick));
            return matches;
        }
        self.drawn.clear();
        // Floyd's algorithm: every set of m positions is equally likely.
        for i in self.backlog.len() - self.samples..self.backlog.len() {
            let pick = self.rng.below(i as u64 + 1) as usize;
            self.drawn.push(if self.drawn.contains(&pick) { i } else { pick });
        }
        let backlog = &self.backlog;
        // Our choice: only packets of the flow are marked, also if fewer than all match.
        self.drawn.retain(|&i| backlog.get(i).is_some_and(|c| c.flow == flow));
        match self.rule {
            Match::All => self.drawn.len() == self.samples,
            Match::Majority => 2 * self.drawn.len() > self.samples,
            Match::Any => !self.drawn.is_empty(),
        }
    }

    /// Marks the drawn packets, or drops those that are not ECN-capable.
    fn signal_samples(&mut self, effects: &mut impl Effects) {
        // From the back, so that the positions of the others stay valid.
        self.drawn.sort_unstable_by_key(|&i| core::cmp::Reverse(i));
        for &i in &self.drawn {
            let Some(Candidate { handle, capable, .. }) = self.backlog.get(i) else { continue };
            if capable {
                effects.mark(handle);
            } else {
                self.backlog.remove(i);
                effects.drop(handle, DropReason::Early);
            }
        }
    }
}

/// Access to the state, for the comparison with `sch_choke`.
#[cfg(inspect)]
impl Choke {
    /// See [`red::RedControl::state`].
    pub fn state(&mut self) -> [*mut u64; 3] {
        self.control.state()
    }

    /// See [`red::RedControl::age`].
    pub fn decay(&mut self) {
        self.control.age();
    }

    /// The packet that a single sample would draw now.
    pub fn next_sample(&self) -> Option<Handle> {
        let pick = |len| self.rng.clone().below(len) as usize;
        self.backlog.get(if self.backlog.is_empty() { 0 } else { pick(self.backlog.len() as u64) }).map(|c| c.handle)
    }
}

impl Discipline for Choke {
    fn start(&mut self, rate: Rate, rng: Rng) {
        // The samples have a stream of their own, so that RED draws the same numbers as in `red`.
        self.rng = Rng::stream(rng.clone().next_u64(), &[1]);
        self.control.start(rate, rng);
    }

    fn marks(&self) -> bool {
        true
    }

    fn thresholds(&self) -> Vec<(String, QueueState)> {
        self.control.thresholds()
    }
}

impl Buffered for Choke {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let matched = core::mem::take(&mut self.matched);
        let verdict = if matched { None } else { self.decide(port, &packet.packet) };
        let verdict = verdict.unwrap_or_else(|| {
            if self.mark_samples {
                self.signal_samples(effects);
            }
            // RED's count stays as it is ([R] 1.4).
            Verdict::signal(packet.packet.ecn)
        });
        if packet.admit(verdict, effects) {
            self.backlog.push_back(Candidate::new(&packet));
        }
    }

    const HAS_FAST_PUSH: bool = true;

    #[inline(always)]
    fn takes_fast_push(&self, port: &PortState, packet: &Queued) -> bool {
        self.control.stays_below_min(port) && self.backlog.has_capacity() && port.fits(packet.packet.wire)
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        let verdict = self.decide(port, &packet.packet);
        match verdict {
            None => self.matched = true,
            Some(Verdict::Drop(_)) => {}
            Some(Verdict::Accept | Verdict::Mark) => self.backlog.push_back(Candidate::new(packet)),
        }
        verdict
    }

    #[inline(always)]
    fn push_idle(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        // No packet waits that could be drawn.
        port.fits(packet.wire).then(|| {
            self.control.update(port);
            self.control.decide(port, packet.ecn)
        })
    }

    fn accepts_idle(&self) -> bool {
        self.control.is_idle_safe()
    }

    const IDLE_VARIES: bool = true;

    #[inline(always)]
    fn add_idle(&mut self, idle: Time) {
        self.control.add_idle(idle);
    }

    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        self.backlog.pop_front().map(|w| w.handle)
    }

    fn len(&self) -> usize {
        self.backlog.len()
    }
}

fn build_multi(v: &Values, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    let m = v.int("m");
    if let Some(QueueLen::Packets(b)) = buffer.filter(|b| matches!(b, QueueLen::Packets(n) if m as u64 >= *n)) {
        let message = format!("{m} samples require {m} waiting packets besides the one in service, but the buffer holds {b}");
        return Err(QueueError::new("m", format!("{message}; legal: below {b}")));
    }
    let rule = v.choice("match", MATCHES);
    let mark_samples = v.text("victims") == "samples";
    red::control(v).map(|control| Queue::Buffered(BufferedDiscipline::Choke(Choke::new(control, m as usize, rule, mark_samples))))
}

/// RED's parameters and those of the samples.
const fn multi_params() -> [Param; 12] {
    let samples = [
        Param { key: "m", kind: Kind::Int(1, 1000), default: Some("7"), doc: "number of distinct packets drawn" },
        Param {
            key: "match",
            kind: Kind::Choice(&MATCH_WORDS),
            default: Some("all"),
            doc: "number of drawn packets that must belong to the arriving packet's flow",
        },
        Param {
            key: "victims",
            kind: Kind::Choice(&["samples", "none"]),
            default: Some("samples"),
            doc: "packets to mark: the drawn packets of that flow and the arriving packet, or only the latter",
        },
    ];
    let mut all = [samples[0]; 12];
    let mut i = 0;
    while i < 12 {
        all[i] = if i < 9 { red::PARAMS[i] } else { samples[i - 9] };
        i += 1;
    }
    all
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "choke",
        summary: "RED; an arriving packet and a random waiting packet are both marked if they belong to the same flow (CHOKe with ECN)",
        params: &red::PARAMS,
    },
    marking: Marking::Always,
    thresholds: &["min", "max"],
    example: "{ kind = \"choke\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }",
    build: |v, _| {
        red::control(v).map(|control| Queue::Buffered(BufferedDiscipline::Choke(Choke::new(control, 1, Match::All, true))))
    },
};

pub(crate) const MULTI: QueueEntry = QueueEntry {
    entry: Entry {
        name: "choke-multi",
        summary: "CHOKe with several samples, which affects only flows that dominate the queue (modified CHOKe)",
        params: &multi_params(),
    },
    marking: Marking::Always,
    thresholds: &["min", "max"],
    example: "{ kind = \"choke-multi\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1, m = 3 }",
    build: build_multi,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Effect, Port, packet};
    use crate::{Codepoint, QueueState};

    /// A port whose average is just above `min`, where RED rarely signals, with these flows waiting behind a packet in service.
    fn port(samples: usize, rule: Match, flows: &[u64], ecn: Codepoint) -> Port {
        let mut control = red::tests::example();
        control.avg = 30.5;
        let mut choke = Choke::new(control, samples, rule, true);
        choke.start(Rate(1_000_000_000), Rng::stream(5, &[samples as u64]));
        let mut p = Port::new(BufferedDiscipline::Choke(choke), QueueState { packets: 250, bytes: u64::MAX });
        p.serving = Some(Queued { handle: Handle(u32::MAX), since: Time(0), packet: packet(1500, 0, 0, 99) });
        for (i, &flow) in flows.iter().enumerate() {
            let packet = Arrival { ecn, ..packet(1500, 0, 0, flow) };
            let queued = Queued { handle: Handle(1_000_000 + i as u32), since: Time(0), packet };
            p.backlog.push(queued);
            let BufferedDiscipline::Choke(choke) = &mut p.discipline else { unreachable!() };
            choke.backlog.push_back(Candidate::new(&queued));
        }
        p
    }

    /// Fraction of arrivals of flow 1 that match, each at the same queue.
    fn matched(samples: usize, rule: Match, of_flow: usize, others: usize) -> f64 {
        let flows: Vec<u64> = (0..of_flow + others).map(|i| u64::from(i < of_flow)).collect();
        let n = 40_000;
        let mut p = port(samples, rule, &flows, Codepoint::Ect0);
        let BufferedDiscipline::Choke(choke) = &mut p.discipline else { unreachable!() };
        (0..n).filter(|_| choke.matches(1)).count() as f64 / f64::from(n)
    }

    #[test]
    fn match_frequencies() {
        // Share of the queue.
        assert!((matched(1, Match::All, 30, 10) - 0.75).abs() < 0.01);
        // Hypergeometric: C(30, 7) / C(40, 7).
        assert!((matched(7, Match::All, 30, 10) - 0.1092).abs() < 0.006);
        // 1 - C(30, 7) / C(40, 7) for the other flow, and the upper half of the distribution.
        assert!((matched(7, Match::Any, 10, 30) - 0.8908).abs() < 0.006);
        let choose = |n: u32, k: u32| (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product::<f64>();
        let upper: f64 = (4..=7).map(|k| choose(30, k) * choose(10, 7 - k)).sum::<f64>() / choose(40, 7);
        assert!((matched(7, Match::Majority, 30, 10) - upper).abs() < 0.006);
        assert_eq!(matched(7, Match::All, 6, 30), 0.0, "samples are distinct");
        assert_eq!(matched(7, Match::All, 7, 0), 1.0);
    }

    #[test]
    fn match_marks_both_above_min_only() {
        let mut p = port(1, Match::All, &[1, 1, 1], Codepoint::Ect0);
        assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Mark);
        assert!(matches!(p.effects[..], [Effect::Mark(Handle(1_000_000..=1_000_002))]));
        assert_eq!(p.arrive(packet(1500, 0, 0, 2)), Verdict::Accept);
        assert_eq!(p.effects, []);
        let mut p = port(1, Match::All, &[1, 1, 1], Codepoint::Ect0);
        let BufferedDiscipline::Choke(c) = &mut p.discipline else { unreachable!() };
        c.control.avg = 29.0;
        assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept);
    }

    #[test]
    fn non_ect_samples_are_dropped() {
        let mut p = port(3, Match::All, &[1, 1, 1], Codepoint::NotEct);
        let verdict = p.arrive(Arrival { ecn: Codepoint::NotEct, ..packet(1500, 0, 0, 1) });
        assert_eq!(verdict, Verdict::Drop(DropReason::Early));
        assert_eq!((p.effects.len(), p.backlog.len()), (3, 0));
    }

    #[test]
    fn too_few_packets_are_not_compared() {
        let mut p = port(7, Match::Any, &[1; 6], Codepoint::Ect0);
        assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept);
        assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Mark);
    }
}
