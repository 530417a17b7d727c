//! RFC 6298: the retransmission timer, and RFC 5681's reaction to it.

use crate::scripted::sender::Script;
use crate::scripted::{US, config, config_with};
use forebay_experiment::transport::Growth;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::{CaState, Timer};
use forebay_types::param::Value;
use forebay_types::{Time, TimeOrNever};

const RTO_US: u64 = 1_000_000;

/// The RFC stack with timeouts as short as they come.
fn quick(stack: &str) -> TcpConfig {
    let mut c = config(stack, "newreno");
    (c.rto_min, c.rto_granularity) = (Time::from_us(1), Time::from_us(1));
    c
}

/// Section 2.2: the first sample R gives SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR; section 2.3 for the next one.
#[test]
fn estimator() {
    for stack in ["ns2", "rfc"] {
        let mut t = Script::new(quick(stack), 100);
        assert_eq!(
            (t.s.rtt().smoothed(), t.s.rtt().rttvar(), t.s.rto(&t.c)),
            (Time(100 * US).into(), Time(50 * US), Time(300 * US)),
            "{stack}"
        );
        t.rtt = 180;
        t.at(280).ack(1);
        // RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5, SRTT = 7/8 100 + 1/8 180 = 110.
        assert_eq!(
            (t.s.rtt().smoothed(), t.s.rtt().rttvar(), t.s.rto(&t.c)),
            (Time(110 * US).into(), Time(57_500_000), Time(340 * US)),
            "{stack}"
        );
    }
}

/// Section 2.4 and section 2's G: bounds and granularity.
#[test]
fn bounds() {
    let t = Script::new(config("rfc", "newreno"), 1);
    assert_eq!(t.s.rto(&t.c), Time::from_ms(1000));
    let t = Script::new(config("ns2", "newreno"), 1);
    assert_eq!(t.s.rto(&t.c), Time::from_ms(200));
    // Linux adds its minimum to SRTT; its clock ticks in milliseconds.
    let t = Script::new(config("linux", "newreno"), 1);
    assert_eq!(t.s.rto(&t.c), Time::from_ms(201));
    let mut c = quick("rfc");
    c.rto_granularity = Time::from_ms(10);
    let t = Script::new(c, 1);
    assert_eq!(t.s.rto(&t.c), Time::from_ms(20), "SRTT + G, rounded up to G");
}

/// Sections 5.1 to 5.3: starts with the first segment, restarts with each ACK for new data, stops when all is acknowledged.
#[test]
fn timer_rules() {
    let mut t = Script::new(config("rfc", "newreno"), 3);
    assert_eq!(t.left(Timer::Rto), Some(RTO_US));
    t.at(150).ack(1);
    assert_eq!(t.left(Timer::Rto), Some(RTO_US));
    t.at(250).dup(1, 2);
    assert_eq!(t.left(Timer::Rto), Some(RTO_US - 100), "duplicates do not restart it");
    t.at(300).ack(3);
    assert_eq!((t.s.timer(), t.s.timer_due()), (Timer::Idle, TimeOrNever::NEVER));
    t.at(400).write(1);
    assert_eq!(t.left(Timer::Rto), Some(RTO_US));
}

/// Sections 5.4 to 5.6: the first segment alone, the timeout doubled each time up to the maximum.
#[test]
fn back_off() {
    let mut c = config("rfc", "newreno");
    c.rto_max = Time::from_secs(10);
    let mut t = Script::new(c, 10);
    t.sent();
    for wait in [1, 2, 4, 8, 10, 10] {
        assert_eq!((t.timer(), t.sent().as_str()), (wait * RTO_US, "0r"));
        assert_eq!((t.cwnd(), t.s.ca_state()), (1.0, CaState::Loss));
    }
    assert_eq!((t.s.stats().losses.rtos, t.s.stats().losses.syn_rtos), (6, 0));
}

