//! Properties for all arguments: identities, limits and monotonicity that the publications state, and absence of NaN.

use forebay_model::aimd::{Aimd, random_marks, shares, throughput_ratio};
use forebay_model::incast::{Branch, FirstWindow, Incast, NstarRule, Params, Regime, TailMode, periods_until};
use forebay_model::{Pipe, ceilings, dctcp, trim};
use forebay_types::{Rate, Time};
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
        let (num, den) = (m.pipe_and_buffer().num(), m.pipe_and_buffer().den());
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
        // Without a second branch the modes literal and harmonic are equal.
        let (literal, harmonic) = (m.tail(n, TailMode::Literal).unwrap(), m.tail(n, TailMode::Harmonic).unwrap());
        prop_assert!(literal.probability <= harmonic.probability * (1.0 + 1e-12));
    }

    #[test]
    fn nstar_depends_on_pipe_size_alone(p in params(), block in 1..1_000_000_u64, rto in 1..1_000_000_u64) {
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

    /// A block that is a multiple has no more tail timeouts and no less goodput.
    #[test]
    fn longer_blocks_gain(p in params(), pick in 0.0..1.0_f64, times in 2..9_u64) {
        let n = 1 + (pick * p.buffer as f64) as u64;
        let m = Incast::new(&p).unwrap();
        let whole = p.payload * m.block();
        let longer = Incast::new(&Params { block: whole.saturating_mul(times).min(1 << 40), ..p }).unwrap();
        if longer.block() == m.block() * times {
            for mode in MODES {
                let (short, long) = (m.tail(n, mode).unwrap(), longer.tail(n, mode).unwrap());
                prop_assert!(long.probability <= short.probability * (1.0 + 1e-12), "{short:?} {long:?}");
            }
            let share = |m: &Incast| m.goodput_from(n, TailMode::Literal, None).unwrap().share;
            prop_assert!(share(&longer) >= share(&m) * (1.0 - 1e-12));
            let beyond = |m: &Incast| m.goodput_from(n, TailMode::Literal, Some(1)).unwrap().share;
            prop_assert!(beyond(&longer) >= beyond(&m) * (1.0 - 1e-12));
        }
    }

    /// Below N* the link's payload is exceeded by 3.18 % at most, and without timeouts hardly missed; beyond, more than T_0 a block.
    #[test]
    fn limits_of_goodput(p in params(), pick in 0.0..1.0_f64, window in 1..2_000_u64) {
        let n = 1 + (pick * p.buffer as f64) as u64;
        let m = Incast::new(&p).unwrap();
        let g = m.goodput(n, TailMode::Literal, NstarRule::First).unwrap();
        match &g.branch {
            Branch::Below { ca, tail } => {
                prop_assert!(g.share <= 1.0318);
                let (periods, loss) = (m.block() as f64 / ca.packets as f64, tail.probability);
                prop_assert!((g.timeouts_per_block(m.block()) - loss * periods).abs() < 1e-12 * (1.0 + periods));
            }
            Branch::Beyond { block, ca, .. } => {
                prop_assert!(*block > m.rto().as_secs_f64() && ca.windows.n < n + 1);
                prop_assert!(g.bytes_per_s * p.rto.as_secs_f64() <= (n * m.block() * p.payload) as f64 * (1.0 + 1e-12));
            }
        }
        // Eqs. 28 to 32: the limit costs nothing above W_m, and below it a wider window never harms.
        let limited = |w| m.limited(n, w, TailMode::Literal, NstarRule::First).unwrap();
        let overflow = m.windows(n).unwrap().overflow;
        let l = limited(window);
        prop_assert_eq!(l.regime == Regime::Unaffected, window > overflow);
        prop_assert_eq!(l.regime == Regime::Equal, window == overflow);
        if window < overflow {
            prop_assert!(l.share <= 1.0);
            prop_assert!(window + 1 == overflow || l.share <= limited(window + 1).share);
        }
        let equal = limited(overflow);
        prop_assert!(equal.share <= 1.0318 && (overflow < 4 || equal.share >= 1.0 - 1e-12));
        prop_assert_eq!(limited(overflow + 1).share, g.share);
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

    /// Longer pipes need more; the interval closes at the smallest buffer.
    #[test]
    fn trim_grows_with_the_pipe(pipe in pipes(), times in 1.001..100.0_f64) {
        let long = Time(((pipe.rtt().0 as f64 * times) as u64).clamp(pipe.rtt().0, 100_000_000_000_000));
        let longer = Pipe::new(pipe.rate(), pipe.packet(), long).unwrap();
        let (short, long) = (trim::k_interval(&pipe, 100.0).unwrap(), trim::k_interval(&longer, 100.0).unwrap());
        prop_assert!(long.lower >= short.lower * (1.0 - 1e-12) && long.upper >= short.upper);
        prop_assert!(trim::smallest_buffer(&longer) >= trim::smallest_buffer(&pipe) * (1.0 - 1e-12));
        prop_assert!(trim::smallest_buffer(&pipe) >= pipe.bdp() * (1.0 - 1e-12));
        // Below 3 + 2 sqrt(2) packets the lower bound is D, above it is more.
        let (lower, d) = (short.lower, pipe.rtt().as_secs_f64());
        if (pipe.bdp() - 5.828_427).abs() > 1e-3 {
            prop_assert_eq!(lower > d * (1.0 + 1e-9), pipe.bdp() > 5.828_427, "{} {}", pipe.bdp(), lower / d);
        }
    }

    /// Without a buffer nothing but the longest wait avoids drops (Eq. 33's two conditions leave one value); a packet of it more
    /// shortens the shortest by a packet time.
    #[test]
    fn trim_waits(pipe in pipes(), flows in 1.0..1e4_f64, window in 0.1..1e3_f64, buffer in 0.0..1e4_f64) {
        let at = |n, w, b| trim::as_wait(&pipe, n, w, b).unwrap();
        let none = at(flows, window, 0.0);
        prop_assert_eq!(none.lower, none.upper);
        let w = at(flows, window, buffer);
        prop_assert!(w.lower <= none.lower && w.lower_printed <= none.lower_printed && w.upper == none.upper);
        prop_assert!(at(flows, window, buffer + 1.0).lower <= w.lower);
        let (more, wider) = (at(flows + 1.0, window, buffer), at(flows, window + 1.0, buffer));
        prop_assert!(more.upper > w.upper && more.lower >= w.lower && wider.upper >= w.upper && wider.lower >= w.lower);
        // The printed bound is at most half of the consistent one where that is positive.
        prop_assert!(w.lower_printed <= w.lower / 2.0 + 1e-9 * w.upper);
        prop_assert!(at(1.0, window, buffer).upper == 0.0);
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
        // More flows or a higher threshold swing more, and alpha falls with the window.
        let (more, higher) = (dctcp::steady_state(&pipe, flows + 1, k).unwrap(), dctcp::steady_state(&pipe, flows, k + 1.0).unwrap());
        prop_assert!(more.amplitude >= s.amplitude && higher.amplitude >= s.amplitude);
        prop_assert!(more.alpha >= s.alpha && higher.alpha <= s.alpha && higher.alpha_exact <= s.alpha_exact);
        prop_assert!((s.queue_max - s.queue_min - s.amplitude).abs() <= 1e-9 * (s.queue_max + s.amplitude));
        // A higher threshold allows less gain.
        prop_assert!(dctcp::gain_bound(&pipe, k + 1.0).unwrap() <= dctcp::gain_bound(&pipe, k).unwrap());
    }

    #[test]
    fn ratios(a in 0.0..0.999_f64, b in 0.0..0.999_f64, alpha in 1e-6..1.0_f64) {
        let ratio = |x| throughput_ratio(Aimd::new(1.0, x).unwrap(), Aimd::TCP);
        prop_assert_eq!(a < b, ratio(a) < ratio(b));
        prop_assert!((throughput_ratio(Aimd::dctcp(alpha).unwrap(), Aimd::TCP) * alpha - 1.0).abs() < 1e-6);
    }

    /// Windows that all grow until they fill a pipe, and are then all cut, end in the proportions of the weights.
    #[test]
    fn windows_converge_to_the_weights(rules in prop::collection::vec((0.1..4.0_f64, 0.0..0.95_f64, 1.0..500.0_f64), 2..5)) {
        let flows: Vec<Aimd> = rules.iter().map(|r| Aimd::new(r.0, r.1).unwrap()).collect();
        let mut windows: Vec<f64> = rules.iter().map(|r| r.2).collect();
        let pipe = 1000.0 * rules.len() as f64;
        let growth: f64 = rules.iter().map(|r| r.0).sum();
        for _ in 0..2_000 {
            let rounds = (pipe - windows.iter().sum::<f64>()) / growth;
            windows.iter_mut().zip(&rules).for_each(|(w, r)| *w = (*w + r.0 * rounds) * r.1);
        }
        // Before the cut, as Eq. 3 counts.
        let rounds = (pipe - windows.iter().sum::<f64>()) / growth;
        let part = shares(&flows).unwrap();
        for i in 0..flows.len() {
            let window = windows[i] + rules[i].0 * rounds;
            prop_assert!((window / pipe / part[i] - 1.0).abs() < 1e-6, "{windows:?} {part:?}");
        }
        let ratio = throughput_ratio(flows[0], flows[1]);
        prop_assert!((ratio * part[1] / part[0] - 1.0).abs() < 1e-9);
    }

    /// Rarer random marks leave larger windows, and favor DCTCP more.
    #[test]
    fn rare_marks_favor_dctcp(p in 1e-6..0.999_f64) {
        let (rare, often) = (random_marks(p).unwrap(), random_marks(p * 1.001).unwrap());
        prop_assert!(rare.dctcp > often.dctcp && rare.tcp > often.tcp && rare.ratio > often.ratio);
        prop_assert!((rare.ratio * p.sqrt() - 2.0 / 1.5_f64.sqrt()).abs() < 1e-9);
    }

    /// Windows limit until they fill the pipe, and the link from then on.
    #[test]
    fn windows_and_links(rate in 10_000..10_000_000_000_000_u64, payload in 1..9_000_u64, window in 1..1_u64 << 40, us in 1..1_000_000_u64) {
        let (rate, rtt) = (Rate(rate), Time::from_us(us));
        let at = |w, t| ceilings::window_limited(rate, payload, 40, w, t).unwrap();
        let link = ceilings::goodput(rate, payload, 40).unwrap();
        let g = at(window, rtt);
        prop_assert!(g > 0.0 && g <= link);
        prop_assert!(at(window + 1, rtt) >= g && at(window, Time(rtt.0 * 2)) <= g);
        let pipe = ceilings::bdp_bytes(rate, rtt).unwrap();
        prop_assert_eq!(at(pipe + 1, rtt), link);
    }

    #[test]
    fn shares_of_payload(payload in 1..65_000_u64, header in 0..1_000_u64) {
        let share = ceilings::payload_share(payload, header).unwrap();
        prop_assert!(share > 0.0 && share <= 1.0);
        prop_assert!(ceilings::payload_share(payload, header + 1).unwrap() < share);
        prop_assert!(ceilings::payload_share(payload + 1, header).unwrap() >= share);
    }
}
