//! RFC 6675: loss recovery with a scoreboard, on the `rfc` stack.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;

fn rfc(window: u32) -> TcpConfig {
    let mut c = config("rfc", "newreno");
    c.init_cwnd = window;
    c
}

/// Section 5 step 2: IsLost(HighACK + 1), by one ACK that reports three segments.
#[test]
fn three_sacked_segments_start_recovery() {
    let mut t = Script::new(rfc(10), 100);
    t.sent();
    t.sack(0, &[(1, 4)]);
    // (4.2) and (4.3): half the flight, the first lost segment at once; pipe is 10 - 3 - 1 + 1 = 7.
    assert_eq!((t.sent().as_str(), t.cwnd(), t.ssthresh(), t.s.ca_state()), ("0r", 5.0, 5.0, CaState::Recovery));
    t.sack(0, &[(1, 5)]).sack(0, &[(1, 6)]);
    assert_eq!(t.sent(), "", "pipe is 5");
    t.sack(0, &[(1, 7)]);
    assert_eq!(t.sent(), "10");
    // The retransmission arrives, then what was sent before it.
    t.ack(7);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("11", CaState::Recovery), "pipe was 4");
    t.ack(10);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx), (CaState::Open, 1));
}

/// Section 5 step 1: three duplicate ACKs with news, although their segments are too small for IsLost.
#[test]
fn three_duplicates_start_recovery() {
    let mut c = rfc(10);
    c.mss = 1000;
    let mut t = Script::new(c, 0);
    for _ in 0..6 {
        t.write_bytes(100, false);
    }
    t.sent();
    t.reply_bytes(0, &[(100, 200)], 0);
    t.reply_bytes(0, &[(100, 200), (300, 400)], 0);
    assert_eq!(t.sent(), "");
    t.reply_bytes(0, &[(100, 200), (300, 400), (500, 600)], 0);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("0(100)r @200(100)r @400(100)r", CaState::Recovery));
}

/// Section 4, IsLost: "DupThresh discontiguous SACKed sequences", not segments: three small ones side by side are one sequence.
#[test]
fn adjacent_small_segments_count_once() {
    let mut t = Script::new(rfc(10), 0);
    for _ in 0..9 {
        t.write_bytes(100, false);
    }
    t.sent();
    t.reply_bytes(0, &[(100, 400)], 0);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("", CaState::Disorder), "one ACK, 300 of 2000 bytes");
    // Another ACK is the second duplicate only, but now there are three sequences.
    t.reply_bytes(0, &[(700, 800), (500, 600), (100, 400)], 0);
    // The others are NextSeg rules (3) and (4), as there is nothing new to send.
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("0(100)r @400(100)r @600(100)r @800(100)r", CaState::Recovery));
}

/// Section 2: an ACK without news about the receiver's queue is no duplicate.
#[test]
fn duplicates_without_news_count_nothing() {
    let mut t = Script::new(rfc(10), 100);
    t.sent();
    t.dup(0, 10);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("", CaState::Open));
    t.sack(0, &[(1, 2)]);
    for _ in 0..10 {
        t.sack(0, &[(1, 2)]);
    }
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("10", CaState::Disorder));
}

/// Section 5 step 3: limited transmit through the pipe, one new segment per SACKed one, not counted in the threshold.
#[test]
fn limited_transmit_by_the_pipe() {
    let mut t = Script::new(rfc(10), 100);
    t.sent();
    t.sack(0, &[(1, 2)]);
    assert_eq!(t.sent(), "10");
    t.sack(0, &[(1, 3)]);
    assert_eq!(t.sent(), "11");
    t.sack(0, &[(1, 4)]);
    assert_eq!((t.sent().as_str(), t.ssthresh()), ("0r", 5.0));
}

/// Section 4, NextSeg: (1) lost ones in order, (2) new data, (3) holes below the highest SACKed, (4) once the tail.
#[test]
fn order_of_retransmissions_and_new_data() {
    let mut t = Script::new(rfc(12), 13);
    t.sent();
    // 0, 1 and 6 are lost, and the tail 9, 10, 11.
    t.sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
    assert_eq!(t.sent(), "12", "limited transmit, and there is no more");
    t.sack(0, &[(2, 5)]);
    assert_eq!((t.sent().as_str(), t.ssthresh()), ("0r", 6.0));
    // pipe: 5..13 and the retransmission = 9.
    t.sack(0, &[(2, 6)]);
    t.sack(0, &[(7, 8), (2, 6)]);
    t.sack(0, &[(7, 9), (2, 6)]);
    assert_eq!(t.sent(), "", "pipe is 6");
    t.ack(1).s.audit();
    // (1)
    assert_eq!(t.sent(), "1r", "pipe was 5");
    // (3): nothing lost, nothing new; 6 has only two SACKed above it.
    t.sack(6, &[(7, 9)]);
    assert_eq!(t.sent(), "6r", "pipe was 5");
    // It counts twice now (original and retransmission, section 4 SetPipe), until its loss is certain.
    t.sack(6, &[(12, 13), (7, 9)]);
    // Three above 6 are SACKed: lost, and the pipe is 9, 10, 11 and the retransmission of 6. (3) again.
    assert_eq!(t.sent(), "9r 10r");
    t.sack(9, &[(12, 13)]);
    assert_eq!(t.sent(), "11r", "9 and 10 count twice: pipe was 5");
    t.ack(13);
    assert_eq!((t.s.ca_state(), t.cwnd() >= 6.0, t.s.stats().losses.rtos), (CaState::Open, true, 0));
}

