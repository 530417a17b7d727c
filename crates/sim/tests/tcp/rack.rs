//! RFC 8985 (RACK-TLP) and RFC 6937 (PRR), on the `linux` stack: initial window 10, clock tick 1 ms, RTO 201 ms after 100 us.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::{CaState, Timer};
use forebay_types::Time;
use forebay_types::param::Value;

fn linux(window: u32) -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.init_cwnd = window;
    c
}

/// Section 6.2 step 4: with three segments SACKed and no reordering seen there is nothing to wait for.
#[test]
fn three_sacked_segments_are_enough() {
    let mut t = Script::new(linux(10), 100);
    t.sent();
    t.at(200).sack(0, &[(1, 4)]);
    assert_eq!((t.log[0].1.as_str(), t.s.ca_state(), t.ssthresh()), ("0r", CaState::Recovery, 5.0));
}

/// Before that: a quarter of the smallest RTT, measured from when the segment should have been acknowledged. A kernel waits two ticks longer
/// (tcp_rack_mark_lost, TCP_TIMEOUT_MIN_US), in whole ticks, and to the end of the one in which they are over (calc_index): 25 us are 3 ticks
/// from tick 0 on.
#[test]
fn reordering_timer() {
    let mut t = Script::new(linux(10), 10);
    t.sent();
    t.at(200).sack(0, &[(1, 2)]);
    assert_eq!((t.sent().as_str(), t.s.ca_state(), t.left(Timer::Reorder)), ("", CaState::Disorder, Some(3_000)));
    t.at(3_999);
    assert_eq!(t.sent(), "");
    t.at(4_000);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("0r", CaState::Recovery));
    assert_eq!(t.left(Timer::Rto), Some(201_000), "and the retransmission timer runs again");
}

/// A segment that comes late, without having been retransmitted, is evidence of reordering: from now on RACK waits, SACKs or not.
#[test]
fn reordering_seen() {
    let mut t = Script::new(linux(10), 100);
    t.at(200).sack(0, &[(1, 2)]);
    t.at(210).ack(2);
    t.sent();
    assert_eq!(t.s.ca_state(), CaState::Open);
    t.at(220).sack(2, &[(3, 8)]);
    assert_eq!((t.s.ca_state(), t.sent().contains('r')), (CaState::Disorder, false));
    t.timer();
    assert!(t.sent().starts_with("2r"));
}

/// ACKs that were lost are no reordering, although their blocks come behind the freshest one (section 6.2 step 3).
#[test]
fn lost_acks_are_no_reordering() {
    let mut t = Script::new(linux(10), 100);
    t.sent();
    t.at(200).sack(0, &[(8, 9), (4, 6)]);
    assert!(t.sent().starts_with("0r"), "three segments are SACKed, so there is nothing to wait for: {:?}", t.s.timer());
}

/// Only what was sent before something that was delivered can be lost: the segments behind are younger.
#[test]
fn loss_by_time_not_by_sequence() {
    let mut t = Script::new(linux(10), 100);
    t.sent();
    t.at(200).sack(0, &[(1, 4)]);
    let first = t.sent();
    assert!(first.starts_with("0r"), "{first}");
    // The retransmission of 0 is lost, new data sent behind it is delivered: one more RTT and it is lost again.
    let new = t.s.snd_max() / 1000;
    t.at(205).sack(0, &[(1, 10)]);
    let more = t.sent();
    assert!(!more.contains('r') && !more.is_empty(), "{more}");
    // At the same instant the order of the stream is that of departures (tcp_skb_sent_after).
    t.at(300).sack(0, &[(1, new)]);
    assert!(t.sent().contains("0r"), "{:?}", t.s.ca_state());
    t.at(305).sack(0, &[(1, new + 1)]);
    assert!(!t.sent().contains('r'), "what was delivered was sent before it");
    assert_eq!(t.s.stats().losses.rtos, 0);
}

/// Section 6.2 step 4: each round trip with a D-SACK widens the window by a quarter of the smallest RTT. In Linux (tcp_dsack_seen) only
/// for what has been repeated.
#[test]
fn duplicates_widen_the_window() {
    let left = |repeated: bool| {
        let mut c = linux(10);
        // A clock on which a quarter of the RTT can be seen.
        c.rto_granularity = Time::from_us(1);
        let mut t = Script::new(c, 10);
        t.at(200).sack(0, &[(2, 3)]);
        // Out of order.
        t.sack(0, &[(1, 3)]);
        if repeated {
            t.timer();
            assert!(t.sent().contains("0r"));
        }
        t.ack(4);
        t.sack(4, &[(0, 1)]);
        t.sack(4, &[(6, 7)]);
        t.left(Timer::Reorder)
    };
    // 4 and 5 were sent as long ago as RACK's RTT is: of the smallest RTT a quarter is left, or half, and two ticks.
    assert_eq!(left(true), Some(50 + 2));
    assert_eq!(left(false), Some(25 + 2));
}

