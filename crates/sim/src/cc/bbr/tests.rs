//! Tests of the rules of tcp_bbr.c on a simple path.

use super::*;
use crate::cc::Trigger;
use crate::cc::testing::{LINE_RTT, Line};

/// Bandwidth of the line: one segment in 80 us.
const LINE_BW: u64 = BW_UNIT / 80;

fn line() -> Line<Bbr> {
    Line::new(Bbr::new(&Config))
}

/// A line whose connection is in PROBE_BW.
fn cruising() -> Line<Bbr> {
    let mut l = line();
    while l.cc.mode != Mode::ProbeBw {
        l.step();
        assert!(l.now < LINE_RTT * 60, "still in {:?}", l.cc.mode);
    }
    l
}

/// bbr_init_pacing_rate_from_rtt: ten segments in an RTT, times 2.89, less 1 %.
#[test]
fn initial_rate_is_window_per_rtt() {
    let l = line();
    let rate = (Bbr::PACING_RATE.unwrap())(&l.cc, 1000).0 as f64;
    let expected = 10.0 * 8000.0 / 0.04 * (739.0 / 256.0) * 0.99;
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate} and {expected}");
}

/// STARTUP doubles the rate every round, and ends after three rounds in which the bandwidth grew by less than a quarter.
#[test]
fn startup_ends_on_bandwidth_plateau() {
    let mut l = line();
    let mut by_round = vec![0; 1];
    let mut rounds = 0;
    while !l.cc.full_bw_reached {
        l.step();
        if l.cc.rounds > rounds {
            rounds = l.cc.rounds;
            by_round.push(l.cc.bw.get());
        }
    }
    let grown = by_round.windows(2).rposition(|w| w[1] * 4 >= w[0] * 5).unwrap() + 1;
    assert_eq!(by_round.len() - 1 - grown, 3, "{by_round:?}");
    assert!((LINE_BW * 95 / 100..=LINE_BW * 101 / 100).contains(&l.cc.bw.get()), "{} and {LINE_BW}", l.cc.bw.get());
    assert_eq!(l.cc.mode, Mode::Drain);
    assert!(!l.w.ssthresh.is_unlimited());
    // From 10 to 500 segments are six doublings.
    assert!((7..=12).contains(&by_round.len()), "{by_round:?}");
}

/// bbr_check_drain: the queue of STARTUP is gone when the cycle begins.
#[test]
fn drains_to_bandwidth_delay_product() {
    let l = cruising();
    let target = l.cc.inflight(l.cc.bw.get(), UNIT);
    assert!(l.in_flight() <= (target + 1) * 1000, "{} and {target}", l.in_flight());
    // 500, three bursts of two segments or more, rounded.
    assert!((500..=560).contains(&target), "{target}");
}

/// The cycle of gains: 5/4, 3/4 and six times 1, each for about the smallest RTT; a probe may last longer, draining shorter.
#[test]
fn eight_phases_of_a_round_trip() {
    let mut l = cruising();
    let mut phases: Vec<(usize, Time)> = vec![(l.cc.cycle_index, l.now)];
    l.run(LINE_RTT * 60, |l| {
        if phases.last().unwrap().0 != l.cc.cycle_index {
            phases.push((l.cc.cycle_index, l.now));
        }
    });
    assert!(phases.len() > 40, "{phases:?}");
    assert_ne!(phases[0].0, 1, "no cycle begins with draining");
    for pair in phases[1..].windows(2) {
        let [(index, start), (next, end)] = pair else { unreachable!() };
        assert_eq!(*next, (index + 1) % 8);
        let rtts = (*end - *start).as_secs_f64() / LINE_RTT.as_secs_f64();
        let legal = match index {
            0 => 0.95..2.5,
            1 => 0.0..1.1,
            _ => 0.95..1.2,
        };
        assert!(legal.contains(&rtts), "phase {index} lasted {rtts} RTTs");
    }
}

