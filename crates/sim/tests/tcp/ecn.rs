//! The sender's side of ECN: RFC 3168 and RFC 8257.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_experiment::transport::{Ecn, Recovery};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::{CaState, Timer};
use forebay_types::Time;
use forebay_types::param::Value;

fn classic(stack: &str, window: u32) -> TcpConfig {
    let mut c = config(stack, "newreno");
    (c.ecn, c.init_cwnd) = (Ecn::Classic, window);
    c
}

fn dctcp(window: u32) -> TcpConfig {
    let mut c = config("ns2", "dctcp");
    c.init_cwnd = window;
    c
}

/// RFC 3168 section 6.1.2: one halving per window of data, CWR on the next new segment, no growth on the ACK that carries ECE.
#[test]
fn classic_halves_once_a_window() {
    let mut t = Script::new(classic("ns2", 8), 100);
    assert_eq!(t.sent(), "0e 1e 2e 3e 4e 5e 6e 7e");
    t.ece(1);
    assert_eq!((t.cwnd(), t.ssthresh(), t.sent().as_str()), (4.0, 4.0, ""));
    for n in 2..=4 {
        t.ece(n);
        assert_eq!((t.cwnd(), t.sent().as_str()), (4.0, ""));
    }
    t.ece(5);
    assert_eq!(t.sent(), "8we");
    t.ece(6).ece(7).ece(8);
    assert_eq!((t.cwnd(), t.sent().as_str()), (4.0, "9e 10e 11e"));
    // The window that was outstanding at the cut has been acknowledged: the next mark counts.
    t.ece(9);
    assert_eq!((t.cwnd(), t.ssthresh()), (2.0, 2.0));
    assert_eq!((t.s.stats().losses.ecn_reductions, t.s.stats().losses.loss_reductions), (2, 0));
    assert_eq!(t.s.stats().losses.reduction_alpha, None, "NewReno has no alpha");
}

/// Section 6.1.5: retransmitted segments are not ECN-capable; in ns-2 they are (tcp.cc: all but the SYN). Section 6.1.2: CWR travels on the first new
/// data after a reduction for any reason; in ns-2 on the first segment.
#[test]
fn retransmissions_and_cwr_after_a_loss() {
    for stack in ["ns2", "rfc"] {
        let ns2 = stack == "ns2";
        let mut t = Script::new(classic(stack, 8), 100);
        t.sent();
        if ns2 {
            t.dup(0, 3);
            assert_eq!(t.sent(), "8e 9e 0rwe");
        } else {
            t.sack(0, &[(1, 4)]);
            assert_eq!(t.sent(), "0r");
        }
        let high = t.s.snd_max() / 1000;
        t.ack(high);
        let sent = t.sent();
        let cwr = if ns2 { "" } else { "w" };
        assert!(sent.starts_with(&format!("{high}{cwr}e {}e", high + 1)), "{stack}: {sent}");

        let mut t = Script::new(classic(stack, 2), 2);
        t.sent();
        t.timer();
        assert_eq!(t.sent(), if ns2 { "0rwe" } else { "0r" });
        t.ack(2);
        t.write(2);
        assert_eq!(t.sent(), if ns2 { "2e 3e" } else { "2we 3e" });
    }
}

/// The echo of a mark continues until the receiver sees CWR. While a lost window is repaired there is no new data to carry it, and the repair must
/// not wait for that. Linux grows in Loss whatever the echo is; in ns-2 the retransmission carries CWR.
#[test]
fn echo_does_not_delay_rto_repair() {
    for stack in ["rfc", "linux"] {
        let mut t = Script::new(classic(stack, 8), 100);
        t.sent();
        while t.s.stats().losses.rtos == 0 {
            t.timer();
        }
        let high = t.s.snd_max() / 1000;
        t.sent();
        let mut windows = vec![t.cwnd()];
        for n in 1..5 {
            let now = t.now + 100;
            t.at(now).ece(n);
            windows.push(t.cwnd());
        }
        assert!(high >= 8 && windows[4] >= windows[0] + 3.0, "{stack}: {windows:?}");
    }
}

