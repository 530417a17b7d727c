//! Claims of the publications about their models; each test has the name of its claim.

use crate::common::{base, close, model};
use forebay_model::aimd::{Aimd, throughput_ratio};
use forebay_model::incast::{Branch, FirstWindow, Incast, NstarRule::First, Params, Regime, TailMode};
use forebay_model::{Pipe, ceilings, dctcp, trim};
use forebay_types::{Rate, Time};

const GBPS: u64 = 1_000_000_000;

fn with(gbps: u64, buffer: u64) -> Incast {
    model(Params { rate: Rate(gbps * GBPS), buffer, ..base() })
}

/// Every case that the claims on the algebra range over.
fn all(mut check: impl FnMut(&Incast, u64)) {
    for gbps in [1, 10] {
        for buffer in [64, 128, 256] {
            (1..=buffer).for_each(|n| check(&with(gbps, buffer), n));
        }
    }
}

#[test]
fn model_ca_packets() {
    let m = model(base());
    let packets = [1, 2, 4, 8, 9, 12, 16, 32].map(|n| m.ca(n).unwrap().packets);
    assert_eq!(packets, [2378, 633, 182, 58, 49, 31, 21, 9]);
}

#[test]
fn model_ca_duration() {
    let m = model(base());
    for (n, ms) in [(1, 18.8760), (4, 5.7020), (8, 3.6080), (9, 3.4200), (16, 2.6840)] {
        close(m.ca(n).unwrap().duration * 1e3, ms, 5e-5);
    }
}

#[test]
fn model_overflow_window() {
    let m = model(base());
    for (n, w, losers) in [(1, 78, 1), (2, 39, 1), (8, 11, 8), (9, 10, 9), (10, 9, 9), (13, 7, 8), (32, 3, 4)] {
        let windows = m.windows(n).unwrap();
        assert_eq!((windows.overflow, windows.losers), (w, losers), "N = {n}");
    }
}

#[test]
fn model_no_timeout_full_rate() {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    all(|m, n| {
        let ca = m.ca(n).unwrap();
        let share = n as f64 * ca.packets_exact.to_f64() / ca.packet_times.to_f64();
        (least, most) = (least.min(share), most.max(share));
    });
    assert!(least >= 0.92 && most <= 1.032, "{least} {most}");
    close(least, 0.928, 5e-4);
}

#[test]
fn model_tail_congruence() {
    let m = model(base());
    let expected =
        [(1, [46, 46]), (2, [13, 13]), (4, [107, 62]), (8, [9, 9]), (9, [89, 42]), (12, [58, 25]), (7, [0, 0]), (11, [0, 50])];
    for (n, k) in expected {
        let tail = m.tail(n, TailMode::Literal).unwrap();
        assert_eq!([tail.k_low, tail.k_high].map(|k| k.unwrap_or(0)), k, "N = {n}");
        // By a linear search over the definition, Eq. (11).
        let ca = m.ca(n).unwrap();
        for (alpha, k) in [(ca.windows.overflow - 1, tail.k_low), (ca.windows.overflow, tail.k_high)] {
            let hit = |k: &u64| (0..3).any(|beta| (k * ca.packets + beta).wrapping_sub(alpha) % 256 == 0);
            assert_eq!((1..=256).find(hit), k, "N = {n}");
        }
    }
}

#[test]
fn model_larger_block_fewer_tail_timeouts() {
    for buffer in [64, 128, 256] {
        let share = |n, packets: u64| {
            let m = model(Params { block: packets * 1000, buffer, ..base() });
            m.goodput_from(n, TailMode::Literal, None).unwrap().share
        };
        for n in 1..=buffer {
            let chain = [64, 128, 256, 512, 1024].map(|packets| share(n, packets));
            assert!(chain.windows(2).all(|w| w[0] <= w[1]), "B = {buffer}, N = {n}: {chain:?}");
        }
    }
}

#[test]
fn model_nstar_values() {
    let found: Vec<u64> = (32..=256).step_by(32).map(|b| with(1, b).nstar(First).unwrap()).collect();
    assert_eq!(found, [11, 13, 18, 20, 19, 23, 26, 24]);
}