/// Section 7.2: twice the RTT, plus two clock ticks; for a lone segment, which may meet a delayed ACK, plus the minimum RTO. In whole ticks
/// (tcp_schedule_loss_probe, usecs_to_jiffies).
#[test]
fn probe_timeout() {
    let t = Script::new(linux(10), 10);
    assert_eq!(t.left(Timer::Probe), Some(3_000));
    let t = Script::new(linux(10), 1);
    assert_eq!(t.left(Timer::Probe), Some(201_000));
    // Not later than the timeout itself.
    let mut t = Script::new(linux(10), 1);
    t.rtt = 3_000;
    t.at(3_100).ack(1);
    t.write(1);
    assert_eq!((t.s.rto(&t.c).as_ms(), t.left(Timer::Probe).unwrap() / 1000), (201, 201));
}

/// By the RFC alone: twice the RTT, and for a lone segment what its ACK may be delayed; the minimum RTO has nothing to do with it.
#[test]
fn probe_timeout_of_the_rfc() {
    for stack in ["rfc", "ns2"] {
        for (segments, ack_every, left) in [(1, 2, 100_200), (1, 1, 200), (2, 2, 200), (10, 1, 200)] {
            let mut c = config_with(stack, "newreno", &[("recovery", Value::Text("rack".into()))], &[]);
            (c.init_cwnd, c.ack_every, c.ack_delay) = (10, ack_every, Time::from_ms(100));
            let mut t = Script::new(c, segments);
            assert_eq!(t.left(Timer::Probe), Some(left), "{stack}, {segments} segments");
            t.sent();
            assert_eq!((t.timer(), t.sent()), (left, format!("{}r", segments - 1)));
        }
    }
}

/// Section 7.3: new data if there is any and the receive window takes it, the congestion window notwithstanding.
#[test]
fn probe_with_new_data() {
    let mut t = Script::new(linux(10), 12);
    t.sent();
    // 3 ticks from tick 0 on: over when tick 4 begins.
    assert_eq!((t.timer(), t.now, t.sent().as_str()), (3_900, 4_000, "10"));
    // One probe per episode (section 7.3); then the retransmission timeout: 201 ticks from tick 4 on are in the slot of eight ticks before 208.
    assert_eq!((t.timer(), t.now, t.s.stats().losses.rtos), (204_000, 208_000, 1));
    assert_eq!(t.sent(), "0r");
}

#[test]
fn probe_with_the_last_segment() {
    let mut t = Script::new(linux(10), 10);
    t.sent();
    t.timer();
    assert_eq!((t.sent().as_str(), t.left(Timer::Rto), t.cwnd()), ("9r", Some(201_000), 10.0));
    // Everything was lost but the probe: RACK finds the rest without a timeout.
    t.at(4_100).sack(0, &[(9, 10)]);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.rtos), (CaState::Recovery, 0));
    assert!(t.sent().starts_with("0r"));
}

/// Section 7.4.2: the probe repaired the loss of the last segment; the window is reduced although no recovery was needed.
#[test]
fn repaired_tail_reduces() {
    let mut t = Script::new(linux(10), 10);
    t.at(200).ack(9);
    t.sent();
    t.timer();
    assert_eq!(t.sent(), "9r");
    let now = t.now + 100;
    t.at(now).ack(10);
    assert_eq!(t.ssthresh(), f64::INFINITY, "not known before new data is acknowledged");
    t.write(1);
    let window = t.cwnd();
    t.at(now + 100).ack(11);
    assert_eq!((t.ssthresh(), t.cwnd()), (window / 2.0, window / 2.0));
    t.write(1);
    t.at(now + 200).ack(12);
    assert_eq!(t.ssthresh(), window / 2.0, "once");
}

/// Section 7.4.2 case 1: the D-SACK says that the original had arrived.
#[test]
fn spurious_probe_does_not_reduce() {
    let mut t = Script::new(linux(10), 10);
    t.at(200).ack(9);
    t.timer();
    t.ack(10).sack(10, &[(9, 10)]);
    t.write(1);
    t.ack(11);
    assert_eq!(t.ssthresh(), f64::INFINITY);
}

