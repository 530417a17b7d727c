//! Timeouts and recoveries that were not needed: F-RTO (RFC 5682 section 3.1, as Linux tcp_process_loss) and the timestamp's word
//! (Eifel, RFC 3522 section 3.2; as Linux tcp_packet_delayed).

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;
use forebay_types::Time;

/// The stack with only one of the two ways to find out, and a timestamp clock of microseconds.
fn only(stack: &str, frto: bool, eifel: bool) -> TcpConfig {
    let mut c = config(stack, "newreno");
    (c.init_cwnd, c.frto, c.eifel, c.timestamps, c.timestamp_clock) = (10, frto, eifel, true, Time::from_us(1));
    c
}

/// Ten segments out, or eleven with a tail loss probe, and the timer has just expired.
fn timed_out(c: TcpConfig, data: u64) -> Script {
    let mut t = Script::new(c, data);
    while t.s.stats().losses.rtos == 0 {
        t.timer();
    }
    assert_eq!((t.s.ca_state(), t.cwnd()), (CaState::Loss, 1.0));
    assert!(t.sent().ends_with("0r"), "the timeout sends the oldest segment alone");
    t
}

fn retransmissions(t: &mut Script) -> usize {
    t.sent().split_whitespace().filter(|s| s.contains('r')).count()
}

/// Late ACKs: the first lets two new segments out instead of what is taken to be lost (step 2.b), the second proves that nothing is
/// (step 3.b). Without F-RTO every segment of the window was sent again.
#[test]
fn frto_finds_a_spurious_timeout() {
    for stack in ["linux", "rfc"] {
        let mut t = timed_out(only(stack, true, false), 100);
        let high = t.s.snd_max() / 1000;
        t.ack(1);
        assert_eq!(t.sent(), format!("{high} {}", high + 1), "{stack}");
        t.ack(2);
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true), "{stack}");
        for n in 3..=high {
            t.ack(n);
        }
        assert_eq!((retransmissions(&mut t), t.s.stats().losses.segs_retx), (0, 1), "{stack}");
        // Without it.
        let mut t = timed_out(only(stack, false, false), 100);
        t.ack(1);
        assert_eq!(t.sent(), "1r 2r", "{stack}");
    }
}

/// SACK blocks of late originals count as well (section 3.1, the SACK-enhanced algorithm), also before any ACK that advances.
#[test]
fn frto_takes_sacked_originals() {
    let mut t = timed_out(only("linux", true, false), 100);
    t.sack(0, &[(3, 4)]);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Disorder, f64::INFINITY, true));
    assert_eq!(retransmissions(&mut t), 0);
}

/// Step 3.a: the new segments arrive and nothing before them: the loss was real, and what is lost is sent again, with the window halved.
#[test]
fn frto_finds_a_genuine_timeout() {
    for stack in ["linux", "rfc"] {
        let mut t = timed_out(only(stack, true, false), 100);
        let high = t.s.snd_max() / 1000;
        t.ack(1);
        t.sent();
        t.at(t.now + 100).sack(1, &[(high, high + 1)]);
        assert_eq!(
            (t.s.ca_state(), t.ssthresh()),
            (CaState::Loss, if stack == "linux" { 5.0 } else { high as f64 / 2.0 }),
            "{stack}"
        );
        assert!(t.sent().starts_with("1r"), "{stack}");
    }
}

/// Step 2.b needs new data, and room at the receiver; without, recovery goes on as ever.
#[test]
fn frto_without_new_data() {
    for stack in ["linux", "rfc"] {
        let mut t = timed_out(only(stack, true, false), 10);
        t.ack(1);
        assert_eq!(t.sent(), "1r 2r", "{stack}: no more data");
        let mut c = only(stack, true, false);
        c.rcv_wnd = 10_000;
        let mut t = Script::new(c, 100);
        while t.s.stats().losses.rtos == 0 {
            t.timer();
        }
        t.sent();
        t.window = 9_000;
        t.ack(1);
        assert_eq!(t.sent(), "1r 2r", "{stack}: no room");
    }
}

/// A timeout that ends a fast recovery is not looked at (step 1): what F-RTO could learn there is no news.
#[test]
fn frto_leaves_recovery_alone() {
    let mut t = Script::new(only("linux", true, false), 100);
    t.at(200).sack(0, &[(1, 4)]);
    assert_eq!(t.s.ca_state(), CaState::Recovery);
    while t.s.stats().losses.rtos == 0 {
        t.timer();
    }
    t.sent();
    t.ack(4);
    assert_eq!(t.s.ca_state(), CaState::Loss);
    assert!(t.sent().contains('r'));
}