/// RFC 3168 section 6.1.2: ECE at a window of one segment lets nothing new out before the timer expires, whatever else comes. In ns-2 the sender
/// goes on (TcpAgent::ecn), and the window of a kernel is two then.
#[test]
fn marks_at_one_segment_await_rto() {
    for cc in ["newreno", "cubic"] {
        for (stack, recovery) in [("rfc", Recovery::Sack), ("rfc", Recovery::NewReno), ("rfc", Recovery::Rack)] {
            let mut c = config(stack, cc);
            (c.ecn, c.init_cwnd, c.recovery) = (Ecn::Classic, 1, recovery);
            let mut t = Script::new(c, 100);
            assert_eq!(t.sent(), "0e");
            t.at(300).ece(1);
            assert_eq!((t.cwnd(), t.sent().as_str(), t.left(Timer::Rto)), (1.0, "", Some(1_000_000)), "{cc}, {recovery:?}");
            t.at(400).ece(1);
            t.at(500).ack(1).write(1);
            assert_eq!((t.sent().as_str(), t.left(Timer::Rto)), ("", Some(999_800)), "{cc}, {recovery:?}");
            assert_eq!((t.timer(), t.sent().as_str()), (999_800, "1we"), "{cc}, {recovery:?}");
            // Nothing was lost, and the next mark is answered in the same way.
            assert_eq!((t.s.stats().losses.rtos, t.s.rto(&t.c)), (0, Time::from_ms(1000)));
            let now = t.now + 100;
            t.at(now).ece(2);
            assert_eq!((t.timer(), t.sent().as_str()), (1_000_000, "2we"), "{cc}, {recovery:?}");
            let now = t.now + 100;
            t.at(now).ack(3);
            assert!(t.cwnd() >= 1.5 && t.sent().starts_with("3e"), "{cc}, {recovery:?}");
        }
        for (stack, sent) in [("ns2", "1we"), ("linux", "1we 2e")] {
            let mut c = config(stack, cc);
            (c.ecn, c.init_cwnd) = (Ecn::Classic, 1);
            let mut t = Script::new(c, 100);
            t.sent();
            t.at(300).ece(1);
            assert_eq!(t.sent(), sent, "{stack}, {cc}");
        }
    }
}

/// Data that is outstanding when it comes is awaited, retransmitted if necessary, and does not end the wait with its ACK.
#[test]
fn ece_wait_includes_outstanding_data() {
    for lost in [false, true] {
        let mut t = Script::new(classic("rfc", 1), 0);
        t.write_bytes(400, false);
        t.write_bytes(500, false);
        assert_eq!(t.sent(), "0(400)e @400(500)e");
        t.write(3);
        t.at(300).reply_bytes(400, &[], flag::ECE);
        assert_eq!(t.sent(), "", "new data waits");
        if lost {
            assert_eq!((t.timer(), t.sent().as_str()), (1_000_000, "@400(500)r"));
            assert_eq!(t.s.stats().losses.rtos, 1);
        } else {
            t.at(500).reply_bytes(900, &[], 0);
            assert_eq!(t.sent(), "");
            assert_eq!((t.timer(), t.sent().as_str()), (1_000_000, "@900we"));
            assert_eq!(t.s.stats().losses.rtos, 0);
        }
    }
}

/// RFC 8257 section 3.6, Linux: all packets of a DCTCP connection are ECN-capable, those of a classic one only new data.
#[test]
fn dctcp_control_packets_are_ecn_capable() {
    let mut t = Script::new(dctcp(10), 1);
    assert_eq!(t.sent(), "0e");
    t.write_bytes(0, true);
    assert_eq!(t.sent(), "Fe");
}

/// The peer did not agree: no ECT, no CWR, and its ECE means nothing.
#[test]
fn without_agreement() {
    let mut t = Script::new(config("ns2", "newreno"), 100);
    assert_eq!(t.sent(), "0 1");
    t.ece(1);
    assert_eq!((t.cwnd(), t.sent().as_str()), (3.0, "2 3"));
}

/// ECE on a duplicate ACK counts too, unless the ACK starts fast retransmit: loss takes precedence, and the window is reduced once.
#[test]
fn ece_on_duplicates() {
    let mut t = Script::new(classic("ns2", 8), 100);
    t.ack(1);
    t.reply(1, &[], flag::ECE);
    assert_eq!(t.ssthresh(), 4.5);
    let mut c = classic("ns2", 8);
    c.limited_transmit = false;
    let mut t = Script::new(c, 100);
    t.ack(2).dup(2, 2);
    let (window, flight) = (t.cwnd(), t.flight() as f64);
    t.reply(2, &[], flag::ECE);
    assert_eq!(
        (t.s.ca_state(), t.ssthresh(), t.cwnd()),
        (CaState::Recovery, flight / 2.0, flight / 2.0 + 3.0),
        "window was {window}"
    );
}

