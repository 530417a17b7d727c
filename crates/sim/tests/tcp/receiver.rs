//! The receiver: RFC 5681 section 4.2, RFC 2018, RFC 2883, RFC 7323, and the echoes of RFC 3168 and RFC 8257.

use crate::scripted::config;
use crate::scripted::receiver::Script;
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::TimeOrNever;

fn rfc() -> TcpConfig {
    config("rfc", "newreno")
}

fn dctcp(every: u32) -> TcpConfig {
    let mut c = config("rfc", "dctcp");
    c.ack_every = every;
    c
}

#[test]
fn delayed_acknowledgements() {
    let mut r = Script::new(rfc());
    r.data(0);
    assert_eq!(r.acks(), "");
    r.data(1);
    assert_eq!(r.acks(), "2", "at least every second segment");
    r.at(1000).data(2);
    r.at(100_999);
    assert_eq!(r.acks(), "");
    r.at(101_000);
    assert_eq!((r.acks().as_str(), r.r.timer_due()), ("3", TimeOrNever::NEVER));
    // The papers' receivers acknowledge everything.
    let mut r = Script::new(config("ns2", "newreno"));
    r.data(0).data(1).data(2);
    assert_eq!(r.acks(), "1 2 3");
}

/// RFC 5681 section 4.2: out of order, filling a gap, duplicate: at once.
#[test]
fn immediate_acknowledgements() {
    let mut r = Script::new(rfc());
    r.data(1);
    assert_eq!(r.acks(), "0[1-2]");
    r.data(3);
    assert_eq!(r.acks(), "0[3-4,1-2]");
    r.data(0);
    assert_eq!(r.acks(), "2[3-4]", "part of the gap");
    r.data(2);
    assert_eq!(r.acks(), "4", "all of it");
    r.data(4);
    assert_eq!(r.acks(), "", "in order again");
    r.data(1);
    assert_eq!(r.acks(), "5[1-2]");
}

/// An out-of-order segment sends the pending ACK with it, and the timer stops.
#[test]
fn pending_and_out_of_order() {
    let mut r = Script::new(rfc());
    r.data(0).data(2);
    assert_eq!((r.acks().as_str(), r.r.timer_due()), ("1[2-3]", TimeOrNever::NEVER));
}

#[test]
fn quick_acknowledgements_of_linux() {
    let mut r = Script::new(config("linux", "newreno"));
    for n in 0..16 {
        r.data(n);
        assert_eq!(r.acks(), format!("{}", n + 1));
    }
    r.data(16);
    assert_eq!(r.acks(), "");
    r.data(17);
    assert_eq!(r.acks(), "18");
    // 40 ticks, and to the end of the last (calc_index).
    r.data(18).at(40_999);
    assert_eq!(r.acks(), "");
    r.at(41_000);
    assert_eq!(r.acks(), "19");
}

/// RFC 2018 section 4: the first block holds the newest segment, the others follow by freshness; section 3: as many as fit, four,
/// or three beside timestamps.
#[test]
fn order_of_sack_blocks() {
    let mut r = Script::new(rfc());
    r.data(2).data(4).data(6).data(8).data(10);
    assert_eq!(r.acks(), "0[2-3] 0[4-5,2-3] 0[6-7,4-5,2-3] 0[8-9,6-7,4-5,2-3] 0[10-11,8-9,6-7,4-5]");
    let mut c = rfc();
    c.timestamps = true;
    let mut r = Script::new(c);
    r.data(2).data(4).data(6).data(8);
    assert_eq!(r.acks(), "0[2-3] 0[4-5,2-3] 0[6-7,4-5,2-3] 0[8-9,6-7,4-5]");
    r.data(5);
    assert_eq!(r.acks(), "0[4-7,8-9,2-3]");
    r.data(3);
    assert_eq!(r.acks(), "0[2-7,8-9]");
    r.data(0).data(1);
    assert_eq!(r.acks(), "1[2-7,8-9] 7[8-9]");
}

