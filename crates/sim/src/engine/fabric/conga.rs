//! CONGA (Alizadeh et al., SIGCOMM 2014): a leaf switch sends each flowlet over the uplink with the least congestion on the way to the leaf of its
//! destination. Leaves learn that congestion from each other: packets collect it on their way, and packets of the other direction carry it back.

use super::congestion::{Dre, Levels};
use super::flowlets::{Flowlet, FlowletTable};
use forebay_experiment::topology::MAX_UPLINKS;
use forebay_types::{PortId, Rate, Rng, Time};

/// Fields that CONGA adds to a packet between two leaves (section 3.1), as one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u16);

/// Level of one uplink that a leaf returns to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Feedback {
    uplink: u8,
    level: u8,
}

impl Tag {
    const FEEDBACK: u16 = 1 << 14;

    fn new(uplink: u8, feedback: Option<Feedback>) -> Tag {
        let back = feedback.map_or(0, |f| Tag::FEEDBACK | u16::from(f.uplink) << 7 | u16::from(f.level) << 11);
        Tag(u16::from(uplink) | back)
    }

    /// From the field of a packet.
    pub(super) fn from_bits(bits: u16) -> Tag {
        Tag(bits)
    }

    /// Field of a packet.
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    /// Uplink of the first leaf (LBTag).
    fn uplink(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// Highest level on the way so far (CE).
    fn level(self) -> u8 {
        (self.0 >> 4 & 7) as u8
    }

    /// The tag behind a link with this level.
    fn passed(self, level: u8) -> Tag {
        Tag(self.0 & !(7 << 4) | u16::from(level.max(self.level())) << 4)
    }

    /// Feedback for the leaf that the packet goes to (FB_LBTag, FB_Metric).
    fn feedback(self) -> Option<Feedback> {
        let level = (self.0 >> 11 & 7) as u8;
        (self.0 & Tag::FEEDBACK != 0).then_some(Feedback { uplink: (self.0 >> 7 & 15) as u8, level })
    }
}

/// Spine switch: it notes the congestion of its links in packets.
#[derive(Debug, Clone)]
pub(super) struct Spine {
    /// In the order of port numbers.
    links: Vec<(PortId, Dre)>,
}

impl Spine {
    /// A spine with these ports.
    pub(super) fn new(links: impl Iterator<Item = (PortId, Rate)>) -> Spine {
        Spine { links: links.map(|(port, rate)| (port, Dre::new(rate))).collect() }
    }

    /// Forwards a packet of `wire` bytes to `port`.
    pub(super) fn forward(&mut self, port: PortId, tag: Tag, now: Time, wire: u16) -> Tag {
        let Ok(place) = self.links.binary_search_by_key(&port, |l| l.0) else { return tag };
        let link = &mut self.links[place].1;
        link.add(now, wire);
        tag.passed(link.level(now))
    }

    /// The link of a port has another rate.
    pub(super) fn set_rate(&mut self, port: PortId, rate: Rate) {
        set_rate(&mut self.links, port, rate);
    }
}

fn set_rate(links: &mut [(PortId, Dre)], port: PortId, rate: Rate) {
    links.iter_mut().filter(|l| l.0 == port).for_each(|l| l.1.set_rate(rate));
}

/// Leaf switch.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    flowlets: FlowletTable,
    uplinks: Vec<(PortId, Dre)>,
    /// Congestion on the way to each leaf over each own uplink (Congestion-To-Leaf Table).
    to_leaf: Levels,
    /// Congestion on the way from each leaf over each of its uplinks (Congestion-From-Leaf Table).
    from_leaf: Levels,
    /// Uplinks of each leaf in `from_leaf` whose level is known, and those whose level has changed since it was returned, by bit.
    known: Vec<u16>,
    changed: Vec<u16>,
    /// Uplink that is returned next to each leaf.
    next: Vec<u8>,
    rng: Rng,
}

impl Leaf {
    /// A leaf with these uplinks, at most [`MAX_UPLINKS`], among `leaves`.
    pub(super) fn new(gap: Time, leaves: usize, uplinks: impl Iterator<Item = (PortId, Rate)>, rng: Rng) -> Leaf {
        Leaf {
            flowlets: FlowletTable::new(gap),
            uplinks: uplinks.map(|(port, rate)| (port, Dre::new(rate))).collect(),
            to_leaf: Levels::new(leaves, MAX_UPLINKS),
            from_leaf: Levels::new(leaves, MAX_UPLINKS),
            known: vec![0; leaves],
            changed: vec![0; leaves],
            next: vec![0; leaves],
            rng,
        }
    }

