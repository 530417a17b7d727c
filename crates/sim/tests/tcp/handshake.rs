//! Opening and closing: RFC 9293, options of RFC 7323 and RFC 3168, lost SYNs.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with, receiver};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::sender::{CaState, Phase, Timer};
use forebay_types::Time;
use forebay_types::param::Value;

#[test]
fn receiver_answers_each_syn_alike() {
    let mut c = config("ns2", "newreno");
    c.rcv_wnd = 1_000_000;
    let mut r = receiver::Script::closed(c);
    for _ in 0..2 {
        let p = r.syn(0);
        // RFC 7323 section 2.2: the window of a SYN is not scaled; 1 000 000 >> 4 fits 16 bits.
        assert_eq!((p.flags, p.win, p.len), (flag::SYN | flag::ACK, 65_535, 4));
    }
}

/// The window of a SYN-ACK is at most 65 535 bytes, whatever the scale; the next ACK shows the rest.
#[test]
fn scaled_window() {
    let mut c = config("ns2", "newreno");
    (c.rcv_wnd, c.init_cwnd) = (1_000_000, 200);
    let mut t = Script::new(c, 300);
    assert_eq!(t.flight(), 65);
    t.ack(1);
    assert_eq!((t.flight(), t.cwnd()), (201, 201.0));
}

/// RFC 5681 section 3.1: one segment after a lost SYN. Linux keeps its ten until the second loss (RFC 6298's short first timeout).
#[test]
fn initial_window_after_lost_syns() {
    for (stack, windows) in [("ns2", [2, 1, 1]), ("rfc", [10, 1, 1]), ("linux", [10, 10, 1])] {
        for (lost, window) in windows.into_iter().enumerate() {
            let mut t = Script::closed(config(stack, "newreno"));
            for _ in 0..lost {
                t.timer();
                assert_eq!(t.sent(), "SYN");
            }
            t.syn_ack();
            t.write(100);
            assert_eq!(t.flight(), window, "{stack}, {lost} lost");
        }
    }
}

/// Linux: an answer to the first SYN says that the timeouts were spurious, and the window is as it was (tcp_try_undo_spurious_syn); the RTT is what
/// that answer took. One to a later SYN cuts it.
#[test]
fn answer_to_first_syn_undoes_timeouts() {
    for (stack, window) in [("linux", 10), ("rfc", 1)] {
        for first in [true, false] {
            let mut t = Script::closed(config_with(stack, "newreno", &[("timestamps", Value::Bool(true))], &[]));
            for _ in 0..5 {
                t.timer();
            }
            let now = t.now + 100;
            t.at(now);
            t.rtt = if first { now } else { 100 };
            t.syn_ack();
            t.write(100);
            assert_eq!(t.flight(), if first { window } else { 1 }, "{stack}, {first}");
            if stack == "linux" {
                // In ticks: a SYN that was repeated tells no more.
                assert_eq!(t.s.rtt().smoothed(), Time::from_ms((t.rtt / 1000).max(1)).into());
            }
        }
    }
}

/// Answer to a repeated SYN: the timestamp of the first in Linux (tcp_check_req), its own by RFC 7323 section 4.3.
#[test]
fn the_echo_of_a_repeated_syn() {
    for (stack, echo) in [("linux", 0), ("rfc", 1_000_000)] {
        let mut r = receiver::Script::closed(config_with(stack, "newreno", &[("timestamps", Value::Bool(true))], &[]));
        assert_eq!(r.syn(0).ts, 0);
        r.at(1_000);
        assert_eq!(r.syn(0).ts, echo, "{stack}");
    }
}

/// RFC 6298 sections 2.1, 5.5 and 5.7: 1 s, doubled; with no sample to be had, data starts with 3 s.
#[test]
fn syn_timeouts() {
    let mut t = Script::closed(config("rfc", "newreno"));
    assert_eq!(t.timer(), 1_000_000 - 100);
    assert_eq!(t.timer(), 2_000_000);
    assert_eq!(t.timer(), 4_000_000);
    t.syn_ack();
    t.write(1);
    assert_eq!((t.s.stats().rtt_count, t.left(Timer::Rto)), (0, Some(3_000_000)));
    // With timestamps the echo tells which SYN was answered.
    let mut t = Script::closed(config_with("ns2", "newreno", &[("timestamps", Value::Bool(true))], &[]));
    t.timer();
    t.now += 100;
    t.syn_ack();
    t.write(1);
    assert_eq!((t.s.stats().rtt_count, t.s.rto(&t.c)), (1, Time::from_ms(200)));
}

/// Linux repeats four SYNs a second apart and doubles then (tcp_retransmit_timer, tcp_syn_linear_timeouts), in the slots of its timer wheel, which are
/// 64 ms wide from 504 ms on. Without timestamps data starts with 3 s (tcp_init_metrics), as RFC 6298 section 5.7 has it.
#[test]
fn syn_timeouts_of_linux() {
    let mut t = Script::closed(config_with("linux", "newreno", &[("timestamps", Value::Bool(false))], &[]));
    let mut at = vec![];
    for _ in 0..7 {
        t.timer();
        assert_eq!(t.sent(), "SYN");
        at.push(t.now / 1000);
    }
    assert_eq!(at, [1024, 2048, 3072, 4096, 5120, 7168, 11200]);
    t.syn_ack();
    t.write(1);
    assert_eq!((t.s.stats().rtt_count, t.s.rto(&t.c)), (0, Time::from_secs(3)));
}