/// RFC 5681 section 3.1: half the flight at the first timeout, held constant at further ones of the same segment. Not in ns-2
/// (TcpAgent::timeout), where each halves the window that there is, of one segment by then, and leaves two.
#[test]
fn repeated_timeouts_keep_the_threshold() {
    for (stack, later) in [("ns2", 2.0), ("rfc", 6.0), ("linux", 6.0)] {
        let mut c = config(stack, "newreno");
        c.init_cwnd = 12;
        let mut t = Script::new(c, 12);
        while t.s.stats().losses.rtos < 5 {
            t.timer();
            let rtos = t.s.stats().losses.rtos;
            if rtos > 0 {
                let threshold = if rtos == 1 { 6.0 } else { later };
                assert_eq!((t.ssthresh(), t.cwnd()), (threshold, 1.0), "{stack}, timeout {rtos}");
            }
        }
        assert_eq!(t.s.stats().losses.loss_reductions, 1, "{stack}");
    }
}

/// Section 3, Karn: an ACK for a retransmitted segment is no sample, and the back-off stays until there is one.
#[test]
fn karn() {
    let mut t = Script::new(config("rfc", "newreno"), 2);
    let (srtt, count) = (t.s.rtt().smoothed(), t.s.stats().rtt_count);
    t.timer();
    assert_eq!(t.s.rto(&t.c), Time::from_ms(2000));
    let now = t.now + 50_000;
    t.at(now).ack(1);
    assert_eq!((t.s.rtt().smoothed(), t.s.stats().rtt_count, t.s.rto(&t.c)), (srtt, count, Time::from_ms(2000)));
    t.at(now + 1).ack(2);
    assert_eq!((t.s.stats().rtt_count, t.s.rto(&t.c)), (count, Time::from_ms(2000)), "segment 1 was retransmitted as well");
    t.write(1);
    t.at(now + 101).ack(3);
    assert_eq!((t.s.stats().rtt_count, t.s.rto(&t.c)), (count + 1, Time::from_ms(1000)));
}

/// One segment at a time is measured without timestamps: its RTT is that of its own transmission.
#[test]
fn one_timed_segment() {
    let mut t = Script::new(quick("rfc"), 4);
    let count = t.s.stats().rtt_count;
    t.at(250).ack(1);
    assert_eq!(
        (t.s.stats().rtt_count, t.s.stats().rtt_sum),
        (count + 1, Time(250 * US)),
        "the handshake's 100 and 150 of segment 0"
    );
    t.at(270).ack(2);
    assert_eq!(t.s.stats().rtt_count, count + 1, "segment 1 was not timed");
}

/// With timestamps an ACK of a retransmission is a sample, of the transmission that its echo names (RFC 7323 section 4).
#[test]
fn timestamps_sample_retransmissions() {
    let mut t = Script::new(config_with("ns2", "newreno", &[("timestamps", Value::Bool(true))], &[]), 2);
    t.timer();
    let now = t.now + 100;
    t.at(now).ack(1);
    assert_eq!((t.s.rtt().smoothed(), t.s.rto(&t.c)), (Time(100 * US).into(), Time::from_ms(200)));
}

/// After a timeout everything outstanding is sent again as the window opens (go-back-N) without SACK.
#[test]
fn go_back_n() {
    let mut t = Script::new(
        {
            let mut c = config("ns2", "newreno");
            c.init_cwnd = 8;
            c
        },
        8,
    );
    t.sent();
    t.timer();
    assert_eq!(t.sent(), "0r");
    t.ack(1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("1r 2r", 2.0));
    // The receiver had 2 to 6 all along.
    t.ack(7);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("7r", 3.0));
    t.ack(8);
    assert_eq!((t.s.ca_state(), t.s.timer()), (CaState::Open, Timer::Idle));
}

