//! Whole connections of every profile with every congestion control over a pipe with chosen losses. Each must deliver its bytes in order and close;
//! the pipe checks counters and timers after each step.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use crate::scripted::pipe::{Fate, LOSE, MARK, PASS, Pipe, PipePacket};
use crate::scripted::{combinations, config};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::profile::PROFILES;

const SECONDS: u64 = 1_000_000_000_000;
/// Sizes around the segment (1000 bytes), including a FIN on a full segment.
const SIZES: &[u64] = &[1, 999, 1000, 1001, 2000, 10_000, 30_500, 64_000];

fn all(name: &str, sizes: &[u64], limit: u64, mut judge: impl FnMut(&PipePacket) -> Fate) {
    for (stack, cc) in combinations() {
        for &size in sizes {
            for isn in [1, u32::MAX - 1, u32::MAX - 5000] {
                let mut c = config(stack, cc);
                c.isn = Some(isn);
                println!("{name}: {stack} {cc} {size} bytes, isn {isn}");
                Pipe::new(c, &mut judge).transfer(size, limit);
            }
        }
    }
}

/// Loses SYN, data or FIN for which `which` is true, each for the first `times` transmissions.
fn lose_first(times: usize, which: impl Fn(&PipePacket) -> bool) -> impl FnMut(&PipePacket) -> Fate {
    move |p| if p.data && which(p) && p.again < times { LOSE } else { PASS }
}

#[test]
fn lossless() {
    all("lossless", SIZES, SECONDS, |_| PASS);
}

#[test]
fn syn_lost() {
    all("SYN", SIZES, 10 * SECONDS, |p| if p.number == 0 && p.data { LOSE } else { PASS });
}

#[test]
fn syn_ack_lost() {
    all("SYN-ACK", SIZES, 10 * SECONDS, |p| if p.number == 0 && !p.data { LOSE } else { PASS });
}

/// All SYN-ACKs before the fourth SYN are lost: the fourth SYN-ACK shows Linux that the first SYN had arrived, and it begins with its whole window.
/// If no SYN arrived before the third, it begins with one segment.
#[test]
fn first_window_after_spurious_syn_timeouts() {
    for (answers, window) in [(true, 10), (false, 1)] {
        let mut c = config("linux", "cubic");
        c.timestamps = true;
        let mut pipe = Pipe::new(c, move |p: &PipePacket| if p.data != answers && p.number < 3 { LOSE } else { PASS });
        pipe.open();
        pipe.write(30_000, true);
        pipe.run(10 * SECONDS);
        let first = pipe.log.iter().find(|p| p.len > 0).map(|p| p.now).unwrap();
        assert_eq!(pipe.log.iter().filter(|p| p.len > 0 && p.now == first).count(), window, "{answers}");
    }
}

#[test]
fn syn_lost_five_times() {
    all("five SYNs", &[10_000], 100 * SECONDS, |p| if p.number < 5 && p.data { LOSE } else { PASS });
}

#[test]
fn handshake_ack_lost() {
    all("handshake ACK", SIZES, SECONDS, |p| if p.number == 1 && p.data { LOSE } else { PASS });
}

#[test]
fn fin_lost() {
    all("FIN", SIZES, 60 * SECONDS, lose_first(1, |p| p.flags & flag::FIN != 0));
}

#[test]
fn fin_lost_three_times() {
    all("three FINs", &[1000, 2500], 100 * SECONDS, lose_first(3, |p| p.flags & flag::FIN != 0));
}

#[test]
fn each_segment_lost_in_turn() {
    for nth in 0..12 {
        all("one loss", &[12_000], 60 * SECONDS, lose_first(1, |p| p.offset == nth * 1000));
    }
}

#[test]
fn pairs_of_segments_lost() {
    for (a, b) in [(0, 1), (0, 5), (3, 4), (4, 6), (10, 11), (9, 11)] {
        all("two losses", &[12_000], 60 * SECONDS, lose_first(1, |p| p.offset == a * 1000 || p.offset == b * 1000));
    }
}

#[test]
fn retransmissions_lost_too() {
    for nth in [0, 4, 11] {
        all("segment lost four times", &[12_000], 100 * SECONDS, lose_first(4, |p| p.offset == nth * 1000));
    }
}

#[test]
fn every_first_transmission_lost() {
    all("everything once", &[1000, 12_000], 100 * SECONDS, lose_first(1, |p| p.offset >= 0));
}

#[test]
fn every_first_transmission_and_retransmission_lost() {
    all("everything twice", &[8000], 200 * SECONDS, lose_first(2, |p| p.offset >= 0));
}

#[test]
fn a_whole_window_lost() {
    all("window", &[60_000], 100 * SECONDS, lose_first(1, |p| (20_000..40_000).contains(&p.offset)));
}

#[test]
fn every_other_acknowledgement_lost() {
    all("ACKs", SIZES, 60 * SECONDS, |p| if !p.data && p.number % 2 == 1 { LOSE } else { PASS });
}