/// A probe that made RACK find losses is answered by that recovery; it does not reduce once more afterwards.
#[test]
fn probe_and_recovery_reduce_once() {
    let mut t = Script::new(linux(10), 10);
    t.timer();
    t.at(4_100).sack(0, &[(9, 10)]);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0));
    t.write(100);
    t.at(4_200).settle();
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, 5.0));
    t.at(4_300).settle();
    assert_eq!((t.ssthresh(), t.cwnd() > 5.0), (5.0, true));
}

/// Section 7.2: no probe while there are holes or in recovery; reducing after ECE does not matter.
#[test]
fn when_probes_are_armed() {
    let mut t = Script::new(linux(10), 100);
    assert!(t.left(Timer::Probe).is_some());
    t.at(200).sack(0, &[(1, 2)]);
    assert!(t.left(Timer::Probe).is_none());
    t.sack(0, &[(1, 5)]);
    assert_eq!(t.s.ca_state(), CaState::Recovery);
    assert!(t.left(Timer::Probe).is_none());
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 100);
    t.at(200).ece(1);
    assert_eq!(t.s.ca_state(), CaState::Cwr);
    assert!(t.left(Timer::Probe).is_some());
}

/// RFC 6937: a halving from 10 lets one segment out for every two that arrive, and ends at ssthresh.
#[test]
fn proportional_rate_reduction() {
    let mut t = Script::new(linux(20), 100);
    t.sent();
    t.at(200).sack(0, &[(1, 2)]).sack(0, &[(1, 3)]);
    assert_eq!(t.sent(), "20 21");
    t.sack(0, &[(1, 4)]);
    let mut out = t.sent().split_whitespace().count();
    for end in 5..=20 {
        t.sack(0, &[(1, end)]);
        let sent = t.sent().split_whitespace().count();
        assert!(sent <= 1, "a burst at {end}");
        out += sent;
    }
    // 17 of the 22 outstanding were delivered in recovery and ssthresh is 10: ceil(17 * 10 / 22).
    assert_eq!(out, 8);
    t.at(300).ack(22);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd()), (CaState::Open, 10.0, 10.0));
    // 0, 20 and 21 are newly delivered and count as growth (snd_cwnd_cnt): seven more complete a window of ten.
    t.sent();
    t.at(400).ack(28);
    assert_eq!(t.cwnd(), 10.0);
    t.ack(29);
    assert_eq!(t.cwnd(), 11.0);
}

/// Heavy losses: below ssthresh the window builds up again by slow start (the reduction bound of section 3), not at once.
#[test]
fn slow_start_reduction_bound() {
    let mut t = Script::new(linux(20), 100);
    t.sent();
    // 0 to 16 are lost; the pipe falls to nothing.
    t.at(200).sack(0, &[(17, 20)]);
    let first = t.sent();
    // Three were delivered, so that three leave: Linux (tcp_cwnd_reduction) adds one only when the ACK makes progress.
    assert_eq!(first, "0r 1r 2r");
    t.at(300).sack(1, &[(17, 20)]);
    assert_eq!(t.sent(), "3r 4r");
}

/// Data that is written while a probe is outstanding sets a probe timer again (tcp_schedule_loss_probe), though no second probe is sent. When that
/// timer expires it becomes the retransmission timer again, of one tick if it is overdue (tcp_send_loss_probe, tcp_rearm_rto).
#[test]
fn data_behind_probe_postpones_timeout() {
    let mut t = Script::new(linux(10), 6);
    t.at(200).ack(1);
    t.timer();
    assert_eq!(t.sent(), "0 1 2 3 4 5 5r");
    // Shortly before the timeout the application writes more. It is due 201 ticks after tick 4, and expires with the slot of eight ticks.
    let timeout = 208_000;
    t.at(timeout - 50).write(3);
    assert_eq!(t.sent(), "6 7 8");
    // Three ticks after tick 207 and a slot of one more, then one and one.
    t.at(212_999);
    assert_eq!((t.sent().as_str(), t.s.stats().losses.tlps, t.s.stats().losses.rtos), ("", 1, 0));
    t.at(213_000);
    assert_eq!((t.sent().as_str(), t.s.stats().losses.rtos, t.cwnd()), ("1r", 1, 1.0));
    t.at(213_100).ack(2);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("2r 3r", 2.0));
}

