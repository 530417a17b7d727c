//! Tests of the draft's rules on a simple path; several are from its appendix "BBR Example Test Cases".

use super::*;
use crate::cc::testing::{LINE_RTT, Line, cut};

/// Bandwidth of the line, bytes per second.
const LINE_BW: u64 = 12_500_000;
/// Bytes that fill it.
const BDP: u64 = 500_000;

fn line() -> Line<Bbr3> {
    Line::new(Bbr3::new(&Config))
}

/// A line whose connection has reached `state`.
fn until(state: State) -> Line<Bbr3> {
    let mut l = line();
    go(&mut l, state);
    l
}

fn go(l: &mut Line<Bbr3>, state: State) {
    let limit = l.now + SECOND * 6;
    while l.cc.state != state {
        l.step();
        assert!(l.now < limit, "still in {:?}", l.cc.state);
    }
}

/// InitPacingRate: 2.77 times the initial window in the RTT of the handshake.
#[test]
fn initial_rate_is_window_per_rtt() {
    let l = line();
    let rate = (Bbr3::PACING_RATE.unwrap())(&l.cc, 1000).0;
    assert_eq!(rate, 27 * 25 * 1000 * 8, "10 segments times 2.77, whole ones, 25 times a second");
}

/// "Exiting STARTUP on Bandwidth Plateau": three rounds without growth by a quarter; "Exiting DRAIN Based on Inflight".
#[test]
fn startup_ends_on_bandwidth_plateau() {
    let mut l = line();
    let (mut by_round, mut rounds) = (vec![0; 1], 0);
    while l.cc.state == State::Startup {
        l.step();
        if l.cc.round_count > rounds {
            rounds = l.cc.round_count;
            by_round.push(l.cc.pipe.bw);
        }
    }
    let grown = by_round.windows(2).rposition(|w| w[1] != w[0]).unwrap() + 1;
    assert_eq!(by_round.len() - 1 - grown, 3, "{by_round:?}");
    assert!((LINE_BW * 95 / 100..=LINE_BW * 101 / 100).contains(&l.cc.max_bw()), "{}", l.cc.max_bw());
    assert_eq!(l.cc.state, State::Drain);
    while l.cc.state == State::Drain {
        l.step();
    }
    assert!(l.in_flight() <= l.cc.inflight(l.cc.bw()) + 1000, "{}", l.in_flight());
}

/// DOWN, CRUISE, REFILL for one round, UP, and again; probes 2 to 3 s apart, or 63 round trips.
#[test]
fn cycle_probes_every_two_seconds() {
    let mut l = until(State::Down);
    let mut states = vec![(l.cc.state, l.now)];
    l.run(SECOND * 14, |l| {
        if states.last().unwrap().0 != l.cc.state {
            states.push((l.cc.state, l.now));
        }
    });
    for pair in states.windows(2) {
        let [(from, start), (to, end)] = pair else { unreachable!() };
        let next = match from {
            State::Down => vec![State::Cruise, State::ProbeRtt],
            State::Cruise => vec![State::Refill, State::ProbeRtt],
            State::Refill => vec![State::Up],
            State::Up => vec![State::Down],
            State::ProbeRtt => vec![State::Cruise],
            State::Startup | State::Drain => vec![],
        };
        assert!(next.contains(to), "{from:?} to {to:?}");
        let rtts = (*end - *start).as_secs_f64() / LINE_RTT.as_secs_f64();
        match from {
            State::Refill => assert!((0.95..1.5).contains(&rtts), "REFILL lasted {rtts} RTTs"),
            State::Up => assert!((1.0..8.0).contains(&rtts), "UP lasted {rtts} RTTs"),
            _ => {}
        }
    }
    let ups: Vec<Time> = states.iter().filter(|s| s.0 == State::Up).map(|s| s.1).collect();
    assert!(ups.len() >= 4, "{states:?}");
    for w in ups.windows(2) {
        let s = (w[1] - w[0]).as_secs_f64();
        assert!((2.0..3.6).contains(&s), "{s} s between probes");
    }
}

/// "Entering and Exiting PROBE_RTT": every 5 s, with half a bandwidth-delay product, for 200 ms.
#[test]
fn probes_rtt_every_five_seconds() {
    let mut l = until(State::Cruise);
    l.drift = 1e-3;
    let (mut probes, mut last) = (Vec::new(), l.cc.state);
    l.run(SECOND * 17, |l| {
        match (last == State::ProbeRtt, l.cc.state == State::ProbeRtt) {
            (false, true) => probes.push((l.now, Time::ZERO)),
            (true, false) => probes.last_mut().unwrap().1 = l.now,
            (true, true) => assert!(l.w.cwnd * 1000.0 <= l.cc.probe_rtt_cwnd() as f64 + 1.0, "{}", l.w.cwnd),
            (false, false) => {}
        }
        last = l.cc.state;
    });
    assert_eq!(probes.len(), 3, "{probes:?}");
    for w in probes.windows(2) {
        let apart = (w[1].0 - w[0].1).as_secs_f64();
        assert!((4.9..5.2).contains(&apart), "{apart} s");
    }
    for &(start, end) in &probes {
        let ms = (end - start).as_ms();
        assert!((200..330).contains(&ms), "{ms} ms");
    }
}