/// NextSeg rule 4: the highest segment outstanding, when nothing above it could tell of its loss.
#[test]
fn rescue() {
    let mut t = Script::new(rfc(10), 10);
    t.sent();
    // 0 and the tail 8, 9 are lost.
    t.sack(0, &[(1, 4)]);
    assert_eq!(t.sent(), "0r");
    for end in 5..=8 {
        t.sack(0, &[(1, end)]);
    }
    // pipe: 8, 9 and the retransmission; 5 are allowed. 9 may be lost without a trace.
    assert_eq!(t.sent(), "9r");
    t.ack(8);
    assert_eq!(t.sent(), "", "once per episode");
    t.sack(8, &[(9, 10)]);
    // 8 is a hole below a SACKed segment now.
    assert_eq!(t.sent(), "8r");
    t.ack(10);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.rtos), (CaState::Open, 0));
}

/// Section 5.1: a timeout takes everything not SACKed to be lost and sends it again by slow start; SACKed data stays delivered.
#[test]
fn timeout() {
    let mut t = Script::new(rfc(10), 10);
    t.sent();
    t.sack(0, &[(4, 6)]);
    t.timer();
    assert_eq!((t.sent().as_str(), t.cwnd(), t.ssthresh()), ("0r", 1.0, 5.0));
    t.sack(1, &[(4, 6)]);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("1r 2r", 2.0));
    t.sack(3, &[(4, 6)]);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("3r 6r 7r", 3.0));
    t.ack(8);
    assert_eq!((t.sent().as_str(), t.s.ca_state()), ("8r 9r", CaState::Loss));
    t.ack(10);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx), (CaState::Open, 0));
}

/// Three duplicates in the middle of that start no fast recovery.
#[test]
fn no_recovery_below_timeout_point() {
    let mut t = Script::new(rfc(10), 10);
    t.timer();
    t.sent();
    t.sack(0, &[(5, 6)]).sack(0, &[(5, 7)]).sack(0, &[(5, 8)]).sack(0, &[(5, 9)]);
    assert_eq!((t.s.ca_state(), t.s.stats().losses.fast_retx, t.ssthresh()), (CaState::Loss, 0, 5.0));
}

/// Two losses in a window are one event; one in the next window is another.
#[test]
fn one_reduction_a_window() {
    let mut t = Script::new(rfc(20), 200);
    t.sack(0, &[(1, 4)]);
    assert_eq!(t.ssthresh(), 10.0);
    t.sack(5, &[(6, 9)]);
    assert_eq!((t.ssthresh(), t.s.stats().losses.fast_retx), (10.0, 1), "5 was sent before recovery began");
    let end = t.s.snd_max() / 1000;
    t.ack(end);
    assert_eq!(t.s.ca_state(), CaState::Open);
    let flight = t.flight() as f64;
    t.sack(end, &[(end + 1, end + 4)]);
    assert_eq!((t.ssthresh(), t.s.stats().losses.fast_retx), (flight / 2.0, 2));
}

/// A byte range SACKed and then acknowledged leaves nothing behind; blocks that make no sense are ignored.
#[test]
fn strange_blocks() {
    let mut t = Script::new(rfc(10), 10);
    t.sent();
    t.sack(0, &[(8, 20)]).sack(0, &[(30, 40)]).sack(0, &[(5, 5)]).sack(0, &[(6, 5)]);
    assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Open, ""));
    // Half a segment is not a segment.
    t.reply_bytes(0, &[(1500, 2500)], 0);
    assert_eq!(t.s.ca_state(), CaState::Open);
    t.settle();
    assert!(t.s.all_acked());
}

/// An ACK that a later one has overtaken still tells what arrived (Linux tcp_ack, `old_ack`).
#[test]
fn overtaken_acks_still_bring_blocks() {
    for stack in ["rfc", "linux"] {
        let mut c = config(stack, "newreno");
        c.init_cwnd = 10;
        let mut t = Script::new(c, 100);
        t.at(200).ack(2);
        t.sent();
        let cwnd = t.cwnd();
        t.sack(1, &[(3, 6)]);
        assert!(t.sent().contains("2r"), "{stack}: three segments above the hole have arrived");
        assert_eq!((t.cwnd() < cwnd, t.s.snd_una()), (stack == "rfc", 2000), "{stack}");
        // A kernel's window changes with the next one (tcp_cong_control).
        t.sack(2, &[(3, 7)]);
        assert!(t.cwnd() < cwnd, "{stack}");
    }
}

/// RFC 2883 section 4: the first block is compared with the ACK of its own packet. One that a later ACK has overtaken reports nothing twice: what
/// it SACKs has been acknowledged since.
#[test]
fn overtaken_blocks_are_no_duplicates() {
    for stack in ["rfc", "linux"] {
        let mut t = Script::new(config(stack, "newreno"), 10);
        t.sent();
        t.at(200).sack(0, &[(1, 4)]);
        assert_eq!((t.sent().as_str(), t.ssthresh()), ("0r", 5.0), "{stack}");
        t.at(300).ack(10);
        let before = (t.cwnd(), t.ssthresh(), t.s.ca_state());
        t.at(310).sack(0, &[(9, 10), (1, 8)]);
        assert_eq!((t.cwnd(), t.ssthresh(), t.s.ca_state()), before, "{stack}: the reduction stands");
        // A duplicate that it does report counts.
        t.at(320).sack(9, &[(0, 1)]);
        assert_eq!(t.ssthresh(), f64::INFINITY, "{stack}: the repetition was not needed");
    }
}