/// A lost SYN is a timeout before anything was acknowledged.
#[test]
fn lost_syns_in_the_statistics() {
    let mut t = Script::closed(config("ns2", "newreno"));
    t.timer();
    assert_eq!(
        (t.s.stats().losses.syn_rtos, t.s.stats().losses.rtos, t.s.stats().losses.rtos_head, t.s.stats().losses.rtos_tail),
        (1, 0, 0, 0)
    );
}

/// A SYN-ACK that comes twice neither moves the window nor counts as duplicate ACK; it is answered.
#[test]
fn repeated_syn_ack() {
    let mut c = config("ns2", "newreno");
    (c.rcv_wnd, c.init_cwnd) = (1_000_000, 4);
    let mut t = Script::new(c, 300);
    t.sent();
    for _ in 0..4 {
        let before = (t.s.snd_una(), t.cwnd(), t.s.ca_state());
        t.syn_ack();
        assert_eq!((t.s.snd_una(), t.cwnd(), t.s.ca_state()), before);
    }
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("", CaState::Open));
}

#[test]
fn ecn_is_negotiated() {
    for (ecn, asks) in [(Ecn::Off, false), (Ecn::Classic, true), (Ecn::Dctcp, true)] {
        for peer in [false, true] {
            let mut c = config("ns2", "newreno");
            c.ecn = ecn;
            let mut r = receiver::Script::closed(c);
            let answer = r.syn(if peer { flag::ECE | flag::CWR } else { 0 });
            // RFC 3168 section 6.1.1: ECE alone agrees.
            assert_eq!(answer.flags & (flag::ECE | flag::CWR), if asks && peer { flag::ECE } else { 0 });
            r.ce(0);
            assert_eq!(r.acks(), if asks && peer { "1E" } else { "1" });
        }
    }
}

/// RFC 3168 section 6.1.1.1: only ECE without CWR on the SYN agrees; a peer that reflects the bits does not speak ECN.
#[test]
fn syn_without_both_bits_requests_nothing() {
    for flags in [flag::ECE, flag::CWR] {
        let mut c = config("ns2", "newreno");
        c.ecn = Ecn::Classic;
        assert_eq!(receiver::Script::closed(c).syn(flags).flags & flag::ECE, 0);
    }
}

/// The same of a SYN-ACK (section 6.1.1).
#[test]
fn syn_ack_with_both_bits_refuses() {
    for (flags, sent) in [(flag::ECE, "0e"), (flag::ECE | flag::CWR, "0"), (flag::CWR, "0"), (0, "0")] {
        let mut c = config("rfc", "newreno");
        c.ecn = Ecn::Classic;
        let mut t = Script::closed(c);
        t.syn_ack_with(flags);
        t.write(1);
        assert_eq!(t.sent(), sent);
    }
}

/// Linux asks once for ECN (tcp_ecn_clear_syn), and a peer that answers again does so as before (tcp_check_req): a lost SYN leaves the
/// connection without ECN, a lost SYN-ACK does not. RFC 3168 section 6.1.1.1 allows it, and others ask with every SYN.
#[test]
fn ecn_is_asked_for_once() {
    for (stack, cc, again) in [("linux", "dctcp", 0), ("linux", "newreno", 0), ("rfc", "newreno", flag::ECE | flag::CWR)] {
        let mut c = config(stack, cc);
        if cc == "newreno" {
            c.ecn = Ecn::Classic;
        }
        let (mut t, mut r) = (Script::closed(c.clone()), receiver::Script::closed(c.clone()));
        let asks = flag::ECE | flag::CWR;
        t.timer();
        assert_eq!(t.repeated_syn & asks, again, "{stack} {cc}");
        assert_eq!(r.syn(again).flags & asks, again & flag::ECE, "{stack} {cc}: the first SYN was lost");
        let mut r = receiver::Script::closed(c);
        for flags in [asks, again] {
            assert_eq!(r.syn(flags).flags & asks, flag::ECE, "{stack} {cc}: the SYN-ACK was lost");
        }
    }
}

#[test]
fn fin_closes() {
    let mut t = Script::new(config("rfc", "newreno"), 0);
    t.write_bytes(2500, true);
    assert_eq!(t.sent(), "0 1 2(500)F");
    t.reply_bytes(2500, &[], 0);
    assert_eq!(t.s.phase(), Phase::Established, "the FIN is not acknowledged yet");
    t.reply_bytes(2501, &[], flag::FIN);
    assert_eq!((t.sent().as_str(), t.s.phase(), t.s.timer()), ("ACK", Phase::Done, Timer::Idle));
}

/// The FIN of a stream whose data was already sent goes alone.
#[test]
fn fin_alone() {
    let mut t = Script::new(config("ns2", "newreno"), 1);
    t.write_bytes(0, true);
    assert_eq!(t.sent(), "0 F");
    t.timer();
    assert_eq!(t.sent(), "0Fr", "sent again they share a segment");
}

/// An endless flow that stops ends with what it has sent.
#[test]
fn stop() {
    for stack in ["ns2", "rfc", "linux"] {
        let mut t = Script::new(config(stack, "newreno"), 1 << 40);
        let last = t.s.snd_max() / 1000;
        t.sent();
        let mut tape = crate::scripted::Capture::default();
        t.s.stop(&t.c, Time(t.now * crate::scripted::US), &mut tape);
        assert_eq!((t.s.written(), t.s.snd_max()), (last * 1000, last * 1000 + u64::from(tape.0.len() == 1)), "{stack}");
        t.ack(last);
        t.reply_bytes(last * 1000 + 1, &[], flag::FIN);
        assert_eq!(t.s.phase(), Phase::Done, "{stack}");
    }
}
