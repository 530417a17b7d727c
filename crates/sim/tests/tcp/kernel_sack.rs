//! SACKs in Linux, at both ends (kernel functions at each test).

use crate::scripted::receiver;
use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::sender::CaState;
use forebay_types::Time;
use forebay_types::param::Value;

/// tcp_clean_rtx_queue, tcp_ack_update_rtt: a SACKed segment is a sample, of several acknowledged segments the oldest counts, and the timestamp of a
/// repaired segment counts in ticks of a millisecond.
#[test]
fn rtt_samples_are_ages_of_segments() {
    let mut c = config("linux", "newreno");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 10);
    let srtt = |t: &Script| t.s.rtt().smoothed().or_never();
    assert_eq!(srtt(&t), Time::from_us(100));
    // Everything left at 100 us. The echo would say 100 us.
    t.at(1_000).sack(0, &[(1, 2)]);
    assert_eq!(srtt(&t), (Time::from_us(100) * 7 + Time::from_us(900)) / 8);
    t.at(1_100).sack(0, &[(1, 4)]);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx), (CaState::Recovery, 1));
    let before = srtt(&t);
    // The hole is filled by its repetition, which left 200 us ago: less than a tick counts as one.
    t.rtt = 200;
    t.at(1_300).ack(4);
    let eighth = Time::from_us(1) / 8;
    assert_eq!(srtt(&t), eighth * (before / eighth - before / eighth / 8 + 1_000));
}

/// tcp_time_to_recover: a loss that is known when a recovery ends begins another one, although it has been sent again.
#[test]
fn a_known_loss_begins_another_recovery() {
    let mut c = config("linux", "newreno");
    c.init_cwnd = 20;
    let mut t = Script::new(c, 40);
    t.at(200).sack(0, &[(1, 4)]);
    assert_eq!((t.s.ca_state(), t.ssthresh()), (CaState::Recovery, 10.0));
    // Segments beyond the window of the first loss leave; the first of them is lost.
    for (now, to) in [(210, 8), (220, 12), (230, 16), (240, 20)] {
        t.at(now).sack(0, &[(1, to)]);
    }
    assert!(t.s.snd_nxt() >= 24 * u64::from(t.c.mss), "{}", t.s.snd_nxt());
    t.sent();
    t.at(340).sack(0, &[(21, 24), (1, 20)]);
    assert!(t.sent().contains("20r"));
    t.at(350).sack(20, &[(21, 24)]);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx, t.ssthresh()), (CaState::Recovery, 2, 5.0));
}

/// tcp_dupack_heuristics: without RACK, SACKs above the reordering begin a recovery while no segment is marked as lost.
#[test]
fn recovery_by_count_without_known_loss() {
    let mut c = config_with("linux", "newreno", &[("recovery", Value::Text("sack".into()))], &[]);
    c.init_cwnd = 10;
    let mut t = Script::new(c, 10);
    t.sent();
    t.at(200).sack(0, &[(1, 3)]);
    assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Disorder, ""));
    t.sack(0, &[(1, 4)]);
    assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Recovery, "0r"));
}

/// tcp_sack_new_ofo_skb: delayed ACKs leave before a segment outside the two newest blocks is processed, and that segment has no ACK of its own. Four
/// blocks are kept, of which three are sent.
#[test]
fn third_block_releases_delayed_acks() {
    let mut c = config("linux", "newreno");
    c.quickack_count = 0;
    let mut r = receiver::Script::new(c);
    r.at(1_000).data(0).data(1);
    r.acks();
    r.data(3).data(4).data(5);
    assert_eq!(r.acks(), "2[3-4] 2[3-5] 2[3-6]", "three duplicates");
    r.data(6).data(8);
    assert_eq!(r.acks(), "", "held back");
    r.data(10);
    assert_eq!(r.acks(), "2[8-9,3-7]");
    r.data(12);
    assert_eq!(r.acks(), "", "nothing is held back, so nothing leaves");
    r.data(14);
    assert_eq!(r.acks(), "2[12-13,10-11,8-9]");
    r.data(16).at(2_000);
    assert_eq!(r.acks(), "2[16-17,14-15,12-13]");
    // The first hole is filled: the stream goes to 7, and of what is beyond four blocks are remembered.
    r.data(2);
    assert_eq!(r.acks(), "7[16-17,14-15,12-13]");
}

/// tcp_data_queue: only when nothing is missing any more an ACK must leave at once; else it counts as one of three (__tcp_ack_snd_check).
#[test]
fn ack_of_filled_hole_counts() {
    let mut c = config("linux", "newreno");
    c.quickack_count = 0;
    let mut r = receiver::Script::new(c);
    r.at(1_000).data(0).data(1);
    r.acks();
    r.data(3).data(5).data(2);
    assert_eq!(r.acks(), "2[3-4] 2[5-6,3-4] 4[5-6]");
    r.data(6).data(7);
    assert_eq!(r.acks(), "4[5-7] 4[5-8]");
    r.data(8);
    assert_eq!(r.acks(), "", "the fourth is held back");
    r.data(4);
    assert_eq!(r.acks(), "9");
}

/// tcp_try_to_open: marks are answered whenever nothing is reduced or repaired, so already where nothing has been acknowledged yet.
#[test]
fn marks_on_the_first_duplicate_reduce() {
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 20);
    t.at(200).reply(0, &[(1, 2)], flag::ECE);
    assert_eq!((t.s.ca_state(), t.ssthresh(), t.s.stats().losses.ecn_reductions), (CaState::Cwr, 5.0, 1));
}

/// tcp_enter_recovery: a loss found while marks reduce the window is repaired until the end of that reduction (`high_seq`). If that end was
/// acknowledged before, the next ACK ends the repair as spurious (nothing has been retransmitted, so that tcp_packet_delayed is true). The window
/// stays, and the known loss begins another recovery.
#[test]
fn loss_within_reduction_is_repaired() {
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 100);
    t.at(200).ece(1);
    let end = 10;
    for next in 2..=end {
        t.at(280 + next).ack(next);
    }
    assert_eq!(t.s.ca_state(), CaState::Cwr, "held until something above is acknowledged");
    // The first of the next five is lost.
    t.at(400).sack(end, &[(end + 1, end + 4)]);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx, t.s.stats().losses.loss_reductions), (CaState::Recovery, 1, 1));
    t.at(410).sack(end, &[(end + 1, end + 5)]);
    assert_eq!(
        (t.s.ca_state(), t.s.stats().losses.fast_retx, t.s.stats().losses.loss_reductions),
        (CaState::Recovery, 2, 2),
        "the end had been acknowledged"
    );
}

/// tcp_cwnd_validate: in slow start a window is used that is less than twice the segments outstanding, of which a short one is one.
#[test]
fn short_segment_counts_as_used_window() {
    let mut c = config("linux", "newreno");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 0);
    t.write_bytes(5_200, false);
    for next in 1..=4 {
        t.at(200 + next).ack(next);
    }
    assert_eq!(t.cwnd(), 12.0, "six segments were outstanding");
}