/// RFC 3465 section 2.3: in the slow start after a timeout an ACK counts for one segment at most, because it covers what had arrived before.
#[test]
fn one_segment_per_ack_after_timeout() {
    for (growth, usual, after_timeout) in
        [(Growth::PerSegment { limit: 1 }, 11.0, 2.0), (Growth::PerSegment { limit: 2 }, 12.0, 2.0), (Growth::PerAck, 11.0, 2.0)]
    {
        let mut c = config("rfc", "newreno");
        (c.growth, c.init_cwnd) = (growth, 10);
        let mut t = Script::new(c.clone(), 30);
        t.ack(8);
        assert_eq!(t.cwnd(), usual, "{growth:?}");
        let mut t = Script::new(c, 30);
        t.timer();
        t.ack(8);
        assert_eq!((t.s.ca_state(), t.cwnd()), (CaState::Loss, after_timeout), "{growth:?}");
    }
}

/// The FIN takes a sequence number, not a byte of window: a full last segment with FIN fits a window of one segment.
#[test]
fn last_segment_with_fin_after_timeout() {
    for stack in ["ns2", "rfc"] {
        let mut t = Script::new(config(stack, "newreno"), 0);
        t.write_bytes(1000, true);
        assert_eq!(t.sent(), "0F", "{stack}");
        while t.s.stats().losses.rtos < 3 {
            t.timer();
        }
        assert!(t.sent().ends_with("0Fr 0Fr 0Fr"), "{stack}");
    }
}

/// Head: the first window of the message is not acknowledged yet. Tail: at most three segments of it are missing.
#[test]
fn statistics_of_timeouts() {
    // (acknowledged segments of 20 with a first window of 10, head, tail)
    for (acked, head, tail) in [(0, 1, 0), (9, 1, 0), (10, 0, 0), (16, 0, 0), (17, 0, 1), (19, 0, 1)] {
        let mut c = config("ns2", "newreno");
        c.init_cwnd = 10;
        let mut t = Script::closed(c);
        t.s.start_message((0, 10_000, 20_000));
        t.syn_ack();
        t.write(20);
        for n in 1..=acked {
            t.ack(n);
        }
        t.timer();
        let stats = t.s.stats();
        assert_eq!((stats.losses.rtos, stats.losses.rtos_head, stats.losses.rtos_tail), (1, head, tail), "{acked} acknowledged");
    }
}

/// RFC 9293 section 3.8.6.1: while the receive window is closed, the sender asks after a timeout, and after twice the time from then on; it is no
/// timeout. When the window opens, data has a timeout of its own.
#[test]
fn closed_windows_are_probed() {
    for stack in ["ns2", "rfc", "linux"] {
        let mut t = Script::new(config(stack, "newreno"), 100);
        let (open, high) = (t.window, t.s.snd_max() / 1000);
        t.sent();
        t.window = 0;
        t.at(200).ack(high);
        let rto = t.s.rto(&t.c).as_us();
        assert_eq!((t.sent().as_str(), t.flight()), ("", 0), "{stack}");
        for doubled in [1, 2, 4] {
            let before = t.now;
            while t.log.is_empty() {
                t.timer();
            }
            assert_eq!(t.sent(), "P", "{stack}");
            let waited = t.now - before;
            // The wheel of Linux is late by an eighth at most.
            assert!((doubled * rto..=doubled * rto * 9 / 8).contains(&waited), "{stack}: {waited} us of {doubled} times {rto}");
            // Still closed.
            t.ack(high);
            assert_eq!((t.sent().as_str(), t.s.ca_state()), ("", CaState::Open), "{stack}");
        }
        t.window = open;
        t.ack(high);
        let next = format!("{high} ");
        assert!(t.sent().starts_with(&next), "{stack}");
        let left = t.left(Timer::Rto).or(t.left(Timer::Probe));
        assert!(left.is_some(), "{stack}");
        assert_eq!((t.s.rto(&t.c).as_us(), t.s.stats().losses.rtos, t.s.rtt().backoff()), (rto, 0, 0), "{stack}");
        assert!(stack == "linux" || left == Some(rto), "{stack}: {left:?}");
    }
}

