//! Reductions that D-SACKs prove spurious are undone (RFC 3708, Linux tcp_try_undo_dsack).

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;

fn stacks() -> [TcpConfig; 2] {
    ["rfc", "linux"].map(|stack| {
        let mut c = config(stack, "newreno");
        c.init_cwnd = 10;
        c
    })
}

/// The original was late, not lost: its ACK ends recovery, and the D-SACK for the retransmission comes after that.
#[test]
fn after_the_episode() {
    for c in stacks() {
        let mut t = Script::new(c, 100);
        t.at(200).sack(0, &[(1, 4)]);
        assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0));
        let end = t.s.snd_max() / 1000;
        t.at(300).ack(end);
        assert_eq!((t.s.ca_state(), t.cwnd() < 10.0), (CaState::Open, true), "{:?}", t.c.profile);
        t.sack(end, &[(0, 1)]);
        assert_eq!((t.ssthresh(), t.cwnd()), (f64::INFINITY, 10.0), "{:?}", t.c.profile);
        // Once: the next loss is a loss.
        t.at(400).sack(end, &[(end + 1, end + 4)]);
        assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0), "{:?}", t.c.profile);
    }
}

#[test]
fn within_the_episode() {
    for c in stacks() {
        let mut t = Script::new(c, 100);
        t.at(200).sack(0, &[(1, 4)]);
        t.at(210).ack(4);
        assert_eq!(t.s.ca_state(), CaState::Recovery);
        t.sack(4, &[(0, 1)]);
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true), "{:?}", t.c.profile);
        // A loss in the same window is found by recovery, not by a timeout.
        t.sent();
        t.at(330).sack(4, &[(5, 9)]);
        t.at(400);
        assert!(t.sent().contains("4r"), "{:?}", t.c.profile);
        assert_eq!((t.s.ca_state(), t.s.stats().losses.rtos), (CaState::Recovery, 0), "{:?}", t.c.profile);
    }
}

/// One of two retransmissions was needed: the reduction stands.
#[test]
fn half_spurious_is_not_spurious() {
    for c in stacks() {
        let mut t = Script::new(c, 100);
        t.at(200).sack(0, &[(2, 8)]);
        assert!(t.sent().contains("0r 1r"), "{:?}", t.c.profile);
        let end = t.s.snd_max() / 1000;
        t.at(300).ack(end);
        t.sack(end, &[(1, 2)]);
        assert_eq!(t.ssthresh(), 5.0, "{:?}", t.c.profile);
    }
}

/// Duplicates that the network made of older data say nothing about the episode.
#[test]
fn old_duplicates_do_not_count() {
    for c in stacks() {
        let mut t = Script::new(c, 100);
        t.at(200).ack(4);
        t.at(300).sack(4, &[(5, 8)]);
        assert_eq!(t.s.ca_state(), CaState::Recovery);
        let threshold = t.ssthresh();
        t.sack(4, &[(1, 2), (5, 8)]);
        assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, threshold), "{:?}", t.c.profile);
    }
}

/// A spurious timeout: the acknowledgments were late, and then each retransmission is reported.
#[test]
fn spurious_timeout() {
    for c in stacks() {
        let mut t = Script::new(c, 4);
        while t.s.stats().losses.rtos == 0 {
            t.timer();
        }
        assert_eq!((t.s.ca_state(), t.cwnd()), (CaState::Loss, 1.0), "{:?}", t.c.profile);
        // The originals' ACK, then the reports about everything that was sent twice.
        let sent = t.sent();
        t.ack(4);
        for twice in sent.split_whitespace().filter(|s| s.ends_with('r')) {
            let n: u64 = twice.trim_end_matches('r').parse().unwrap();
            t.sack(4, &[(n, n + 1)]);
        }
        assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd() >= 10.0), (CaState::Open, f64::INFINITY, true), "{:?}", t.c.profile);
    }
}