#[test]
fn all_acknowledgements_of_a_second_lost() {
    all("ACK blackout", &[30_000], 60 * SECONDS, |p| {
        if !p.data && p.flags & flag::SYN == 0 && p.now < SECONDS { LOSE } else { PASS }
    });
}

#[test]
fn blackout_both_ways() {
    all("blackout", &[30_000], 100 * SECONDS, |p| if (SECONDS / 10_000..2 * SECONDS).contains(&p.now) { LOSE } else { PASS });
}

/// The first flight is so late that retransmissions overtake it: with timestamps its originals are too old, and are dropped.
#[test]
fn originals_that_come_after_their_repetitions() {
    for (stack, cc) in combinations() {
        for timestamps in [false, true] {
            let mut c = config(stack, cc);
            c.timestamps = timestamps;
            let late = 2 * c.rto_min.0.max(SECONDS / 1000);
            let mut pipe =
                Pipe::new(
                    c,
                    move |p: &PipePacket| {
                        if p.data && p.len > 0 && p.again == 0 && p.offset < 10_000 { Fate { late, ..PASS } } else { PASS }
                    },
                );
            pipe.transfer(20_000, 100 * SECONDS);
            assert_eq!(pipe.rejected > 0, timestamps, "{stack} {cc}: {}", pipe.rejected);
        }
    }
}

#[test]
fn everything_twice_and_late() {
    all("duplicates", &[30_000], 10 * SECONDS, |p| Fate {
        twice: true,
        late: (p.number as u64 * 7919 % 13) * 10_000_000,
        ..PASS
    });
}

#[test]
fn tiny_receive_windows() {
    for window in [1, 500, 999, 1000, 1001, 1500, 2000, 3001] {
        for (stack, cc) in combinations() {
            for lossy in [false, true] {
                let mut c = config(stack, cc);
                c.rcv_wnd = window;
                let size = if window == 1 { 20 } else { 10_000 };
                println!("window {window}: {stack} {cc}, lossy {lossy}");
                let judge = |p: &PipePacket| if lossy && p.data && p.number % 3 == 2 { LOSE } else { PASS };
                Pipe::new(c, judge).transfer(size, 10_000 * SECONDS);
            }
        }
    }
}

/// Small segments behind a hole use up the receiver's memory, so that the ACK for them all closes the window. The ACK that opens it is lost: the
/// sender probes the window (RFC 9293 section 3.8.6.1).
#[test]
fn lost_window_update() {
    let mut c = config("linux", "newreno");
    (c.mss, c.init_cwnd) = (64, 1100);
    let (mut last, mut lost) = (0, 0);
    let judge = |p: &PipePacket| {
        let hole = p.data && p.offset == 0 && p.len > 0 && p.again < 2;
        let update = !p.data && p.offset > 10_000 && p.offset == last;
        last = if p.data { last } else { p.offset };
        lost += u32::from(update);
        if hole || (update && lost == 1) { LOSE } else { PASS }
    };
    let mut pipe = Pipe::new(c, judge);
    pipe.transfer(200_000, 60 * SECONDS);
    assert!(pipe.log.iter().any(|p| p.flags & flag::PROBE != 0), "the window was never closed");
}

#[test]
fn without_handshake_and_without_fin() {
    for (stack, cc) in combinations() {
        let mut c = config(stack, cc);
        (c.handshake, c.fin) = (false, false);
        let mut pipe = Pipe::new(c, lose_first(1, |p| p.offset == 3000));
        pipe.open();
        pipe.write(10_000, true);
        pipe.run(100 * SECONDS);
        assert!(pipe.sender.all_acked() && pipe.receiver.delivered() == 10_000, "{stack} {cc}");
    }
}

/// Requests on a persistent connection, the last segment of each lost once.
#[test]
fn persistent_connections() {
    for (stack, cc) in combinations() {
        println!("{stack} {cc}");
        let mut pipe = Pipe::new(config(stack, cc), lose_first(1, |p| p.len > 0 && p.offset % 7500 == 7000));
        pipe.open();
        for round in 1..=6 {
            pipe.write(7500, round == 6);
            pipe.run(round * 5 * SECONDS);
            assert_eq!(pipe.receiver.delivered(), round * 7500);
        }
        assert!(pipe.receiver.finished());
    }
}

/// Without a handshake both ends use the configured ECN mode: ACKs carry ECE, and not the counter of RFC 9768, whose initial value would count as marks.
#[test]
fn marks_reduce_without_handshake() {
    for (stack, marked) in PROFILES.iter().flat_map(|stack| [(*stack, false), (*stack, true)]) {
        let mut c = config(stack, "dctcp");
        c.handshake = false;
        let mut pipe = Pipe::new(c, |p: &PipePacket| if p.data && marked { MARK } else { PASS });
        pipe.transfer(30_000, SECONDS);
        assert_eq!(pipe.sender.stats().losses.ecn_reductions > 0, marked, "{stack}");
    }
}