/// The echo is older than the retransmission: the first late ACK suffices.
#[test]
fn the_echo_finds_a_spurious_timeout() {
    for stack in ["linux", "rfc"] {
        let mut t = timed_out(only(stack, false, true), 100);
        t.rtt = 200_000;
        t.ack(1);
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true), "{stack}");
        assert_eq!(retransmissions(&mut t), 0, "{stack}");
        // The echo is of the retransmission: a genuine timeout.
        let mut t = timed_out(only(stack, false, true), 100);
        t.at(t.now + 100).ack(1);
        assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Loss, "1r 2r"), "{stack}");
        assert!(t.ssthresh() < 10.0, "{stack}");
    }
}

/// Several timeouts in a row: the first retransmission's time is what counts, and the window of before the first is restored.
#[test]
fn the_echo_after_repeated_timeouts() {
    let mut t = timed_out(only("linux", false, true), 100);
    while t.s.stats().losses.rtos < 3 {
        t.timer();
    }
    assert_eq!(t.sent(), "0r 0r");
    // Younger than the first retransmission, older than the others: it is the first retransmission that arrived.
    t.rtt = 700_000;
    t.ack(1);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Loss, 5.0));
    let mut t = timed_out(only("linux", false, true), 100);
    let first = t.now;
    while t.s.stats().losses.rtos < 3 {
        t.timer();
    }
    t.rtt = t.now - first + 1;
    t.ack(1);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true));
}

/// Reordering that looked like a loss: the original fills the hole, and that ACK undoes the fast recovery (Linux tcp_try_undo_partial,
/// tcp_try_undo_recovery). It does not wait for the report of the duplicate.
#[test]
fn the_echo_undoes_a_fast_recovery() {
    for stack in ["linux", "rfc"] {
        let mut t = Script::new(only(stack, false, true), 100);
        t.at(200).sack(0, &[(1, 4)]);
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.s.stats().losses.segs_retx), (CaState::Recovery, 5.0, 1), "{stack}");
        t.at(210).ack(4);
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true), "{stack}");
        // The retransmission itself: the reduction stands.
        let mut t = Script::new(only(stack, false, true), 100);
        t.at(200).sack(0, &[(1, 4)]);
        t.at(310).ack(4);
        assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0), "{stack}");
    }
}

/// While another retransmission is outstanding its fate is unknown: no more retransmissions, but no undo either.
#[test]
fn the_echo_waits_for_other_retransmissions() {
    let mut t = Script::new(only("linux", false, true), 100);
    t.at(200).sack(0, &[(2, 8)]);
    assert!(t.sent().contains("0r 1r"));
    t.at(210).sack(1, &[(2, 8)]);
    assert_eq!((t.s.ca_state(), t.ssthresh(), retransmissions(&mut t)), (CaState::Recovery, 5.0, 0));
    t.ack(8);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, f64::INFINITY));
}

/// Timestamps of Linux are milliseconds: within one tick an original and its retransmission look the same.
#[test]
fn timestamp_clock_has_ticks() {
    let mut c = only("linux", false, true);
    c.timestamp_clock = config("linux", "newreno").timestamp_clock;
    assert_eq!(c.timestamp_clock, Time::from_ms(1));
    let mut t = Script::new(c.clone(), 100);
    t.at(200).sack(0, &[(1, 4)]);
    t.at(210).ack(4);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0));
    let mut t = Script::new(c, 100);
    t.at(1200).sack(0, &[(1, 4)]);
    t.rtt = 1000;
    t.at(1210).ack(4);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, f64::INFINITY));
}

/// A window that marks have reduced stays reduced, even if a timeout in it was spurious (Linux tcp_enter_cwr drops the state for an undo).
#[test]
fn marks_are_not_undone() {
    let mut c = config("linux", "newreno");
    (c.init_cwnd, c.ecn) = (10, forebay_experiment::transport::Ecn::Classic);
    let mut t = Script::new(c, 100);
    t.at(200).ece(1);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Cwr, 5.0));
    while t.s.stats().losses.rtos == 0 {
        t.timer();
    }
    t.rtt = 300_000;
    t.ack(3);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, 5.0), "the timeout is forgotten, the marks are not");
    assert!(t.cwnd() < 10.0);
}

/// RFC 3168 section 6.1.2 ignores ECE until the data of the last reduction is acknowledged. An undo ends that reduction, so that the next mark reduces
/// the window.
#[test]
fn mark_after_spurious_timeout_reduces() {
    for stack in ["linux", "rfc"] {
        let mut c = only(stack, true, false);
        c.ecn = forebay_experiment::transport::Ecn::Classic;
        let mut t = timed_out(c, 100);
        t.ack(1).ack(2);
        assert_eq!((t.s.ca_state(), t.s.stats().losses.ecn_reductions), (CaState::Open, 0), "{stack}");
        t.ece(3);
        assert_eq!(t.s.stats().losses.ecn_reductions, 1, "{stack}");
    }
}
