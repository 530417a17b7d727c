//! D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): the cut depends on how near the deadline of the message is.

use crate::scripted::config_with;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::param::Value;

fn cc(name: &str) -> TcpConfig {
    let mut c = config_with("ns2", name, &[], &[("alpha", Value::Float(0.25))]);
    c.init_cwnd = 10;
    c
}

/// Thirty segments, due at `deadline` us; at 200 us, after a round trip of 100 us, the first is acknowledged and was marked. Returns the share of the
/// window that the reduction takes, and the estimate of the marked fraction.
fn cut(c: TcpConfig, deadline: u64) -> (f64, f64) {
    let mut t = Script::new(c, 0);
    if deadline == u64::MAX {
        t.write(30)
    } else {
        t.write_until(30, deadline)
    }
    t.at(200).ece(1);
    (1.0 - t.cwnd() / 10.0, t.s.cc().alpha().unwrap())
}

/// Section 3.1: p = alpha^d, W <- W (1 - p / 2). Section 3.2: d is the time that the rest needs over the time that is left, between 1/2 and 2. At 3/4
/// of a window of ten a round trip, 29 segments need 387 us.
#[test]
fn near_deadline_reduces_less() {
    let needed = 29.0 / 7.5 * 100.0;
    let mut last = 1.0;
    for (deadline, d) in [(5200, 0.5), (200 + 600, needed / 600.0), (200 + 300, needed / 300.0), (200 + 150, 2.0), (150, 2.0)] {
        let (cut, alpha) = cut(cc("d2tcp"), deadline);
        let want = alpha.powf(d) / 2.0;
        assert!((cut - want).abs() < 1e-9, "due at {deadline} us: {cut}, not {want}");
        assert!(cut <= last, "due at {deadline} us: {cut} after {last}");
        last = cut;
    }
}

/// Without a deadline it is DCTCP, to the last segment.
#[test]
fn without_a_deadline_it_is_dctcp() {
    assert_eq!(cut(cc("d2tcp"), u64::MAX), cut(cc("dctcp"), u64::MAX));
    let run = |name| {
        let mut t = Script::new(cc(name), 500);
        for n in 1..400 {
            if n % 7 == 0 {
                t.ece(n)
            } else {
                t.ack(n)
            };
        }
        t.dup(399, 3);
        (t.cwnd(), t.ssthresh(), t.sent())
    };
    assert_eq!(run("d2tcp"), run("dctcp"));
}

/// The deadline is that of the oldest message that is not acknowledged; the next one's counts from its last byte on.
#[test]
fn each_message_has_its_own_deadline() {
    let mut t = Script::new(cc("d2tcp"), 0);
    t.write_until(10, 5000);
    t.write_until(30, 350);
    t.at(200).ece(1);
    let (first, alpha) = (t.cwnd(), t.s.cc().alpha().unwrap());
    assert!((first - 10.0 * (1.0 - alpha.powf(0.5) / 2.0)).abs() < 1e-9, "far away: {first}");
    for n in 2..=10 {
        t.ack(n);
    }
    let before = t.cwnd();
    t.at(300).ece(11);
    let alpha = t.s.cc().alpha().unwrap();
    assert!((t.cwnd() - before * (1.0 - alpha.powi(2) / 2.0)).abs() < 1e-9, "due in 50 us: {} after {before}", t.cwnd());
}

/// A loss halves, however near the deadline is.
#[test]
fn losses_do_not_know_deadlines() {
    for deadline in [250, 100_000] {
        let mut t = Script::new(cc("d2tcp"), 0);
        t.write_until(100, deadline);
        t.at(200).ack(1);
        let before = t.cwnd();
        t.dup(1, 3);
        let half = t.ssthresh() / before;
        assert!((0.45..0.56).contains(&half), "due at {deadline} us: {half}");
    }
}