/// RFC 2883: a duplicate is reported once, first; when it lies in a block, that block comes second.
#[test]
fn duplicate_sack() {
    let mut r = Script::new(rfc());
    r.data(0).data(1);
    r.acks();
    r.data(0);
    assert_eq!(r.acks(), "2[0-1]");
    r.data(4);
    assert_eq!(r.acks(), "2[4-5]", "not again");
    r.data(5).data(7);
    r.acks();
    r.data(5);
    assert_eq!(r.acks(), "2[5-6,4-6,7-8]");
}

/// RFC 2883 section 4: of a segment that is there in part, that part is reported: below the stream, beyond a hole, and in what fills one.
#[test]
fn duplicate_in_part() {
    let mut r = Script::new(rfc());
    r.data(0).data(1);
    r.acks();
    r.bytes(1500, 1000, 0, false).at(200_000);
    assert_eq!(r.acks(), "@2500[@1500-2]");
    r.bytes(5000, 2000, 0, false);
    assert_eq!(r.acks(), "@2500[5-7]");
    r.bytes(4500, 1000, 0, false);
    assert_eq!(r.acks(), "@2500[5-@5500,@4500-7]");
    r.bytes(6500, 1000, 0, false);
    assert_eq!(r.acks(), "@2500[@6500-7,@4500-@7500]");
    r.bytes(2500, 2500, 0, false);
    assert_eq!(r.acks(), "@7500[@4500-5]");
    // Next to what is there is not in it.
    r.bytes(9000, 1000, 0, false).bytes(8000, 1000, 0, false).bytes(7500, 500, 0, false);
    assert_eq!(r.acks(), "@7500[9-10] @7500[8-10] 10");
}

/// RFC 7323 section 4.3: TS.Recent never goes back. A duplicate that comes late must not be echoed for the data that waits for its ACK: the
/// sample would be as long as the duplicate was under way.
#[test]
fn late_duplicate_is_not_echoed() {
    let mut c = rfc();
    c.timestamps = true;
    let mut r = Script::new(c);
    let echoes = |r: &mut Script| -> Vec<u32> { r.packets().iter().map(|p| p.echo() / 1000).collect() };
    r.at(100).data(0).data(1);
    assert_eq!(echoes(&mut r), [100]);
    r.at(5_000).data(2).at(5_010).late(1, 90);
    assert_eq!(echoes(&mut r), [5_000]);
    // One that left later is: its repetition was needed, as far as the sender knew.
    r.at(9_000).late(1, 8_950);
    assert_eq!(echoes(&mut r), [8_950]);
    // After a pause in which the clock has come round, too.
    r.at(4_300_000).late(1, 4_299_950);
    assert_eq!(echoes(&mut r), [(4_299_950_000u64 as u32) / 1000]);
}

/// Beside a hole at the very beginning the SYN is echoed.
#[test]
fn first_echo() {
    let mut c = config("rfc", "newreno");
    c.timestamps = true;
    let mut r = Script::closed(c);
    r.at(700).syn(0);
    r.at(900).data(1);
    assert_eq!(r.packets()[0].echo(), 700_000);
}

/// A stack without SACK reports nothing.
#[test]
fn without_sack() {
    let mut r = Script::new(config("ns2", "newreno"));
    r.data(1).data(3).data(3);
    assert_eq!(r.acks(), "0 0 0");
}

/// Data beyond the advertised window is refused.
#[test]
fn window_is_enforced() {
    let mut c = rfc();
    c.rcv_wnd = 3000;
    let mut r = Script::new(c);
    r.data(4);
    assert_eq!(r.acks(), "0");
    r.data(2);
    assert_eq!(r.acks(), "0[2-3]");
}

/// Segments that overlap received data: the stream is complete.
#[test]
fn overlaps() {
    let mut r = Script::new(rfc());
    r.bytes(500, 1000, 0, false);
    assert_eq!(r.acks(), "0[@500-@1500]");
    r.bytes(0, 700, 0, false);
    assert_eq!((r.acks().as_str(), r.r.delivered()), ("@1500[@500-@700]", 1500));
    r.bytes(1000, 1000, 0, false);
    assert_eq!(r.r.delivered(), 2000);
}

