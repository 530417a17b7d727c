//! Metrics of closed connections (Linux net/ipv4/tcp_metrics.c): exact values by the formulas of the kernel.

use crate::scripted::{Capture, US, addresses, config};
use forebay_experiment::transport::Metrics;
use forebay_sim::net::packet::{Packet, flag};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::metrics::Remembered;
use forebay_sim::tcp::rtt::Sent;
use forebay_sim::tcp::sender::Sender;
use forebay_types::Time;

fn linux() -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.metrics = Metrics::All;
    c
}

/// A sender whose SYN is answered after `rtt` us, with what is remembered.
fn opened(c: &TcpConfig, rtt: u64, path: &Remembered) -> (Sender, Capture) {
    let (mut s, mut capture) = (Sender::new(c, addresses(1).0, None), Capture::default());
    s.remember(c, path);
    s.open(c, Time::ZERO, &mut capture);
    s.write(c, Time::ZERO, 1_000_000, None, false, &mut capture);
    let p = Packet { seq: 2, flags: flag::SYN | flag::ACK, win: 60_000, len: 7, ..Packet::default() };
    s.on_packet(c, Time(rtt * US), &p, None, &mut capture);
    (s, capture)
}

/// A connection that has ended with this state.
fn ended(c: &TcpConfig, srtt: u64, cwnd: f64, ssthresh: f64) -> Sender {
    let mut s = Sender::new(c, addresses(1).0, None);
    s.rtt_mut().sample(c, Time(srtt), Sent::default());
    (s.window_mut().cwnd, s.window_mut().ssthresh) = (cwnd, ssthresh.into());
    s
}

/// Of a path on which connections ended one after the other.
fn after(c: &TcpConfig, ends: &[(u64, f64, f64)]) -> Remembered {
    let mut path = Remembered::default();
    ends.iter().for_each(|&(srtt, cwnd, ssthresh)| path.update(c, &ended(c, srtt, cwnd, ssthresh)));
    path
}

/// tcp_init_metrics: RTO = RTT + max(2 RTT, 200 ms), in ticks of 1 ms, where the handshake was faster than what is remembered.
#[test]
fn first_timeout_follows_stored_rtt() {
    let c = linux();
    let rto = |remembered_us: u64, handshake_us: u64| {
        let path = after(&c, &[(remembered_us * US, 10.0, f64::INFINITY)]);
        opened(&c, handshake_us, &path).0.rto(&c)
    };
    assert_eq!(rto(150_000, 100), Time::from_ms(150 + 300));
    assert_eq!(rto(60_000, 100), Time::from_ms(60 + 200));
    assert_eq!(rto(60_900, 100), Time::from_ms(60 + 200), "in whole ticks");
    // The handshake was slower: its own estimate, 80 + max(200, 4 * 40), counts.
    assert_eq!(rto(60_000, 80_000), Time::from_ms(280));
    // Nothing remembered.
    assert_eq!(opened(&c, 100, &Remembered::default()).0.rto(&c), Time::from_ms(201));
}

/// Only the first timeout: a sample of data replaces it, by an estimate without stored values.
#[test]
fn the_estimate_is_the_connections_own() {
    let c = linux();
    let path = after(&c, &[(150_000 * US, 10.0, f64::INFINITY)]);
    let (mut s, mut capture) = opened(&c, 100, &path);
    assert_eq!(s.rtt().smoothed(), Time(100 * US).into());
    let p = Packet { seq: 2 + 1000, flags: flag::ACK, win: 500, ts: 100_000, ..Packet::default() };
    s.on_packet(&c, Time(200 * US), &p, None, &mut capture);
    assert_eq!(s.rtt().base_rto(), Time::from_ms(201));
}

/// tcp_update_metrics: a longer RTT replaces what is remembered, of a shorter one an eighth counts; a connection that ends backed off knows
/// nothing.
#[test]
fn rtts_are_averaged_downwards() {
    let c = linux();
    let us = |ends: &[u64]| {
        let ends: Vec<_> = ends.iter().map(|&us| (us * US, 10.0, f64::INFINITY)).collect();
        let (s, _) = opened(&c, 0, &after(&c, &ends));
        s.remembered().unwrap().0 / US
    };
    assert_eq!(us(&[800]), 800);
    assert_eq!(us(&[800, 1600]), 1600);
    assert_eq!(us(&[1600, 800]), 1500);
    assert_eq!(us(&[1600, 800, 700]), 1400);
    let mut path = after(&c, &[(1600 * US, 10.0, f64::INFINITY)]);
    let mut backed_off = ended(&c, 800 * US, 10.0, f64::INFINITY);
    backed_off.rtt_mut().back_off();
    path.update(&c, &backed_off);
    assert_eq!(opened(&c, 100, &path).0.rto(&c), Time::from_ms(201));
}

/// Thresholds: max(cwnd / 2, ssthresh) of a connection that ended in congestion avoidance; in slow start only a larger one counts, half the
/// window in the first, the threshold later; nothing when there was none.
#[test]
fn thresholds() {
    let c = linux();
    let of = |ends: &[(u64, f64, f64)]| opened(&c, 100, &after(&c, ends)).0.window().ssthresh.or_infinite();
    let none = f64::INFINITY;
    assert_eq!(of(&[(US, 100.0, none)]), none, "the first slow start did not end");
    assert_eq!(of(&[(US, 30.0, 20.0)]), 20.0);
    assert_eq!(of(&[(US, 50.0, 20.0)]), 25.0);
    assert_eq!(of(&[(US, 10.0, 20.0)]), none, "a later slow start did not end");
    assert_eq!(of(&[(US, 30.0, 20.0), (US, 100.0, none)]), 50.0);
    assert_eq!(of(&[(US, 30.0, 20.0), (US, 30.0, none)]), 20.0);
    assert_eq!(of(&[(US, 30.0, 20.0), (US, 10.0, 28.0)]), 28.0);
    assert_eq!(of(&[(US, 30.0, 20.0), (US, 10.0, 15.0)]), 20.0);
    assert_eq!(of(&[(US, 30.0, 20.0), (US, 12.0, 10.0)]), 10.0, "in congestion avoidance also a smaller one");
}

/// As Linux by default (tcp_no_ssthresh_metrics_save): the RTT without the threshold; and nothing unless asked for.
#[test]
fn metrics_are_an_option() {
    let path = after(&linux(), &[(150_000 * US, 30.0, 20.0)]);
    let mut c = linux();
    c.metrics = Metrics::Rtt;
    let (s, _) = opened(&c, 100, &path);
    assert_eq!((s.rto(&c), s.window().ssthresh.or_infinite()), (Time::from_ms(450), f64::INFINITY));
    assert_eq!(config("linux", "cubic").metrics, Metrics::Off);
}
