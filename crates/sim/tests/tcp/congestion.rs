//! RFC 5681 section 3.1: slow start and congestion avoidance, and when the window does not grow.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_experiment::transport::Growth;
use forebay_types::param::Value;

#[test]
fn slow_start_then_avoidance() {
    let mut t = Script::new(config("ns2", "newreno"), 100);
    assert_eq!(t.sent(), "0 1");
    t.s.window_mut().ssthresh = (4.0).into();
    t.ack(1);
    assert_eq!((t.cwnd(), t.sent().as_str()), (3.0, "2 3"));
    t.ack(2);
    assert_eq!((t.cwnd(), t.sent().as_str()), (4.0, "4 5"));
    // From here one segment per window: equation 3.
    t.ack(3);
    assert_eq!((t.cwnd(), t.sent().as_str()), (4.25, "6"));
    t.ack(4).ack(5).ack(6);
    assert!((4.9..5.0).contains(&t.cwnd()), "{}", t.cwnd());
    assert_eq!(t.sent(), "7 8 9");
    t.ack(7);
    assert!((5.0..5.2).contains(&t.cwnd()), "{}", t.cwnd());
    assert_eq!(t.sent(), "10 11");
}

/// Growth for an ACK of two segments: one step, RFC 5681 and its min(N, SMSS), RFC 3465 with L = 2, Linux.
#[test]
fn delayed_acknowledgements_by_counting_rule() {
    for (growth, after) in [
        (Growth::PerAck, 9.0),
        (Growth::PerSegment { limit: 1 }, 9.0),
        (Growth::PerSegment { limit: 2 }, 10.0),
        (Growth::PerSegment { limit: u32::MAX }, 12.0),
    ] {
        let mut c = config("ns2", "newreno");
        (c.growth, c.init_cwnd) = (growth, 8);
        let mut t = Script::new(c, 100);
        t.ack(4);
        assert_eq!(t.cwnd(), after, "{growth:?}");
    }
}

/// RFC 3465 section 2.1: above the threshold all bytes count, L is slow start's (section 2.2). RFC 5681 section 3.1 counts ACKs there.
#[test]
fn stretch_acknowledgements_in_avoidance() {
    for (limit, after) in [(2, 8.5), (1, 8.125)] {
        let mut c = config("rfc", "newreno");
        (c.growth, c.init_cwnd) = (Growth::PerSegment { limit }, 8);
        let mut t = Script::new(c, 100);
        t.s.window_mut().ssthresh = (8.0).into();
        t.ack(4);
        assert_eq!(t.cwnd(), after, "limit {limit}");
    }
}

/// Slow start that reaches the threshold in the middle of an ACK goes on in congestion avoidance.
#[test]
fn threshold_reached_within_an_ack() {
    let mut c = config("linux", "newreno");
    c.init_cwnd = 8;
    let mut t = Script::new(c, 100);
    t.s.window_mut().ssthresh = (10.0).into();
    t.ack(4);
    assert_eq!(t.cwnd(), 10.0);
    // The kernel counts the other two segments (snd_cwnd_cnt); eight more complete the window.
    t.ack(11);
    assert_eq!(t.cwnd(), 10.0);
    t.ack(12);
    assert_eq!(t.cwnd(), 11.0);
}

/// The papers' stack grows also when the application keeps the window empty; Linux does not (RFC 7661's premise).
#[test]
fn window_validation() {
    for (stack, grows) in [("ns2", true), ("rfc", true), ("linux", false)] {
        let mut t = Script::new(config(stack, "newreno"), 1);
        let before = t.cwnd();
        for n in 1..20 {
            t.at(n * 100).ack(n);
            t.write(1);
        }
        assert_eq!(t.cwnd() > before, grows, "{stack}: {} to {}", before, t.cwnd());
    }
}

/// Linux tcp_is_cwnd_limited: in slow start a window more than half used grows.
#[test]
fn half_window_counts_in_slow_start() {
    for (outstanding, after) in [(5, 10.0), (6, 16.0)] {
        let mut t = Script::new(config("linux", "newreno"), outstanding);
        t.at(200).ack(outstanding);
        assert_eq!(t.cwnd(), after, "{outstanding} of 10");
    }
}