#[test]
fn fin_acknowledged_at_once() {
    let mut r = Script::new(rfc());
    r.segment(0, flag::FIN, false);
    assert_eq!((r.acks().as_str(), r.r.delivered(), r.r.finished()), ("@1001F", 1000, true));
    // Out of order it waits for the data before it.
    let mut r = Script::new(rfc());
    r.segment(1, flag::FIN, false);
    assert_eq!((r.acks().as_str(), r.r.finished()), ("0[1-@2001]", false));
    r.data(0);
    assert_eq!((r.acks().as_str(), r.r.delivered(), r.r.finished()), ("@2001F", 2000, true));
    // Its retransmission, because the ACK was lost.
    r.segment(1, flag::FIN, false);
    assert_eq!(r.acks(), "@2001[1-@2001]F");
}

/// RFC 7323 section 4.3: the echo is of the segment that the ACK's left edge waits for: with delayed ACKs the earlier one, after a
/// loss the one that filled the hole.
#[test]
fn timestamp_echo() {
    let mut r = Script::new(rfc());
    r.at(10).data(0);
    r.at(20).data(1);
    r.at(30).data(3);
    r.at(40).data(2);
    let echoes: Vec<u32> = r.packets().iter().map(|p| p.ts / 1000).collect();
    assert_eq!(echoes, [10, 10, 40]);
    assert!(r.r.timer_due().is_never());
}

/// The receive window of an ACK is scaled.
#[test]
fn scaled_window() {
    let mut c = rfc();
    (c.rcv_wnd, c.ack_every) = (1_000_000, 1);
    let mut r = Script::new(c);
    r.data(0);
    assert_eq!(r.packets()[0].win, (1_000_000u32 >> 4) as u16);
}

/// RFC 3168 section 6.1.3: ECE on every ACK from a CE packet until CWR; a CE on that packet starts it again.
#[test]
fn classic_echo() {
    let mut c = config("ns2", "newreno");
    c.ecn = Ecn::Classic;
    let mut r = Script::new(c);
    r.data(0).ce(1).data(2).data(3);
    assert_eq!(r.acks(), "1 2E 3E 4E");
    r.segment(4, flag::CWR, false).data(5);
    assert_eq!(r.acks(), "5 6");
    r.ce(6).segment(7, flag::CWR, true).data(8);
    assert_eq!(r.acks(), "7E 8E 9E");
}

/// RFC 8257 section 3.2 with one ACK per packet: ECE is the packet's CE.
#[test]
fn exact_echo() {
    let mut r = Script::new(dctcp(1));
    r.data(0).ce(1).ce(2).data(3).segment(4, flag::CWR, true);
    assert_eq!(r.acks(), "1 2E 3E 4 5E");
}

/// `ecn-echo = "latched"`: a DCTCP sender's receiver with RFC 3168's latch (coexistence specification 1.6) turns one mark into an echo until CWR, and
/// does not acknowledge early when marks come and go.
#[test]
fn latched_echo_for_dctcp() {
    let mut c = dctcp(1);
    c.latched_echo = true;
    let mut r = Script::new(c.clone());
    r.data(0).ce(1).data(2).data(3);
    assert_eq!(r.acks(), "1 2E 3E 4E");
    r.segment(4, flag::CWR, false).data(5);
    assert_eq!(r.acks(), "5 6");
    r.segment(6, flag::CWR, true).data(7);
    assert_eq!(r.acks(), "7E 8E", "a mark on the packet with CWR counts");
    c.ack_every = 2;
    let mut r = Script::new(c);
    r.ce(0).data(1).data(2).data(3);
    assert_eq!(r.acks(), "2E 4E");
    let mut r = Script::new(dctcp(2));
    r.ce(0).data(1).data(2).data(3);
    assert_eq!(r.acks(), "1E 2 4", "the exact echo tells the changes");
}