    /// The uplink, out of `legal` ones, of a packet of `wire` bytes to leaf `to`, whose flow has this entry; and the tag of the packet.
    pub(super) fn send(&mut self, entry: u16, to: u16, legal: &[PortId], now: Time, wire: u16) -> (PortId, Tag) {
        let port = match self.flowlets.packet(entry, now) {
            Flowlet::Current(port) if legal.contains(&port) => port,
            Flowlet::Current(_) => self.choose(entry, to, legal, None, now),
            Flowlet::New(before) => self.choose(entry, to, legal, before, now),
        };
        let feedback = self.take_feedback(to, now);
        let Some(uplink) = self.uplinks.iter().position(|u| u.0 == port) else { return (port, Tag::new(0, feedback)) };
        let link = &mut self.uplinks[uplink].1;
        link.add(now, wire);
        (port, Tag::new(uplink as u8, feedback).passed(link.level(now)))
    }

    /// A packet from leaf `from` arrives.
    pub(super) fn receive(&mut self, from: u16, tag: Tag, now: Time) {
        if self.from_leaf.set((from, tag.uplink()), tag.level(), now) {
            self.changed[usize::from(from)] |= 1 << tag.uplink();
        }
        self.known[usize::from(from)] |= 1 << tag.uplink();
        if let Some(f) = tag.feedback() {
            self.to_leaf.set((from, f.uplink), f.level, now);
        }
    }

    /// Chooses the uplink of a flowlet to leaf `to` (section 3.5): the one with the smallest maximum of the level of its link and the level returned by
    /// the other leaf. Of equal ones it is that of the flowlet before, if it is among them, else a random one.
    fn choose(&mut self, entry: u16, to: u16, legal: &[PortId], before: Option<PortId>, now: Time) -> PortId {
        let (mut least, mut equal) = (u8::MAX, 0_u16);
        for (uplink, (_, link)) in self.uplinks.iter_mut().enumerate().filter(|(_, u)| legal.contains(&u.0)) {
            let level = link.level(now).max(self.to_leaf.get((to, uplink as u8), now));
            if level < least {
                (least, equal) = (level, 0);
            }
            equal |= u16::from(level == least) << uplink;
        }
        let is_equal = |port: PortId| self.uplinks.iter().position(|u| u.0 == port).is_some_and(|u| equal >> u & 1 == 1);
        let best = match before.filter(|&port| is_equal(port)) {
            Some(port) => port,
            None => {
                (0..self.rng.below(equal.count_ones().max(1).into())).for_each(|_| equal &= equal - 1);
                self.uplinks.get(equal.trailing_zeros() as usize).map_or(legal[0], |u| u.0)
            }
        };
        self.flowlets.assign(entry, best);
        best
    }

    /// The feedback that a packet to leaf `to` carries: one level, in turn, those first that have changed (section 3.3).
    fn take_feedback(&mut self, to: u16, now: Time) -> Option<Feedback> {
        let leaf = usize::from(to);
        let of = if self.changed[leaf] != 0 { self.changed[leaf] } else { self.known[leaf] };
        if of == 0 {
            return None;
        }
        let from_next = of.rotate_right(self.next[leaf].into()).trailing_zeros();
        let uplink = ((u32::from(self.next[leaf]) + from_next) % MAX_UPLINKS as u32) as u8;
        self.next[leaf] = (uplink + 1) % MAX_UPLINKS as u8;
        self.changed[leaf] &= !(1 << uplink);
        Some(Feedback { uplink, level: self.from_leaf.get((to, uplink), now) })
    }