/// Linux tcp_cwnd_validate: a window that was full once is in use until all of it is acknowledged, although nothing follows.
#[test]
fn tail_of_a_message_grows() {
    let mut t = Script::new(config("linux", "newreno"), 10);
    for n in 1..=10 {
        t.ack(n);
    }
    assert_eq!(t.cwnd(), 20.0);
    // The next message is too short for that window: it leaves it as it is.
    t.write(9);
    for n in 11..=19 {
        t.ack(n);
    }
    assert_eq!(t.cwnd(), 20.0);
}

/// Every congestion control starts with the profile's window, unless it brings its own, and without a threshold.
#[test]
fn initial_window() {
    for (stack, cc) in crate::scripted::combinations() {
        let c = config(stack, cc);
        let brings = cc == "pfabric";
        let (window, expect) = (c.init_cwnd, if stack == "ns2" && !brings { 2 } else { 10 });
        let t = Script::new(c, 100);
        assert_eq!((window, t.flight(), t.ssthresh()), (expect, u64::from(expect), f64::INFINITY), "{stack} {cc}");
    }
}

/// RFC 6928 section 2: min(10 MSS, max(2 MSS, 14600)), unless the scenario says otherwise. Linux and ns-2 count segments of any size.
#[test]
fn initial_window_of_large_segments() {
    for (mss, segments) in [(1000, 10), (1460, 10), (1461, 9), (4000, 3), (7300, 2), (8960, 2), (64_000, 2)] {
        let window =
            |stack: &str, more: &[_]| config_with(stack, "newreno", &[&[("mss", Value::Int(mss))], more].concat(), &[]).init_cwnd;
        assert_eq!((window("rfc", &[]), window("linux", &[]), window("ns2", &[])), (segments, 10, 2), "{mss}");
        assert_eq!(window("rfc", &[("init-cwnd", Value::Int(10))]), 10);
    }
}

/// RFC 9293 section 3.8.6.2.1: no sliver of the receive window while anything is outstanding.
#[test]
fn no_silly_windows() {
    let mut c = config("ns2", "newreno");
    (c.init_cwnd, c.rcv_wnd) = (10, 2500);
    let mut t = Script::new(c, 10);
    assert_eq!(t.sent(), "0 1");
    t.ack(1);
    assert_eq!(t.sent(), "2");
    let mut c = config("ns2", "newreno");
    c.rcv_wnd = 700;
    let mut t = Script::new(c, 10);
    assert_eq!(t.sent(), "0(700)");
    t.reply_bytes(700, &[], 0);
    assert_eq!(t.sent(), "@700(700)");
}

/// Linux without SACK: duplicate ACKs are delivered segments, and the ACK that follows them brings only the others (tcp_remove_reno_sacks).
#[test]
fn duplicates_do_not_count_twice() {
    let mut c = config_with("linux", "newreno", &[("recovery", Value::Text("newreno".into()))], &[]);
    c.init_cwnd = 10;
    let mut t = Script::new(c, 100);
    // The first ACK opens the window, which the SYN-ACK could not scale: it would be no duplicate (tcp_may_update_window).
    t.at(200).ack(1).dup(1, 2);
    t.ack(4);
    assert_eq!(t.cwnd(), 12.0, "segments 2 and 3 were counted with their duplicates");
}

/// RFC 9293 section 3.10.7.4: an ACK of data that was not sent acknowledges nothing. It is answered, by Linux not (tcp_ack).
#[test]
fn ack_of_unsent_data_is_dropped() {
    for (stack, answer) in [("rfc", "ACK"), ("linux", "")] {
        let mut t = Script::new(config(stack, "newreno"), 10);
        t.sent();
        let window = t.cwnd();
        t.ack(11);
        assert_eq!((t.sent().as_str(), t.flight(), t.cwnd()), (answer, 10, window), "{stack}");
        t.ack(10);
        assert_eq!((t.sent().as_str(), t.flight()), ("", 0), "{stack}");
    }
}