/// With delayed ACKs: a change of CE sends the pending ACK with the old value and acknowledges the new packet at once.
#[test]
fn exact_echo_with_delayed_acknowledgements() {
    let mut r = Script::new(dctcp(2));
    r.data(0).ce(1);
    assert_eq!(r.acks(), "1 2E");
    r.ce(2);
    assert_eq!(r.acks(), "");
    r.ce(3);
    assert_eq!(r.acks(), "4E");
    r.data(4);
    assert_eq!(r.acks(), "5", "nothing was pending");
    r.data(5).data(6);
    assert_eq!(r.acks(), "7");
    let mut r = Script::new(dctcp(4));
    r.data(0).data(1).data(2).ce(3).ce(4).ce(5).data(6).data(7);
    assert_eq!(r.acks(), "3 4E 6E 7");
    r.at(100_000);
    assert_eq!(r.acks(), "8");
}

/// Bytes that a run of ACKs attributes to marks are exactly those of marked packets, whatever the pattern (RFC 8257 section 3.2).
#[test]
fn exact_echo_counts_exactly() {
    for every in 1..5 {
        for pattern in 0..4096u32 {
            let mut r = Script::new(dctcp(every));
            for n in 0..12 {
                r.segment(n, 0, pattern >> n & 1 == 1);
            }
            r.at(1_000_000);
            let (mut una, mut marked) = (0, 0);
            for p in r.packets() {
                let ack = p.seq.wrapping_sub(u32::MAX - 3000).wrapping_sub(1);
                marked += if p.has(flag::ECE) { ack - una } else { 0 };
                una = ack;
            }
            assert_eq!((una, marked), (12_000, 1000 * (pattern & 0xFFF).count_ones()), "{pattern:b}, every {every}");
        }
    }
}

/// RFC 7323 section 5.3: a segment that left before the one whose timestamp is remembered is acknowledged and dropped, also if it is the next one:
/// an original that repetitions have overtaken. In Linux a tick of a millisecond is no age (tcp_paws_check), and what is there already is reported
/// (tcp_send_dupack).
#[test]
fn segments_that_are_too_old() {
    for (stack, young, old, duplicate) in
        [("linux", 499_000, 498_999, "1[0-1]"), ("rfc", 500_000, 499_999, "1[0-1]"), ("ns2", 500_000, 499_999, "1")]
    {
        let mut c = config(stack, "newreno");
        (c.timestamps, c.ack_every) = (true, 1);
        let mut r = Script::new(c.clone());
        r.at(500_500).late(0, 500_000);
        assert_eq!(r.acks(), "1", "{stack}");
        r.late(1, old);
        assert_eq!((r.acks().as_str(), r.r.delivered()), ("1", 1000), "{stack}: the next one");
        r.late(3, old);
        assert_eq!((r.acks().as_str(), r.r.delivered()), ("1", 1000), "{stack}: one beyond it");
        r.late(0, old);
        assert_eq!((r.acks().as_str(), r.r.delivered()), (duplicate, 1000), "{stack}: one that is there");
        r.late(1, young);
        assert_eq!((r.acks().as_str(), r.r.delivered()), ("2", 2000), "{stack}");
        // The stored timestamp has not gone back, and is not older than a timestamp can count.
        r.at(500_500 + 4_294_967).late(2, 500_500 + 4_294_900);
        assert_eq!((r.acks().as_str(), r.r.delivered()), ("3", 3000), "{stack}: after 2^32 ns");
        c.timestamps = false;
        let mut r = Script::new(c);
        r.at(500_500).late(0, 500_000).late(1, old);
        assert_eq!(r.r.delivered(), 2000, "{stack} without timestamps");
    }
}

/// skb_try_coalesce: short segments out of order are copied behind the segment before them, whose buffer has space for 612 bytes. When the hole is
/// filled, two buffers of 2304 bytes are in use of 16 000, and the rest is a window of 5000. With buffers of their own they would leave no more than the
/// 4400 bytes that were offered before.
#[test]
fn short_segments_fill_buffer_before_them() {
    let mut c = config("linux", "newreno");
    (c.quickack_count, c.rcv_buf) = (0, Some(8_000));
    let mut r = Script::new(c);
    r.at(1).data(2);
    for i in 0..20 {
        r.at(2 + i).bytes(3000 + 30 * i, 30, 0, false);
    }
    r.at(40).data(0).at(41).data(1);
    assert_eq!(r.packets().last().map(|p| p.win), Some(5_000));
}
