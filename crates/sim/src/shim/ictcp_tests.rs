//! Tests of links and shares, one adjustment at a time.

use super::*;

const C: Config = Config { alpha: 0.9, gamma1: 0.1, gamma2: 0.5, beta: 0.75, scarce: 0.2, min_window: 2 };
const US: Time = Time::from_us(1);

fn link() -> Link {
    // 1 Gbit/s is 125 bytes per us.
    Link::new(&C, Rate(1_000_000_000), US * 100)
}

/// A connection that sends a full window every RTT of 100 us; returns its windows, RTT by RTT.
fn windows(l: &mut Link, s: &mut Share, rtts: u64, used: f64) -> Vec<u64> {
    let mut list = Vec::new();
    for i in 1..=rtts {
        let now = US * 100 * i;
        let len = (s.window as f64 * used) as u64;
        l.arrive(now, len);
        s.data_arrived(l, now, len, US * 100);
        list.push(s.window);
    }
    list
}

#[test]
fn doubles_then_stops_at_the_quota() {
    let (mut l, mut s) = (link(), Share::new(&C, 1_000, 1 << 20));
    s.join(&mut l, Time::ZERO);
    let w = windows(&mut l, &mut s, 60, 1.0);
    assert_eq!(w[0], 2_000);
    assert!(w.windows(2).all(|p| p[0] <= p[1]), "{w:?}");
    assert!(w.contains(&4_000) && w.contains(&8_000), "{w:?}");
    // 90 % of 125 bytes per us in 100 us are 11 250 bytes.
    assert_eq!(*w.last().unwrap(), 11_000);
}

#[test]
fn unused_windows_shrink_to_the_floor() {
    let (mut l, mut s) = (link(), Share::new(&C, 1_000, 1 << 20));
    s.window = 8_000;
    s.join(&mut l, Time::ZERO);
    let w = windows(&mut l, &mut s, 80, 0.2);
    assert_eq!((w[4], w[6], *w.last().unwrap()), (8_000, 7_000, 2_000));
    assert_eq!(l.windows, 2_000);
    s.leave(&mut l);
    assert_eq!((l.windows, l.count), (0, 0));
}

#[test]
fn between_the_thresholds_nothing_changes() {
    let (mut l, mut s) = (link(), Share::new(&C, 1_000, 1 << 20));
    s.window = 8_000;
    s.join(&mut l, Time::ZERO);
    assert!(windows(&mut l, &mut s, 40, 0.7).iter().all(|&w| w == 8_000));
}

#[test]
fn large_windows_shrink_when_scarce() {
    let mut l = link();
    let (mut big, mut small) = (Share::new(&C, 1_000, 1 << 20), Share::new(&C, 1_000, 1 << 20));
    (big.window, small.window) = (10_000, 2_000);
    (big.slow_start, small.slow_start) = (false, false);
    big.join(&mut l, Time::ZERO);
    small.join(&mut l, Time::ZERO);
    for i in 1..=200 {
        let now = US * 100 * i;
        for s in [&mut big, &mut small] {
            l.arrive(now, s.window);
            s.data_arrived(&mut l, now, s.window, US * 100);
        }
    }
    assert!(big.window.abs_diff(small.window) <= 1_000, "{} {}", big.window, small.window);
    assert!(big.window + small.window <= 12_000 && big.window + small.window >= 9_000);
}

#[test]
fn the_right_edge_never_moves_back() {
    let mut s = Share::new(&C, 1_000, 1 << 20);
    s.window = 8_000;
    assert_eq!(s.advertise(0, false), 8_000);
    s.window = 3_000;
    assert_eq!([1_000, 4_000, 5_000, 6_000].map(|n| s.advertise(n, false)), [7_000, 4_000, 3_000, 3_000]);
    s.window = 5_000;
    assert_eq!((s.advertise(6_000, true), s.advertise(7_000, false)), (3_000, 5_000));
}

#[test]
fn pause_is_not_low_throughput() {
    let (mut l, mut s) = (link(), Share::new(&C, 1_000, 1 << 20));
    s.join(&mut l, Time::ZERO);
    windows(&mut l, &mut s, 20, 1.0);
    let (window, throughput) = (s.window, s.throughput);
    let now = US * 10_000_000;
    l.arrive(now, 1_000);
    s.data_arrived(&mut l, now, 1_000, US * 100);
    assert_eq!((s.window, s.throughput, s.slow_start, s.bytes), (window, throughput, true, 0));
}
