//! What must hold for all arguments: identities, limits and monotonicity that the publications state, and never a NaN.

use forebay_model::aimd::{Aimd, throughput_ratio};
use forebay_model::incast::{FirstWindow, Incast, NstarRule, Params, TailMode, periods_until};
use forebay_model::{Pipe, ceilings, dctcp, trim};
use forebay_units::{Rate, Time};
use proptest::prelude::*;

const MODES: [TailMode; 3] = [TailMode::Literal, TailMode::Harmonic, TailMode::Uniform];

/// Networks from 10 kbit/s to 10 Tbit/s, 1 ps to 10 s, up to the 1e9 packets in flight that the incast model takes.
fn params() -> impl Strategy<Value = Params> {
    let decades = |low: i32, high: i32| (low..high, 1.0..10.0_f64).prop_map(|(e, m)| (m * 10f64.powi(e)) as u64);
    (decades(4, 13), 1..=9_000_u64, 0.0..=1.0_f64, decades(0, 13), 1..=512_u64, decades(0, 9), decades(6, 12)).prop_map(
        |(rate, packet, part, rtt, buffer, block, rto)| Params {
            rate: Rate(rate.clamp(Rate::MIN.0, Rate::MAX.0)),
            packet,
            payload: ((packet as f64 * part) as u64).clamp(1, packet),
            rtt: Time(rtt.min((7.9e21 * packet as f64 / rate as f64) as u64).max(1)),
            buffer,
            block: block.max(1),
            rto: Time(rto),
        },
    )
}

fn pipes() -> impl Strategy<Value = Pipe> {
    params().prop_map(|p| Pipe::new(p.rate, p.packet, p.rtt).unwrap())
}

