//! TCP-TRIM on whole connections: RTT of the empty path 100 us, 1 Gbps, packets of 1040 B, so K = 126.7 us.

use crate::scripted::sender::Script;
use crate::scripted::{US, config_with};
use forebay_sim::cc::Cc;
use forebay_types::param::Value;

const RTO: u64 = 200_000;

/// Configuration with parameters of the congestion control.
fn start(params: &[(&'static str, &str)], data: u64) -> Script {
    let value = |v: &str| v.parse().map_or_else(|_| Value::Text(v.into()), Value::Bool);
    let params: Vec<_> = params.iter().map(|&(k, v)| (k, value(v))).collect();
    Script::new(config_with("ns2", "trim", &[], &params), data)
}

/// Six segments sent and acknowledged with samples of 120 us: window 8, smoothed RTT 120 us, last transmission at 320 us.
fn used(params: &[(&'static str, &str)]) -> Script {
    let mut t = start(params, 6);
    t.rtt = 120;
    assert_eq!(t.sent(), "0 1");
    t.at(220).ack(1).ack(2);
    assert_eq!(t.sent(), "2 3 4 5");
    t.at(340).ack(3).ack(4).ack(5).ack(6);
    assert_eq!((t.cwnd(), t.flight()), (8.0, 0));
    t
}

fn k(t: &Script) -> f64 {
    match &t.s.cc() {
        Cc::Trim(l) => l.k() / US as f64,
        other => panic!("{other:?}"),
    }
}

#[test]
fn gap_then_probes_then_tuned_window() {
    let mut t = used(&[]);
    assert!((k(&t) - 126.74).abs() < 0.01, "{}", k(&t));
    t.at(1000).write(20);
    assert_eq!((t.sent(), t.cwnd()), ("6 7".into(), 2.0));
    // Suspended: more data changes nothing, nor does the first probe's ACK.
    t.at(1050).write(20);
    t.rtt = 105;
    t.at(1105).ack(7);
    assert_eq!(t.sent(), "");
    t.rtt = 115;
    t.at(1115).ack(8);
    // Eq. 1: 8 (2 - 110/100) = 7.2.
    assert!((t.cwnd() - 7.2).abs() < 1e-9 && (t.ssthresh() - 7.2).abs() < 1e-9, "{}", t.cwnd());
    assert_eq!(t.sent(), "8 9 10 11 12 13 14");
}

#[test]
fn pause_of_one_rtt_not_gap() {
    for (at, sent) in [(340, "6 7 8 9 10 11 12 13"), (341, "6 7")] {
        let mut t = used(&[]);
        t.at(at).write(20);
        assert_eq!(t.sent(), sent, "{at}");
    }
}

#[test]
fn first_train_does_not_probe() {
    let mut t = start(&[], 0);
    t.at(900_000).write(20);
    assert_eq!((t.sent(), t.cwnd()), ("0 1".into(), 2.0));
    t.at(900_100).ack(1);
    assert_eq!((t.sent(), t.cwnd()), ("2 3".into(), 3.0));
}

#[test]
fn late_probe_leaves_two_segments() {
    let mut t = used(&[]);
    t.at(1000).write(20);
    t.rtt = 100;
    t.at(1100).ack(7);
    t.sent();
    // The deadline is 120 us after the probes left.
    t.at(1119);
    assert_eq!(t.sent(), "");
    t.at(1120);
    assert_eq!((t.sent(), t.cwnd(), t.ssthresh()), ("8".into(), 2.0, 4.0));
    // An ACK after that is an ordinary one.
    t.rtt = 125;
    t.at(1125).ack(8);
    assert_eq!((t.sent(), t.cwnd()), ("9 10".into(), 3.0));
}

/// Rows 1 to 3 of the corner cases: which probes are lost, what limited transmit lets out, and the timeout that repairs.
#[test]
fn lost_probes() {
    // The first: the second's duplicate ACK is no sample; after the deadline limited transmit lets one segment out.
    let mut t = used(&[]);
    t.at(1000).write(20);
    t.sent();
    t.at(1100).ack(6);
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 2.0));
    t.at(1120);
    assert_eq!((t.sent(), t.cwnd(), t.ssthresh()), ("8".into(), 2.0, 4.0));
    t.at(1220).ack(6);
    assert_eq!(t.sent(), "9");
    // Its duplicate is the third: fast retransmit, which the publication does not count on.
    t.at(1320).ack(6);
    assert_eq!(t.sent(), "6r 10");
    // The second: the timer alone, then a timeout, as one segment more makes too few duplicates.
    let mut t = used(&[]);
    t.at(1000).write(3);
    t.rtt = 100;
    t.at(1100).ack(7);
    t.sent();
    t.at(1120);
    assert_eq!((t.sent(), t.cwnd()), ("8".into(), 2.0));
    t.at(1220).ack(7);
    assert_eq!((t.sent(), t.flight()), ("".into(), 2));
    t.timer();
    assert_eq!((t.sent(), t.cwnd(), t.s.stats().losses.rtos), ("7r".into(), 1.0, 1));
    // Both: the slots stay taken until the timeout; the window saved before is gone.
    let mut t = used(&[]);
    t.at(1000).write(20);
    t.sent();
    t.at(1120);
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 2.0));
    t.at(1000 + RTO);
    assert_eq!((t.sent(), t.cwnd(), t.ssthresh()), ("6r".into(), 1.0, 2.0));
    let now = t.now + 100;
    t.at(now).ack(8);
    assert_eq!((t.sent(), t.cwnd()), ("8 9".into(), 2.0));
}

