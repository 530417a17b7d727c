use super::*;
use crate::Codepoint;
use crate::testing::{Effect, build_with, busy, packet};
use forebay_types::param::Value;

/// Ports omit `on_arrival` where `fast_path_limit` and `is_step` imply the decision.
#[test]
fn omitted_decisions_are_implied() {
    let k = QueueLen::Packets(7);
    let protect = |k| FifoDiscipline::Protect(Protect::new(4, QueueLen::Packets(15), k));
    let all = [
        FifoDiscipline::DropTail(DropTail),
        FifoDiscipline::DctcpStep(DctcpStep::new(k, false)),
        FifoDiscipline::DctcpStep(DctcpStep::new(QueueLen::Bytes(9_000), true)),
        protect(None),
        protect(Some(k)),
    ];
    for mut d in all {
        let quiet = d.fast_path_limit();
        for packets in 0..10 {
            for bytes in [64, 1000, 1500].map(|b| b * u64::from(packets)) {
                for (ecn, class) in [(Codepoint::NotEct, 0), (Codepoint::Ect0, 0), (Codepoint::Ect1, 0), (Codepoint::Ce, 7)] {
                    let (queue, arrival) = (QueueState { packets, bytes }, Arrival { ecn, ..packet(1500, class, 0, 0) });
                    let verdict = d.on_arrival(&busy(queue, 10), &arrival);
                    if !queue.reaches(quiet) {
                        assert_eq!(verdict, Verdict::Accept, "{d:?} {queue:?}");
                    } else if d.is_step() {
                        let expected = if ecn.is_capable() { Verdict::Mark } else { Verdict::Accept };
                        assert_eq!(verdict, expected, "{d:?} {queue:?}");
                    }
                }
            }
        }
    }
}

/// Pushes a packet at an idle port.
struct PushIdle(PortState, Arrival);

impl Operation for PushIdle {
    type Output = Option<Verdict>;

    fn run(self, discipline: &mut impl Buffered) -> Option<Verdict> {
        discipline.push_idle(&self.0, &self.1)
    }
}

/// Pushes a packet by the fast path, if the discipline has one for it.
struct FastPush(PortState, Queued);

impl Operation for FastPush {
    type Output = Option<Verdict>;

    fn run(self, discipline: &mut impl Buffered) -> Option<Verdict> {
        if discipline.takes_fast_push(&self.0, &self.1) { discipline.try_push(&self.0, &self.1) } else { None }
    }
}

/// Adds idle time.
struct AddIdle(Time);

impl Operation for AddIdle {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.add_idle(self.0);
    }
}

/// `accepts_idle` and `takes_fast_push` imply the decisions and the state of the calls that they replace.
#[test]
fn fast_calls_equal_slow_calls() {
    let packets = |n| Value::QueueLen(QueueLen::Packets(n));
    let red = [("min", packets(3)), ("max", packets(9)), ("weight", Value::Float(0.1))];
    let all = [
        (&crate::strict_priority::ENTRY, &[("k", packets(5))][..]),
        (&crate::pushout::ENTRY, &[]),
        (&crate::pfabric::ENTRY, &[]),
        (&crate::choke::ENTRY, &red),
    ];
    let mut rng = Rng::stream(11, &[]);
    for (entry, sets) in all {
        let Queue::Buffered(mut d) = build_with(entry, sets) else { unreachable!() };
        d.start(Rate(10_000_000_000), Rng::stream(12, &[]));
        let (mut effects, mut now, mut skipped, mut asked, mut ready) = (Vec::new(), Time(0), 0, 0, 0);
        for _ in 0..500 {
            for n in 1..rng.below(20) as u32 {
                let queue = QueueState { packets: n, bytes: u64::from(n) * 1500 };
                let arrival = Arrival { ecn: Codepoint::Ect0, ..packet(1500, n as u8 % 8, 0, u64::from(n)) };
                let state = PortState { now, ..busy(queue, 15) };
                let (queued, mut other) = (Queued { handle: Handle(n), since: now, packet: arrival }, d.clone());
                let verdict = other.apply(FastPush(state, queued));
                effects.clear();
                d.push(&state, queued, &mut effects);
                if let Some(verdict) = verdict {
                    let marked = effects.contains(&Effect::Mark(queued.handle));
                    assert_eq!(verdict, if marked { Verdict::Mark } else { Verdict::Accept }, "{d:?}");
                    assert_eq!((effects.len(), &d), (usize::from(marked), &other));
                    ready += 1;
                }
            }
            while d.pop(now, &mut effects).is_some() {}
            for _ in 0..rng.below(6) {
                let idle_since = now;
                now += Time(rng.below(5_000_000));
                let (state, arrival) = (PortState { now, idle_since, ..busy(QueueState::default(), 15) }, packet(1500, 3, 0, 1));
                let mut other = d.clone();
                let verdict = other.apply(PushIdle(state, arrival));
                if d.accepts_idle() {
                    assert_eq!(verdict, Some(Verdict::Accept), "{d:?}");
                    d.apply(AddIdle(now - idle_since));
                    assert_eq!(d, other);
                    skipped += 1;
                } else {
                    d = other;
                    asked += 1;
                }
            }
        }
        assert!((ready > 1000) == (entry.entry.name != "pfabric"), "{}: {ready}", entry.entry.name);
        assert!(skipped > 100 && (asked > 100) == (entry.entry.name == "choke"), "{}: {skipped} {asked}", entry.entry.name);
    }
}

/// Thresholds on an average, and those of single queues.
#[test]
fn thresholds_have_names() {
    let lengths = |of: &[u64]| Value::QueueLens(of.iter().map(|n| QueueLen::Packets(*n)).collect());
    let packets = |n| Value::QueueLen(QueueLen::Packets(n));
    let of = |entry, sets: &[(&'static str, Value)]| -> Vec<(String, u64)> {
        build_with(entry, sets).thresholds().into_iter().map(|(name, length)| (name, length.amount())).collect()
    };
    let named = |list: &[(&str, u64)]| list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
    let red = of(&crate::red::ENTRY, &[("min", packets(30)), ("max", packets(90))]);
    assert_eq!(red, named(&[("min of the average", 30), ("max of the average", 90)]));
    let two = [("queues", Value::Int(2)), ("ks", lengths(&[65, 20]))];
    for entry in [&crate::dwrr::ENTRY, &crate::wfq::ENTRY] {
        assert_eq!(of(entry, &two), named(&[("K of queue 0", 65), ("K of queue 1", 20)]));
        assert_eq!(of(entry, &[("queues", Value::Int(2)), ("k", packets(65))]), named(&[("K of each queue", 65)]));
        assert_eq!(of(entry, &[]), []);
    }
    assert_eq!(of(&crate::dctcp_step::ENTRY, &[("k", packets(20))]), [], "K itself is no other length");
}