/// Linux: probes of a window wait for 200 ms at least, and for twice the time each (tcp_probe0_base), whatever the minimum RTO is.
#[test]
fn window_probes_wait_for_200_ms() {
    let mut c = config("linux", "newreno");
    c.rto_min = Time::from_ms(5);
    let mut t = Script::new(c, 100);
    let high = t.s.snd_max() / 1000;
    t.window = 0;
    t.at(200).ack(high);
    t.sent();
    for least in [200_000, 400_000, 800_000] {
        let waited = t.timer();
        assert!((least..least * 9 / 8).contains(&waited), "{waited} us");
        assert_eq!(t.sent(), "P");
        t.ack(high);
    }
}

/// A window with space for a part of a segment, with nothing outstanding: other stacks send the part, Linux waits for the timer of window probes
/// (tcp_snd_wnd_test, tcp_write_wakeup). Then the part has a timeout of its own.
#[test]
fn part_of_a_segment_waits() {
    for (stack, host, waits) in [("rfc", "", false), ("linux", "bare", true), ("linux", "linux-server", true)] {
        let hosts = [("host", Value::Text(host.into()))];
        let mut c = config_with(stack, "newreno", if waits { &hosts } else { &[] }, &[]);
        (c.init_cwnd, c.rcv_wnd) = (10, 20_000);
        let mut t = Script::new(c, 30);
        t.sent();
        t.window = 600;
        t.at(200).ack(10);
        if waits {
            assert_eq!(t.sent(), "", "{host}");
            assert!(t.timer() >= 200_000, "{host}");
        }
        assert_eq!(t.sent(), "10(600)", "{stack} {host}");
        if waits {
            assert_eq!(t.left(Timer::Rto), Some(t.s.rto(&t.c).as_us()), "{host}");
        }
        t.window = 20_000;
        t.reply_bytes(10_600, &[], 0);
        assert!(t.sent().starts_with("@10600"), "{stack} {host}");
    }
}

/// Probes of a closed window do not lengthen the timeout of the data that leaves when it opens in part (`icsk_backoff`, `icsk_rto`).
#[test]
fn window_probes_leave_the_timeout() {
    let hosts = [("host", Value::Text("linux-server".into()))];
    let mut c = config_with("linux", "newreno", &hosts, &[]);
    (c.init_cwnd, c.rcv_wnd) = (10, 60_000);
    let mut t = Script::new(c, 40);
    let high = t.s.snd_max() / 1000;
    t.window = 0;
    t.at(200).ack(high);
    for _ in 0..3 {
        t.timer();
        t.ack(high);
    }
    t.sent();
    t.window = 3_000;
    t.ack(high);
    assert_eq!(t.flight(), 3);
    assert_eq!(t.s.rtt().backoff(), 0);
    assert!(t.s.rto(&t.c) < Time::from_ms(300));
}

/// A window that shrinks in a recovery: nothing beyond it is retransmitted, and of a segment across its edge the part inside
/// (__tcp_retransmit_skb). The rest leaves when the window has space.
#[test]
fn retransmissions_end_with_the_window() {
    for host in ["bare", "linux-server"] {
        let hosts = [("host", Value::Text(host.into()))];
        let mut c = config_with("linux", "newreno", &hosts, &[]);
        (c.init_cwnd, c.rcv_wnd) = (10, 20_000);
        let mut t = Script::new(c, 10);
        t.sent();
        t.window = 2_500;
        t.at(200).ack(1);
        t.at(210).sack(1, &[(5, 6)]);
        t.at(211).sack(1, &[(5, 7)]);
        t.at(212).sack(1, &[(5, 8)]);
        t.at(213).sack(1, &[(5, 9)]);
        t.window = 1_500;
        t.at(300).sack(2, &[(5, 9)]);
        assert_eq!(t.sent().replace('r', ""), "1 2 3(500)", "{host}");
    }
}