#[test]
fn train_of_one_segment() {
    let mut t = used(&[]);
    t.at(1000).write(1);
    assert_eq!(t.sent(), "6");
    t.rtt = 110;
    t.at(1110).ack(7);
    assert!((t.cwnd() - 7.2).abs() < 1e-9, "{}", t.cwnd());
    // The next train gets probes of its own, and its window from them.
    t.at(2000).write(20);
    assert_eq!(t.sent(), "7 8");
    t.rtt = 100;
    t.at(2100).ack(8).ack(9);
    assert_eq!((t.sent(), (t.cwnd() * 10.0).round()), ("9 10 11 12 13 14 15".into(), 72.0));
    // More data before the probe is acknowledged: the second probe, no more.
    let mut t = used(&[]);
    t.at(1000).write(1);
    t.at(1030).write(9);
    assert_eq!(t.sent(), "6 7");
    t.at(1060).write(9);
    assert_eq!(t.sent(), "");
}

#[test]
fn gap_with_data_in_flight() {
    let begin = |scope| {
        let mut t = used(&[("gap-scope", scope)]);
        t.at(340).write(8);
        assert_eq!(t.sent(), "6 7 8 9 10 11 12 13");
        t.at(461).write(20);
        t
    };
    let mut t = begin("any");
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 2.0));
    // Probes leave as the flight drains.
    t.at(470).ack(12);
    assert_eq!(t.sent(), "");
    t.at(472).ack(13);
    assert_eq!(t.sent(), "14");
    t.at(474).ack(14);
    assert_eq!((t.sent(), t.cwnd()), ("15".into(), 2.0));
    t.at(480).write(9);
    assert_eq!(t.sent(), "");
    t.rtt = 100;
    t.at(572).ack(15);
    t.at(574).ack(16);
    assert_eq!((t.sent(), t.cwnd()), ("16 17 18 19 20 21 22 23".into(), 8.0));
    // Only a pause with nothing under way counts.
    let mut t = begin("idle");
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 8.0));
    t.at(470).ack(12);
    assert_eq!((t.sent(), t.cwnd()), ("14 15 16 17 18 19 20".into(), 9.0));
}

/// Retransmissions are never blocked, and count as transmissions: a timeout is no gap.
#[test]
fn timeout_is_no_gap() {
    let mut t = used(&[]);
    t.at(340).write(20);
    t.sent();
    // The timer runs from the last ACK, which was at the same time.
    t.at(340 + RTO);
    assert_eq!(t.sent(), "6r");
    let now = t.now + 110;
    t.rtt = 110;
    t.at(now).ack(14);
    assert_eq!((t.sent(), t.cwnd()), ("14 15".into(), 2.0));
    t.at(now + 110).ack(15).ack(16);
    assert_eq!(t.cwnd(), 4.0, "slow start, no episode");
}