proptest! {
    #[test]
    fn windows_and_periods(p in params(), pick in 0.0..1.0_f64) {
        let m = Incast::new(&p).unwrap();
        let n = 1 + (pick * p.buffer as f64) as u64;
        let w = m.windows(n).unwrap();
        prop_assert!((1..=n).contains(&w.losers));
        prop_assert!(w.overflow >= 2 && w.overflow_of_losers >= w.overflow);
        prop_assert!(w.mean_peak() >= w.overflow as f64 && w.mean_peak() <= (w.overflow + 1) as f64);
        // N W_m = floor(Z) + N_m with Z = X + N/2: in integers, 0 <= 2 (N W_m - N_m) - 2 Z + 2 <= 2.
        let (num, den) = (m.held().num(), m.held().den());
        let floor_z = i128::from(n) * i128::from(w.overflow) - i128::from(w.losers);
        let z2 = 2 * num + i128::from(n) * den;
        prop_assert!(floor_z * 2 * den <= z2 && (floor_z + 1) * 2 * den > z2);
        let ca = m.ca(n).unwrap();
        prop_assert!(ca.packets > w.overflow);
        prop_assert!(n as f64 * ca.packets as f64 / ca.packet_times.to_f64() <= 1.0318);
        // Eq. 33 for PRIN.
        let head = m.head(n, FirstWindow::Inherited).unwrap();
        prop_assert!(head.offered < 1.5 * n as f64 * w.overflow as f64);
        prop_assert!((0.0..1.0).contains(&head.loss) && head.late_flows >= 0.0 && head.late_flows <= n as f64);
        prop_assert!(head.flows_in_timeout >= 0.0 && head.flows_in_timeout <= head.late_flows);
    }

    #[test]
    fn goodput_is_a_number(p in params(), pick in 0.0..1.0_f64, window in 1..2_000_u64) {
        let m = Incast::new(&p).unwrap();
        let n = 1 + (pick * p.buffer as f64) as u64;
        for mode in MODES {
            let tail = m.tail(n, mode).unwrap();
            prop_assert!((0.0..=1.0).contains(&tail.probability), "{tail:?}");
            for rule in [NstarRule::First, NstarRule::Run3] {
                let g = m.goodput(n, mode, rule).unwrap();
                prop_assert!(g.bytes_per_s.is_finite() && g.bytes_per_s > 0.0 && g.share > 0.0);
                prop_assert_eq!(g, m.goodput_from(n, mode, m.nstar(rule)).unwrap());
                let l = m.limited(n, window, mode, rule).unwrap();
                prop_assert!(l.share.is_finite() && l.share > 0.0);
            }
        }
        // More modes agree where theory says so: without a second branch literal and harmonic are one.
        let (literal, harmonic) = (m.tail(n, TailMode::Literal).unwrap(), m.tail(n, TailMode::Harmonic).unwrap());
        prop_assert!(literal.probability <= harmonic.probability * (1.0 + 1e-12));
    }

    #[test]
    fn nstar_depends_on_cd_and_b_alone(p in params(), block in 1..1_000_000_u64, rto in 1..1_000_000_u64) {
        let m = Incast::new(&p).unwrap();
        let other = Incast::new(&Params { block, rto: Time::from_us(rto), ..p }).unwrap();
        for rule in [NstarRule::First, NstarRule::Run3] {
            prop_assert_eq!(m.nstar(rule), other.nstar(rule));
        }
        prop_assert!(m.nstar(NstarRule::First).unwrap_or(u64::MAX) <= m.nstar(NstarRule::Run3).unwrap_or(u64::MAX));
        // The same C D: half the rate, twice the round trip.
        if p.rate.0.is_multiple_of(2) && p.rate.0 / 2 >= Rate::MIN.0 {
            let slow = Incast::new(&Params { rate: Rate(p.rate.0 / 2), rtt: Time(p.rtt.0 * 2), ..p }).unwrap();
            prop_assert_eq!(m.nstar(NstarRule::First), slow.nstar(NstarRule::First));
        }
    }

    #[test]
    fn longer_timeouts_cost(p in params(), pick in 0.0..1.0_f64) {
        let n = 1 + (pick * p.buffer as f64) as u64;
        let at = |factor: u64| {
            let m = Incast::new(&Params { rto: Time(p.rto.0 * factor), ..p }).unwrap();
            m.goodput(n, TailMode::Harmonic, NstarRule::First).unwrap().share
        };
        prop_assert!(at(2) <= at(1) && at(10) <= at(2));
    }

    #[test]
    fn congruences(alpha in 1..200_u64, ca in 1..3_000_u64, block in 1..1_500_u64) {
        let search = (1..=block).find(|k| (0..3).any(|b| (i128::from(k * ca) - i128::from(alpha) + b) % i128::from(block) == 0));
        let found = periods_until(alpha, ca, block).unwrap();
        prop_assert_eq!(found, search);
        // A block that is a multiple of the block is hit no sooner.
        let longer = periods_until(alpha, ca, 3 * block).unwrap();
        prop_assert!(longer.unwrap_or(u64::MAX) >= found.unwrap_or(u64::MAX));
    }

    #[test]
    fn trim_bounds(pipe in pipes(), buffer in 1.0..1e6_f64, more in 1.0..1e6_f64, flows in 1..200_u64) {
        let (d, c) = (pipe.rtt().as_secs_f64(), pipe.capacity());
        let k = trim::k_interval(&pipe, buffer).unwrap();
        prop_assert!(k.lower >= d * (1.0 - 1e-12) && k.queue_at_lower >= 0.0);
        let wider = trim::k_interval(&pipe, buffer + more).unwrap();
        prop_assert!(wider.upper > k.upper && wider.lower == k.lower);
        let edge = trim::smallest_buffer(&pipe);
        if edge > 1e-3 && (buffer / edge - 1.0).abs() > 1e-6 {
            prop_assert_eq!(k.is_empty(), buffer < edge);
        }
        let used = trim::threshold(&pipe, buffer, 3.0).unwrap();
        prop_assert!(used >= (d + 3.0 / c) * (1.0 - 1e-9));
        // E2: at least N/2 packets to spare.
        let queue = trim::queue_after_cut(&pipe, flows, used).unwrap();
        prop_assert!(queue >= (c * used - pipe.bdp() + flows as f64 / 2.0) * (1.0 - 1e-9) - 1e-6 * pipe.bdp());
        let wait = trim::as_wait(&pipe, flows as f64, 10.0, buffer).unwrap();
        prop_assert!(0.0 <= wait.lower_printed && wait.lower <= wait.upper && wait.upper.is_finite());
    }

    #[test]
    fn dctcp_queues(pipe in pipes(), k in 0.0..1e6_f64, flows in 1..1_000_u64) {
        let s = dctcp::steady_state(&pipe, flows, k).unwrap();
        prop_assert!((0.0..=1.0).contains(&s.alpha) && (0.0..=1.0).contains(&s.alpha_exact));
        prop_assert!(s.queue_min <= s.queue_max && s.queue_max == k + flows as f64);
        // No number of flows goes below the worst case.
        let worst = k - dctcp::worst_flows(&pipe, k).unwrap();
        prop_assert!(s.queue_min >= worst - 1e-9 * (k + pipe.bdp()));
        if k > dctcp::threshold_guideline(&pipe) * (1.0 + 1e-9) {
            prop_assert!(s.queue_min > 0.0);
        }
        // A higher threshold allows less gain.
        prop_assert!(dctcp::gain_bound(&pipe, k + 1.0).unwrap() <= dctcp::gain_bound(&pipe, k).unwrap());
    }

    #[test]
    fn ratios(a in 0.0..0.999_f64, b in 0.0..0.999_f64, alpha in 1e-6..1.0_f64) {
        let ratio = |x| throughput_ratio(Aimd::new(1.0, x).unwrap(), Aimd::TCP);
        prop_assert_eq!(a < b, ratio(a) < ratio(b));
        prop_assert!((throughput_ratio(Aimd::dctcp(alpha).unwrap(), Aimd::TCP) * alpha - 1.0).abs() < 1e-6);
    }

    #[test]
    fn shares_of_payload(payload in 1..65_000_u64, header in 0..1_000_u64) {
        let share = ceilings::payload_share(payload, header).unwrap();
        prop_assert!(share > 0.0 && share <= 1.0);
        prop_assert!(ceilings::payload_share(payload, header + 1).unwrap() < share);
        prop_assert!(ceilings::payload_share(payload + 1, header).unwrap() >= share);
    }
}