/// Every 10 s without an RTT as short as the minimum, the window is 4 for 200 ms and a round trip, and then as before.
#[test]
fn probes_rtt_every_ten_seconds() {
    let mut l = cruising();
    // A path that becomes longer by a thousandth; on a constant one the draining phases keep finding the minimum RTT.
    l.drift = 1e-3;
    let (mut probes, mut before) = (Vec::new(), 0.0);
    let mut last = l.cc.mode;
    let mut after = Vec::new();
    l.run(Time::from_ms(32_000), |l| {
        match (last, l.cc.mode) {
            (m, Mode::ProbeRtt) if m != Mode::ProbeRtt => probes.push((l.now, Time::ZERO)),
            (Mode::ProbeRtt, m) if m != Mode::ProbeRtt => {
                probes.last_mut().unwrap().1 = l.now;
                after.push((before, l.w.cwnd));
            }
            (_, Mode::ProbeRtt) => assert!(l.w.cwnd <= 4.0),
            _ => before = l.w.cwnd,
        }
        last = l.cc.mode;
    });
    assert_eq!(probes.len(), 3, "{probes:?}");
    for w in probes.windows(2) {
        let apart = (w[1].0 - w[0].1).as_secs_f64();
        assert!((9.9..10.3).contains(&apart), "{apart} s");
    }
    for &(start, end) in &probes {
        let ms = (end - start).as_ms();
        assert!((240..400).contains(&ms), "{ms} ms");
    }
    for (before, after) in after {
        assert!(after >= before, "{before} before the probe, {after} after it");
    }
}

/// bbr_set_cwnd_to_recover_or_restore: a round of packet conservation, then the old window again.
#[test]
fn recovery_restores_the_window() {
    let mut l = cruising();
    l.run(LINE_RTT * 20, |_| {});
    let cwnd = l.w.cwnd;
    l.cc.ssthresh(&l.w, Reduction { trigger: Trigger::Loss, from: cwnd, in_flight: 0 });
    l.repair = RecoveryKind::Recovery;
    let in_flight = l.in_flight() / 1000;
    while l.cc.before == RecoveryKind::None {
        l.step();
    }
    assert!(l.cc.packet_conservation);
    assert!((l.w.cwnd - in_flight as f64).abs() <= 2.0, "{} of {in_flight} under way", l.w.cwnd);
    l.run(LINE_RTT * 3, |_| {});
    assert!(!l.cc.packet_conservation, "one round only");
    l.repair = RecoveryKind::None;
    while l.cc.before != RecoveryKind::None {
        l.step();
    }
    assert!(l.w.cwnd >= cwnd.min(l.cc.quantized(l.cc.bdp(l.cc.bw.get(), CWND_GAIN)) as f64), "{} after {cwnd}", l.w.cwnd);
}

/// Two intervals with more than 20 % of losses and the same rate: the path is policed, and paced without gains for 48 rounds.
#[test]
fn policed_path_is_paced_at_rate() {
    let mut l = line();
    l.loses = |n| n > 20_000 && n % 4 == 0;
    let mut used = 0;
    l.run(Time::from_ms(12_000), |l| {
        if l.cc.policer.bandwidth().is_some() && l.cc.mode == Mode::ProbeBw {
            used += 1;
        }
    });
    assert!(used > 0, "policing was not detected");
    let mut without = line();
    without.loses = |n| n > 20_000 && n % 10 == 0;
    without.run(Time::from_ms(12_000), |l| assert!(l.cc.policer.bandwidth().is_none(), "10 % are no policer"));
}

/// Steady state: the path is full, and the queue follows from gains and bursts.
#[test]
fn path_stays_full_with_short_queue() {
    let mut l = cruising();
    l.run(LINE_RTT * 10, |_| {});
    let (before, start) = (l.delivered, l.now);
    let mut most = 0;
    l.run(LINE_RTT * 100, |l| most = most.max(l.in_flight() / 1000));
    let rate = (l.delivered - before) as f64 * 80e6 / (l.now - start).0 as f64;
    assert!(rate > 0.97, "{rate}");
    assert!(most < 500 * 3 / 2, "{most} in flight on a path of 500");
}