/// The asynchronous timer: nothing new leaves while it waits, and then without a word from outside.
#[test]
fn random_waits() {
    let mut t = used(&[("at", "on"), ("at-start", "false")]);
    t.at(1000).write(20);
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 2.0));
    let wait = t.timer();
    assert!(wait <= 120, "{wait}");
    assert_eq!(t.sent(), "6 7");
    t.rtt = 110;
    let now = t.now + 110;
    t.at(now).ack(7).ack(8);
    assert_eq!((t.sent(), (t.cwnd() * 10.0).round()), ("".into(), 72.0));
    // N = 110 us C / 2 = 6.6; (N - 1) 7.2 packets at 8.32 us each. An alarm of the probes' deadline may come first.
    while t.log.is_empty() {
        t.timer();
    }
    assert!(t.now <= now + 336, "{} after {now}", t.now);
    assert_eq!(t.sent(), "8 9 10 11 12 13 14");
}

/// A timeout ends an episode in any state; the congestion control continues as after any timeout.
#[test]
fn timeouts_during_episodes() {
    // While probing: the probes themselves are lost (see lost_probes). While waiting to probe: older data is.
    for at in ["off", "on"] {
        let mut t = used(&[("at", at), ("at-start", "false")]);
        t.at(340).write(2);
        t.sent();
        t.at(340 + RTO - 10).write(20);
        assert_eq!((t.sent(), t.cwnd(), t.flight()), ("".into(), 2.0, 2));
        t.at(340 + RTO);
        assert_eq!((t.sent(), t.cwnd(), t.s.stats().losses.rtos), ("6r".into(), 1.0, 1));
        let now = t.now + 110;
        t.at(now).ack(8);
        assert_eq!((t.sent(), t.cwnd()), ("8 9".into(), 2.0), "{at}");
    }
    // While waiting after probing: one of the probes is lost, so that the wait is that of a late episode.
    let mut t = used(&[("at", "as")]);
    t.at(1000).write(2);
    t.at(1120);
    t.at(1000 + RTO - 1).write(20);
    t.at(1000 + RTO);
    assert_eq!((t.sent(), t.cwnd(), t.s.stats().losses.rtos), ("6 7 6r".into(), 1.0, 1));
}

/// Three duplicates of older data end an episode, and fast recovery is Reno's.
#[test]
fn fast_retransmit_ends_an_episode() {
    let mut t = used(&[]);
    t.at(340).write(8);
    t.sent();
    t.at(500).write(20);
    assert_eq!((t.sent(), t.cwnd()), ("".into(), 2.0));
    t.at(510).dup(6, 3);
    // The window that the episode began with is what ns-2 halves, not the eight segments under way.
    assert_eq!((t.sent(), t.ssthresh(), t.cwnd()), ("6r".into(), 2.0, 5.0));
    t.dup(6, 6);
    assert_eq!(t.sent(), "14 15 16");
    t.at(620).ack(17);
    assert_eq!(t.cwnd(), 2.0);
    assert_eq!(t.sent(), "17 18");
}

/// Delay cuts on every ACK above K, none below; no growth beyond the threshold but additive.
#[test]
fn keeps_the_delay_near_the_threshold() {
    let mut t = used(&[("gap-scope", "idle")]);
    t.at(340).write(100);
    t.sent();
    t.rtt = 160;
    t.at(500).ack(7);
    let once = 8.0 * (1.0 - (160.0 - k(&t)) / 160.0 / 2.0);
    assert!((t.cwnd() - once).abs() < 1e-6, "{} {once}", t.cwnd());
    t.at(501).ack(8);
    assert!((t.cwnd() - once * once / 8.0).abs() < 1e-6);
    t.rtt = 100;
    let before = t.cwnd();
    t.at(502).ack(9);
    assert!((t.cwnd() - before - 1.0 / before).abs() < 1e-9);
}
