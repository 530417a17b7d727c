//! DualPI2 against the pseudocode of RFC 9332 appendix A, calculated by hand.

use super::*;
use crate::testing::{Effect, Port, build_with, packet};
use crate::{Arrival, QueueState};
use forebay_types::param::Value;

const MS: Time = Time::from_ms(1);
const US: Time = Time::from_us(1);

fn queue(sets: &[(&'static str, Value)]) -> Dualpi2 {
    match build_with(&ENTRY, sets) {
        Queue::Buffered(BufferedDiscipline::Dualpi2(q)) => *q,
        other => panic!("{other:?}"),
    }
}

fn port(q: Dualpi2) -> Port {
    Port::new(BufferedDiscipline::Dualpi2(Box::new(q)), QueueState { packets: 100_000, bytes: u64::MAX })
}

fn arrive(p: &mut Port, ecn: Codepoint) -> Verdict {
    p.arrive(Arrival { ecn, ..packet(1500, 0, 0, 0) })
}

fn state(p: &Port) -> &Dualpi2 {
    match &p.discipline {
        BufferedDiscipline::Dualpi2(q) => q,
        other => panic!("{other:?}"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Lines of `dualpi2_params_init` with target 15 ms and RTT_max 100 ms.
#[test]
fn defaults_are_those_of_the_appendix() {
    let q = queue(&[]);
    let (p, pi) = (q.params, q.pi.params);
    assert_eq!((pi.target, pi.period, p.ramp_start, p.ramp, p.ramp_packets), (MS * 15, MS * 15, US * 800, US * 400, 1));
    assert!(close(pi.alpha, 0.15) && close(pi.beta, 3.0) && close(p.c_max, 0.25), "{q:?}");
    assert!(close(p.coupling, 2.0) && close(p.c_share, 0.0625), "{p:?}");
    // With a target above a third of RTT_max, the period is that third.
    let pi = queue(&[("target", Value::Time(MS * 50))]).pi.params;
    assert_eq!(pi.period, MS * 100 / 3);
}

/// A packet of the C queue waits from 0 on. At 15 ms: 0.15 (0.015 - 0.015) + 3 (0.015 - 0) = 0.045. At 30 ms: + 0.15 * 0.015 + 3 * 0.015, which is
/// 0.09225. At 45 ms: + 0.15 * 0.03 + 0.045, which is 0.14175.
#[test]
fn controller_follows_the_pseudocode() {
    let mut p = port(queue(&[]));
    arrive(&mut p, Codepoint::NotEct);
    for (at, base) in [(15, 0.045), (30, 0.09225), (45, 0.14175)] {
        p.now = MS * at;
        arrive(&mut p, Codepoint::NotEct);
        let q = state(&p);
        assert!(close(q.pi.probability, base), "{at} ms: {}", q.pi.probability);
        assert!(close(q.coupled(), 2.0 * base) && close(q.classic(), base * base));
    }
}

/// Updates that were due between two packets give the same probability as updates one by one.
#[test]
fn late_updates_equal_timely_ones() {
    let run = |checks: &[u64]| {
        let mut p = port(queue(&[]));
        arrive(&mut p, Codepoint::Ect1);
        for &at in checks {
            p.now = MS * at;
            arrive(&mut p, Codepoint::Ect1);
        }
        state(&p).pi.probability
    };
    assert!(close(run(&[100]), run(&[15, 30, 45, 60, 75, 90, 100])));
}

/// Without packets, the first update subtracts 0.15 * 0.015 + 3 * prevq, the others 0.00225 each.
#[test]
fn empty_queue_lowers_the_probability() {
    let mut q = queue(&[]);
    (q.pi.probability, q.pi.old_delay) = (0.5, MS * 20);
    q.catch_up(MS * 15 * 11);
    assert!(close(q.pi.probability, 0.5 - 0.06 - 11.0 * 0.002_25), "{}", q.pi.probability);
    assert_eq!(q.pi.next_update, MS * 15 * 12);
    q.catch_up(Time::from_secs(3600));
    assert_eq!(q.pi.probability, 0.0);
}

#[test]
fn ecn_field_chooses_the_queue() {
    let mut p = port(queue(&[]));
    for ecn in [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce] {
        assert_eq!(arrive(&mut p, ecn), Verdict::Accept);
    }
    let handles = |q: &SubQueue| q.packets.iter().map(|q| q.handle.0).collect::<Vec<_>>();
    assert_eq!((handles(&state(&p).c), handles(&state(&p).l)), (vec![0, 1], vec![2, 3]));
}

/// minTh 800 us, range 400 us: 0 up to 0.8 ms, a half at 1 ms, 1 from 1.2 ms on; nothing with one packet behind the one that leaves (Th_len).
#[test]
fn ramp_marks_by_sojourn_time() {
    let mut q = queue(&[]);
    let waiting = |n: u32| Queued { handle: Handle(n), since: Time::ZERO, packet: packet(1500, 0, 0, 0) };
    q.l.packets.extend([waiting(0), waiting(1)]);
    let at = |us: u64| q.ramp(US * us);
    assert_eq!([700, 800, 900, 1000, 1100, 1200, 5000].map(at), [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
    q.l.packets.pop_front();
    assert_eq!(q.ramp(US * 5000), 0.0);
    let mut step = queue(&[("l4s-range", Value::Time(Time::ZERO)), ("l4s-threshold", Value::Time(MS))]);
    step.l.packets.extend([waiting(0), waiting(1)]);
    assert_eq!([step.ramp(US * 999), step.ramp(MS)], [0.0, 1.0]);
}

/// `recur` with a likelihood of 0.25 is true once in four calls.
#[test]
fn signals_come_at_regular_distances() {
    let mut q = SubQueue::default();
    assert_eq!((1..=13).filter(|_| q.recur(0.25)).collect::<Vec<_>>(), [5, 9, 13], "the sum must exceed 1");
}

/// p' = 0.2: L4S packets are marked with 0.4, classic ones with 0.04; not ECN-capable ones are dropped with 0.04.
#[test]
fn classic_signal_is_the_square() {
    for (ecn, marks, drops) in [(Codepoint::Ect1, 40, 0), (Codepoint::Ect0, 4, 0), (Codepoint::NotEct, 0, 4)] {
        let mut q = queue(&[]);
        (q.pi.probability, q.pi.next_update) = (0.2, Time::from_secs(1));
        let mut p = port(q);
        // A transmission after a drop takes the next packet too.
        (0..101 + drops).for_each(|_| _ = arrive(&mut p, ecn));
        let mut seen = (0, 0);
        for _ in 0..101 {
            p.serve();
            seen.0 += p.effects.iter().filter(|e| matches!(e, Effect::Mark(_))).count();
            seen.1 += p.effects.iter().filter(|e| matches!(e, Effect::Drop(..))).count();
        }
        assert_eq!(seen, (marks, drops), "{ecn:?}");
    }
}

/// p' = 0.5 saturates the marking of L4S (k p' = 1): a quarter is dropped, the rest marked. ECN-capable packets of the C queue are dropped too, with the
/// same probability p'^2 (RFC 9331 section 5.1), also if k p' is more than 1.
#[test]
fn overload_drops_from_both_queues() {
    for (ecn, base) in [(Codepoint::Ect1, 0.5), (Codepoint::Ect0, 0.5), (Codepoint::Ect1, 0.8), (Codepoint::Ect0, 0.8)] {
        let mut q = queue(&[]);
        (q.pi.probability, q.pi.next_update) = (base, Time::from_secs(1));
        let mut p = port(q);
        (0..401).for_each(|_| _ = arrive(&mut p, ecn));
        let (mut marks, mut drops) = (0, 0);
        while state(&p).len() > 0 {
            p.serve();
            marks += p.effects.iter().filter(|e| matches!(e, Effect::Mark(_))).count();
            drops += p.effects.iter().filter(|e| matches!(e, Effect::Drop(_, DropReason::Early))).count();
        }
        let expected = base * base * 401.0;
        assert!((drops as f64 - expected).abs() <= 2.0, "{ecn:?}, {base}: {drops} drops");
        assert_eq!(marks, if ecn == Codepoint::Ect1 { 401 - drops } else { 0 }, "{ecn:?}, {base}");
    }
}

/// The C queue gets a sixteenth of the bytes while both queues have packets, and all of the link otherwise.
#[test]
fn both_queues_share_by_weight() {
    let mut q = queue(&[]);
    q.pi.next_update = Time::from_secs(1);
    let mut p = port(q);
    for _ in 0..320 {
        arrive(&mut p, Codepoint::Ect1);
        arrive(&mut p, Codepoint::Ect0);
    }
    let mut served = [0, 0];
    for _ in 0..320 {
        p.serve();
        served[usize::from(p.serving.unwrap().packet.ecn == Codepoint::Ect0)] += 1;
    }
    assert_eq!(served, [300, 20]);
    let mut p = port(queue(&[("classic-share", Value::Float(0.0))]));
    for ecn in [Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ect1] {
        arrive(&mut p, ecn);
    }
    assert_eq!([p.serve(), p.serve(), p.serve(), p.serve()], [Some(1), Some(3), Some(0), Some(2)]);
}

#[test]
fn full_buffer_drops_the_arriving_packet() {
    let mut p = Port::new(BufferedDiscipline::Dualpi2(Box::new(queue(&[]))), QueueState { packets: 2, bytes: u64::MAX });
    let verdicts = [Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ect1].map(|ecn| arrive(&mut p, ecn));
    assert_eq!(verdicts, [Verdict::Accept, Verdict::Accept, Verdict::Drop(DropReason::Overflow)]);
}

#[test]
fn impossible_times_are_refused() {
    let error = |key, value| {
        let values = ENTRY.entry.params.iter().map(|p| {
            let default = match p.kind {
                _ if p.default == Some("") => Value::Unset,
                Kind::Int(..) => Value::Int(p.default.unwrap().parse().unwrap()),
                Kind::Float(..) => Value::Float(p.default.unwrap().parse().unwrap()),
                _ => Value::Time(p.default.unwrap().parse().unwrap()),
            };
            (p.key, if p.key == key { Value::Time(value) } else { default })
        });
        (ENTRY.build)(&Values(values.collect()), None).unwrap_err().key
    };
    assert_eq!(
        [error("target", Time::ZERO), error("rtt-max", Time::ZERO), error("update", Time(999_999))],
        ["target", "rtt-max", "update"]
    );
}
