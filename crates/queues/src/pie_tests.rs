//! PIE against RFC 8033: the controller's sequence by hand, the allowance for bursts, the safeguards and the options.

use super::*;
use crate::testing::{Port, build_with, packet};
use crate::{Codepoint, QueueState};
use forebay_types::param::Value;

const MS: u64 = 1_000_000_000;

fn pie(sets: &[(&'static str, Value)]) -> Pie {
    let Queue::Buffered(BufferedDiscipline::Pie(mut pie)) = build_with(&ENTRY, sets) else { unreachable!() };
    pie.start(Rate(1_000_000_000), Rng::stream(3, &[]));
    *pie
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got:e} instead of {expected:e}");
}

/// The next update, when it is due.
fn update(p: &mut Pie) {
    p.catch_up(p.pi.next_update);
}

/// RFC 8033 section 4.2 with alpha 0.125, beta 1.25 and a target of 15 ms, by hand.
#[test]
fn the_probability_follows_the_formula() {
    let mut p = pie(&[]);
    let steps = [
        // (0.125 * 0.015 + 1.25 * 0.030) / 2048
        (30, 0.039_375 / 2048.0),
        // Above 1e-5: / 128, and no change of the waiting time.
        (30, 0.039_375 / 2048.0 + 0.001_875 / 128.0),
        // (0.125 * 0.030 + 1.25 * 0.015) / 128
        (45, 0.039_375 / 2048.0 + 0.001_875 / 128.0 + 0.0225 / 128.0),
        // Above 1e-4: / 32.
        (45, 0.039_375 / 2048.0 + 0.001_875 / 128.0 + 0.0225 / 128.0 + 0.003_75 / 32.0),
        // -(0.125 * 0.015 + 1.25 * 0.045) / 32 is more than there is.
        (0, 0.0),
    ];
    for (delay, expected) in steps {
        p.last_sojourn = Time(delay * MS);
        update(&mut p);
        close(p.pi.probability, expected);
    }
    p.pi.probability = 0.5;
    update(&mut p);
    close(p.pi.probability, (0.5 - 0.001_875) * 0.98);
}

#[test]
fn cap_limits_large_increases() {
    for (cap, expected) in [(false, 0.125 * 0.085 + 1.25 * 0.1), (true, 0.02)] {
        let mut p = pie(&[("cap", Value::Bool(cap))]);
        (p.pi.probability, p.last_sojourn) = (0.1, Time(100 * MS));
        update(&mut p);
        close(p.pi.probability, 0.1 + expected);
    }
}

/// A port whose packets of 1500 B arrive twice as fast as they leave at 100 Mb/s. When they are dropped, ms.
fn drops_under_overload(sets: &[(&'static str, Value)], until: u64) -> Vec<f64> {
    let mut port = Port::new(BufferedDiscipline::Pie(Box::new(pie(sets))), QueueState::UNLIMITED);
    let mut drops = Vec::new();
    port.run_at_overload(Time(120_000_000), Time(60_000_000), Time(until * MS), |now, effects| {
        drops.extend(effects.iter().map(|_| now.0 as f64 / MS as f64));
    });
    drops
}

#[test]
fn first_150_ms_of_burst_pass() {
    // The last packet at an uncongested queue (less than 7.5 ms at this and at the last update) renews the allowance, at 15 ms at most. Ten updates
    // later, at 165 ms, it is used up.
    let drops = drops_under_overload(&[], 400);
    assert!((150.0..=180.0).contains(&drops[0]), "{}", drops[0]);
    let soon = drops_under_overload(&[("burst", Value::Time(Time::ZERO))], 400);
    assert!(soon[0] < 100.0, "{}", soon[0]);
}

#[test]
fn drops_half_at_twice_the_rate() {
    // Derandomized, no two packets in a row are dropped below a probability of 0.85, so that it takes more than one half.
    let sets =
        [(vec![], 0.5), (vec![("derandomize", Value::Bool(true))], 0.85), (vec![("delay", Value::Text("rate".into()))], 0.5)];
    for (sets, expected) in sets {
        let mut port = Port::new(BufferedDiscipline::Pie(Box::new(pie(&sets))), QueueState::UNLIMITED);
        port.run_at_overload(Time(120_000_000), Time(60_000_000), Time(40_000 * MS), |_, _| {});
        let BufferedDiscipline::Pie(p) = &port.discipline else { unreachable!() };
        // The controller's integral part leaves no lasting error: 15 ms are 125 packets.
        let delay = p.delay().0 as f64 / MS as f64;
        assert!(
            (p.pi.probability - expected).abs() < 0.03 && (10.0..20.0).contains(&delay),
            "{sets:?}: {}, {delay} ms",
            p.pi.probability
        );
    }
}

#[test]
fn short_queues_get_no_signals() {
    let mut p = pie(&[]);
    (p.pi.probability, p.burst_allowance, p.pi.old_delay, p.bytes) = (0.19, Time::ZERO, Time(7 * MS), 100_000);
    assert!((0..1000).all(|_| !p.signals()), "less than half the target, and less than 0.2");
    p.pi.probability = 0.2;
    assert!((0..1000).any(|_| p.signals()));
    (p.pi.probability, p.pi.old_delay) = (0.19, Time(8 * MS));
    assert!((0..1000).any(|_| p.signals()));
    p.bytes = 3000;
    assert!((0..1000).all(|_| !p.signals()), "two packets");
}

#[test]
fn marks_up_to_tenth_drops_beyond() {
    let mut p = pie(&[("ecn", Value::Bool(true))]);
    let state = crate::testing::busy(QueueState { packets: 100, bytes: 150_000 }, 1000);
    let mut seen = |probability, ecn| {
        (p.pi.probability, p.burst_allowance, p.pi.old_delay, p.bytes) = (probability, Time::ZERO, Time(20 * MS), 150_000);
        let packet = crate::Arrival { ecn, ..packet(1500, 0, 0, 0) };
        let queued = Queued { handle: crate::Handle(0), since: Time(0), packet };
        (0..1000).map(|_| p.decide(&state, &queued)).find(|v| *v != Verdict::Accept).unwrap()
    };
    assert_eq!(seen(0.1, Codepoint::Ect0), Verdict::Mark);
    assert_eq!(seen(0.1, Codepoint::NotEct), Verdict::Drop(DropReason::Early));
    assert_eq!(seen(0.11, Codepoint::Ect0), Verdict::Drop(DropReason::Early));
}

/// RFC 8033 section 5.4: at probability 0.1 the first chance is the ninth packet, the last the eighty-fifth.
#[test]
fn derandomized_gaps_have_limits() {
    let mut p = pie(&[("derandomize", Value::Bool(true))]);
    (p.pi.probability, p.burst_allowance, p.pi.old_delay, p.bytes) = (0.1, Time::ZERO, Time(20 * MS), 150_000);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 20_000 {
        gap += 1;
        if p.signals() {
            gaps.push(gap);
            gap = 0;
        }
    }
    let (least, most) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
    assert!(least == 9 && (80..=86).contains(&most), "{least} to {most}");
}

#[test]
fn drain_time_is_measured_over_16kb() {
    let mut drain = DrainTime::default();
    assert_eq!(drain.time_for(100_000), Time::ZERO, "unknown");
    drain.on_departure(Time(0), 1500, DQ_THRESHOLD - 1);
    for i in 0..=11 {
        assert_eq!(drain.time_for(100_000), Time::ZERO, "too few");
        drain.on_departure(Time(10_000 + i * 120), 1500, DQ_THRESHOLD);
    }
    // Eleven packets, 16 500 B, after the one that starts the measurement.
    assert_eq!(drain.time_for(2 * DQ_THRESHOLD), Time(2 * 11 * 120));
    // The last of them starts the next one, as enough is left.
    for i in 1..=11 {
        drain.on_departure(Time(11_320 + i * 240), 1500, 0);
    }
    assert_eq!(drain.time_for(DQ_THRESHOLD), Time((0.25 * 2_640.0 + 0.75 * 1_320.0) as u64));
    assert_eq!(drain.running, None, "nothing is left to measure");
}

#[test]
fn late_updates_equal_a_timer() {
    let (mut timer, mut late) = (pie(&[]), pie(&[]));
    for p in [&mut timer, &mut late] {
        (p.pi.probability, p.pi.old_delay, p.last_sojourn) = (0.3, Time(20 * MS), Time::ZERO);
    }
    for tick in 1..=2_000 {
        timer.catch_up(Time(tick * 15 * MS));
    }
    late.catch_up(Time(30_000 * MS));
    assert_eq!((&timer, timer.pi.probability), (&late, 0.0));
    // A day without packets does not loop over millions of updates.
    late.catch_up(Time(86_400_000 * MS + 1));
    assert_eq!(late.pi.next_update, Time(86_400_015 * MS));
}

#[test]
fn updates_after_the_end_of_time() {
    let mut p = pie(&[("update", Value::Time(Time(u64::MAX - 1)))]);
    p.catch_up(Time(u64::MAX - 1));
    assert_eq!(p.pi.next_update, Time(u64::MAX));
}