/// Linux tcp_enter_loss: a timeout that ends a recovery does not reduce once more.
#[test]
fn timeout_in_recovery_keeps_the_threshold() {
    let mut t = Script::new(linux(20), 20);
    t.at(200).sack(0, &[(1, 4)]);
    assert_eq!(t.ssthresh(), 10.0);
    while t.s.stats().losses.rtos == 0 {
        t.timer();
    }
    assert_eq!((t.ssthresh(), t.s.ca_state()), (10.0, CaState::Loss));
}

/// Section 7.2: without an RTT the probe comes after a second, whatever is outstanding.
#[test]
fn probe_without_an_rtt() {
    for segments in [1, 2] {
        let mut c = config_with("rfc", "newreno", &[("recovery", Value::Text("rack".into()))], &[]);
        c.init_cwnd = 10;
        let mut t = Script::closed(c);
        t.timer();
        t.sent();
        t.syn_ack();
        t.write(segments);
        assert_eq!((t.s.rto(&t.c), t.left(Timer::Probe)), (Time::from_secs(3), Some(1_000_000)), "{segments}");
    }
}

/// Section 6.2 step 2: an ACK that echoes what is older than the repetition tells nothing of when that one arrives, whether or not reductions are
/// taken back (Eifel). Here segment 0 was late by more than an RTT: by the repetition, sent at 200 us, segments 4 to 9 would be lost.
#[test]
fn original_gives_no_retransmission_sample() {
    for eifel in [false, true] {
        let set = [("recovery", Value::Text("rack".into())), ("timestamps", Value::Bool(true)), ("eifel", Value::Bool(eifel))];
        let mut t = Script::new(config_with("rfc", "newreno", &set, &[]), 10);
        t.sent();
        t.at(200).sack(0, &[(1, 4)]);
        assert_eq!(t.sent(), "0r");
        t.rtt = 250;
        t.at(350).ack(4);
        assert_eq!(t.sent(), "", "eifel {eifel}: repaired, and nothing else is known to be missing");
    }
}

/// Section 7.4.2: the duplicate ACK that shows a probe to have been needless opens no window (RFC 5681 section 2 (e); Linux FLAG_NOT_DUP). A window
/// update shows nothing, and the loss that the probe has repaired is answered when more is acknowledged.
#[test]
fn a_window_update_settles_no_probe() {
    for (update, cuts) in [(false, 0), (true, 1)] {
        let mut t = Script::new(linux(10), 2);
        t.at(200).ack(1);
        while !t.sent().contains('r') {
            t.timer();
        }
        t.now += 100;
        t.ack(2);
        t.window += if update { 100_000 } else { 0 };
        t.ack(2);
        t.write(1);
        t.now += 100;
        t.ack(3);
        assert_eq!(t.s.stats().losses.loss_reductions, cuts, "update {update}");
    }
}

/// Section 6.3: a timeout covers the first segment and those that have been outstanding for as long as RACK would wait. Newer segments are not lost
/// and not sent again (tcp_timeout_mark_lost). Without RACK all is lost (RFC 6675 section 5.1).
#[test]
fn timeout_spares_young_segments() {
    for (stack, recovery, write, lost) in
        [("linux", "rack", 340_000, 5), ("rfc", "rack", 1_180_000, 5), ("rfc", "sack", 1_090_000, 6)]
    {
        let mut c = config_with(stack, "newreno", &[("recovery", Value::Text(recovery.into()))], &[]);
        c.init_cwnd = 10;
        let flight = || {
            let mut t = Script::closed(c.clone());
            (t.now, t.rtt) = (50_000, 50_000);
            t.syn_ack();
            t.write(1);
            t.at(100_000).ack(1);
            t.write(5);
            t
        };
        // A probe has left by then, and the timeout is due 250 ms after the first segment, or a second after that or the probe.
        let mut t = flight();
        t.at(write).write(1);
        assert!(t.sent().ends_with('6'));
        while t.s.stats().losses.rtos == 0 {
            t.timer();
        }
        assert!(t.now < write + 45_000, "{stack}, {recovery}: {}", t.now);
        assert_eq!(t.s.counts(&t.c).lost, lost, "{stack}, {recovery}");
        assert!(t.sent().ends_with("1r"), "{stack}, {recovery}");
        // It arrives, and what was lost is repaired.
        let timeout = t.now;
        t.at(timeout + 45_000).sack(1, &[(6, 7)]);
        for n in 2..=6 {
            t.at(timeout + 50_000 * (n - 1));
            if n == 6 {
                t.ack(7)
            } else {
                t.sack(n, &[(6, 7)])
            };
        }
        assert!(t.s.all_acked() && !t.sent().contains("6r"), "{stack}, {recovery}");
    }
}