/// AdaptLongTermModel, AdvanceMaxBwFilter: the end of a probe discards the bandwidth of the cycle before the last one.
#[test]
fn end_of_probe_discards_older_bandwidth() {
    let mut l = until(State::Refill);
    let high = LINE_BW * 11 / 10;
    l.cc.max_bw[0] = high;
    go(&mut l, State::Up);
    assert_eq!(l.cc.max_bw[0], high, "the probe has not ended");
    go(&mut l, State::Down);
    l.run(LINE_RTT * 3, |_| {});
    assert!(l.cc.max_bw[0] <= LINE_BW * 101 / 100, "{}", l.cc.max_bw[0]);
}

/// InflightAtLoss: of 100 segments in flight two may be lost. A third loss shows that 98 fit, and the fraction of two in a hundred that may be lost.
#[test]
fn loss_threshold_crossed_within_segment() {
    use super::loss::in_flight_at_loss;
    assert_eq!(in_flight_at_loss(100_000, 3_000, 1_000), 99_000);
    assert_eq!(in_flight_at_loss(100_000, 2_000, 1_000), 100_000);
    assert!(!Bbr3::inflight_too_high(2_000, 100_000) && Bbr3::inflight_too_high(2_001, 100_000));
}

/// A buffer of a quarter of the bandwidth-delay product: the probe that fills it sets the long-term bound, and cruising leaves headroom below.
#[test]
fn lossy_probe_bounds_inflight() {
    let mut l = until(State::Up);
    // From here on 3 of 100 segments are lost.
    l.loses = |n| n % 33 == 0;
    go(&mut l, State::Down);
    assert!(l.cc.cycle.inflight_too_high);
    let bound = l.cc.inflight_longterm.expect("a bound");
    assert!((BDP * 7 / 10..BDP * 3 / 2).contains(&bound), "{bound}");
    l.loses = |_| false;
    go(&mut l, State::Cruise);
    l.run(LINE_RTT * 2, |_| {});
    // Segments of the probe that arrived without losses may have raised it since.
    let bound = l.cc.inflight_longterm.unwrap();
    assert!(l.w.cwnd * 1000.0 <= bound as f64 * 0.85 + 1000.0, "{} of {bound}", l.w.cwnd);
}

/// ProbeInflightLongtermUpward: a later probe that the bound limits raises it, by more in each round.
#[test]
fn probe_without_losses_raises_bound() {
    let mut l = until(State::Up);
    l.loses = |n| n % 33 == 0;
    go(&mut l, State::Down);
    l.loses = |_| false;
    go(&mut l, State::Up);
    let bound = l.cc.inflight_longterm.expect("a bound");
    l.run(LINE_RTT * 6, |_| {});
    let raised = l.cc.inflight_longterm.expect("a bound");
    assert!(raised >= bound + 15_000, "{bound}, then {raised}");
}

/// LossLowerBounds: a round with losses while cruising takes at most 30 % off both short-term bounds; REFILL clears them.
#[test]
fn cruise_losses_set_short_term_bounds() {
    let mut l = until(State::Cruise);
    l.loses = |n| n % 50 == 0;
    l.run(LINE_RTT * 3, |_| {});
    let (bw, volume) = (l.cc.bw_shortterm.expect("a bound"), l.cc.inflight_shortterm.expect("a bound"));
    assert!((LINE_BW * 85 / 100..=LINE_BW).contains(&bw), "{bw}: never below what is delivered");
    assert!(volume >= BDP * 7 / 10, "{volume}");
    l.loses = |_| false;
    go(&mut l, State::Refill);
    assert_eq!((l.cc.bw_shortterm, l.cc.inflight_shortterm), (None, None));
}

/// "Handling Spurious Fast Recovery": bounds and state are as before.
#[test]
fn spurious_loss_is_undone() {
    let mut l = until(State::Up);
    l.loses = |n| n % 20 == 0;
    go(&mut l, State::Down);
    assert!(l.cc.inflight_longterm.is_some());
    // The stack reports lost segments first, and begins the recovery then.
    l.cc.ssthresh(&l.w, cut(Trigger::Loss));
    l.cc.undo_cwnd(&l.w.clone(), l.w.cwnd);
    assert_eq!(l.cc.state, State::Refill, "UP begins again");
    assert_eq!(l.cc.inflight_longterm, None);
}

#[test]
fn path_stays_full_with_short_queue() {
    let mut l = until(State::Cruise);
    let (before, start) = (l.delivered, l.now);
    let mut most = 0;
    l.run(SECOND * 4, |l| most = most.max(l.in_flight()));
    let rate = (l.delivered - before) as f64 * 80e6 / (l.now - start).0 as f64;
    assert!(rate > 0.97, "{rate}");
    assert!(most < BDP * 2, "{most}");
}