#[test]
fn model_nstar_depends_on_pipe_size() {
    for buffer in (32..=256).step_by(8) {
        let reference = with(1, buffer).nstar(First);
        for block in [64, 128, 512] {
            assert_eq!(model(Params { buffer, block: block * 1000, ..base() }).nstar(First), reference);
        }
        let fast = Params { rate: Rate(10 * GBPS), rtt: Time::from_us(10), buffer, ..base() };
        assert_eq!(model(fast).nstar(First), reference);
        assert_eq!(model(Params { rto: Time::from_ms(1), buffer, ..base() }).nstar(First), reference);
    }
}

/// The model's part of the claim on Fig. 3: a block of 32 senders takes 0.238 s.
#[test]
fn bhto_lucky_flow_and_block_duration() {
    let goodput = model(base()).goodput(32, TailMode::Literal, First).unwrap();
    let Branch::Beyond { block, .. } = goodput.branch else { panic!("32 is beyond N*") };
    close(block, 0.238, 5e-4);
    close(block, 0.235, 0.015);
}

/// The model's part: G_2 rises from N* = 13 to 40.
#[test]
fn goodput_recovers_slowly_after_collapse() {
    let m = model(base());
    let g: Vec<f64> = (13..=40).map(|n| m.goodput(n, TailMode::Literal, First).unwrap().share).collect();
    assert!(g.windows(2).all(|w| w[0] < w[1]), "{g:?}");
    close(g[0], 0.132, 5e-4);
    close(g[27], 0.317, 5e-4);
}

/// Ranks of distinct or equal values, ties in the middle.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|w| *w < v).count() as f64;
        let same = values.iter().filter(|w| *w == v).count() as f64;
        below + (same - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let cov = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    cov(&a, &b) / (cov(&a, &a) * cov(&b, &b)).sqrt()
}

#[test]
fn nstar_follows_buffer() {
    let buffers: Vec<f64> = (32..=256).step_by(8).map(f64::from).collect();
    for (gbps, correlation) in [(1, 0.96), (10, 0.88)] {
        let nstar: Vec<f64> = buffers.iter().map(|&b| with(gbps, b as u64).nstar(First).unwrap() as f64).collect();
        let found = spearman(&buffers, &nstar);
        assert!(found >= 0.8);
        close(found, correlation, 5e-3);
    }
}

#[test]
fn nstar_insensitive_to_capacity() {
    let buffers: Vec<u64> = (32..=256).step_by(8).collect();
    let nstar = |gbps, b: u64| with(gbps, b).nstar(First).unwrap() as f64;
    let differences: Vec<f64> = buffers.iter().map(|&b| nstar(1, b) - nstar(10, b)).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / buffers.len() as f64;
    assert_eq!(differences.iter().fold(0.0_f64, |m, d| m.max(d.abs())), 6.0);
    close(mean(&mut differences.iter().copied()), 2.6, 0.05);
    close(mean(&mut differences.iter().map(|d| d.abs())), 3.0, 0.05);
}

fn limited(n: u64) -> forebay_model::incast::LimitedGoodput {
    model(base()).limited(n, 10, TailMode::Literal, First).unwrap()
}

#[test]
fn wl10_n1_latency_bound() {
    close(limited(1).share, 0.80, 1e-12);
}

/// The model's part: full rate for two to eight senders, also with D = 140 us.
#[test]
fn wl10_full_utilisation() {
    assert!((2..=8).all(|n| limited(n).share == 1.0));
    let longer = model(Params { rtt: Time::from_us(140), ..base() });
    assert_eq!(longer.limited(8, 10, TailMode::Literal, First).unwrap().share, 1.0);
}

#[test]
fn wl10_regimes() {
    let regimes = [1, 2, 8, 9, 10, 20].map(|n| limited(n).regime);
    assert_eq!(regimes, [Regime::Latency, Regime::Link, Regime::Link, Regime::Equal, Regime::Unaffected, Regime::Unaffected]);
}

#[test]
fn wl10_n9() {
    close(limited(9).share, 1.0316, 1e-4);
    close(limited(9).share, 49.0 / 47.5, 1e-12);
}

