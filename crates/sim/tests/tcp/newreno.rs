//! Fast retransmit and fast recovery without SACK: RFC 5681 section 3.2, RFC 6582, RFC 3042.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_experiment::transport::SsthreshFrom;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;
use forebay_types::Time;

/// The papers' stack with a first window of `window` segments.
fn window(cc: &str, window: u32) -> TcpConfig {
    let mut c = config("ns2", cc);
    c.init_cwnd = window;
    c
}

#[test]
fn third_duplicate_retransmits() {
    let mut t = Script::new(window("newreno", 8), 100);
    assert_eq!(t.sent(), "0 1 2 3 4 5 6 7");
    // RFC 3042: one new segment for each of the first two, the window unchanged.
    t.dup(0, 1);
    assert_eq!(t.sent(), "8");
    t.dup(0, 1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("9", 8.0));
    t.dup(0, 1);
    // RFC 5681 section 3.2 step 2: half the flight, the two segments of limited transmit not counted.
    assert_eq!((t.sent().as_str(), t.ssthresh(), t.cwnd()), ("0r", 4.0, 7.0));
    // Ten segments are outstanding: inflation lets new ones out from the fourth further duplicate on.
    t.dup(0, 3);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("", 10.0));
    t.dup(0, 3);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("10 11 12", 13.0));
    // Full acknowledgment: the window is ssthresh; three are outstanding.
    t.ack(10);
    assert_eq!((t.sent().as_str(), t.cwnd(), t.s.ca_state()), ("13", 4.0, CaState::Open));
    t.ack(11);
    assert_eq!(t.cwnd(), 4.25);
}

#[test]
fn two_duplicates_are_not_enough() {
    let mut c = window("newreno", 8);
    c.limited_transmit = false;
    let mut t = Script::new(c, 100);
    t.sent();
    t.dup(0, 2);
    assert_eq!(t.sent(), "");
    t.ack(1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("8 9", 9.0));
    t.dup(1, 2);
    assert_eq!((t.sent().as_str(), t.ssthresh()), ("", f64::INFINITY));
}

/// Data of a limited transmit that turned out harmless counts like any other in a later loss.
#[test]
fn limited_transmit_ends_with_episode() {
    let mut t = Script::new(window("newreno", 8), 100);
    t.dup(0, 2).ack(2);
    t.sent();
    let flight = t.flight() as f64;
    t.dup(2, 3);
    assert_eq!(t.ssthresh(), flight / 2.0);
}

#[test]
fn partial_acknowledgements_repair_one_hole_each() {
    let mut t = Script::new(window("newreno", 10), 10);
    t.sent();
    // 0, 4 and 7 are lost.
    t.dup(0, 3);
    assert_eq!((t.sent().as_str(), t.ssthresh(), t.cwnd()), ("0r", 5.0, 8.0));
    t.dup(0, 4);
    assert_eq!(t.cwnd(), 12.0);
    // RFC 6582 section 3.2 step 3: deflate by what was acknowledged, add back one segment.
    t.ack(4);
    assert_eq!((t.sent().as_str(), t.cwnd(), t.s.ca_state()), ("4r", 9.0, CaState::Recovery));
    t.ack(7);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("7r", 7.0));
    t.ack(10);
    assert_eq!((t.sent().as_str(), t.cwnd(), t.s.ca_state(), t.s.stats().losses.fast_retx), ("", 5.0, CaState::Open, 1));
}

/// RFC 6582 section 4, "impatient": only the first partial acknowledgment restarts the retransmission timer.
#[test]
fn impatient_timer() {
    let mut t = Script::new(window("newreno", 10), 10);
    t.at(200).dup(0, 7);
    let rto = t.s.rto(&t.c);
    t.at(300).ack(4);
    let deadline = t.s.timer_due();
    assert_eq!(deadline, (Time::from_us(300) + rto).into());
    t.at(400).ack(7);
    assert_eq!(t.s.timer_due(), deadline);
    // The full acknowledgment restarts it like any other.
    t.write(1);
    t.at(500).ack(10);
    assert_eq!(t.s.timer_due(), (Time::from_us(500) + t.s.rto(&t.c)).into());
}

/// Without NewReno's step the first new ACK ends recovery (RFC 5681 section 3.2 step 6).
#[test]
fn reno_leaves_recovery_at_once() {
    let mut t = Script::new(window("reno", 10), 10);
    t.sent();
    t.dup(0, 7).ack(4);
    assert_eq!((t.sent().as_str(), t.cwnd(), t.s.ca_state()), ("0r", 5.0, CaState::Open));
    // A second hole asks for another round of duplicates, which the old ones are not.
    t.dup(4, 2);
    assert_eq!(t.sent(), "");
}

/// Reno has no `recover`: three duplicates that ask for the second hole of a window start another fast retransmit, with another halving
/// (RFC 5681 section 3.2).
#[test]
fn reno_repairs_second_hole_separately() {
    let mut c = window("reno", 10);
    c.ssthresh_from = SsthreshFrom::Flight;
    let mut t = Script::new(c, 100);
    t.sent();
    t.dup(0, 7).ack(4);
    t.sent();
    t.dup(4, 3);
    let sent = t.sent();
    assert!(sent.ends_with("4r"), "{sent}");
    assert_eq!((t.ssthresh(), t.s.stats().losses.fast_retx), (2.5, 2));
    t.ack(7).dup(7, 3);
    assert!(t.sent().ends_with("7r"));
    assert_eq!((t.ssthresh(), t.s.stats().losses.fast_retx), (2.0, 3));
}