/// A loss has been answered: marks of the same window are not answered again (RFC 8257 section 3.3). But by Linux on the ACK that ends the
/// repair, which asks only whether something is repaired (tcp_try_to_open).
#[test]
fn marks_after_loss_in_same_window() {
    for stack in ["ns2", "rfc", "linux"] {
        for cc in ["newreno", "dctcp"] {
            let mut c = config(stack, cc);
            c.init_cwnd = 10;
            if cc == "newreno" {
                c.ecn = Ecn::Classic;
            }
            let mut t = Script::new(c, 10);
            if stack == "ns2" {
                t.at(200).dup(0, 9);
            } else {
                t.at(200).sack(0, &[(1, 10)]);
            }
            let threshold = t.ssthresh();
            assert_eq!(threshold, 5.0);
            t.at(300).ece(9);
            assert_eq!(t.ssthresh(), threshold, "{stack} {cc}");
            assert_eq!((t.s.stats().losses.ecn_reductions, t.s.stats().losses.loss_reductions), (0, 1), "{stack} {cc}");
            t.ece(10);
            let again = u32::from(stack == "linux");
            assert_eq!(t.ssthresh() < threshold, again == 1, "{stack} {cc}");
            assert_eq!((t.s.stats().losses.ecn_reductions, t.s.stats().losses.loss_reductions), (again, 1), "{stack} {cc}");
        }
    }
}

/// RFC 8257 section 3.3: alpha starts at 1, so the first mark halves; it is updated once per window, before that window's cut.
#[test]
fn dctcp_alpha_and_cut() {
    let mut t = Script::new(dctcp(10), 1000);
    assert_eq!(t.s.cc().alpha().unwrap(), 1.0);
    t.ece(1);
    // The first ACK ends the first observation window, all of it marked.
    assert_eq!((t.s.cc().alpha().unwrap(), t.cwnd(), t.ssthresh()), (1.0, 5.0, 5.0));
    for n in 2..=10 {
        t.ack(n);
        assert_eq!(t.s.cc().alpha().unwrap(), 1.0, "ACK {n} is within the window that ends at 10");
    }
    // Segment 10 was sent after the cut: its ACK ends the window of 9 unmarked segments and itself.
    t.ack(11);
    assert_eq!(t.s.cc().alpha().unwrap(), 15.0 / 16.0);
    let (window, end) = (t.cwnd(), t.s.snd_max() / 1000);
    // Another window, of which the last ACK is marked.
    for n in 12..end {
        t.ack(n);
    }
    assert_eq!(t.s.cc().alpha().unwrap(), 15.0 / 16.0);
    let before = t.cwnd();
    assert!(before > window);
    t.ece(end);
    // It ends that window, with one of `end` - 11 segments marked: first alpha, then the cut.
    let alpha = 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0 / (end - 11) as f64;
    assert_eq!((t.s.cc().alpha().unwrap(), t.cwnd()), (alpha, before * (1.0 - alpha / 2.0)));
    assert_eq!(
        (t.s.stats().losses.ecn_reductions, t.s.stats().losses.loss_reductions, t.s.stats().losses.reduction_alpha),
        (2, 0, Some(1.0 + alpha))
    );
}

/// No cut in a window without marks, however large alpha is.
#[test]
fn dctcp_without_marks_grows() {
    let mut t = Script::new(dctcp(10), 1000);
    t.ece(1);
    let mut last = t.cwnd();
    for n in 2..200 {
        t.ack(n);
        assert!(t.cwnd() > last && t.s.cc().alpha().unwrap() > 0.0);
        last = t.cwnd();
    }
}

/// RFC 8257 section 3.5: a loss halves and leaves alpha alone; section 3.4 of the spec: so does a timeout, which restarts the count.
#[test]
fn dctcp_and_losses() {
    let mut t = Script::new(dctcp(8), 1000);
    for n in 1..=8 {
        t.ack(n);
    }
    let (alpha, flight) = (t.s.cc().alpha().unwrap(), t.flight() as f64);
    assert!(alpha < 1.0);
    t.dup(8, 3);
    assert_eq!((t.s.cc().alpha().unwrap(), t.ssthresh()), (alpha, flight / 2.0));
    let mut t = Script::new(dctcp(8), 1000);
    t.ack(1);
    let (alpha, flight) = (t.s.cc().alpha().unwrap(), t.flight() as f64);
    t.timer();
    assert_eq!((t.s.cc().alpha().unwrap(), t.ssthresh(), t.cwnd()), (alpha, flight / 2.0, 1.0));
    // Marks on what was outstanding at the timeout neither cut nor change alpha.
    let high = t.s.snd_max() / 1000;
    t.ece(high);
    assert_eq!((t.s.cc().alpha().unwrap(), t.ssthresh()), (alpha, flight / 2.0));
}

