//! Prague (draft-briscoe-iccrg-prague-congestion-control), one connection.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::sender::CaState;

/// An established connection with `window` segments outstanding and Accurate ECN. Prague paces: the first ten segments leave at once.
fn established(stack: &str, window: u32) -> Script {
    let mut c = config(stack, "prague");
    c.init_cwnd = window;
    let mut t = Script::closed(c);
    t.syn_ack_with_ace(0, 0b010);
    t.ace = 5;
    t.write(1000);
    t
}

/// Data has ECT(1). The first mark halves the window, because alpha begins at 1, and the reduction lasts a round trip.
#[test]
fn first_mark_ends_slow_start() {
    for stack in ["rfc", "linux"] {
        let mut t = established(stack, 8);
        assert_eq!(t.sent(), "0l 1l 2l 3l 4l 5l 6l 7l", "{stack}");
        t.at(200).counted(1, 6, Some(1000));
        assert_eq!((t.cwnd(), t.ssthresh()), (4.0, 4.0), "{stack}");
        // Unmarked segments let the window grow during the reduction; a further mark in it does not reduce again.
        t.counted(2, 6, Some(1000));
        assert!((t.cwnd() - 4.25).abs() < 1e-9, "{stack}: {}", t.cwnd());
        t.counted(3, 7, Some(2000));
        assert!((t.cwnd() - 4.25).abs() < 1e-9, "{stack}: {}", t.cwnd());
    }
}

/// A peer without Accurate ECN: ECT(0), and halving on ECE.
#[test]
fn classic_peer_gets_reno_response() {
    let mut c = config("linux", "prague");
    c.init_cwnd = 8;
    let mut t = Script::closed(c);
    t.syn_ack_with(flag::ECE);
    t.write(1000);
    assert_eq!(t.sent(), "0e 1e 2e 3e 4e 5e 6e 7e");
    t.at(200).ece(1);
    assert_eq!(t.ssthresh(), 4.0);
}

/// A loss halves the window.
#[test]
fn loss_halves() {
    let mut t = established("linux", 10);
    t.at(200).sack(1, &[(2, 8)]);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd()), (CaState::Recovery, 5.0, 5.0));
}
