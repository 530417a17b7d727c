//! Reduction for a loss: a part of the window, once for each loss, whatever recovery has sent meanwhile.

use crate::scripted::pipe::{LOSE, PASS, Pipe, PipePacket, Point};
use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_sim::tcp::profile::PROFILES;
use forebay_sim::tcp::sender::{CaState, Timer};
use forebay_types::Time;
use forebay_types::param::Value;

const SECONDS: u64 = 1_000_000_000_000;

/// The window, in fast recovery the one that it ends with.
fn window(p: &Point) -> f64 {
    if p.ca == CaState::Recovery { p.ssthresh } else { p.cwnd }
}

/// RFC 5681 equation 4 speaks of data outstanding in the network. While holes are repaired, every duplicate ACK lets a segment out, and what
/// has been sent and not acknowledged cumulatively grows by a window a round trip; no threshold may come of that.
#[test]
fn threshold_follows_window_not_flight() {
    for stack in PROFILES {
        for (cc, part) in [("newreno", 0.5), ("cubic", 0.7)] {
            // HyStart may lower the threshold to the window in the middle of a recovery too (cubictcp_acked).
            let set = [("slow-start-after-idle", "off"), ("slow-start", "standard")].map(|(k, v)| (k, Value::Text(v.into())));
            let mut c = config_with(stack, cc, &set, &[]);
            c.rcv_wnd = 100_000_000;
            // Slow start has lost every fifth segment of a window; a round later one of the retransmissions is lost too.
            let lost = |p: &PipePacket| {
                let segment = p.offset / 1000;
                p.data
                    && p.len > 0
                    && ((150..450).contains(&segment) && segment % 5 == 0 && p.again == 0 || segment == 200 && p.again == 1)
            };
            let mut pipe = Pipe::new(c, |p: &PipePacket| if lost(p) { LOSE } else { PASS });
            pipe.transfer(3_000_000, 1000 * SECONDS);
            // A threshold that comes back because a reduction proved spurious leaves the connection open.
            let cut = |w: &&[Point]| w[1].ssthresh != w[0].ssthresh && w[1].ca > CaState::Disorder;
            let cuts: Vec<(Point, Point)> = pipe.trace.windows(2).filter(cut).map(|w| (w[0], w[1])).collect();
            assert!(!cuts.is_empty(), "{stack} {cc}");
            for (before, after) in cuts {
                // An ACK may have let the window grow before it was cut.
                let most = part * (window(&before) + 2.0);
                assert!(after.ssthresh <= most.max(2.0), "{stack} {cc}: {before:?} to {after:?}");
            }
        }
    }
}

/// ns-2 (`reset_rtx_timer` in `dupack_action`), BSD and Linux (tcp_xmit_retransmit_queue, for the head) give the fast retransmission all of a
/// timeout. Counted from the last ACK that advanced, a timeout near the RTT expires before it could be acknowledged.
#[test]
fn the_fast_retransmission_restarts_the_timer() {
    for (stack, recovery) in [("ns2", "reno"), ("ns2", "newreno"), ("ns2", "sack"), ("rfc", "sack"), ("linux", "rack")] {
        let mut c = config_with(stack, "newreno", &[("recovery", Value::Text(recovery.into()))], &[]);
        (c.init_cwnd, c.rto_min) = (10, Time::from_ms(1));
        let mut t = Script::new(c, 100);
        t.sent();
        t.at(190);
        if matches!(recovery, "sack" | "rack") {
            t.sack(0, &[(1, 4)]);
        } else {
            t.dup(0, 3);
        }
        assert!(t.sent().contains("0r"), "{stack} {recovery}");
        let rto = t.s.rto(&t.c).as_us();
        assert_eq!(t.left(Timer::Rto), Some(rto), "{stack} {recovery}: the timer restarts with the retransmission");
    }
}

/// RFC 5681 section 3.1 holds the threshold when "the given segment has already been retransmitted by way of the retransmission timer".
/// Without timestamps the back-off outlives progress on retransmitted data: it says nothing about which segment it is.
#[test]
fn other_data_timeout_reduces_again() {
    for stack in ["ns2", "rfc"] {
        let mut c = config(stack, "newreno");
        c.init_cwnd = 16;
        let mut t = Script::new(c, 16);
        t.sent();
        t.timer();
        assert_eq!((t.ssthresh(), t.s.stats().losses.loss_reductions), (8.0, 1), "{stack}");
        // The repair gets as far as segment 4, all of it retransmitted, so that no sample ends the back-off.
        for n in 1..=4 {
            let now = t.now + 100;
            t.at(now).ack(n);
        }
        assert!(t.s.rtt().backoff() > 0, "{stack}");
        let window = t.cwnd();
        t.timer();
        assert_eq!(
            (t.s.stats().losses.rtos, t.s.stats().losses.loss_reductions),
            (2, 2),
            "{stack}: segment 4 has not timed out before"
        );
        assert_eq!(t.ssthresh(), (window / 2.0).max(2.0), "{stack}");
        // The same again is no new loss.
        t.timer();
        assert_eq!((t.s.stats().losses.rtos, t.s.stats().losses.loss_reductions), (3, 2), "{stack}");
    }
}

/// RFC 5681 section 3.2 step 2: what limited transmit has sent is not in the flight that is halved. The window must have a fraction of a
/// segment, or the bound by the window would hide it.
#[test]
fn limited_transmit_excluded_from_flight() {
    let mut c = config_with("rfc", "newreno", &[("recovery", Value::Text("newreno".into()))], &[]);
    c.init_cwnd = 20;
    let mut t = Script::new(c, 200);
    t.dup(0, 3).settle();
    assert_eq!((t.cwnd(), t.s.ca_state()), (10.0, CaState::Open));
    for _ in 0..3 {
        let next = t.s.snd_una() / 1000 + 1;
        t.ack(next);
    }
    assert!(t.cwnd() > 10.2 && t.flight() == 10, "{} {}", t.cwnd(), t.flight());
    let next = t.s.snd_una() / 1000;
    t.dup(next, 3);
    assert_eq!((t.flight(), t.ssthresh()), (12, 5.0));
}