/// DCTCP spec 2.5: at the floor of two segments the flow cannot react further, and still must not stall.
#[test]
fn dctcp_floor() {
    let mut t = Script::new(dctcp(2), 1000);
    for n in 1..100 {
        t.ece(n);
        assert!(t.cwnd() >= 2.0 && t.flight() >= 2, "{n}: {}", t.cwnd());
    }
    assert_eq!(t.s.cc().alpha().unwrap(), 1.0);
    let mut c = config_with("ns2", "dctcp", &[], &[("min-cwnd", Value::Float(1.0))]);
    c.init_cwnd = 2;
    let mut t = Script::new(c, 1000);
    t.ece(1);
    assert_eq!(t.cwnd(), 1.0);
}

/// RFC 3168 section 6.1.2: marks in every round take the window down to one segment, the threshold to two (RFC 5681 equation 4). Linux keeps
/// two segments.
#[test]
fn classic_floor() {
    for cc in ["newreno", "cubic"] {
        for (stack, window) in [("ns2", 1.0), ("rfc", 1.0), ("linux", 2.0)] {
            let mut c = config(stack, cc);
            (c.ecn, c.init_cwnd) = (Ecn::Classic, 4);
            let mut t = Script::new(c, 100);
            for _ in 0..12 {
                // The next segment is acknowledged with ECE, and all that was outstanding before it without.
                let (next, high) = (t.s.snd_una() / 1000 + 1, t.s.snd_max() / 1000);
                t.now += 100;
                t.ece(next);
                (next + 1..=high).for_each(|n| _ = t.ece(n));
            }
            assert_eq!((t.cwnd(), t.ssthresh()), (window, 2.0), "{cc} {stack}");
        }
    }
}

/// Growth on ECE ACKs that do not cut is the published algorithm's; the switch forbids it.
#[test]
fn dctcp_growth_on_ece() {
    for (forbidden, grows) in [(false, true), (true, false)] {
        let mut c = config_with("ns2", "dctcp", &[], &[("no-growth-on-ece", Value::Bool(forbidden))]);
        c.init_cwnd = 10;
        let mut t = Script::new(c, 1000);
        t.ece(1);
        let before = t.cwnd();
        t.ece(2);
        assert_eq!(t.cwnd() > before, grows);
    }
}

/// Linux: the reduction after ECE is spread over the window (PRR) and ends at ssthresh.
#[test]
fn linux_reduces_gradually() {
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 100);
    t.sent();
    t.at(200).ece(1);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Cwr, 5.0));
    for n in 2..10 {
        t.ack(n);
        assert!(t.cwnd() > 4.0, "{n}: {}", t.cwnd());
    }
    t.ack(10);
    assert_eq!(
        t.s.ca_state(),
        CaState::Cwr,
        "until something above is acknowledged, so that CWR arrives (tcp_fastretrans_alert)"
    );
    t.ack(11);
    assert_eq!(t.s.ca_state(), CaState::Open);
    assert!((5.0..5.3).contains(&t.cwnd()), "{}", t.cwnd());
}

/// A loss found while the window is being reduced after ECE is repaired without a second reduction (RFC 3168 section 6.1.2), unless
/// the congestion control answers losses more strongly than marks (Linux dctcp_react_to_loss).
#[test]
fn loss_during_the_reduction() {
    for cc in ["newreno", "dctcp"] {
        let mut c = config("linux", cc);
        (c.init_cwnd, c.ecn) = (20, if cc == "dctcp" { Ecn::Dctcp } else { Ecn::Classic });
        let mut t = Script::new(c, 100);
        t.at(200).ece(1);
        assert_eq!(t.ssthresh(), 10.0);
        let window = t.cwnd();
        t.sack(1, &[(2, 6)]);
        let threshold = if cc == "dctcp" { window / 2.0 } else { 10.0 };
        assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, threshold), "{cc}");
        // Nor is it undone by a duplicate: the marks were real.
        let end = t.s.snd_max() / 1000;
        t.at(300).ack(end);
        t.sack(end, &[(1, 2)]);
        assert_eq!(t.ssthresh(), threshold, "{cc}");
    }
}