/// Reno of ns-2 has `bugFix_`: an ACK that advances ends its permission for another fast retransmit below `recover_` (RenoTcpAgent::recv,
/// RenoTcpAgent::dupack_action). The second hole of a window waits for the timeout.
#[test]
fn ns2_reno_second_hole_needs_rto() {
    let mut t = Script::new(window("reno", 10), 100);
    t.sent();
    t.dup(0, 7).ack(4);
    t.sent();
    t.dup(4, 4);
    assert!(!t.sent().contains("4r"));
    assert_eq!((t.ssthresh(), t.s.stats().losses.fast_retx), (5.0, 1));
    t.timer();
    assert_eq!((t.sent().as_str(), t.s.stats().losses.rtos), ("4r", 1));
}

/// After a timeout Reno too takes the duplicates that go-back-N makes for what they are.
#[test]
fn reno_ignores_go_back_n_duplicates() {
    let mut t = Script::new(window("reno", 10), 100);
    t.sent();
    t.timer();
    t.ack(1);
    t.sent();
    t.dup(1, 4);
    assert_eq!(t.s.stats().losses.fast_retx, 0);
    t.ack(10);
    t.sent();
    t.ack(11).dup(11, 3);
    assert!(t.sent().ends_with("11r"));
}

/// RFC 6582 section 3.2 step 2: duplicates that do not acknowledge more than `recover` start nothing.
#[test]
fn go_back_n_duplicates_start_nothing() {
    let mut t = Script::new(window("newreno", 10), 100);
    t.sent();
    t.timer();
    assert_eq!((t.sent().as_str(), t.cwnd(), t.ssthresh()), ("0r", 1.0, 5.0));
    t.ack(1);
    assert_eq!(t.sent(), "1r 2r");
    t.ack(10);
    assert_eq!(t.s.ca_state(), CaState::Open, "everything sent before the timeout is acknowledged");
    t.sent();
    t.dup(10, 3);
    // Section 4.1: an ACK for exactly `recover` does not cover more than it.
    assert_eq!((t.sent().matches('r').count(), t.s.stats().losses.fast_retx), (0, 0));
    t.ack(11);
    t.dup(11, 3);
    assert_eq!((t.sent().matches('r').count(), t.s.stats().losses.fast_retx), (1, 1));
}

#[test]
fn duplicates_in_loss_state_start_nothing() {
    let mut t = Script::new(window("newreno", 10), 10);
    t.sent();
    t.timer();
    t.ack(1);
    t.sent();
    t.dup(1, 8);
    assert_eq!((t.sent().as_str(), t.s.stats().losses.fast_retx, t.s.ca_state()), ("", 0, CaState::Loss));
}

/// The very first segment can be repaired as well, although no ACK covers anything yet.
#[test]
fn first_segment_of_a_connection() {
    let mut t = Script::new(window("newreno", 4), 4);
    t.sent();
    t.dup(0, 3);
    assert_eq!((t.sent().as_str(), t.ssthresh()), ("0r", 2.0));
}

/// RFC 5681 equation 4: at least two segments.
#[test]
fn threshold_has_a_floor() {
    for cc in ["newreno", "cubic", "dctcp"] {
        let mut t = Script::new(window(cc, 2), 2);
        t.timer();
        assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 2.0), "{cc}");
    }
}

/// Duplicates with a changed window or without anything outstanding are none (RFC 5681 section 2).
#[test]
fn window_updates_are_no_duplicates() {
    let mut t = Script::new(window("newreno", 8), 8);
    t.ack(4);
    t.sent();
    t.window += 6000;
    t.dup(4, 3);
    assert_eq!(t.s.stats().losses.fast_retx, 0, "the first of the three was a window update");
    t.dup(4, 1);
    assert_eq!(t.s.stats().losses.fast_retx, 1);
    let mut t = Script::new(window("newreno", 8), 8);
    t.ack(8);
    t.dup(8, 10);
    assert_eq!((t.s.stats().losses.fast_retx, t.s.ca_state()), (0, CaState::Open));
}

/// ACKs for data never sent, and old ones, change nothing. The sender answers ACKs for data never sent (RFC 9293 section
/// 3.10.7.4).
#[test]
fn impossible_acknowledgements() {
    let mut t = Script::new(window("newreno", 8), 100);
    t.ack(2);
    t.sent();
    let before = (t.cwnd(), t.s.snd_una(), t.s.timer_due());
    t.dup(1, 5);
    assert_eq!(t.sent(), "");
    t.dup(90, 5);
    let answers = "ACK ACK ACK ACK ACK";
    assert_eq!((t.cwnd(), t.s.snd_una(), t.s.timer_due(), t.sent().as_str()), (before.0, before.1, before.2, answers));
}

/// RFC 5681 section 2 (e): also before anything is acknowledged an ACK with a window of its own is no duplicate; but not the first one behind a
/// SYN-ACK, whose window was not scaled.
#[test]
fn early_window_update_is_no_duplicate() {
    for window in [1_000_000, 60_000] {
        let mut c = config("ns2", "newreno");
        (c.rcv_wnd, c.init_cwnd) = (window, 8);
        let mut t = Script::new(c, 8);
        t.sent();
        t.dup(0, 2);
        assert_eq!(t.s.ca_state(), CaState::Disorder, "{window}");
        for more in 1..4 {
            t.window = window - more * 2_000;
            t.ack(0);
        }
        assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Disorder, ""), "{window}");
        t.ack(0);
        assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Recovery, "0r"), "{window}");
    }
}
