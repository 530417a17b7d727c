//! Restart after idle periods: RFC 5681 section 4.1, Linux tcp_cwnd_restart, and the papers' stack, which keeps its window.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_experiment::transport::Idle;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;
use forebay_types::param::Value;

/// A connection with a window of 40 and an RTO of 201 ms (linux), 200 ms (ns2), 1 s (rfc), idle since 1 ms.
fn idle(stack: &str, cc: &str) -> Script {
    idle_with(config(stack, cc))
}

fn idle_with(c: TcpConfig) -> Script {
    let mut t = Script::new(c, 0);
    t.at(1000).write(4);
    while !t.s.all_acked() {
        t.settle();
    }
    t.s.window_mut().cwnd = 40.0;
    t.sent();
    t
}

#[test]
fn papers_stack_keeps_its_window() {
    let mut t = idle("ns2", "newreno");
    t.at(10_000_000).write(100);
    assert_eq!((t.flight(), t.cwnd()), (40, 40.0));
}

#[test]
fn restarts_after_smoothed_rtt() {
    let mut c = config("ns2", "newreno");
    c.idle = Idle::RestartAfterRtt;
    let rtt = |t: &Script| t.s.rtt().smoothed().get().unwrap().as_us();
    let mut t = idle_with(c.clone());
    let at = 1000 + rtt(&t);
    t.at(at).write(100);
    assert_eq!(t.cwnd(), 40.0, "exactly the smoothed RTT is not more");
    let mut t = idle_with(c);
    t.at(at + 1).write(100);
    assert_eq!((t.cwnd(), t.flight()), (2.0, 2));
}

#[test]
fn rfc_stack_restarts() {
    let mut t = idle("rfc", "newreno");
    t.at(1_001_000).write(100);
    assert_eq!(t.cwnd(), 40.0, "exactly an RTO is not more than an RTO");
    let mut t = idle("rfc", "newreno");
    t.at(1_001_001).write(100);
    assert_eq!((t.cwnd(), t.flight()), (10.0, 10));
    // The restart window is never larger than the window.
    let mut t = idle("rfc", "newreno");
    t.s.window_mut().cwnd = 3.0;
    t.at(9_000_000).write(100);
    assert_eq!(t.cwnd(), 3.0);
}

#[test]
fn linux_halves_per_timeout() {
    // Ticks count: in the one in which the timeout is over, half of what the application has not used goes (tcp_cwnd_application_limited).
    for (rtos, cwnd) in [(0.99, 40.0), (1.0, 25.0), (1.01, 20.0), (2.0, 20.0), (2.1, 10.0), (9.0, 10.0)] {
        let mut t = idle("linux", "newreno");
        t.at(1000 + (rtos * 201_000.0) as u64).write(100);
        let threshold = if rtos > 1.0 { 30.0 } else { 0.0 };
        assert_eq!(t.cwnd(), cwnd, "{rtos}");
        t.s.window_mut().ssthresh = t.s.window().ssthresh.lowered_to(1e9);
        assert!(t.ssthresh() >= threshold);
    }
    // A finite threshold keeps three quarters of the window (tcp_current_ssthresh).
    let mut t = idle("linux", "newreno");
    t.s.window_mut().ssthresh = (16.0).into();
    t.at(300_000).write(100);
    assert_eq!((t.ssthresh(), t.cwnd()), (30.0, 20.0));
}

/// Waiting between the handshake and the first write is not idleness that could cost anything.
#[test]
fn nothing_sent_yet() {
    for stack in ["ns2", "rfc", "linux"] {
        let mut t = Script::new(config(stack, "newreno"), 0);
        t.at(60_000_000).write(100);
        assert_eq!((t.cwnd(), t.ssthresh()), (f64::from(t.c.init_cwnd), f64::INFINITY), "{stack}");
    }
}

/// RFC 9438 section 5.8: CUBIC's clock does not run on while the application is idle.
#[test]
fn cubic_does_not_grow_while_idle() {
    let c = crate::scripted::config_with("ns2", "cubic", &[], &[("reno-friendly", Value::Bool(false))]);
    let grown = |pause: u64| {
        let mut t = Script::new(c.clone(), 0);
        (t.s.window_mut().cwnd, t.s.window_mut().ssthresh) = (100.0, 100.0.into());
        t.write(1);
        t.at(200).ack(1);
        let now = 200 + pause;
        t.at(now).write(1);
        t.at(now + 100).ack(2);
        t.cwnd()
    };
    let (short, long) = (grown(0), grown(60_000_000));
    assert!((short - long).abs() < 1e-3, "{short} and {long}");
}

/// RFC 5681 section 4.1 restarts "before beginning transmission": a window that the receiver keeps closed is reduced when it opens, not repeatedly
/// before. So does Linux (tcp_ack_update_window), which probes later after every ACK that leaves it closed (tcp_ack_probe).
#[test]
fn restart_when_closed_window_opens() {
    for (stack, restarted) in [("linux", 10.0_f64), ("rfc", 10.0), ("ns2", f64::INFINITY)] {
        let mut c = config(stack, "newreno");
        (c.init_cwnd, c.rto_min) = (10, Time::from_ms(200));
        let mut t = Script::new(c, 100);
        t.s.window_mut().cwnd = 40.0;
        t.s.window_mut().ssthresh = 40.0.into();
        let flight = t.s.snd_max() / 1000;
        t.window = 0;
        t.at(200).ack(flight);
        let before = t.cwnd();
        t.sent();
        assert_eq!((t.timer() / 10_000, t.sent().as_str()), (20, "P"), "{stack}");
        let asked = t.now;
        // Half of what the next wait of 0.4 s is: Linux waits for all of it again.
        t.at(asked + 200_000).ack(flight);
        assert_eq!((t.cwnd(), t.sent().as_str()), (before, ""), "{stack}");
        let again = t.timer() / 10_000;
        assert!(if stack == "linux" { (40..44).contains(&again) } else { (19..21).contains(&again) }, "{stack}: {again}");
        assert_eq!((t.cwnd(), t.sent().as_str()), (before, "P"), "{stack}");
        t.window = 1 << 20;
        let now = t.now + 1_000;
        t.at(now).ack(flight);
        assert_eq!(t.cwnd(), restarted.min(before), "{stack}");
        assert!(t.sent().starts_with(&format!("{flight} {}", flight + 1)), "{stack}");
    }
}
