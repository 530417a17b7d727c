//! The controller: the scale of PIE's steps, and updates that run together against single ones.

use super::*;
use forebay_types::Rng;

const MS: u64 = 1_000_000_000;

fn controller(target: u64, (alpha, beta): (f64, f64), gains: Gains, probability: f64, old_delay: u64) -> PiController {
    let mut pi = PiController::new(PiParams { target: Time(target), period: Time(MS), alpha, beta, gains });
    (pi.probability, pi.old_delay) = (probability, Time(old_delay));
    pi
}

const GAINS: [Gains; 3] = [Gains::Fixed, Gains::Scaled { cap: false }, Gains::Scaled { cap: true }];

#[test]
fn steps_scale_with_probability() {
    let edges =
        [(1e-6, 2048.0, 512.0), (1e-5, 512.0, 128.0), (1e-4, 128.0, 32.0), (1e-3, 32.0, 8.0), (1e-2, 8.0, 2.0), (0.1, 2.0, 1.0)];
    assert_eq!(edges.map(|e| e.0), EDGES);
    for (edge, below, above) in edges {
        assert_eq!((scale(edge * 0.999), scale(edge)), (below, above), "at {edge}");
    }
}

/// `updates` run together and one by one end in the same bits.
fn hold_against_single_updates(start: &PiController, updates: u64, delay: Time) {
    let (mut late, mut timer) = (start.clone(), start.clone());
    assert_eq!(late.run_due(Time(updates * MS), Delay::Constant(delay)), updates);
    for _ in 0..updates {
        assert_eq!(timer.run_due(timer.next_update, Delay::Constant(delay)), 1);
    }
    assert_eq!(late.probability.to_bits(), timer.probability.to_bits(), "{updates} updates of {start:?}");
    assert_eq!(late, timer, "{updates} updates of {start:?}");
}

#[test]
fn late_updates_equal_single_ones() {
    let mut rng = Rng::stream(11, &[]);
    for _ in 0..3000 {
        let target = 1 + rng.below(100 * MS);
        let delay = match rng.below(4) {
            0 => 0,
            1 => target,
            2 => target - rng.below(target.min(1000)),
            _ => rng.below(2 * target),
        };
        let alpha = rng.unit() * 0.1f64.powi(rng.below(12) as i32);
        let probability = rng.unit() * 0.1f64.powi(rng.below(9) as i32);
        let old_delay = [0, delay, rng.below(2 * target)][rng.below(3) as usize];
        let pi = controller(target, (alpha, 1.25), GAINS[rng.below(3) as usize], probability, old_delay);
        let most = 1 << rng.below(13);
        hold_against_single_updates(&pi, 1 + rng.below(most), Time(delay));
    }
}

/// The sum of the probability and a step of an odd number of half last bits is rounded to even: up from odd numbers, down from even ones.
#[test]
fn late_updates_round_ties_to_even() {
    let half_bit = f64::EPSILON / 4.0;
    // Within the binade of these last bits, and from the one below it.
    for start in [0.625, 0.499_9] {
        for bits in 0..4 {
            for halves in [1, 3, 5, (1_u64 << 34) + 1, (1 << 34) + 3] {
                let start = f64::from_bits(f64::to_bits(start) + bits);
                for (target, delay) in [(2000 * MS, 3000 * MS), (3000 * MS, 2000 * MS)] {
                    let pi = controller(target, (halves as f64 * half_bit, 1.25), GAINS[1], start, delay);
                    for updates in [1, 2, 3, 4, 5, 1000, 200_000] {
                        hold_against_single_updates(&pi, updates, Time(delay));
                        let mut at_once = pi.clone();
                        at_once.repeat_step(updates, Time(delay));
                        let one_by_one = (0..updates).fold(start, |before, _| pi.next_probability(before, Time(delay)));
                        assert_eq!(at_once.probability.to_bits(), one_by_one.to_bits(), "{updates} steps of {pi:?}");
                    }
                }
            }
        }
    }
}

/// The work for any number of updates is bounded, for all parameters: 2^63 single updates would take centuries.
#[test]
fn many_late_updates_take_bounded_work() {
    for alpha in [0.0, 5e-324, 1e-310, 1e-300, 1e-20, 1e-9, 0.125, 1e6] {
        for target in [1, 1000, 15 * MS, u64::MAX / 2] {
            for delay in [0, 1, target - 1, target, target + 1, 2 * target] {
                for probability in [0.0, 5e-324, 1e-310, f64::MIN_POSITIVE, 1e-17, 0.1, 0.3, 1.0] {
                    for gains in [GAINS[0], GAINS[1]] {
                        let mut pi = controller(target, (alpha, 1.25), gains, probability, delay);
                        (pi.params.period, pi.next_update) = (Time(1), Time(1));
                        pi.run_due(Time(1 << 63), Delay::Constant(Time(delay)));
                        assert_eq!(pi.next_update, Time((1 << 63) + 1));
                        let end = pi.clone();
                        pi.run_due(pi.next_update, Delay::Constant(Time(delay)));
                        assert_eq!(pi.probability.to_bits(), end.probability.to_bits(), "no end: {end:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn decay_without_queue_ends_at_zero() {
    let mut pi = controller(15 * MS, (0.0, 1.25), GAINS[1], 1.0, 0);
    pi.run_due(Time(1819 * MS), Delay::Constant(Time::ZERO));
    assert_eq!(pi.probability, 0.0);
}

/// A packet waits: single updates, and the same ones together, more than `SINGLE` of which have a closed form.
#[test]
fn growing_delay_equals_single_updates() {
    for (target, alpha, beta, probability) in [
        // It rises at once, and stays at 1.
        (15 * MS, 0.15, 3.0, 0.0),
        // It falls for 20 s, to 0 or not, and rises afterwards.
        (20_000 * MS, 1e-5, 1e-6, 0.3),
        (20_000 * MS, 1e-5, 1e-6, 0.9),
        // It falls or rises for the whole time.
        (60_000 * MS, 1e-6, 0.0, 0.9),
        (15 * MS, 1e-7, 0.0, 0.1),
        (15 * MS, 0.0, 1e-3, 0.1),
        (15 * MS, 0.0, 0.0, 0.1),
    ] {
        for updates in [1, 7, SINGLE, SINGLE + 1, 10_000, 30_000, 45_000] {
            let start = controller(target, (alpha, beta), Gains::Fixed, probability, 0);
            let (mut late, mut timer) = (start.clone(), start.clone());
            late.run_due(Time(updates * MS), Delay::Since(Time(MS / 3)));
            for _ in 0..updates {
                timer.run_due(timer.next_update, Delay::Since(Time(MS / 3)));
            }
            let (a, b) = (late.probability, timer.probability);
            assert!((a - b).abs() < 1e-9, "{updates} updates of {start:?}: {a} and {b}");
            assert!(updates > SINGLE || a.to_bits() == b.to_bits());
            assert_eq!((late.old_delay, late.next_update), (timer.old_delay, timer.next_update));
        }
    }
}

/// A packet that waits until the end of time, with an update in every picosecond.
#[test]
fn growing_delay_takes_bounded_work() {
    let mut pi = controller(15 * MS, (0.15, 3.0), Gains::Fixed, 0.0, 0);
    (pi.params.period, pi.next_update) = (Time(1), Time(1));
    pi.run_due(Time(u64::MAX - 1), Delay::Since(Time::ZERO));
    assert_eq!((pi.probability, pi.next_update), (1.0, Time(u64::MAX)));
}