/// The model's part: equal to the unlimited model.
#[test]
fn wl10_unaffected_above_nine() {
    let m = model(base());
    for n in 10..=64 {
        let free = m.goodput(n, TailMode::Literal, First).unwrap();
        assert_eq!((limited(n).share, limited(n).bytes_per_s), (free.share, free.bytes_per_s));
    }
}

#[test]
fn prin_first_window_bound() {
    all(|m, n| {
        let offered = m.head(n, FirstWindow::Inherited).unwrap().offered;
        assert!(offered < 1.5 * n as f64 * m.windows(n).unwrap().overflow as f64);
    });
}

fn trim_pipe(gbps: u64, us: u64) -> Pipe {
    Pipe::new(Rate(gbps * GBPS), 1460, Time::from_us(us)).unwrap()
}

#[test]
fn trim_eq21_lower_bound() {
    for (gbps, us, lower) in [(1, 200, 274.98), (10, 100, 170.6)] {
        close(trim::k_interval(&trim_pipe(gbps, us), 100.0).unwrap().lower * 1e6, lower, lower * 1e-3);
    }
}

#[test]
fn trim_eq25_upper_bound() {
    for (gbps, us, upper, empty) in [(1, 200, 684.0, false), (10, 100, 108.4, true)] {
        let k = trim::k_interval(&trim_pipe(gbps, us), 100.0).unwrap();
        close(k.upper * 1e6, upper, upper * 1e-3);
        assert_eq!(k.is_empty(), empty);
    }
}

/// The printed sizes do not follow from Eq. (28), but are sufficient and of the right order.
#[test]
fn trim_text_min_buffer() {
    for (gbps, us, printed) in [(1, 200, 52.0), (10, 100, 331.0)] {
        let p = trim_pipe(gbps, us);
        close(trim::smallest_buffer(&p) * 1.46, printed, printed * 0.25);
        assert!(!trim::k_interval(&p, printed / 1.46).unwrap().is_empty());
    }
}

#[test]
fn coex_model_curve() {
    for (beta, ratio) in [(0.50, 1.0), (0.60, 1.25), (0.75, 2.0), (0.80, 2.5), (0.90, 5.0)] {
        close(throughput_ratio(Aimd::new(1.0, beta).unwrap(), Aimd::TCP), ratio, 1e-3);
    }
}

#[test]
fn coex_model_monotone() {
    let ratio = |i: u32| throughput_ratio(Aimd::new(1.0, f64::from(i) / 1000.0).unwrap(), Aimd::TCP);
    assert!((500..999).all(|i| ratio(i) < ratio(i + 1)));
}

#[test]
fn coex_model_4_6() {
    close(throughput_ratio(Aimd::dctcp(0.215).unwrap(), Aimd::TCP), 4.6, 0.06);
}

/// The model's part: the thresholds that the claim's experiment runs with.
#[test]
fn dctcp_k_guideline() {
    let p = Pipe::new(Rate(10 * GBPS), 1460, Time::from_us(500)).unwrap();
    let k = dctcp::threshold_guideline(&p).ceil();
    assert_eq!(k, 62.0);
    for flows in [2, 20] {
        assert!(dctcp::steady_state(&p, flows, k).unwrap().queue_min > 0.0);
    }
}

/// The model's part: the cut itself.
#[test]
fn dctcp_cut_proportional() {
    for (alpha, cut) in [(0.8, 0.40), (0.1, 0.05)] {
        close(1.0 - dctcp::window_after_cut(100.0, alpha).unwrap() / 100.0, cut, 1e-12);
    }
}

/// The model's part: a cut divides by 1 to 2.
#[test]
fn dctcp_decrease_factor() {
    for i in 0..=100 {
        let factor = 100.0 / dctcp::window_after_cut(100.0, f64::from(i) / 100.0).unwrap();
        assert!((1.0..=2.0).contains(&factor));
    }
}

#[test]
fn prob_bdp() {
    for (gbps, bytes, scaled) in [(1, 31_250, false), (40, 1_250_000, true), (100, 3_125_000, true)] {
        let bdp = ceilings::bdp_bytes(Rate(gbps * GBPS), Time::from_us(250)).unwrap();
        assert_eq!((bdp, bdp > ceilings::UNSCALED_WINDOW), (bytes, scaled));
    }
}
