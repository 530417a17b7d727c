//! D-SACKs and undo in stack linux, by the functions of the kernel, where RFC 2883 and RFC 3708 leave it open.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;

fn linux(window: u32) -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.init_cwnd = window;
    c
}

/// Recovery of the first of ten segments is over; the D-SACK that would take it back has not come.
fn recovered() -> Script {
    let mut t = Script::new(linux(10), 10);
    t.at(200).sack(0, &[(1, 4)]);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 5.0));
    t.at(300).ack(10);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, 5.0));
    t.sent();
    t
}

/// tcp_check_dsack counts what is acknowledged already, wherever the episode ended: here a tail loss probe's duplicate.
#[test]
fn duplicate_behind_episode_counts() {
    let mut t = recovered();
    t.write(3);
    t.at(20_000);
    assert_eq!(t.sent(), "10 11 12 12r");
    t.ack(13).sack(13, &[(12, 13)]);
    assert_eq!((t.ssthresh(), t.cwnd()), (f64::INFINITY, 10.0));
}

/// tcp_dsack_seen adds the segments of a duplicate to those that the ACK delivers (`sack_delivered`). tcp_cwnd_reduction counts both: five delivered
/// segments of a window of 20 that is halved permit three, of which two have left.
#[test]
fn duplicates_advance_window_reduction() {
    let mut t = Script::new(linux(20), 40);
    t.at(200).sack(0, &[(2, 5)]);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.cwnd()), (CaState::Recovery, 10.0, 17.0));
    assert!(t.sent().ends_with(" 0r 1r"));
    // The network delivers segment 0 twice, too early for the retransmission. Segment 1 is still missing, so that nothing is undone.
    t.at(210).sack(1, &[(0, 1), (2, 5)]);
    assert_eq!((t.s.ca_state(), t.cwnd(), t.sent().as_str()), (CaState::Recovery, 17.0, "20"));
}

/// tcp_sacktag_one: above the cumulative ACK only segments that were sent again count, and a duplicate of another is no reason to undo anything.
#[test]
fn duplicates_by_network_do_not_count() {
    let mut t = Script::new(linux(10), 10);
    t.at(200).sack(0, &[(1, 6)]);
    assert_eq!((t.s.ca_state(), t.sent().ends_with("0r")), (CaState::Recovery, true));
    let cwnd = t.cwnd();
    t.at(210).sack(0, &[(3, 4), (1, 6)]);
    assert_eq!((t.s.ca_state(), t.cwnd() >= cwnd), (CaState::Recovery, true), "the recovery goes on");
    assert_eq!(t.s.stats().losses.fast_retx, 1);
}

/// tcp_enter_recovery, tcp_enter_loss: what is taken back is at least three quarters of the window (tcp_current_ssthresh).
#[test]
fn undone_threshold_is_three_quarters() {
    let mut t = recovered();
    // The window has grown beyond the threshold of five.
    t.write(100);
    for n in 11..=60 {
        t.at(300 + n).ack(n);
    }
    let window = t.cwnd() as u32;
    assert!(window >= 8, "{window}");
    t.sent();
    let una = t.s.snd_una() / 1000;
    t.at(500).sack(una, &[(una + 1, una + 4)]);
    assert_eq!(t.s.ca_state(), CaState::Recovery);
    let end = t.s.snd_max() / 1000;
    t.at(600).ack(end);
    t.sack(end, &[(una, una + 1)]);
    assert_eq!((t.ssthresh(), t.cwnd() as u32), (f64::from(window / 2 + window / 4), window));
}

/// DCTCP in the recovery of the first of ten segments.
fn dctcp_in_recovery() -> Script {
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 20);
    t.at(200).sack(0, &[(1, 4)]);
    t
}

/// tcp_fastretrans_alert: the recovery that a D-SACK has taken back is the state in which tcp_try_to_open sees the mark, so that no other reduction
/// begins.
#[test]
fn marks_on_last_ack_of_recovery() {
    let mut t = dctcp_in_recovery();
    assert_eq!(t.s.ca_state(), CaState::Recovery);
    t.at(210).ack(4);
    let threshold = t.ssthresh();
    t.reply(4, &[(0, 1)], forebay_sim::net::packet::flag::ECE);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Open, threshold));
}

/// tcp_try_undo_recovery leaves the rest of tcp_fastretrans_alert to the last ACK of a recovery, so that its mark begins a reduction.
#[test]
fn mark_on_last_ack_reduces() {
    let mut t = dctcp_in_recovery();
    let end = t.s.snd_max() / 1000;
    t.at(210).reply(end, &[(0, 1)], forebay_sim::net::packet::flag::ECE);
    assert_eq!(t.s.ca_state(), CaState::Cwr);
}

/// tcp_enter_cwr: a reduction begins in every state below, also before the end of a recovery that was undone.
#[test]
fn mark_after_undo_reduces() {
    let mut t = dctcp_in_recovery();
    t.at(210).ack(4).sack(4, &[(0, 1)]);
    assert_eq!(t.s.ca_state(), CaState::Open);
    t.ece(5);
    assert_eq!(t.s.ca_state(), CaState::Cwr);
}

/// tcp_ack: the duplicate that an ACK reports which others have overtaken has left the network, but the window is not looked at (tcp_cong_control).
#[test]
fn overtaken_acks_leave_the_window() {
    let mut t = Script::new(linux(10), 100);
    t.at(200).sack(0, &[(2, 8)]);
    assert!(t.sent().contains("0r 1r"));
    t.at(310).ack(8);
    assert_eq!(t.s.ca_state(), CaState::Recovery);
    let cwnd = t.cwnd();
    t.at(320).sack(3, &[(0, 1)]);
    assert_eq!((t.s.ca_state(), t.cwnd()), (CaState::Recovery, cwnd));
}

/// tcp_highest_sack_seq is where the segment behind the highest SACKed one begins: three segments between are a distance of four, with which SACKs
/// alone let the window grow (tcp_check_sack_reordering, tcp_may_raise_cwnd).
#[test]
fn reordering_reaches_highest_sack() {
    let mut t = Script::new(linux(10), 10);
    t.at(200).sack(0, &[(9, 10)]);
    assert_eq!(t.s.reordering(&t.c), 3);
    let cwnd = t.cwnd();
    t.sack(0, &[(6, 7), (9, 10)]);
    assert_eq!((t.s.reordering(&t.c), t.cwnd()), (4, cwnd + 1.0));
}