    /// The link of a port has another rate.
    pub(super) fn set_rate(&mut self, port: PortId, rate: Rate) {
        set_rate(&mut self.uplinks, port, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(10_000_000_000);
    const UP: [PortId; 2] = [PortId::new(10), PortId::new(11)];

    fn leaf() -> Leaf {
        Leaf::new(Time::from_us(500), 2, UP.into_iter().map(|p| (p, RATE)), Rng::stream(1, &[]))
    }

    /// Marks the way over `uplink` to leaf 1 as congested.
    fn learn(leaf: &mut Leaf, uplink: u8, level: u8, now: Time) {
        leaf.receive(1, Tag::new(0, Some(Feedback { uplink, level })), now);
    }

    #[test]
    fn tag_roundtrip() {
        for (uplink, back, level) in [(0, 15, 7), (15, 0, 0), (9, 6, 3)] {
            let tag = Tag::new(uplink, Some(Feedback { uplink: back, level })).passed(5).passed(2);
            let tag = Tag::from_bits(tag.bits());
            assert_eq!((tag.uplink(), tag.level(), tag.feedback()), (uplink, 5, Some(Feedback { uplink: back, level })));
            assert_eq!(Tag::new(uplink, None).feedback(), None);
        }
    }

    #[test]
    fn flowlet_takes_least_congested_path() {
        let mut l = leaf();
        learn(&mut l, 0, 4, Time::ZERO);
        for entry in 0..20 {
            assert_eq!(l.send(entry, 1, &UP, Time::from_us(1), 1_500).0, UP[1]);
        }
        // The maximum of both metrics counts: 140 kB on the second uplink are level 5.
        for _ in 0..74 {
            l.send(0, 1, &UP, Time::from_us(2), 1_500);
        }
        assert_eq!(l.uplinks[1].1.level(Time::from_us(2)), 5);
        assert_eq!(l.send(21, 1, &UP, Time::from_us(2), 1_500).0, UP[0]);
        // Flowlets stay where they are.
        assert_eq!(l.send(5, 1, &UP, Time::from_us(3), 1_500).0, UP[1]);
    }

    #[test]
    fn flow_moves_to_better_path_only() {
        let mut l = leaf();
        learn(&mut l, 0, 1, Time::ZERO);
        assert_eq!(l.send(3, 1, &UP, Time::from_us(1), 64).0, UP[1]);
        learn(&mut l, 0, 0, Time::from_us(2));
        for ms in 1..30 {
            assert_eq!(l.send(3, 1, &UP, Time::from_ms(ms), 64).0, UP[1], "equal ways, {ms}");
        }
        learn(&mut l, 1, 1, Time::from_ms(30));
        assert_eq!(l.send(3, 1, &UP, Time::from_ms(31), 64).0, UP[0]);
    }

    #[test]
    fn equal_ways_are_drawn_evenly() {
        let mut l = Leaf::new(Time::from_us(500), 2, (10..14).map(|p| (PortId::new(p), RATE)), Rng::stream(5, &[]));
        let legal: Vec<PortId> = (10..14).map(PortId::new).collect();
        let mut counts = [0; 4];
        for entry in 0..4_000 {
            counts[l.send(entry, 1, &legal, Time::from_ms(u64::from(entry)), 0).0.index() - 10] += 1;
        }
        // Four standard deviations of a binomial distribution.
        assert!(counts.iter().all(|n: &i32| n.abs_diff(1_000) < 110), "{counts:?}");
    }

    #[test]
    fn failed_path_is_left() {
        let mut l = leaf();
        learn(&mut l, 1, 7, Time::ZERO);
        assert_eq!(l.send(3, 1, &UP, Time::from_us(1), 64).0, UP[0]);
        assert_eq!(l.send(3, 1, &UP[1..], Time::from_us(2), 64).0, UP[1]);
    }

    #[test]
    fn feedback_returns_changed_levels_first() {
        let mut l = leaf();
        let feedback = |l: &mut Leaf, us| l.send(0, 1, &UP, Time::from_us(us), 64).1.feedback();
        assert_eq!(feedback(&mut l, 1), None);
        for uplink in 0..3 {
            l.receive(1, Tag::new(uplink, None).passed(uplink + 1), Time::from_us(2));
        }
        let expected = |uplink| Some(Feedback { uplink, level: uplink + 1 });
        assert_eq!([3, 4, 5, 6].map(|us| feedback(&mut l, us)), [0, 1, 2, 0].map(expected));
        l.receive(1, Tag::new(2, None).passed(3), Time::from_us(7));
        l.receive(1, Tag::new(0, None).passed(6), Time::from_us(7));
        assert_eq!(feedback(&mut l, 8), Some(Feedback { uplink: 0, level: 6 }), "changed before those in turn");
        assert_eq!(feedback(&mut l, 9), expected(1));
    }

    #[test]
    fn spine_notes_its_highest_level() {
        let mut spine = Spine::new(UP.into_iter().map(|p| (p, RATE)));
        let plain = Tag::new(3, None);
        for _ in 0..60 {
            spine.forward(UP[0], plain, Time::ZERO, 1_500);
        }
        // 90 kB are level 3.
        assert_eq!(spine.forward(UP[0], plain, Time::ZERO, 0).level(), 3);
        assert_eq!(spine.forward(UP[0], plain.passed(6), Time::ZERO, 0).level(), 6);
        assert_eq!(spine.forward(UP[1], plain, Time::ZERO, 1_500).level(), 0);
        spine.set_rate(UP[0], Rate(RATE.0 / 2));
        assert_eq!(spine.forward(UP[0], plain, Time::ZERO, 0).level(), 7);
    }
}
